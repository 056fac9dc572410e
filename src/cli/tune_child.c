/* `tilec tuner`: the process of `tilec tune` that measures. Standard input is the board, standard
 * output takes answers; what kernels print goes where messages go. */
#include "cli/run.h"
#include "cli/tune.h"
#include "runtime/api/function_compile.h"
#include "support/file.h"

#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Tuner {
    Ctx *ctx;
    TuneOptions options;
    ShapesFile shapes;
    TuneBoard *board;
    int answers;
    tile_context *context;
    tile_device *device;
} Tuner;

/* One shape. Its memory, on the host and the device, goes with it. */
typedef struct ShapeRun {
    Tuner *tuner;
    const Shape *shape;
    Ctx *ctx;
    RunArgs args;
    VEC(NamedText) texts; /* of each */
    tile_compile_options options;
    tile_function *function;
    tile_argument *arguments; /* of a call */
    size_t argument_count;
    tile_kernel_list *list; /* of the kernel alone */
    tile_diagnostics *said; /* by the library's last call */
    tile_status status;     /* of that one */
    StrBuf heard;           /* warnings and errors of all of them, rendered */
    Str found;              /* the answer's members from "configuration" on */
} ShapeRun;

static tile_text text_of_string(const char *string) {
    return string ? (tile_text){string, strlen(string)} : (tile_text){0};
}

/* What a call of the library gave and said, from here on the shape's. */
static bool hear(ShapeRun *run, tile_status status, tile_diagnostics *said) {
    for (size_t i = 0; said && i < tile_diagnostics_count(said); i++) {
        tile_diagnostic diagnostic = {.size = sizeof diagnostic};
        tile_diagnostics_get(said, i, &diagnostic);
        if (diagnostic.severity != TILE_REMARK)
            strbuf_add(&run->heard, diagnostic.rendered.data, diagnostic.rendered.size);
    }
    tile_diagnostics_destroy(run->said);
    run->said = said;
    run->status = status;
    return status == TILE_OK;
}

/* What the host sees */

static void note_run(void *user, const TuneEntry *entry, uint32_t looked, uint32_t count) {
    ShapeRun *run = user;
    TuneBoard *board = run->tuner->board;
    board->since = 0;
    board->looked = looked;
    board->count = count;
    if (!entry)
        return;
    const ArenaMark mark = arena_mark(&run->ctx->scratch);
    StrBuf text = strbuf(&run->ctx->scratch);
    strbuf_putc(&text, '{');
    tune_entry_members(entry, &text);
    strbuf_putc(&text, '}');
    board->entry_len = text.len <= sizeof board->entry ? (uint32_t)text.len : 0;
    memcpy(board->entry, text.ptr, board->entry_len);
    arena_rewind(&run->ctx->scratch, mark);
    board->since = tune_clock_ns();
}

static void note_found(void *user, const TuneCandidate *candidates, uint32_t count,
                       const Tuned *tuned) {
    ShapeRun *run = user;
    const uint32_t before = run->tuner->board->struck; /* by processes before this one */
    const bool is_best = tuned->best < count;
    const double ms = is_best ? candidates[tuned->best].record.ms : 0;
    StrBuf out = strbuf(&run->ctx->arena);
    strbuf_puts(&out, "\"configuration\": ");
    strbuf_json(&out, str_from(is_best ? candidates[tuned->best].text : ""));
    if (ms > 0)
        strbuf_printf(&out, ", \"ms\": %.6g", ms);
    else
        strbuf_puts(&out, ", \"ms\": null");
    strbuf_printf(&out, ", \"measured\": %u, \"known\": %u, \"struck_out\": [",
                  tuned->measured + before, tuned->known - before);
    bool is_first = true;
    for (uint32_t i = 0; i < count; i++) {
        if (!candidates[i].record.reason.len)
            continue;
        strbuf_puts(&out, is_first ? "{\"configuration\": " : ", {\"configuration\": ");
        strbuf_json(&out, str_from(candidates[i].text));
        strbuf_puts(&out, ", \"reason\": ");
        strbuf_json(&out, candidates[i].record.reason);
        strbuf_putc(&out, '}');
        is_first = false;
    }
    strbuf_putc(&out, ']');
    run->found = strbuf_str(&out);
}

/* What cannot be written the host does without: it begins the shape again, or gives it up. */
static void write_line(Tuner *t, Arena *arena, Str answer, int status, Str said) {
    StrBuf line = strbuf(arena);
    tune_write_line(&line, answer, status, said);
    if (file_write_all(t->answers, strbuf_str(&line)))
        _exit(STATUS_MACHINE);
}

/* The function */

