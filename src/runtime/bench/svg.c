/* See svg.h. */
#include "runtime/bench/svg.h"

#include <math.h>
#include <stdio.h>

/* Eight colours after Okabe and Ito, "Color Universal Design": for light and for dark ground. */
#define COLOURS(X)                                                                                 \
    X(0, "#0072b2", "#56b4e9")                                                                     \
    X(1, "#d55e00", "#ff9b57")                                                                     \
    X(2, "#00805c", "#2fc79c")                                                                     \
    X(3, "#a6408a", "#e39fcd")                                                                     \
    X(4, "#b87700", "#f0b840")                                                                     \
    X(5, "#3d3d9e", "#a5a5f7")                                                                     \
    X(6, "#7a5230", "#cfa27c")                                                                     \
    X(7, "#5b7300", "#b4d13f")                                                                     \
    X(8, "#9a9a9a", "#7c7c7c")

#define LIGHT(n, light, dark) ".s" #n "{stroke:" light "}.f" #n "{fill:" light "}"
#define DARK(n, light, dark) ".s" #n "{stroke:" dark "}.f" #n "{fill:" dark "}"

static const char style[] =
    "<style>"
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
    "font-size:12px;fill:#1b1b1b}"
    ".title{font-size:15px;font-weight:600}.label{font-size:13px}.tick{fill:#444}"
    ".note{fill:#444}.ground{fill:#fff}.axis{stroke:#444}.grid{stroke:#e3e3e3}"
    ".ceiling{stroke:#b00020;stroke-dasharray:6 4;stroke-width:1.5}.high{fill:#b00020}"
    ".path{fill:none;stroke-width:2;stroke-linejoin:round}.s8{stroke-width:1}" COLOURS(
        LIGHT) "@media(prefers-color-scheme:dark){text{fill:#e8e8e8}.tick,.note{fill:#bdbdbd}"
               ".ground{fill:#16181c}.axis{stroke:#bdbdbd}.grid{stroke:#33363c}"
               ".ceiling{stroke:#ff7b8a}.high{fill:#ff7b8a}" COLOURS(DARK) "}</style>\n";

static void add_escaped(StrBuf *out, Str text) {
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.ptr[i];
        if (c == '<')
            strbuf_puts(out, "&lt;");
        else if (c == '>')
            strbuf_puts(out, "&gt;");
        else if (c == '&')
            strbuf_puts(out, "&amp;");
        else if (c == '"')
            strbuf_puts(out, "&quot;");
        else
            strbuf_putc(out, c < 0x20 ? ' ' : (char)c);
    }
}

void svg_open(StrBuf *out, double width, double height, const char *title) {
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>",
                  width, height, width, height);
    add_escaped(out, str_from(title));
    strbuf_printf(out, "</title>\n%s<rect class=\"ground\" width=\"%.0f\" height=\"%.0f\"/>\n",
                  style, width, height);
}

void svg_close(StrBuf *out) {
    strbuf_puts(out, "</svg>\n");
}

static const char *const anchors[] = {"start", "middle", "end"};

void svg_text(StrBuf *out, SvgPoint at, SvgAnchor anchor, const char *kind, Str text) {
    strbuf_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", kind, at.x,
                  at.y, anchors[anchor]);
    add_escaped(out, text);
    strbuf_puts(out, "</text>\n");
}

void svg_turned_text(StrBuf *out, SvgPoint at, SvgAnchor anchor, double degrees, const char *kind,
                     Str text) {
    strbuf_printf(out,
                  "<text class=\"%s\" text-anchor=\"%s\" "
                  "transform=\"translate(%.1f %.1f) rotate(%.0f)\">",
                  kind, anchors[anchor], at.x, at.y, degrees);
    add_escaped(out, text);
    strbuf_puts(out, "</text>\n");
}

void svg_line(StrBuf *out, SvgPoint from, SvgPoint to, const char *kind) {
    strbuf_printf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                  kind, from.x, from.y, to.x, to.y);
}

void svg_path(StrBuf *out, const SvgPoint *points, uint32_t count, unsigned colour) {
    if (count < 2)
        return;
    strbuf_printf(out, "<polyline class=\"path s%u\" points=\"", colour);
    for (uint32_t i = 0; i < count; i++)
        strbuf_printf(out, "%s%.1f,%.1f", i ? " " : "", points[i].x, points[i].y);
    strbuf_puts(out, "\"/>\n");
}

