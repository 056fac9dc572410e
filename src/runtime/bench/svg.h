/* Pictures as SVG: shapes, texts, axes. Self-contained, with the colours of whoever looks: light or
 * dark. Lengths are pixels; what is said of text widths is an estimate from above. */
#ifndef TILEC_RUNTIME_BENCH_SVG_H
#define TILEC_RUNTIME_BENCH_SVG_H
#include "support/str.h"

#include <stdint.h>

/* Colours of lines and bars, told apart by people who see few; behind these is grey. */
enum { SVG_COLOURS = 8, SVG_GREY = SVG_COLOURS };

typedef enum SvgAnchor { SVG_START, SVG_MIDDLE, SVG_END } SvgAnchor;

typedef struct SvgPoint {
    double x, y;
} SvgPoint;

/* `title` is also what screen readers say. */
void svg_open(StrBuf *out, double width, double height, const char *title);
void svg_close(StrBuf *out);

/* What stands in them is escaped. `kind`: a class of the style sheet, "title", "label", "tick",
 * "note". */
void svg_text(StrBuf *out, SvgPoint at, SvgAnchor anchor, const char *kind, Str text);
/* Turned by that many degrees around its place. */
void svg_turned_text(StrBuf *out, SvgPoint at, SvgAnchor anchor, double degrees, const char *kind,
                     Str text);
void svg_line(StrBuf *out, SvgPoint from, SvgPoint to, const char *kind);
void svg_path(StrBuf *out, const SvgPoint *points, uint32_t count, unsigned colour);
/* With what a pointer over them is told. */
void svg_dot(StrBuf *out, SvgPoint at, unsigned colour, const char *tells);
void svg_bar(StrBuf *out, SvgPoint corner, double width, double height, unsigned colour,
             const char *tells);

/* Room that a text takes at most, and as much of its ends as fits a width, "..." between
 * them. */
double svg_text_width(Str text);
Str svg_fit(Arena *arena, Str text, double width);

/* Where values stand between two pixels. */
typedef struct SvgScale {
    double low, high; /* values at the ends, low < high */
    double from, to;  /* pixels */
    unsigned base;    /* of a logarithmic one: 2 or 10; 0: linear */
} SvgScale;

/* A scale over the values from `least` to `most`, with room to the next round ones; a linear one
 * begins at 0. */
SvgScale svg_scale(double least, double most, unsigned base, double from, double to);
double svg_place(const SvgScale *scale, double value);
/* Round values between the ends, at most `room` of them. */
enum { SVG_MAX_TICKS = 16 };
uint32_t svg_ticks(const SvgScale *scale, uint32_t room, double ticks[SVG_MAX_TICKS]);
/* "1.5", "4096", "16Ki" of powers of two, "1e-3". */
const char *svg_number(Arena *arena, double value, unsigned base);
#endif
