/* See pictures.h. A picture has a title, a note below it, a plot, and what its colours or numbers
 * stand for below that; only the plot's lines may cross. */
#include "runtime/bench/pictures.h"

#include "runtime/bench/svg.h"

#include <math.h>
#include <stdlib.h>

enum {
    WIDTH = 860,
    LEFT = 92, /* of the plot */
    RIGHT = WIDTH - 28,
    TOP = 64,
    PLOT_HEIGHT = 340,
    BOTTOM = TOP + PLOT_HEIGHT,
    LINE = 20,          /* of a legend */
    SWATCH = 22,        /* of its colours, and the room behind */
    MOST_NUMBERED = 40, /* shapes of a roofline that have a number */
    MOST_BARS = 80
};

typedef struct Picture {
    const BenchReport *report;
    StrBuf *out;
    Arena *arena;
    bool in_flops; /* rates are operations, else bytes */
} Picture;

const char *picture_file(PictureKind kind) {
#define PICTURE(id, file) file,
    static const char *const files[] = {PICTURES(PICTURE)};
#undef PICTURE
    return files[kind];
}

static double rate_of(const Picture *p, const BenchCase *c) {
    return p->in_flops ? bench_tflops(p->report, c) : bench_gbs(p->report, c);
}

static double ceiling_of(const Picture *p) {
    return p->in_flops ? p->report->ceilings.tflops : p->report->ceilings.gbs;
}

static const char *unit_of(const Picture *p) {
    return p->in_flops ? "TFLOP/s" : "GB/s";
}

/* "812 TFLOP/s by products on tensor cores of fp16" */
static const char *ceiling_text(const Picture *p) {
    const Ceilings *c = &p->report->ceilings;
    return p->in_flops ? str_format(p->arena, "%.4g TFLOP/s by %s of %s", c->tflops,
                                    ceilings_text(c->kind), c->elem)
                       : str_format(p->arena, "%.4g GB/s by copies on the device", c->gbs);
}

/* Rates are told as operations where every shape says how many, and they come nearer to their
 * ceiling than bytes do to theirs. */
static bool counts_flops(const BenchReport *report) {
    const Ceilings *c = &report->ceilings;
    double operations = 0, bytes = 0;
    for (uint32_t i = 0; i < report->shape_count; i++)
        if (report->shapes[i].flops < 0)
            return false;
    for (uint32_t i = 0; i < report->case_count; i++) {
        if (!report->cases[i].times.runs)
            continue;
        operations = fmax(operations, bench_tflops(report, &report->cases[i]));
        bytes = fmax(bytes, bench_gbs(report, &report->cases[i]));
    }
    return c->gbs <= 0 || c->tflops <= 0 || operations / c->tflops >= bytes / c->gbs;
}

static double highest_rate(const Picture *p) {
    double highest = 0;
    for (uint32_t i = 0; i < p->report->case_count; i++)
        if (p->report->cases[i].times.runs)
            highest = fmax(highest, rate_of(p, &p->report->cases[i]));
    return highest;
}

static void draw_frame(const Picture *p, const char *what, const char *note, double height) {
    const BenchReport *r = p->report;
    const char *title = str_format(p->arena, "%s on %s: %s", r->kernel, r->device, what);
    svg_open(p->out, WIDTH, height, title);
    svg_text(p->out, (SvgPoint){16, 26}, SVG_START, "title",
             svg_fit(p->arena, str_from(title), (WIDTH - 32) / 1.3));
    svg_text(p->out, (SvgPoint){16, 46}, SVG_START, "note",
             svg_fit(p->arena, str_from(note), WIDTH - 32));
}

/* Axes */

static void draw_y_axis(const Picture *p, const SvgScale *y, const char *label) {
    double ticks[SVG_MAX_TICKS];
    const uint32_t count = svg_ticks(y, 8, ticks);
    for (uint32_t i = 0; i < count; i++) {
        const double at = svg_place(y, ticks[i]);
        svg_line(p->out, (SvgPoint){LEFT, at}, (SvgPoint){RIGHT, at}, "grid");
        svg_text(p->out, (SvgPoint){LEFT - 8, at + 4}, SVG_END, "tick",
                 str_from(svg_number(p->arena, ticks[i], y->base)));
    }
    svg_turned_text(p->out, (SvgPoint){18, TOP + PLOT_HEIGHT / 2}, SVG_MIDDLE, -90, "label",
                    str_from(label));
    svg_line(p->out, (SvgPoint){LEFT, TOP}, (SvgPoint){LEFT, BOTTOM}, "axis");
    svg_line(p->out, (SvgPoint){LEFT, BOTTOM}, (SvgPoint){RIGHT, BOTTOM}, "axis");
}

