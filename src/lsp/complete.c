/* textDocument/completion: names in scope, members of modules and values, keyword arguments. */
#include "frontend/builtins.h"
#include "lsp/callee.h"
#include "lsp/describe.h"
#include "lsp/lookup.h"

typedef enum ItemKind {
    ITEM_METHOD = 2,
    ITEM_FUNCTION = 3,
    ITEM_FIELD = 5,
    ITEM_VARIABLE = 6,
    ITEM_CLASS = 7,
    ITEM_MODULE = 9,
    ITEM_PROPERTY = 10,
    ITEM_KEYWORD = 14,
    ITEM_CONSTANT = 21,
    ITEM_TYPE = 25
} ItemKind;

typedef struct Item {
    Str label;
    ItemKind kind;
    char order; /* those of a smaller one come first */
    Str detail;
    const Builtin *builtin; /* whose text completionItem/resolve gives; NULL: none */
    Str documentation;
} Item;

typedef struct Completion {
    Session *session;
    const Document *document;
    Arena *arena;
    Scope scope;
    uint32_t offset;
    StrBuf *out;
    VEC(Str) labels; /* each stands there once */
} Completion;

static void add_item(Completion *c, const Item *item) {
    vec_for_each (label, &c->labels)
        if (str_eq(*label, item->label))
            return;
    strbuf_printf(c->out, "%s{\"label\": ", c->labels.len ? ", " : "");
    strbuf_json(c->out, item->label);
    strbuf_printf(c->out, ", \"kind\": %d, \"sortText\": ", item->kind);
    strbuf_json(c->out,
                str_from(str_format(c->arena, "%c%.*s", item->order, STR_ARG(item->label))));
    if (item->detail.len) {
        strbuf_puts(c->out, ", \"detail\": ");
        strbuf_json(c->out, item->detail);
    }
    if (item->documentation.len) {
        strbuf_puts(c->out, ", \"documentation\": ");
        strbuf_json(c->out, item->documentation);
    }
    if (item->builtin)
        strbuf_printf(c->out, ", \"data\": {\"builtin\": %d}", (int)(item->builtin - builtins));
    strbuf_putc(c->out, '}');
    vec_push(c->arena, &c->labels, item->label);
}

static void add_plain(Completion *c, const char *label, ItemKind kind, char order,
                      const char *detail) {
    add_item(c, &(Item){str_from(label), kind, order, str_from(detail), NULL, {0}});
}

/* The language */

static void add_builtin(Completion *c, const Builtin *row, ItemKind kind, char order) {
    if (row->handler == builtin_not_covered)
        return;
    StrBuf detail = strbuf(c->arena);
    signatures_print(&c->session->signatures, row, &detail);
    const bool is_called = row->handler || (row->flags & BUILTIN_STD) || detail.len;
    const char *text = is_called ? str_format(c->arena, "(%s)", detail.ptr ? detail.ptr : "") : "";
    add_item(c, &(Item){str_from(row->name), kind, order, str_from(text), row, {0}});
}

static void add_builtins(Completion *c, uint32_t modules, char order) {
    for (int i = 0; i < BUILTIN_COUNT; i++)
        if (builtins[i].modules & modules)
            add_builtin(c, &builtins[i], ITEM_FUNCTION, order);
}

static void add_modules(Completion *c, Str path) {
    uint32_t contents;
    const char *name;
    for (uint32_t i = 0; (name = elab_language_module(i, &contents)); i++) {
        const Str module = str_from(name);
        if (module.len <= path.len + 1 || memcmp(module.ptr, path.ptr, path.len) != 0 ||
            module.ptr[path.len] != '.')
            continue;
        const Str below = {module.ptr + path.len + 1, module.len - path.len - 1};
        if (!memchr(below.ptr, '.', below.len))
            add_item(c, &(Item){below, ITEM_MODULE, '2', {0}, NULL, {0}});
    }
}

static void add_module_members(Completion *c, Str path) {
    uint32_t contents;
    add_modules(c, path);
    if (!language_module(path, &contents))
        return;
    add_builtins(c, contents, '1');
    for (int i = 0; i < ELEM_COUNT && (contents & IN_TL); i++)
        add_item(
            c,
            &(Item){
                str_from(elem_info[i].name), ITEM_TYPE, '1', str_from("element type"), NULL, {0}});
}

/* Files */

