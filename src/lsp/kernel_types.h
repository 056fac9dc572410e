/* What a kernel is compiled for, as far as the document and the settings say it. */
#ifndef TILEC_LSP_KERNEL_TYPES_H
#define TILEC_LSP_KERNEL_TYPES_H
#include "lsp/analysis.h"

/* Fills in target, request and is_typed. False after a report: what the comment or the settings say
 * is wrong. */
bool kernel_types(KernelAnalysis *kernel, const Settings *settings);
#endif