void svg_dot(StrBuf *out, SvgPoint at, unsigned colour, const char *tells) {
    strbuf_printf(out, "<circle class=\"f%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"><title>", colour,
                  at.x, at.y, colour == SVG_GREY ? "2" : "4");
    add_escaped(out, str_from(tells));
    strbuf_puts(out, "</title></circle>\n");
}

void svg_bar(StrBuf *out, SvgPoint corner, double width, double height, unsigned colour,
             const char *tells) {
    strbuf_printf(out,
                  "<rect class=\"f%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                  "<title>",
                  colour, corner.x, corner.y, width > 0 ? width : 0, height);
    add_escaped(out, str_from(tells));
    strbuf_puts(out, "</title></rect>\n");
}

/* Text */

#define CHARACTER_WIDTH 7.6 /* of 12 pixels high, on average, in a wide font */

/* Characters, not bytes. */
static size_t characters(Str text) {
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return count;
}

double svg_text_width(Str text) {
    return CHARACTER_WIDTH * (double)characters(text);
}

/* Where the character numbered so begins. */
static size_t byte_of(Str text, size_t character) {
    size_t at = 0;
    for (size_t seen = 0; at < text.len; at++) {
        const bool begins = ((unsigned char)text.ptr[at] & 0xc0) != 0x80;
        if (begins && seen++ == character)
            break;
    }
    return at;
}

Str svg_fit(Arena *arena, Str text, double width) {
    const size_t count = characters(text), most = (size_t)fmax(width / CHARACTER_WIDTH, 5);
    if (count <= most)
        return text;
    const size_t left = (most - 3 + 1) / 2, right = most - 3 - left;
    const size_t from = byte_of(text, count - right);
    return str_from(str_format(arena, "%.*s...%.*s", (int)byte_of(text, left), text.ptr,
                               (int)(text.len - from), text.ptr + from));
}

/* Scales */

/* The largest of 1, 2, 5 times a power of ten that is not above. */
static double round_below(double value) {
    const double power = pow(10, floor(log10(value))), first = value / power;
    return power * (first >= 5 ? 5 : first >= 2 ? 2 : 1);
}

/* Between marks of a linear scale, of which there are five or more. */
static double linear_step(double high) {
    return round_below(high / 4.999);
}

SvgScale svg_scale(double least, double most, unsigned base, double from, double to) {
    SvgScale scale = {.from = from, .to = to, .base = base};
    if (base) {
        const double unit = log(base);
        scale.low = pow(base, floor(log(least) / unit + 1e-9));
        scale.high = pow(base, ceil(log(most) / unit - 1e-9));
        if (scale.high <= scale.low * 1.000001) {
            scale.low /= base;
            scale.high *= base;
        }
        return scale;
    }
    const double step = linear_step(most > 0 ? most : 1);
    scale.high = step * ceil((most > 0 ? most : 1) / step - 1e-9);
    return scale;
}

double svg_place(const SvgScale *scale, double value) {
    const double share = scale->base ? log(value / scale->low) / log(scale->high / scale->low)
                                     : (value - scale->low) / (scale->high - scale->low);
    return scale->from + share * (scale->to - scale->from);
}

uint32_t svg_ticks(const SvgScale *scale, uint32_t room, double ticks[SVG_MAX_TICKS]) {
    uint32_t count = 0;
    room = room > SVG_MAX_TICKS ? SVG_MAX_TICKS : room < 2 ? 2 : room;
    if (!scale->base) {
        double step = linear_step(scale->high - scale->low);
        while ((scale->high - scale->low) / step > room - 1 + 1e-9)
            step *= 2;
        for (double at = scale->low; at <= scale->high * (1 + 1e-9) && count < room; at += step)
            ticks[count++] = at;
        return count;
    }
    const int powers = (int)lround(log(scale->high / scale->low) / log(scale->base));
    const int stride = powers / (int)(room - 1) + (powers % (int)(room - 1) != 0);
    for (int i = 0; i <= powers && count < room; i += stride ? stride : 1)
        ticks[count++] = scale->low * pow(scale->base, i);
    return count;
}

const char *svg_number(Arena *arena, double value, unsigned base) {
    if (base == 2 && value >= 1 && value == floor(value) && value < 9e15) {
        static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
        int64_t whole = (int64_t)value;
        int unit = 0;
        while (unit < 5 && whole >= 8192 && whole % 1024 == 0) {
            whole /= 1024;
            unit++;
        }
        return str_format(arena, "%lld%s", (long long)whole, units[unit]);
    }
    return str_format(arena, fabs(value) >= 1e3 && fabs(value) < 1e6 ? "%.6g" : "%.3g", value);
}