static bool is_param(const ShapeRun *run, Str name, bool *is_constexpr) {
    tile_listed_kernel kernel = {.size = sizeof kernel};
    tile_kernel_list_get(run->list, 0, &kernel);
    for (size_t i = 0; i < kernel.param_count; i++) {
        tile_listed_param param = {.size = sizeof param};
        tile_kernel_list_get_param(run->list, 0, i, &param);
        *is_constexpr = param.is_constexpr;
        if (str_eq(text_str(param.name), name))
            return true;
    }
    *is_constexpr = false;
    return false;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Sizes that the kernel has no parameter for stand in the grid by their values. */
static tile_text grid_of(ShapeRun *run) {
    const Shape *shape = run->shape;
    const Str text = run->tuner->shapes.grid;
    StrBuf out = strbuf(&run->ctx->arena);
    for (size_t at = 0, end; at < text.len; at = end) {
        for (end = at; end < text.len && is_word(text.ptr[end]);)
            end++;
        const Str word = {text.ptr + at, end > at ? end - at : 1};
        uint32_t size = 0;
        bool is_constexpr;
        while (size < shape->name_count && !str_eq(shape->names[size], word))
            size++;
        if (size == shape->name_count || is_param(run, word, &is_constexpr)) {
            strbuf_add(&out, word.ptr, word.len);
        } else {
            strbuf_putc(&out, '(');
            host_print(shape->values[size], &out);
            strbuf_putc(&out, ')');
        }
        end = at + word.len;
    }
    return text_of(strbuf_str(&out));
}

/* Whether --vary lists values of the name. */
static bool is_varied(const ShapeRun *run, Str name) {
    const TextList *vary = &run->tuner->options.vary;
    for (size_t i = 0; i < vary->len; i++) {
        NamedText named = {{0}, {0}};
        cli_split_named(vary->data[i], "--vary", &named);
        if (str_eq(named.name, name))
            return true;
    }
    return false;
}

/* The options' constexprs, and what is varied, win over the shape's; a size that a constexpr of the
 * kernel is named after is its value. */
static void add_constexprs(ShapeRun *run) {
    const TextList *given = &run->tuner->options.kernel.defines;
    const Shape *shape = run->shape;
    tile_named *named =
        ARENA_ARRAY(&run->ctx->arena, tile_named, shape->constexpr_count + given->len + 1);
    size_t count = 0;
    for (size_t i = 0; i < given->len; i++) {
        NamedText define = {{0}, {0}};
        cli_split_named(given->data[i], "--define", &define); /* the host has checked it */
        named[count++] = (tile_named){text_of(define.name), text_of(define.text)};
    }
    for (uint32_t i = 0; i < shape->constexpr_count; i++) {
        bool is_given = is_varied(run, shape->constexprs[i].name);
        for (size_t k = 0; k < given->len; k++)
            is_given |= str_eq(text_str(named[k].name), shape->constexprs[i].name);
        if (!is_given)
            named[count++] = (tile_named){text_of(shape->constexprs[i].name),
                                          text_of(shape->constexprs[i].text)};
    }
    run->options.constexprs = named;
    run->options.constexpr_count = count;
}

/* Values to combine, which the host has looked at. */
static void add_lists(ShapeRun *run) {
    const TuneOptions *o = &run->tuner->options;
    tile_named *lists = ARENA_ARRAY(&run->ctx->arena, tile_named, o->vary.len + 1);
    for (size_t i = 0; i < o->vary.len; i++) {
        NamedText named = {{0}, {0}};
        cli_split_named(o->vary.data[i], "--vary", &named);
        lists[i] = (tile_named){text_of(named.name), text_of(named.text)};
    }
    run->options.tune = lists;
    run->options.tune_count = o->vary.len;
    run->options.tune_generated = o->generate || !o->vary.len;
}

static const tile_text *texts_of(Arena *arena, const TextList *list) {
    tile_text *texts = ARENA_ARRAY(arena, tile_text, list->len + 1);
    for (size_t i = 0; i < list->len; i++)
        texts[i] = text_of_string(list->data[i]);
    return texts;
}

static void fill_options(ShapeRun *run) {
    const TuneOptions *o = &run->tuner->options;
    const KernelOptions *kernel = &o->kernel;
    Arena *arena = &run->ctx->arena;
    run->options = (tile_compile_options){.size = sizeof run->options,
                                          .path = text_of_string(run->tuner->shapes.path),
                                          .kernel = text_of_string(kernel->kernel),
                                          .search_paths = texts_of(arena, &kernel->include),
                                          .search_path_count = kernel->include.len,
                                          .device = run->tuner->device,
                                          .num_warps = (int32_t)kernel->num_warps,
                                          .num_stages = (int32_t)kernel->num_stages,
                                          .num_ctas = (int32_t)kernel->num_ctas,
                                          .max_registers = (int32_t)kernel->max_registers,
                                          .max_shared = (int32_t)kernel->max_shared,
                                          .no_tensor_copies = kernel->no_tensor_copies,
                                          .no_persistence = kernel->no_persistence,
                                          .debug = kernel->debug,
                                          .sanitize_overflow = kernel->sanitize_overflow,
                                          .no_ftz = kernel->no_ftz,
                                          .deterministic = kernel->deterministic,
                                          .isolated = kernel->isolated,
                                          .warnings = texts_of(arena, &kernel->warnings),
                                          .warning_count = kernel->warnings.len,
                                          .tune_limit_ms = (uint32_t)o->limit_ms};
    add_constexprs(run);
    add_lists(run);
}

/* Its arguments */

static tile_dtype dtype_of(Elem elem) {
    static const struct {
        const char *name;
        tile_dtype type;
    } types[] = {
#define DTYPE(id, name, bytes) {name, id},
        TILE_DTYPES(DTYPE)
#undef DTYPE
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, elem_info[elem].text))
            return types[i].type;
    return TILE_DTYPE_AUTO;
}

