/* Lists and dictionaries of functions that are evaluated at compile time: objects, as in Python;
 * whoever holds one sees what others do to it.
 *
 * An object is changed only in such functions. One that leaves them, to a kernel or to the globals
 * of a file, is fixed from then on: a kernel's code is elaborated more than once in places, and
 * what a file holds would change from one compilation to the next. */
#ifndef TILEC_FRONTEND_OBJECTS_H
#define TILEC_FRONTEND_OBJECTS_H
#include "frontend/elaborate.h"

typedef enum ViewOf { VIEW_KEYS, VIEW_VALUES, VIEW_ITEMS } ViewOf;
typedef enum IteratorForm { ITERATOR_ZIP, ITERATOR_ENUMERATE, ITERATOR_REVERSED } IteratorForm;

/* No object lies within itself, and none within more than MAX_TUPLE_DEPTH others: walks end. */
struct Object {
    Val *keys; /* of a dictionary in the order in which they came; else NULL */
    Val *items;
    uint32_t count, capacity;
    uint32_t above;   /* objects and tuples that it lies within, at most */
    uint32_t resizes; /* of a dictionary: keys that came and went */
    bool is_fixed;
    const Object *of; /* VAL_VIEW: the dictionary */
    ViewOf view;
    IteratorForm form; /* VAL_ITERATOR: of what is in `items` */
    uint32_t height;   /* iterators that it goes through, one in another */
    int64_t next;
};

/* Of a list, a dictionary or a view. */
static inline uint32_t object_count(Val v) {
    return v.kind == VAL_VIEW ? v.object->of->count : v.object->count;
}
/* A list of copies; VAL_ERROR after a report. */
Val object_list(Elab *e, Span span, const Val *items, uint32_t count);
/* What Python has as a list: one in functions evaluated at compile time, else a tuple. */
Val object_sequence(Elab *e, Span span, const Val *items, uint32_t count);
Val object_dict(Elab *e);
Val object_iterator(Elab *e, Span span, IteratorForm form, const Val *of, uint32_t count,
                    int64_t first);

/* False after a report: it is fixed. */
bool object_may_change(Elab *e, Span span, Val v);
/* Puts the `n` values in the place of `removed` ones from `at` on. False after a report. */
bool object_splice(Elab *e, Span span, Val list, uint32_t at, uint32_t removed, const Val *items,
                   uint32_t n);
bool object_set_item(Elab *e, Span span, Val list, uint32_t at, Val v);
/* The place of a key; the count: it is not there. False after a report. */
bool object_find(Elab *e, Span span, Val dict, Val key, uint32_t *at);
bool object_set_key(Elab *e, Span span, Val dict, Val key, Val v);
void object_remove_key(Val dict, uint32_t at);

/* base[index] = v, with `v` NULL del base[index]. False after a report. */
bool object_store(Elab *e, Span span, Val base, Val index, const Val *v);
/* a += b and the like in place; false: it is no operation of a list or a dictionary. */
bool object_update(Elab *e, Span span, AstOperator op, Val a, Val b, Val *out);

Val object_view(Elab *e, Val dict, ViewOf of);

/* Going through a value, of which others may change what is yet to come. */
typedef struct Iteration {
    Val of;
    int64_t next;
    uint32_t resizes;
} Iteration;
/* False after a report: it has no elements. */
bool iteration_start(Elab *e, Span span, Val v, Iteration *out);
/* False at the end, and after a report. */
bool iteration_next(Elab *e, Span span, Iteration *iteration, Val *item);
/* The elements that are left, as an array. */
bool iteration_items(Elab *e, Span span, Val v, const Val **items, uint32_t *count);

bool object_equal(Val a, Val b);
void object_print(Val v, StrBuf *out);
/* Counts the work of a walk over all that lies in a value; false after a report. */
bool object_measure(Elab *e, Span span, Val v);

/* What a kernel, or a file's globals, get: it is fixed, and a list of run-time values is a tuple.
 */
Val object_leave(Elab *e, Span span, Val v);
/* With tuples in the place of all lists. */
Val object_tuples(Elab *e, Val v);

/* Methods of lists, dictionaries and tuples, and the functions of Python that are for them
 * (builtins_objects.c); NULL: there is none. */
const Builtin *object_method(Val v, Str name);
const Builtin *object_function(Str name);
/* Is it `dict`, a function and a class? Calls of it are object_make_dict's. */
bool object_is_dict_class(const Builtin *row);
Val object_make_dict(Elab *e, Span span, const Arg *args, uint32_t count);
#endif
