/* Configurations of @triton.autotune: as Python would make them, or none. */
#include "frontend/autotune.h"
#include "frontend/frontend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define HEAD "import triton\nimport triton.language as tl\nimport torch\nimport os, itertools\n"
#define KERNEL                                                                                     \
    "@triton.jit\ndef k(x, n, m, BLOCK: tl.constexpr = 1, ACC: tl.constexpr = None):\n    pass\n"

typedef struct Reading {
    Ctx *ctx;
    uint32_t file;
    const FuncDef *def;
    Autotune autotune;
    bool ok;
} Reading;

static void read_source(Reading *r, const char *source) {
    r->ctx = ctx_create();
    assert_non_null(r->ctx);
    if (setjmp(r->ctx->oom))
        fail_msg("out of memory");
    r->file = source_add(&r->ctx->sources, STR("k.py"), str_from(source));
    const AstFile *syntax = parse_file(&r->ctx->diags, r->file);
    r->def = frontend_find_kernel(r->ctx, syntax, STR(""));
    assert_non_null(r->def);
    r->ok = autotune_read(r->ctx, &r->ctx->arena, r->file, r->def, 90, &r->autotune);
}

/* "n m | BLOCK=1, num_warps=2 | ..": key, configurations; then the messages. */
static const char *describe(Reading *r, const bool *kept) {
    StrBuf out = strbuf(&r->ctx->arena);
    const Autotune *a = &r->autotune;
    for (uint32_t i = 0; i < a->key_count; i++)
        strbuf_printf(&out, "%s%.*s", i ? " " : "", STR_ARG(a->names[a->keys[i]]));
    for (uint32_t i = 0; i < a->count; i++)
        if (!kept || kept[i])
            strbuf_printf(&out, " | %s", autotune_text(&r->ctx->arena, a, &a->configs[i]));
    for (const Diagnostic *d = r->ctx->diags.first; d; d = d->next) {
        strbuf_printf(&out, " ! %s", diag_name(d->id));
        for (const DiagNote *n = d->notes; n; n = n->next)
            strbuf_printf(&out, ": %s", n->text);
    }
    return strbuf_str(&out).ptr;
}

