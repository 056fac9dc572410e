/* SHA-256 (FIPS 180-4). Own code, since what needs it may link nothing but the C library. */
#ifndef TILEC_SUPPORT_SHA256_H
#define TILEC_SUPPORT_SHA256_H
#include "support/str.h"
#include <stdint.h>

enum { SHA256_SIZE = 32, SHA256_TEXT_SIZE = 2 * SHA256_SIZE + 1 };

void sha256(Str data, unsigned char digest[SHA256_SIZE]);
/* Hexadecimal digits, terminated. */
void sha256_text(const unsigned char digest[SHA256_SIZE], char text[SHA256_TEXT_SIZE]);
#endif