static void draw_x_axis(const Picture *p, const SvgScale *x, const char *label) {
    double ticks[SVG_MAX_TICKS];
    const uint32_t count = svg_ticks(x, 12, ticks);
    for (uint32_t i = 0; i < count; i++) {
        const double at = svg_place(x, ticks[i]);
        svg_line(p->out, (SvgPoint){at, BOTTOM}, (SvgPoint){at, BOTTOM + 5}, "axis");
        svg_text(p->out, (SvgPoint){at, BOTTOM + 20}, SVG_MIDDLE, "tick",
                 str_from(svg_number(p->arena, ticks[i], x->base)));
    }
    svg_text(p->out, (SvgPoint){(LEFT + RIGHT) / 2.0, BOTTOM + 42}, SVG_MIDDLE, "label",
             svg_fit(p->arena, str_from(label), RIGHT - LEFT));
}

/* A span of 8 or more is looked at by its powers. */
static unsigned base_of(double least, double most) {
    return least > 0 && most / least >= 8 ? 2 : 0;
}

/* Legends: texts in columns as wide as the widest needs. */

typedef struct Legend {
    const Str *texts;
    uint32_t count, columns;
    double width; /* of a column */
} Legend;

static Legend plan_legend(const Str *texts, uint32_t count) {
    double widest = 0;
    for (uint32_t i = 0; i < count; i++)
        widest = fmax(widest, svg_text_width(texts[i]));
    const double width = fmin(widest + SWATCH + 24, WIDTH - 32);
    return (Legend){texts, count, (uint32_t)((WIDTH - 32) / width), width};
}

static double legend_height(const Legend *legend) {
    return LINE * ((legend->count + legend->columns - 1) / legend->columns);
}

static SvgPoint legend_place(const Legend *legend, uint32_t i, double top) {
    return (SvgPoint){16 + legend->width * (i % legend->columns),
                      top + LINE * (i / legend->columns)};
}

/* Sweep */

/* Where shapes stand along x: at their size, if one varies, or several that are equal, and none is
 * negative; else one beside another. */
typedef struct Places {
    const char *label;
    double *x; /* values of each shape; NULL: beside each other */
    double least, most;
} Places;

static bool size_value(const Shape *shape, Str name, double *value) {
    for (uint32_t i = 0; i < shape->size_count; i++)
        if (str_eq(shape->names[i], name)) {
            const HostValue v = shape->values[i];
            *value = v.kind == HOST_FLOAT ? v.f : (double)v.i;
            return v.kind == HOST_INT || v.kind == HOST_FLOAT;
        }
    return false;
}

/* Adds a name to the label if its values vary as those before it do; false: they vary otherwise. */
static bool add_size(const Picture *p, Str name, Places *places) {
    const BenchReport *r = p->report;
    double *values = ARENA_ARRAY(p->arena, double, r->shape_count);
    bool varies = false;
    for (uint32_t i = 0; i < r->shape_count; i++) {
        if (!size_value(&r->shapes[i], name, &values[i]))
            return false;
        varies |= values[i] != values[0];
    }
    if (!varies && r->shape_count > 1)
        return true;
    if (places->x && memcmp(places->x, values, r->shape_count * sizeof *values))
        return false;
    places->label = places->x ? str_format(p->arena, "%s = %.*s", places->label, STR_ARG(name))
                              : str_dup(p->arena, name);
    places->x = values;
    return true;
}

static Places find_places(const Picture *p) {
    const BenchReport *r = p->report;
    Places places = {.least = INFINITY, .most = -INFINITY};
    bool is_one = true;
    for (uint32_t i = 0; is_one && i < r->shapes[0].size_count; i++)
        is_one = add_size(p, r->shapes[0].names[i], &places);
    if (!is_one || !places.x)
        return (Places){.label = "shape"};
    for (uint32_t i = 0; i < r->shape_count; i++) {
        places.least = fmin(places.least, places.x[i]);
        places.most = fmax(places.most, places.x[i]);
    }
    if (places.least < 0) /* where an axis begins at the latest */
        return (Places){.label = "shape"};
    return places;
}

