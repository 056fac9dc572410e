/* Man pages, made from the tables of commands and options. */
#ifndef TILEC_CLI_MAN_PAGE_H
#define TILEC_CLI_MAN_PAGE_H
#include "cli/help.h"

/* tilec.1: the commands, exit status, environment. */
void man_page_overview(StrBuf *out);
/* tilec-<command>.1. */
void man_page_command(const CommandHelp *command, StrBuf *out);
#endif