static const struct {
    const char *source, *expected;
} cases[] = {
    {HEAD "@triton.autotune(configs=[triton.Config({'BLOCK': 128}, num_warps=8), "
          "triton.Config({'BLOCK': 64}, 2, 3), triton.Config({}, maxnreg=96, num_ctas=2)], "
          "key=['n', 'm'])\n" KERNEL,
     "n m | BLOCK=128, num_warps=8 | BLOCK=64, num_warps=2, num_stages=3 | num_ctas=2, maxnreg=96"},
    {HEAD "SIZES = [32, 64]\nWARPS = 4 if torch.cuda.get_device_capability()[0] >= 9 else 2\n"
          "@triton.autotune([triton.Config({'BLOCK': b * 2}, num_warps=w) for b in SIZES "
          "for w in (WARPS, 8) if b * w < 500], ['n'])\n" KERNEL,
     "n | BLOCK=64, num_warps=4 | BLOCK=64, num_warps=8 | BLOCK=128, num_warps=4"},
    /* functions, as the tutorials have them */
    {HEAD "def is_cuda():\n"
          "    return triton.runtime.driver.active.get_current_target().backend == 'cuda'\n"
          "def get_hip():\n    sizes = [dict(BLOCK=1)]\n"
          "    return [triton.Config(s | {'waves': 2}) for s in sizes]\n"
          "def get_cuda():\n    out = []\n    for b in range(32, 129, 48):\n"
          "        if b == 80:\n            continue\n"
          "        out.append(triton.Config({'BLOCK': b}, num_stages=b // 32))\n    return out\n"
          "def get():\n    if is_cuda():\n        return get_cuda()\n    else:\n"
          "        return get_hip()\n"
          "DEVICE = triton.runtime.driver.active.get_active_torch_device()\n"
          "@triton.autotune(configs=get(), key=['n'])\n" KERNEL,
     "n | BLOCK=32, num_stages=1 | BLOCK=128, num_stages=4"},
    {HEAD "configs = [triton.Config({'BLOCK': b}, num_warps=w) for b, w in "
          "itertools.product([16, 32], [1, 2])]\n"
          "def keep(conf):\n    b = conf.kwargs['BLOCK']\n"
          "    return not (b == 16 and conf.num_warps == 2)\n"
          "@triton.autotune(list(filter(keep, configs)), key=[])\n" KERNEL "configs = []\n",
     " | BLOCK=16, num_warps=1 | BLOCK=32, num_warps=1 | BLOCK=32, num_warps=2"},
    {"from triton import autotune, Config\nimport triton.language as tl\nimport triton\n"
     "C = []\nfor b in [1, 2]:\n    C += [Config({'BLOCK': b, 'ACC': tl.float32})]\n"
     "C.extend(Config(kwargs={'BLOCK': 7}) for i in range(1))\n"
     "@autotune(C, key=['n'], use_cuda_graph=True, warmup=1, rep=2)\n" KERNEL,
     "n | BLOCK=1, ACC=tl.float32 | BLOCK=2, ACC=tl.float32 | BLOCK=7"},
    {HEAD "if os.environ.get('FAST', '0') == '1':\n    C = [triton.Config({'BLOCK': 1})]\n"
          "else:\n    C = [triton.Config({'BLOCK': 2})]\n"
          "@triton.autotune(C, key=['n'])\n" KERNEL,
     "n | BLOCK=2"},
    /* the configurations of the place where the function stands */
    {HEAD "C = [triton.Config({'BLOCK': 1})]\n@triton.autotune(C, key=['n'])\n" KERNEL
          "C = [triton.Config({'BLOCK': 2})]\n",
     "n | BLOCK=1"},
    {HEAD KERNEL, ""},
    /* what cannot be had */
    {HEAD "from my_configs import get\n@triton.autotune(configs=get('k'), key=['n'])\n" KERNEL,
     " ! autotune_not_read: 'my_configs.get' cannot be used in host code that is read when a "
     "kernel is compiled"},
    {HEAD "C = []\ntry:\n    C.append(triton.Config({'BLOCK': 1}))\nexcept Exception:\n"
          "    pass\n@triton.autotune(C, key=['n'])\n" KERNEL,
     " ! autotune_not_read: the name 'C', whose value is not known, cannot be used in host code "
     "that is read when a kernel is compiled"},
    {HEAD "C = [triton.Config({'BLOCK': 1})]\nwith open('f') as f:\n    C = f.read()\n"
          "@triton.autotune(C, key=['n'])\n" KERNEL,
     " ! autotune_not_read: the name 'C', whose value is not known, cannot be used in host code "
     "that is read when a kernel is compiled"},
    {HEAD "C = [triton.Config({'BLOCK': 1})]\nC.sort(key=str)\n"
          "@triton.autotune(C, key=['n'])\n" KERNEL,
     " ! autotune_not_read: the name 'C', whose value is not known, cannot be used in host code "
     "that is read when a kernel is compiled"},
    {HEAD
     "@triton.autotune([triton.Config({'BLOCK': 1}, pre_hook=lambda a: None)], key=[])\n" KERNEL,
     " ! autotune_not_read: a `pre_hook` cannot be used in a configuration"},
    {HEAD "def f():\n    return f()\n@triton.autotune(f(), key=['n'])\n" KERNEL,
     " ! autotune_not_read: a computation this deep or this long cannot be used in host code that "
     "is read when a kernel is compiled"},
    {HEAD "def f():\n    while True:\n        pass\n@triton.autotune(f(), key=['n'])\n" KERNEL,
     " ! autotune_not_read: a computation this deep or this long cannot be used in host code that "
     "is read when a kernel is compiled"},
    {HEAD "@triton.autotune(sorted(range(1000000), reverse=True), key=['n'])\n" KERNEL,
     " ! autotune_not_read: a list this long to sort cannot be used in host code that is read when "
     "a kernel is compiled"},
    {HEAD "@triton.autotune([list(range(1000000)) for i in range(1000)], key=['n'])\n" KERNEL,
     " ! autotune_not_read: a computation this deep or this long cannot be used in host code that "
     "is read when a kernel is compiled"},
    {HEAD "@triton.autotune({i: i for i in range(100000)}, key=['n'])\n" KERNEL,
     " ! autotune_not_read: a computation this deep or this long cannot be used in host code that "
     "is read when a kernel is compiled"},
    {HEAD "L = []\nL.append(L)\n@triton.autotune(L if L == [L] else [], key=['n'])\n" KERNEL, "n"},
    {HEAD "from settings import LARGE\nC = [triton.Config({'BLOCK': 1 if LARGE else 2})]\n"
          "@triton.autotune(C, key=['n'])\n" KERNEL,
     " ! autotune_not_read: the name 'C', whose value is not known, cannot be used in host code "
     "that is read when a kernel is compiled"},
    {HEAD
     "from settings import KIND\n@triton.autotune([triton.Config({'BLOCK': 1})] if KIND is None "
     "else [], key=['n'])\n" KERNEL,
     " ! autotune_not_read: 'settings.KIND' cannot be used in host code that is read when a kernel "
     "is compiled"},
    {HEAD "C = [triton.Config({'BLOCK': 1})]\nprint(f'{len(C)} configurations')\n"
          "@triton.autotune([c for c in C if not c.warps], key=['n'])\n" KERNEL,
     " ! autotune_not_read: the attribute 'warps' cannot be used in host code that is read when a "
     "kernel is compiled"},
    {HEAD "C = [triton.Config({'BLOCK': 1})]\nprint(f'{len(C)} configurations')\n"
          "@triton.autotune(C, key=['n'])\n" KERNEL,
     "n | BLOCK=1"},
    {HEAD "def f():\n    s = [1]\n    while True:\n        s = s + s\n"
          "@triton.autotune(f(), key=['n'])\n" KERNEL,
     " ! autotune_not_read: a list or text this long cannot be used in host code that is read when "
     "a kernel is compiled"},
    {HEAD "@triton.autotune([triton.Config({'BLOKC': 1})], key=['n'])\n" KERNEL,
     " ! autotune_name: did you mean 'BLOCK'?"},
    {HEAD "@triton.autotune([triton.Config({'BLOCK': 1})], key=['something'])\n" KERNEL,
     " ! autotune_name"},
    {HEAD "@triton.autotune\n" KERNEL,
     " ! autotune_not_read: `autotune` without arguments cannot be used in a decorator"},
};