enum { TURNED_MOST = 150 }; /* how long the texts of shapes may be that stand below the axis */
#define TURNED_SINE 0.87    /* of the degrees that they are turned by */

static double turned_width(const Picture *p) {
    double widest = 0;
    for (uint32_t i = 0; i < p->report->shape_count; i++)
        widest = fmax(widest, svg_text_width(str_from(p->report->shapes[i].text)));
    return fmin(widest, TURNED_MOST);
}

static void draw_shape_texts(const Picture *p, const SvgScale *x) {
    const uint32_t count = p->report->shape_count, stride = count / 40 + 1;
    for (uint32_t i = 0; i < count; i += stride) {
        const double at = svg_place(x, i + 0.5);
        svg_line(p->out, (SvgPoint){at, BOTTOM}, (SvgPoint){at, BOTTOM + 5}, "axis");
        svg_turned_text(p->out, (SvgPoint){at + 4, BOTTOM + 16}, SVG_END, -60, "tick",
                        svg_fit(p->arena, str_from(p->report->shapes[i].text),
                                fmin(TURNED_MOST, (at - 12) / 0.5)));
    }
}

/* How near to the best a configuration is over the shapes: the geometric mean; 0: it never ran. */
static double config_score(const BenchReport *report, uint32_t config) {
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->case_count; i++) {
        const BenchCase *c = &report->cases[i];
        if (c->config != config || !c->times.runs || c->times.median <= 0)
            continue;
        sum += log(bench_fastest(report, c->shape)->times.median / c->times.median);
        count++;
    }
    return count ? exp(sum / count) : 0;
}

typedef struct Ranked {
    uint32_t config;
    double score;
} Ranked;

static int by_score(const void *a, const void *b) {
    const Ranked *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score ? 1 : -1)
                                : (x->config > y->config) - (x->config < y->config);
}

/* Those that ran, the best first. */
static Ranked *rank_configs(const Picture *p, uint32_t *count) {
    const uint32_t all = p->report->config_count;
    Ranked *ranked = ARENA_ARRAY(p->arena, Ranked, (size_t)all + 1);
    *count = 0;
    for (uint32_t i = 0; i < all; i++) {
        const double score = config_score(p->report, i);
        if (score > 0)
            ranked[(*count)++] = (Ranked){i, score};
    }
    qsort(ranked, *count, sizeof *ranked, by_score);
    return ranked;
}

typedef struct At {
    SvgPoint point;
    const BenchCase *of;
} At;

static int by_x(const void *a, const void *b) {
    const At *x = a, *y = b;
    return (x->point.x > y->point.x) - (x->point.x < y->point.x);
}

static void draw_config(const Picture *p, uint32_t config, unsigned colour, const Places *places,
                        const SvgScale *x, const SvgScale *y) {
    const BenchReport *r = p->report;
    At *at = ARENA_ARRAY(p->arena, At, (size_t)r->shape_count + 1);
    SvgPoint *points = ARENA_ARRAY(p->arena, SvgPoint, (size_t)r->shape_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->case_count; i++) {
        const BenchCase *c = &r->cases[i];
        if (c->config != config || !c->times.runs || rate_of(p, c) < 0)
            continue;
        const double value = places->x ? places->x[c->shape] : c->shape + 0.5;
        at[count++] = (At){{svg_place(x, value), svg_place(y, rate_of(p, c))}, c};
    }
    qsort(at, count, sizeof *at, by_x);
    for (uint32_t i = 0; i < count; i++)
        points[i] = at[i].point;
    svg_path(p->out, points, count, colour);
    for (uint32_t i = 0; i < count; i++)
        svg_dot(p->out, points[i], colour,
                str_format(p->arena, "%s, %s: %.4g %s, %.4g us", r->shapes[at[i].of->shape].text,
                           r->configs[config], rate_of(p, at[i].of), unit_of(p),
                           at[i].of->times.median));
}

/* The best have colours and names, the others are grey. */
static Legend sweep_legend(const Picture *p, const Ranked *ranked, uint32_t count) {
    Str *texts = ARENA_ARRAY(p->arena, Str, SVG_COLOURS + 1);
    const uint32_t shown = count < SVG_COLOURS ? count : SVG_COLOURS;
    for (uint32_t i = 0; i < shown; i++)
        texts[i] = str_from(p->report->configs[ranked[i].config]);
    if (count > shown)
        texts[shown] = str_from(str_format(p->arena, "%u more", count - shown));
    return plan_legend(texts, shown + (count > shown));
}

