/* The page: page/report.html, in which stand for its parts
 *
 *     {{style}}    page/report.css
 *     {{script}}   page/report*.js, one behind the other
 *     {{report}}   the JSON, in a <script type="application/json">
 *
 * All of it is text of this program; nothing is loaded from elsewhere. Inside a script element only
 * `</script` and `<!--` mean something to a reader of HTML: the JSON has \u003c for each `<`, which
 * stands in strings alone, so that no text of a source can end the element. */
#include "inspect/report.h"

extern const char report_html_text[], report_css_text[], report_js_text[];
extern const unsigned report_html_size, report_css_size, report_js_size;

static void put_json(Str json, StrBuf *out) {
    size_t from = 0;
    for (size_t i = 0; i < json.len; i++) {
        if (json.ptr[i] != '<')
            continue;
        strbuf_add(out, json.ptr + from, i - from);
        strbuf_puts(out, "\\u003c");
        from = i + 1;
    }
    strbuf_add(out, json.ptr + from, json.len - from);
}

static bool takes(Str *rest, const char *word) {
    const size_t len = strlen(word);
    if (rest->len < len || memcmp(rest->ptr, word, len) != 0)
        return false;
    *rest = (Str){rest->ptr + len, rest->len - len};
    return true;
}

void report_page(const Report *reports, uint32_t count, StrBuf *out) {
    StrBuf json = strbuf(out->arena);
    report_json(reports, count, &json);
    Str rest = {report_html_text, report_html_size};
    while (rest.len) {
        const char *open = memchr(rest.ptr, '{', rest.len);
        const size_t len = open ? (size_t)(open - rest.ptr) : rest.len;
        strbuf_add(out, rest.ptr, len);
        rest = (Str){rest.ptr + len, rest.len - len};
        if (takes(&rest, "{{style}}")) {
            strbuf_add(out, report_css_text, report_css_size);
        } else if (takes(&rest, "{{script}}")) {
            strbuf_add(out, report_js_text, report_js_size);
        } else if (takes(&rest, "{{report}}")) {
            put_json(strbuf_str(&json), out);
        } else if (rest.len) {
            strbuf_putc(out, rest.ptr[0]);
            rest = (Str){rest.ptr + 1, rest.len - 1};
        }
    }
}
