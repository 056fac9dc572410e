/* What the machines of all targets have in common: rows of machine.def. */
#ifndef TILEC_TARGET_COMMON_H
#define TILEC_TARGET_COMMON_H

enum {
#define COMMON(id, value, ...) TARGET_##id = value,
#define FIGURE(...)
#define DEVICE(...)
#include "target/machine.def"
};
#endif