static bool draw_sweep(const Picture *p) {
    const BenchReport *r = p->report;
    const double highest = highest_rate(p), ceiling = ceiling_of(p);
    uint32_t count;
    const Ranked *ranked = rank_configs(p, &count);
    if (!count || highest <= 0)
        return false;
    const Places places = find_places(p);
    const bool shows_ceiling = ceiling > 0 && highest >= ceiling / 5;
    const SvgScale y =
        svg_scale(0, shows_ceiling ? fmax(highest, ceiling * 1.02) : highest, 0, BOTTOM, TOP);
    const SvgScale x = places.x ? svg_scale(places.least, places.most,
                                            base_of(places.least, places.most), LEFT + 8, RIGHT - 8)
                                : (SvgScale){0, r->shape_count, LEFT, RIGHT, 0};
    const Legend legend = sweep_legend(p, ranked, count);
    const double below = BOTTOM + (places.x ? 70 : turned_width(p) * TURNED_SINE + 48);
    const char *note = ceiling <= 0    ? ""
                       : shows_ceiling ? str_format(p->arena, "Dashed: %s.", ceiling_text(p))
                                       : str_format(p->arena, "Far above: %s.", ceiling_text(p));
    draw_frame(p, str_format(p->arena, "%s over %s", unit_of(p), places.label), note,
               below + legend_height(&legend) + 8);
    draw_y_axis(p, &y, unit_of(p));
    if (places.x)
        draw_x_axis(p, &x, places.label);
    else
        draw_shape_texts(p, &x);
    if (shows_ceiling)
        svg_line(p->out, (SvgPoint){LEFT, svg_place(&y, ceiling)},
                 (SvgPoint){RIGHT, svg_place(&y, ceiling)}, "ceiling");
    for (uint32_t i = count; i-- > 0;)
        draw_config(p, ranked[i].config, i < SVG_COLOURS ? i : SVG_GREY, &places, &x, &y);
    for (uint32_t i = 0; i < legend.count; i++) {
        const SvgPoint at = legend_place(&legend, i, below);
        const unsigned colour = i < SVG_COLOURS ? i : SVG_GREY;
        svg_path(p->out, (SvgPoint[]){{at.x, at.y - 4}, {at.x + 16, at.y - 4}}, 2, colour);
        svg_text(p->out, (SvgPoint){at.x + SWATCH, at.y}, SVG_START, "tick",
                 svg_fit(p->arena, legend.texts[i], legend.width - SWATCH));
    }
    svg_close(p->out);
    return true;
}

/* Roofline */

typedef struct RoofPoint {
    const BenchCase *of;
    double intensity, tflops; /* operations for each byte; a second */
    SvgPoint at;
} RoofPoint;

static RoofPoint *roof_points(const Picture *p, uint32_t *count) {
    const BenchReport *r = p->report;
    RoofPoint *points = ARENA_ARRAY(p->arena, RoofPoint, (size_t)r->shape_count + 1);
    *count = 0;
    for (uint32_t i = 0; i < r->shape_count; i++) {
        const BenchCase *c = bench_fastest(r, i);
        const Shape *shape = &r->shapes[i];
        if (c && shape->bytes > 0 && shape->flops > 0 && c->times.median > 0)
            points[(*count)++] =
                (RoofPoint){c, shape->flops / shape->bytes, bench_tflops(r, c), {0, 0}};
    }
    return points;
}

/* A number beside a dot, where it meets neither dots nor the numbers before it. */
static void draw_number(const Picture *p, const RoofPoint *points, uint32_t count, uint32_t i,
                        SvgPoint *texts, bool *placed) {
    static const SvgPoint beside[] = {{0, -9},  {11, 4},   {0, 18},  {-11, 4},
                                      {10, -7}, {-10, -7}, {10, 15}, {-10, 15}};
    for (size_t b = 0; b < sizeof beside / sizeof *beside; b++) {
        const SvgPoint at = {points[i].at.x + beside[b].x, points[i].at.y + beside[b].y};
        bool is_free = at.x > LEFT + 8 && at.x < RIGHT && at.y > TOP + 8 && at.y < BOTTOM - 2;
        for (uint32_t j = 0; is_free && j < count; j++)
            is_free = j == i || fabs(points[j].at.x - at.x) > 11 ||
                      fabs(points[j].at.y - (at.y - 4)) > 10;
        for (uint32_t j = 0; is_free && j < i; j++)
            is_free = !placed[j] || fabs(texts[j].x - at.x) > 16 || fabs(texts[j].y - at.y) > 12;
        if (!is_free)
            continue;
        texts[i] = at;
        placed[i] = true;
        svg_text(p->out, at, SVG_MIDDLE, "tick", str_from(str_format(p->arena, "%u", i + 1)));
        return;
    }
}

