/* What the printer and the parser of Tile IR share; the grammar is in grammar.def. Private to
 * src/ir.
 *
 * An op ends with its line, except that lists may go on after an opening bracket or a comma. `//`
 * begins a comment. Value names are hints; a name of digits alone means none. */
#ifndef TILEC_IR_TEXT_H
#define TILEC_IR_TEXT_H
#include "ir/ir.h"

/* Attributes of functions that are printed when they are not zero: FUNC_ATTR(field, kind). */
#define FUNC_ATTRS(FUNC_ATTR)                                                                      \
    FUNC_ATTR(num_warps, I64)                                                                      \
    FUNC_ATTR(launched_warps, I64)                                                                 \
    FUNC_ATTR(num_stages, I64)                                                                     \
    FUNC_ATTR(num_ctas, I64)                                                                       \
    FUNC_ATTR(register_request, I64)                                                               \
    FUNC_ATTR(register_goal, I64)                                                                  \
    FUNC_ATTR(max_registers, I64)                                                                  \
    FUNC_ATTR(all_registers, BOOL)                                                                 \
    FUNC_ATTR(max_shared, I64)                                                                     \
    FUNC_ATTR(programs_per_cta, I64)                                                               \
    FUNC_ATTR(shared_bytes, I64)                                                                   \
    FUNC_ATTR(capability, I64)                                                                     \
    FUNC_ATTR(has_layouts, BOOL)                                                                   \
    FUNC_ATTR(no_tensor_copies, BOOL)                                                              \
    FUNC_ATTR(no_persistence, BOOL)                                                                \
    FUNC_ATTR(in_place, BOOL)                                                                      \
    FUNC_ATTR(deterministic, BOOL)                                                                 \
    FUNC_ATTR(plain_abi, BOOL)                                                                     \
    FUNC_ATTR(is_persistent, BOOL)                                                                 \
    FUNC_ATTR(last_first, I64)                                                                     \
    FUNC_ATTR(in_sections, BOOL)                                                                   \
    FUNC_ATTR(one_thread, BOOL)                                                                    \
    FUNC_ATTR(teams, I64)                                                                          \
    FUNC_ATTR(apart, INTS)

/* Regions nest at most this deep, which bounds the recursion of everything that walks IR. */
enum { IR_MAX_NESTING = 200 };

static inline bool text_is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}
#endif
