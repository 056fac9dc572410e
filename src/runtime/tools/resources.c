/* Resources as ptxas and the driver's linker report them:
 *
 *     ptxas info    : Function properties for softmax
 *         0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Used 32 registers, used 1 barriers, 64 bytes smem */
#include "runtime/tools/resources.h"

void resources_occupancy(Resources *resources, const Target *target, int32_t threads,
                         int32_t dynamic_shared) {
    if (threads <= 0)
        return;
    Occupancy occupancy = target_occupancy(target, resources->registers, threads,
                                           dynamic_shared + resources->static_shared);
    resources->blocks_per_sm = occupancy.ctas;
    resources->warps_per_sm = occupancy.warps;
    resources->occupancy = (double)occupancy.warps / occupancy.max_warps;
}

static Str next_line(Str *rest) {
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    Str line = {rest->ptr, len};
    size_t skip = end ? len + 1 : len;
    *rest = (Str){rest->ptr + skip, rest->len - skip};
    return line;
}

static bool contains(Str text, Str part) {
    return part.len && text.len >= part.len && memmem(text.ptr, text.len, part.ptr, part.len);
}

/* The number in front of `label` in the line; unchanged when the label is absent. */
static void number_before(Str line, const char *label, int32_t *number) {
    const char *at = line.len ? memmem(line.ptr, line.len, label, strlen(label)) : NULL;
    if (!at)
        return;
    const char *p = at;
    while (p > line.ptr && p[-1] >= '0' && p[-1] <= '9')
        p--;
    int64_t value = 0;
    for (; p < at && value < INT32_MAX / 10; p++)
        value = value * 10 + (*p - '0');
    *number = (int32_t)value;
}

/* True when the line names the function, as a whole word at its end. */
static bool names_function(Str line, Str kernel) {
    if (!contains(line, STR("Function properties for ")) || line.len < kernel.len + 1)
        return false;
    Str tail = {line.ptr + line.len - kernel.len, kernel.len};
    return str_eq(tail, kernel) && tail.ptr[-1] == ' ';
}

bool resources_parse(Str log, Str kernel, Resources *resources) {
    bool inside = false;
    while (log.len) {
        Str line = next_line(&log);
        if (contains(line, STR("Function properties for ")))
            inside = names_function(line, kernel);
        if (!inside)
            continue;
        number_before(line, " bytes stack frame", &resources->stack_bytes);
        number_before(line, " bytes spill stores", &resources->spill_stores);
        number_before(line, " bytes spill loads", &resources->spill_loads);
        if (contains(line, STR("Used "))) {
            number_before(line, " registers", &resources->registers);
            number_before(line, " bytes smem", &resources->static_shared);
            resources->known = true;
        }
    }
    return resources->known;
}