static void draw_roof(const Picture *p, const SvgScale *x, const SvgScale *y) {
    const Ceilings *c = &p->report->ceilings;
    const double slope = c->gbs / 1e3; /* TFLOP/s of each operation for a byte */
    const double ridge = slope > 0 && c->tflops > 0 ? c->tflops / slope : slope > 0 ? x->high : 0;
    const double from = slope > 0 ? fmax(x->low, y->low / slope) : x->low,
                 to = fmin(x->high, slope > 0 ? fmin(ridge, y->high / slope) : x->high);
    if (slope > 0 && to > from)
        svg_line(p->out, (SvgPoint){svg_place(x, from), svg_place(y, from * slope)},
                 (SvgPoint){svg_place(x, to), svg_place(y, to * slope)}, "ceiling");
    if (c->tflops > 0 && ridge < x->high)
        svg_line(p->out, (SvgPoint){svg_place(x, fmax(ridge, x->low)), svg_place(y, c->tflops)},
                 (SvgPoint){RIGHT, svg_place(y, c->tflops)}, "ceiling");
}

static Legend roof_legend(const Picture *p, const RoofPoint *points, uint32_t count) {
    const uint32_t shown = count < MOST_NUMBERED ? count : MOST_NUMBERED;
    Str *texts = ARENA_ARRAY(p->arena, Str, (size_t)shown + 1);
    for (uint32_t i = 0; i < shown; i++)
        texts[i] =
            str_from(str_format(p->arena, "%u: %s, %.4g TFLOP/s", i + 1,
                                p->report->shapes[points[i].of->shape].text, points[i].tflops));
    if (count > shown)
        texts[shown] = str_from(str_format(p->arena, "%u more", count - shown));
    return plan_legend(texts, shown + (count > shown));
}

/* Two powers of ten or more are told by these. */
static SvgScale log_scale(double least, double most, double from, double to) {
    return svg_scale(least, most, most / least >= 256 ? 10 : 2, from, to);
}

static bool draw_roofline(const Picture *p) {
    const Ceilings *c = &p->report->ceilings;
    uint32_t count;
    RoofPoint *points = roof_points(p, &count);
    if (!count)
        return false;
    const double ridge = c->gbs > 0 && c->tflops > 0 ? 1e3 * c->tflops / c->gbs : 0;
    double left = ridge > 0 ? ridge : INFINITY, right = ridge, low = INFINITY, high = c->tflops;
    for (uint32_t i = 0; i < count; i++) {
        left = fmin(left, points[i].intensity);
        right = fmax(right, points[i].intensity);
        low = fmin(low, points[i].tflops);
        high = fmax(high, points[i].tflops);
    }
    const SvgScale x = log_scale(left / 1.2, right * 1.5, LEFT, RIGHT),
                   y = log_scale(low / 1.2, high * 1.1, BOTTOM, TOP);
    const Legend legend = roof_legend(p, points, count);
    const double below = BOTTOM + 70;
    const char *note = c->tflops > 0 && c->gbs > 0
                           ? str_format(p->arena, "Dashed: %.4g GB/s by copies on the device; %s.",
                                        c->gbs, ceiling_text(p))
                           : "";
    SvgPoint *texts = ARENA_ARRAY(p->arena, SvgPoint, count);
    bool *placed = ARENA_ARRAY(p->arena, bool, count);
    draw_frame(p, "roofline", note, below + legend_height(&legend) + 8);
    draw_y_axis(p, &y, "TFLOP/s");
    draw_x_axis(p, &x, "operations for each byte");
    draw_roof(p, &x, &y);
    for (uint32_t i = 0; i < count; i++) {
        points[i].at =
            (SvgPoint){svg_place(&x, points[i].intensity), svg_place(&y, points[i].tflops)};
        svg_dot(p->out, points[i].at, 0,
                str_format(p->arena, "%s, %s: %.4g TFLOP/s, %.4g GB/s, %.4g us",
                           p->report->shapes[points[i].of->shape].text,
                           p->report->configs[points[i].of->config], points[i].tflops,
                           bench_gbs(p->report, points[i].of), points[i].of->times.median));
    }
    for (uint32_t i = 0; i < count && i < MOST_NUMBERED; i++)
        draw_number(p, points, count, i, texts, placed);
    for (uint32_t i = 0; i < legend.count; i++)
        svg_text(p->out, legend_place(&legend, i, below), SVG_START, "tick",
                 svg_fit(p->arena, legend.texts[i], legend.width - 16));
    svg_close(p->out);
    return true;
}

