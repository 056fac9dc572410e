/* What is in many places of the report as JSON. */
#include "inspect/json_parts.h"

/* One file that was read more than once. */
static bool is_same_source(const Writer *w, uint32_t a, uint32_t b) {
    const Source *x = source_get(&w->ctx->sources, a), *y = source_get(&w->ctx->sources, b);
    return x->lines_before == y->lines_before && str_eq(x->path, y->path) &&
           str_eq(x->text, y->text);
}

uint32_t json_source(Writer *w, uint32_t file) {
    while (w->numbers.len <= file)
        vec_push(&w->ctx->arena, &w->numbers, 0);
    for (size_t i = 0; i < w->sources.len && !w->numbers.data[file]; i++)
        if (is_same_source(w, w->sources.data[i], file))
            w->numbers.data[file] = (uint32_t)i + 1;
    if (!w->numbers.data[file]) {
        vec_push(&w->ctx->arena, &w->sources, file);
        w->numbers.data[file] = (uint32_t)w->sources.len;
    }
    return w->numbers.data[file] - 1;
}

void json_place(Writer *w, TracePlace at) {
    if (at.file && at.line)
        strbuf_printf(w->out, "[%u, %u]", json_source(w, at.file), at.line);
    else
        strbuf_putc(w->out, '0');
}

void json_places(Writer *w, const TracePlaces *places) {
    strbuf_putc(w->out, '[');
    for (size_t i = 0; i < places->len; i++) {
        strbuf_puts(w->out, i ? ", " : "");
        json_place(w, places->data[i]);
    }
    strbuf_putc(w->out, ']');
}

void json_text(Writer *w, const char *name, const char *text) {
    strbuf_printf(w->out, "\"%s\": ", name);
    strbuf_json(w->out, str_from(text ? text : ""));
}

void json_real(Writer *w, double value) {
    if (value < 0.05 && value > -0.05)
        strbuf_putc(w->out, '0');
    else
        strbuf_printf(w->out, "%.1f", value);
}

void json_clocks(Writer *w, const char *name, double clocks) {
    strbuf_printf(w->out, ", \"%s\": ", name);
    json_real(w, clocks);
}