static void configurations(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Reading r;
        read_source(&r, cases[i].source);
        const char *text = describe(&r, NULL);
        if (strcmp(text ? text : "", cases[i].expected) != 0)
            fail_msg("case %zu:\n%s\nwanted\n%s", i, text, cases[i].expected);
        assert_int_equal(r.ok, !strstr(cases[i].expected, "autotune_name"));
        ctx_destroy(r.ctx);
    }
}

#define PRUNED(prune)                                                                              \
    HEAD "def early(configs, named_args, **kwargs):\n"                                             \
         "    return [c for c in configs if c.kwargs['BLOCK'] <= named_args['n'] and "             \
         "kwargs['m'] * named_args['x'].element_size() < 100]\n"                                   \
         "def cost(n, BLOCK, num_warps, **kwargs):\n    return abs(n - BLOCK) / num_warps\n"       \
         "@triton.autotune([triton.Config({'BLOCK': b}, num_warps=2) for b in [16, 32, 64, 128]]," \
         " key=['n'], prune_configs_by=" prune ")\n" KERNEL

static const struct {
    const char *source;
    int64_t n, m;
    const char *expected;
} prunings[] = {
    {PRUNED("{'early_config_prune': early}"), 64, 1,
     "n | BLOCK=16, num_warps=2 | BLOCK=32, num_warps=2 | BLOCK=64, num_warps=2"},
    {PRUNED("{'early_config_prune': early}"), 64, 50, "n"},
    {PRUNED("{'perf_model': cost, 'top_k': 2}"), 60, 1,
     "n | BLOCK=32, num_warps=2 | BLOCK=64, num_warps=2"},
    {PRUNED("{'perf_model': cost, 'top_k': 0.25, 'early_config_prune': early}"), 60, 1,
     "n | BLOCK=32, num_warps=2"},
    {PRUNED("{'perf_model': lambda **kw: kw['unknown'], 'top_k': 1}"), 60, 1,
     "n | BLOCK=16, num_warps=2 | BLOCK=32, num_warps=2 | BLOCK=64, num_warps=2 | BLOCK=128, "
     "num_warps=2 ! autotune_not_pruned: a key that the dict has not cannot be used in host code "
     "that is read when a kernel is compiled"},
};

static void pruning(void **state) {
    for (size_t i = 0; i < sizeof prunings / sizeof *prunings; i++) {
        Reading r;
        bool kept[8];
        HostValue values[16] = {{0}};
        read_source(&r, prunings[i].source);
        values[0] = (HostValue){.kind = HOST_POINTER, .text = STR("fp16")};
        values[1] = host_int(prunings[i].n);
        values[2] = host_int(prunings[i].m);
        autotune_prune(r.ctx, r.file, r.def, 90, &r.autotune, values, kept);
        const char *text = describe(&r, kept);
        if (strcmp(text, prunings[i].expected) != 0)
            fail_msg("case %zu:\n%s\nwanted\n%s", i, text, prunings[i].expected);
        ctx_destroy(r.ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(configurations), cmocka_unit_test(pruning)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