/* Configurations */

static const BenchCase *only_case(const BenchReport *report, uint32_t config) {
    for (uint32_t i = 0; i < report->case_count; i++)
        if (report->cases[i].config == config && report->cases[i].times.runs)
            return &report->cases[i];
    return NULL;
}

/* Of one shape its time and rate, of several how near to the best of each. */
static const char *bar_text(const Picture *p, const Ranked *ranked) {
    const BenchCase *c = only_case(p->report, ranked->config);
    const double rate = rate_of(p, c);
    if (p->report->shape_count > 1)
        return str_format(p->arena, "%.1f%%", 100 * ranked->score);
    return rate < 0 ? str_format(p->arena, "%.4g us", c->times.median)
                    : str_format(p->arena, "%.4g us, %.4g %s", c->times.median, rate, unit_of(p));
}

static bool draw_configurations(const Picture *p) {
    enum { BAR = 16, STEP = 22, TEXT_MOST = 400, VALUE_ROOM = 190 };
    const BenchReport *r = p->report;
    uint32_t count;
    const Ranked *ranked = rank_configs(p, &count);
    if (count < 1 || r->config_count < 2)
        return false;
    const uint32_t shown = count < MOST_BARS ? count : MOST_BARS;
    double text_room = 0;
    for (uint32_t i = 0; i < shown; i++)
        text_room = fmax(text_room, svg_text_width(str_from(r->configs[ranked[i].config])));
    text_room = fmin(text_room, TEXT_MOST);
    const double left = 16 + text_room + 10, room = WIDTH - VALUE_ROOM - left;
    const uint32_t rest = r->config_count - count;
    const char *note =
        r->shape_count > 1
            ? "Speed as a share of each shape's fastest configuration, geometric mean over shapes"
            : str_format(p->arena, "Speed as a share of the fastest, for %s", r->shapes[0].text);
    const char *end = rest && count > shown
                          ? str_format(p->arena, "; %u more ran, %u did not.", count - shown, rest)
                      : rest          ? str_format(p->arena, "; %u did not run.", rest)
                      : count > shown ? str_format(p->arena, "; %u more ran.", count - shown)
                                      : ".";
    draw_frame(p, "configurations", str_format(p->arena, "%s%s", note, end),
               TOP + STEP * shown + 16);
    for (uint32_t i = 0; i < shown; i++) {
        const char *text = r->configs[ranked[i].config];
        const double top = TOP + STEP * i, width = room * ranked[i].score;
        svg_text(p->out, (SvgPoint){left - 10, top + BAR - 4}, SVG_END, "tick",
                 svg_fit(p->arena, str_from(text), text_room));
        svg_bar(p->out, (SvgPoint){left, top}, width, BAR, i ? SVG_GREY : 0,
                str_format(p->arena, "%s: %s", text, bar_text(p, &ranked[i])));
        svg_text(p->out, (SvgPoint){left + width + 8, top + BAR - 4}, SVG_START, "tick",
                 str_from(bar_text(p, &ranked[i])));
    }
    svg_close(p->out);
    return true;
}

bool picture_draw(const BenchReport *report, PictureKind kind, StrBuf *out) {
    const Picture picture = {report, out, out->arena, report->shape_count && counts_flops(report)};
    switch (kind) {
    case PICTURE_sweep:
        return report->shape_count && draw_sweep(&picture);
    case PICTURE_roofline:
        return report->shape_count && draw_roofline(&picture);
    case PICTURE_configurations:
        return draw_configurations(&picture);
    case PICTURE_COUNT:
        break;
    }
    return false;
}