static void add_function(Completion *c, const FuncDef *def, Str text, char order) {
    StrBuf detail = strbuf(c->arena), words = strbuf(c->arena);
    put_function(&detail, def, text);
    if (def->docstring.len)
        put_docstring(&words, def->docstring);
    add_item(
        c, &(Item){def->name, ITEM_FUNCTION, order, strbuf_str(&detail), NULL, strbuf_str(&words)});
}

static void add_target(Completion *c, const Expr *target, char order) {
    if (target->kind == EXPR_name)
        add_item(c, &(Item){target->u.name, ITEM_CONSTANT, order, {0}, NULL, {0}});
    for (uint32_t i = 0;
         (target->kind == EXPR_tuple || target->kind == EXPR_list) && i < target->u.list.count; i++)
        add_target(c, target->u.list.items[i], order);
}

static void add_import(Completion *c, const Stmt *stmt, char order) {
    for (uint32_t i = 0; i < stmt->u.import.name_count; i++) {
        const ImportName *import = &stmt->u.import.names[i];
        Str name = import->alias;
        for (size_t k = 0; k < name.len; k++)
            if (name.ptr[k] == '.')
                name.len = k;
        if (!str_is(name, "*"))
            add_item(c, &(Item){name,
                                stmt->u.import.is_from ? ITEM_VARIABLE : ITEM_MODULE,
                                order,
                                {0},
                                NULL,
                                {0}});
    }
}

static void add_globals(Completion *c, const ScopeFile *file, char order, bool with_imports) {
    for (uint32_t i = file->syntax->body.count; i-- > 0;) {
        const Stmt *stmt = file->syntax->body.items[i];
        switch ((int)stmt->kind) {
        case STMT_def:
            add_function(c, stmt->u.def, file->text, order);
            break;
        case STMT_class:
            add_item(c, &(Item){stmt->u.class_def->name, ITEM_CLASS, order, {0}, NULL, {0}});
            break;
        case STMT_assign:
            for (uint32_t k = 0; k < stmt->u.assign.targets.count; k++)
                add_target(c, stmt->u.assign.targets.items[k], order);
            break;
        case STMT_annassign:
            add_target(c, stmt->u.annassign.target, order);
            break;
        case STMT_import:
            if (with_imports)
                add_import(c, stmt, order);
            break;
        default:
            break;
        }
    }
}

/* Functions */

static void add_local(void *user, Str name, Span span) {
    Completion *c = user;
    StrBuf detail = strbuf(c->arena);
    const Seen *seen = lookup_variable(c->document, c->offset, name);
    if (seen)
        put_type(&detail, &seen->values[0]);
    add_item(c, &(Item){name, ITEM_VARIABLE, '1', strbuf_str(&detail), NULL, {0}});
}

static void add_names(Completion *c) {
    const FuncDef *def = c->scope.def;
    for (uint32_t i = 0; def && i < def->param_count; i++)
        add_local(c, def->params[i].name, def->params[i].span);
    if (def)
        scope_bindings(def, add_local, c);
    add_globals(c, c->scope.home, '2', true);
    add_builtins(c, IN_PYTHON, '3');
    const char *word;
    for (size_t i = 0; (word = text_keyword(i)); i++)
        add_plain(c, word, ITEM_KEYWORD, '4', "");
}

static void add_keywords(Completion *c, const Cursor *cursor) {
    Callee callee;
    if (!callee_find(&c->scope, c->document, c->offset, cursor->callee, &callee))
        return;
    for (size_t i = callee.is_method; i < callee.params.len; i++) {
        const CalleeParam *param = &callee.params.data[i];
        bool is_given = param->star != 0 || !param->name.len;
        for (size_t k = 0; k < cursor->given.len; k++)
            is_given |= str_eq(cursor->given.data[k], param->name);
        if (is_given || (!cursor->given.len && i < cursor->argument + callee.is_method))
            continue;
        const Str label = str_from(str_format(c->arena, "%.*s=", STR_ARG(param->name)));
        add_item(c, &(Item){label, ITEM_FIELD, '0', param->text, NULL, {0}});
    }
}

/* Members */

static void add_tile_members(Completion *c) {
    static const char *const properties[][2] = {{"dtype", "the element type"},
                                                {"shape", "the extents"},
                                                {"type", "the type"},
                                                {"numel", "the number of elements"},
                                                {"T", "transposed, of two dimensions"}};
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        add_plain(c, properties[i][0], ITEM_PROPERTY, '1', properties[i][1]);
    for (int i = 0; i < BUILTIN_COUNT; i++)
        if ((builtins[i].flags & BUILTIN_METHOD) && !(builtins[i].modules & IN_STD))
            add_builtin(c, &builtins[i], ITEM_METHOD, '1');
}