/* Its memory on the device, which has no content yet. */
static bool set_array(ShapeRun *run, RunArg *arg, tile_argument *argument) {
    uint64_t address;
    tile_diagnostics *said = NULL;
    const tile_status status =
        tile_memory_allocate(run->tuner->device, arg->array.bytes, &address, &said);
    if (!hear(run, status, said))
        return false;
    arg->device = address;
    *argument = tile_buffer(address, dtype_of(arg->array.elem), arg->array.bytes);
    return true;
}

/* What arrays hold, once something is measured. */
static bool fill_arrays(void *user) {
    ShapeRun *run = user;
    Ctx *ctx = run->ctx;
    for (size_t i = 0; i < run->args.len; i++) {
        RunArg *arg = &run->args.data[i], part;
        if (!arg->device)
            continue;
        if (!run_read_part(ctx, &run->texts.data[i], (Span){0}, (uint32_t)i, RUN_PART_ELEMENTS,
                           &part))
            return false;
        arg->part = part.part;
        if (!run_fill_array(&run->tuner->device->device, &ctx->diags, arg))
            return false;
    }
    return true;
}

/* A constexpr is given as its literal, whatever made it. */
static void set_value(ShapeRun *run, HostValue value, bool is_constexpr, tile_argument *argument) {
    StrBuf text = strbuf(&run->ctx->arena);
    if (!is_constexpr && value.kind == HOST_INT) {
        *argument = tile_int(value.i);
    } else if (!is_constexpr && value.kind == HOST_FLOAT) {
        *argument = tile_float(value.f);
    } else if (!is_constexpr && value.kind == HOST_BOOL) {
        *argument = tile_int(value.i);
        argument->type = TILE_I1;
    } else {
        host_print(value, &text);
        *argument = tile_constexpr(text_of(strbuf_str(&text)));
    }
}

static bool set_argument(ShapeRun *run, RunArg *arg, bool is_constexpr, tile_argument *argument) {
    if (arg->is_none || is_constexpr) {
        const bool is_float = !arg->is_none && elem_is_float(arg->elem);
        set_value(run,
                  arg->is_none ? host_none()
                  : is_float   ? host_float(arg->number)
                               : host_int(arg->integer),
                  true, argument);
        return true;
    }
    if (arg->is_array)
        return set_array(run, arg, argument);
    *argument = elem_is_float(arg->elem) ? tile_float(arg->number) : tile_int(arg->integer);
    argument->type = dtype_of(arg->elem);
    return true;
}

/* Argument i of a call; `there`: whether there is one. */
static bool find_argument(ShapeRun *run, uint32_t i, bool *there) {
    const Str name = run->function->params[i];
    const Shape *shape = run->shape;
    RunArg *arg = run_find_arg(&run->args, name);
    bool is_constexpr;
    is_param(run, name, &is_constexpr);
    *there = true;
    if (arg)
        return set_argument(run, arg, is_constexpr, &run->arguments[i]);
    for (uint32_t k = 0; k < shape->size_count; k++)
        if (str_eq(shape->names[k], name)) {
            set_value(run, shape->values[k], is_constexpr, &run->arguments[i]);
            return true;
        }
    *there = false;
    return true;
}

