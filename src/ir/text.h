/* What the printer and the parser of Tile IR share. Private to src/ir.
 *
 *   module   = { layout } { func }
 *   layout   = "layout" "#"name "=" bases
 *   bases    = "{" [ dim "=" "[" ints "]" { "," .. } ] "}"           dim: reg lane warp block
 *   func     = "func" "@"name "(" [ param { "," param } ] ")" [ attrs ] [ loc ] "{" op { op } "}"
 *   param    = "%"name ":" type [ attrs ] [ loc ]
 *   op       = [ "%"name { "," "%"name } "=" ] opname [ "%"name { "," "%"name } ] [ attrs ]
 *              [ ":" type { "," type } ] [ loc ] { region }
 *   region   = [ "(" "%"name ":" type { "," .. } ")" ] "{" op { op } "}"
 *   attrs    = "{" name "=" value { "," .. } "}"
 *   value    = integer | float | "true" | "false" | string | "[" ints "]" | enumerated name
 *   type     = dtype | "ptr" "<" dtype ">" | "tile" "<" { size "x" } element [ "," map ] ">"
 *            | "buffer" "<" { size "x" } dtype [ "," map ] ">"
 *   map      = "#"name | bases
 *   loc      = "loc" "(" string ":" line ":" column [ "to" line ":" column ] ")"
 *
 * An op ends with its line, except that lists may go on after an opening bracket or a comma. `//`
 * begins a comment. Value names are hints; a name of digits alone means none. */
#ifndef TILEC_IR_TEXT_H
#define TILEC_IR_TEXT_H
#include "ir/ir.h"

/* Attributes of functions that are printed when they are not zero: FUNC_ATTR(field, kind). */
#define FUNC_ATTRS(FUNC_ATTR)                                                                      \
    FUNC_ATTR(num_warps, I64)                                                                      \
    FUNC_ATTR(num_stages, I64)                                                                     \
    FUNC_ATTR(num_ctas, I64)                                                                       \
    FUNC_ATTR(max_registers, I64)                                                                  \
    FUNC_ATTR(programs_per_cta, I64)                                                               \
    FUNC_ATTR(shared_bytes, I64)                                                                   \
    FUNC_ATTR(capability, I64)                                                                     \
    FUNC_ATTR(has_layouts, BOOL)

/* Regions nest at most this deep, which bounds the recursion of everything that walks IR. */
enum { IR_MAX_NESTING = 200 };

static inline bool text_is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}
#endif