static void add_block_members(Completion *c, bool is_descriptor) {
    add_plain(c, "dtype", ITEM_PROPERTY, '1', "the element type");
    for (int i = 0; i < BUILTIN_COUNT; i++)
        if (builtins[i].flags & (is_descriptor ? BUILTIN_OF_DESCRIPTOR : BUILTIN_OF_BLOCK_POINTER))
            add_builtin(c, &builtins[i], ITEM_METHOD, '1');
    static const char *const properties[] = {"shape", "strides", "block_shape", "block_type"};
    for (size_t i = 0; is_descriptor && i < sizeof properties / sizeof *properties; i++)
        add_plain(c, properties[i], ITEM_PROPERTY, '1', "");
}

static void add_members(Completion *c, Str base) {
    const Meaning meaning =
        base.len && base.ptr[0] != '.' ? scope_find(&c->scope, base) : (Meaning){0};
    uint32_t contents;
    if (meaning.kind == MEANS_FILE) {
        add_globals(c, meaning.file, '1', false);
    } else if (meaning.kind == MEANS_MODULE) {
        add_module_members(c, meaning.path);
    } else if (meaning.kind == MEANS_NOTHING && language_module(base, &contents)) {
        add_module_members(c, base);
    } else if (meaning.kind != MEANS_TYPE && meaning.kind != MEANS_BUILTIN) {
        const Seen *seen = base.len ? lookup_variable(c->document, c->offset, base) : NULL;
        const Val *value = seen ? &seen->values[0] : NULL;
        if (value && value->kind == VAL_BLOCK)
            add_block_members(c, value->block.info->is_descriptor);
        else if (value && value->kind == VAL_STRING)
            for (int i = 0; i < BUILTIN_COUNT; i++) {
                if (builtins[i].flags & BUILTIN_OF_TEXT)
                    add_builtin(c, &builtins[i], ITEM_METHOD, '1');
            }
        else if (!value || value->kind == VAL_TILE)
            add_tile_members(c);
    }
}

void lsp_completion(Session *session, const Json *params, Answer *answer) {
    Completion c = {.session = session, .arena = &answer->ctx->arena, .out = &answer->result};
    Document *document = param_document_at(session, params, answer, &c.offset);
    if (!document || !document_refresh(session, document))
        return;
    c.document = document;
    const Cursor cursor = cursor_at(c.arena, document->text.bytes, c.offset);
    uint32_t at = c.offset;
    if (cursor.in_text || !scope_open(&c.scope, session, document, answer->ctx, &at))
        return;
    strbuf_puts(c.out, "{\"isIncomplete\": false, \"items\": [");
    if (cursor.is_member) {
        add_members(&c, cursor.base);
    } else {
        if (cursor.in_call && cursor.begins)
            add_keywords(&c, &cursor);
        add_names(&c);
    }
    strbuf_puts(c.out, "]}");
}

/* Gives the item back with its documentation. */
void lsp_completion_resolve(Session *session, const Json *params, Answer *answer) {
    uint32_t number;
    Str label;
    if (!param_text(params, "label", &label)) {
        answer_fail(answer, LSP_INVALID_PARAMS, "label is missing");
        return;
    }
    StrBuf *out = &answer->result;
    strbuf_putc(out, '{');
    for (uint32_t i = 0; i < params->count; i++) {
        const JsonMember *member = &params->members[i];
        const Source *source = source_get(&answer->ctx->sources, member->value->span.file);
        if (str_is(member->name, "documentation") || !source)
            continue;
        strbuf_puts(out, out->len > 1 ? ", " : "");
        strbuf_json(out, member->name);
        strbuf_printf(out, ": %.*s", (int)(member->value->span.hi - member->value->span.lo),
                      source->text.ptr + member->value->span.lo);
    }
    StrBuf text = strbuf(&answer->ctx->arena);
    Str given;
    if (param_number(params, "data.builtin", &number) && number < BUILTIN_COUNT)
        put_builtin(&text, session, &builtins[number], session->takes_markdown);
    else if (param_text(params, "documentation", &given))
        strbuf_add(&text, given.ptr, given.len);
    if (text.len) {
        strbuf_printf(out, ", \"documentation\": {\"kind\": \"%s\", \"value\": ",
                      session->takes_markdown ? "markdown" : "plaintext");
        strbuf_json(out, strbuf_str(&text));
        strbuf_putc(out, '}');
    }
    strbuf_putc(out, '}');
}