static bool report_missing(ShapeRun *run, Str name) {
    ctx_diag(run->ctx, (Span){0}, run_argument_missing, STR_ARG(name), 1, "?");
    diag_hint(&run->ctx->diags, "add it to \"args\", or -a %.*s=..", STR_ARG(name));
    return false;
}

/* In the order of the parameters; only the last ones may be left out, where they have defaults. */
static bool order_arguments(ShapeRun *run) {
    const tile_function *function = run->function;
    run->arguments = ARENA_ARRAY(&run->ctx->arena, tile_argument, function->param_count + 1);
    bool left_out = false, there;
    for (uint32_t i = 0; i < function->param_count; i++) {
        if (!find_argument(run, i, &there))
            return false;
        if (there && left_out)
            return report_missing(run, function->params[i - 1]);
        if (!there && i < function->required_count)
            return report_missing(run, function->params[i]);
        left_out |= !there;
        run->argument_count += there;
    }
    for (size_t i = 0; i < run->args.len; i++) {
        bool is_param = false;
        for (uint32_t k = 0; k < function->param_count; k++)
            is_param |= str_eq(run->args.data[i].name, function->params[k]);
        if (!is_param)
            return ctx_diag(run->ctx, (Span){0}, tune_argument, STR_ARG(run->args.data[i].name),
                            STR_ARG(function->name));
    }
    return true;
}

static bool read_argument(ShapeRun *run, NamedText text) {
    RunArg arg;
    if (!run_read_part(run->ctx, &text, (Span){0}, 0, 0, &arg))
        return false;
    vec_push(&run->ctx->arena, &run->texts, text);
    vec_push(&run->ctx->arena, &run->args, arg);
    return true;
}

/* Those of the options, and the shape's others. */
static bool read_arguments(ShapeRun *run) {
    const TextList *given = &run->tuner->options.kernel.arguments;
    for (size_t i = 0; i < given->len; i++) {
        NamedText text = {{0}, {0}};
        cli_split_named(given->data[i], "--arg", &text); /* the host has checked it */
        if (run_find_arg(&run->args, text.name))
            return ctx_diag(run->ctx, (Span){0}, run_argument_twice, STR_ARG(text.name));
        if (!read_argument(run, text))
            return false;
    }
    for (uint32_t i = 0; i < run->shape->arg_count; i++) {
        const ShapeArg *arg = &run->shape->args[i];
        if (!run_find_arg(&run->args, arg->name) &&
            !read_argument(run, (NamedText){arg->name, arg->text}))
            return false;
    }
    return true;
}

static bool make_function(ShapeRun *run) {
    tile_context *context = run->tuner->context;
    fill_options(run);
    tile_diagnostics *said = NULL;
    tile_status status = tile_kernel_list_create(context, &run->options, &run->list, &said);
    if (!hear(run, status, said))
        return false;
    run->options.grid = grid_of(run);
    said = NULL;
    status = tile_function_create(context, &run->options, &run->function, &said);
    if (!hear(run, status, said))
        return false;
    return run->function->choose ||
           ctx_diag(run->ctx, (Span){0}, tune_nothing, STR_ARG(run->function->name));
}

/* Why there is no configuration: what was found here, or what the library says. */
static void answer_failure(ShapeRun *run) {
    Ctx *ctx = run->ctx;
    StrBuf said = strbuf(&ctx->arena), json = strbuf(&ctx->arena);
    int status = cli_status(ctx);
    if (ctx->diags.errors) {
        diag_print_all(&ctx->diags, &said);
        diag_json(&ctx->diags, &json);
    } else {
        status = cli_exit_status(run->status);
        said = run->heard;
        strbuf_puts(&json, run->said ? tile_diagnostics_json(run->said).data : "[]");
    }
    const Str answer = tune_failed_answer(&ctx->arena, run->shape->text, strbuf_str(&json));
    write_line(run->tuner, &ctx->arena, answer, status, strbuf_str(&said));
}

static void answer_found(ShapeRun *run) {
    Ctx *ctx = run->ctx;
    StrBuf answer = strbuf(&ctx->arena);
    strbuf_puts(&answer, "{\"shape\": ");
    strbuf_json(&answer, str_from(run->shape->text));
    strbuf_puts(&answer, ", \"ok\": true, \"kernel\": ");
    strbuf_json(&answer, run->function->name);
    strbuf_printf(&answer, ", %.*s, \"diagnostics\": %s}", STR_ARG(run->found),
                  run->said ? tile_diagnostics_json(run->said).data : "[]");
    write_line(run->tuner, &ctx->arena, strbuf_str(&answer), STATUS_OK, strbuf_str(&run->heard));
}

/* A device that is lost goes with the process, which gives nothing back; what lost it is kept, or,
 * if that is no configuration, is the shape's answer. */
