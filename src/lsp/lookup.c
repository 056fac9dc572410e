/* See lookup.h. */
#include "lsp/lookup.h"

#include "lsp/walk.h"

static const KernelAnalysis *following(Lookup *lookup) {
    const KernelAnalysis *next = lookup->kernel          ? lookup->kernel->next
                                 : lookup->document->now ? lookup->document->now->kernels
                                                         : NULL;
    if (!next && !lookup->is_good) {
        lookup->is_good = true;
        next = lookup->document->good;
    }
    return next;
}

bool lookup_next(Lookup *lookup) {
    const Str bytes = lookup->document->text.bytes;
    while ((lookup->kernel = following(lookup)))
        if (lookup->kernel->syntax && lookup->kernel->is_typed &&
            text_follow(bytes, lookup->kernel->text.bytes, lookup->offset, &lookup->at))
            return true;
    return false;
}

bool lookup_span(const Lookup *lookup, Span span, uint32_t *lo, uint32_t *hi) {
    const Str before = lookup->kernel->text.bytes, after = lookup->document->text.bytes;
    return text_follow(before, after, span.lo, lo) && text_follow(before, after, span.hi, hi) &&
           *hi - *lo == span.hi - span.lo;
}

const Seen *lookup_variable(const Document *document, uint32_t offset, Str name) {
    Lookup lookup = lookup_at(document, offset);
    while ((lookup.kernel = following(&lookup))) {
        const KernelAnalysis *kernel = lookup.kernel;
        if (!kernel->syntax || !kernel->is_typed)
            continue;
        lookup.at = text_near(document->text.bytes, kernel->text.bytes, offset);
        const FuncDef *def = walk_function_at(kernel->syntax, kernel->text.bytes, lookup.at);
        const Span extent = def ? walk_extent(def) : (Span){0};
        const Seen *found = NULL;
        for (const Seen *seen = kernel->variables; seen && def; seen = seen->next) {
            if (!str_eq(seen->name, name) || seen->span.lo < extent.lo || seen->span.lo > extent.hi)
                continue;
            const bool is_before = seen->span.lo <= lookup.at;
            if (!found ||
                (is_before && (found->span.lo > lookup.at || found->span.lo < seen->span.lo)))
                found = seen;
        }
        if (found)
            return found;
    }
    return NULL;
}