static void leave_if_lost(ShapeRun *run) {
    const bool is_stuck = *device_stuck(&run->tuner->device->device);
    if (!is_stuck && run->status != TILE_ERROR_KERNEL && run->status != TILE_ERROR_DEVICE_LOST)
        return;
    if (!run->tuner->board->since)
        answer_failure(run);
    _exit(TUNER_LOST);
}

static void measure(void *user) {
    ShapeRun *run = user;
    const tile_executable *executable;
    bool ok = read_arguments(run) && make_function(run) && order_arguments(run);
    if (ok) {
        tile_diagnostics *said = NULL;
        const tile_status status =
            tile_function_instance(run->function, run->tuner->device, run->arguments,
                                   run->argument_count, &executable, &said);
        ok = hear(run, status, said) && !run->ctx->diags.errors;
        leave_if_lost(run);
    }
    (ok ? answer_found : answer_failure)(run);
}

static void end_shape(void *user) {
    ShapeRun *run = user;
    for (size_t i = 0; i < run->args.len; i++)
        if (run->args.data[i].device)
            tile_memory_free(run->tuner->device, run->args.data[i].device);
    tile_diagnostics_destroy(run->said);
    tile_kernel_list_destroy(run->list);
    tile_function_destroy(run->function);
}

static void tune_shape(Tuner *t, const Shape *shape) {
    Ctx *ctx = ctx_create();
    if (!ctx || setjmp(ctx->oom))
        _exit(STATUS_MACHINE);
    ShapeRun *run = ARENA_NEW(&ctx->arena, ShapeRun);
    const TuneWatch watch = {fill_arrays, note_run, note_found, run};
    *run = (ShapeRun){.tuner = t, .shape = shape, .ctx = ctx, .heard = strbuf(&ctx->arena)};
    t->context->tune_watch = &watch;
    ctx_finally(ctx, measure, end_shape, run);
    t->context->tune_watch = NULL;
    ctx_destroy(ctx);
}

/* The process */

static bool open_board(Tuner *t) {
    struct stat info;
    if (fstat(STDIN_FILENO, &info) || info.st_size != sizeof *t->board)
        return false;
    t->board = mmap(NULL, sizeof *t->board, PROT_READ | PROT_WRITE, MAP_SHARED, STDIN_FILENO, 0);
    t->answers = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    return t->board != MAP_FAILED && t->answers >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

static tile_status open_device(Tuner *t, tile_diagnostics **said) {
    const KernelOptions *kernel = &t->options.kernel;
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text_of_string(kernel->cache),
                                          .ptxas = text_of_string(kernel->ptxas),
                                          .trusted_caches = text_of_string(kernel->trusted_caches),
                                          .remote_cache = text_of_string(kernel->remote_cache),
                                          .memory_limit = (size_t)kernel->memory_limit << 20,
                                          .time_limit_ms = (uint32_t)(1000 * kernel->time_limit),
                                          .compile_limit_ms =
                                              (uint32_t)(1000 * kernel->compile_limit)};
    const tile_status status = tile_context_create(&options, &t->context);
    return status != TILE_OK ? status
                             : tile_device_open(t->context, (int)t->options.gpu, &t->device, said);
}

int command_tuner(Ctx *ctx, int argc, char **argv) {
    Tuner t = {.ctx = ctx};
    TextList arguments = {0};
    tile_diagnostics *said = NULL;
    if (!open_board(&t))
        return cli_usage_error("tilec tuner is started by tilec tune");
    if (tune_parse(ctx, argc, argv, &t.options, &arguments) != OPTIONS_OK ||
        tune_shapes(ctx, &t.options, &arguments, &t.shapes) != STATUS_OK)
        return STATUS_INPUT; /* the files are others meanwhile */
    const tile_status status = open_device(&t, &said);
    if (status != TILE_OK) {
        const Str json = said ? text_str(tile_diagnostics_json(said)) : STR("[]");
        write_line(&t, &ctx->arena, tune_failed_answer(&ctx->arena, NULL, json),
                   cli_exit_status(status), text_str(tile_diagnostics_text(said)));
    }
    for (uint32_t i = t.board->first; status == TILE_OK && i < t.shapes.count; i++) {
        t.board->shape = i;
        t.board->since = 0;
        t.board->looked = t.board->count = 0;
        tune_shape(&t, &t.shapes.shapes[i]);
        t.board->struck = 0;
    }
    tile_diagnostics_destroy(said);
    tile_device_close(t.device);
    tile_context_destroy(t.context);
    return status == TILE_OK ? STATUS_OK : cli_exit_status(status);
}
