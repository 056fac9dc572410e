/* Binding of a call's values to parameters, kept by the tuple of keywords that a call site has. */
#include "launcher.h"

#include <stdlib.h>
#include <string.h>

static void site_clear(Site *site) {
    PyObject *names = site->names;
    site->names = NULL;
    site->is_used = false;
    free(site->places);
    site->places = NULL;
    Py_XDECREF(names);
}

void sites_clear(Launcher *launcher) {
    for (size_t i = 0; i < SITES; i++)
        site_clear(&launcher->sites[i]);
}

/* The same tuple, or one of the same names: those of f(**keywords) are made for each call. */
static bool has_names(PyObject *known, PyObject *names) {
    if (known == names)
        return true;
    if (!known || !names || PyTuple_Size(known) != PyTuple_Size(names))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_Size(names); i++)
        if (PyTuple_GetItem(known, i) != PyTuple_GetItem(names, i))
            return false;
    return true;
}

static const Site *find_site(const Launcher *launcher, Py_ssize_t count, PyObject *names) {
    for (size_t i = 0; i < SITES; i++) {
        const Site *site = &launcher->sites[i];
        if (site->is_used && site->positional == count && has_names(site->names, names))
            return site;
    }
    return NULL;
}

static int find_parameter(const Launcher *launcher, PyObject *name) {
    for (size_t i = 0; i < launcher->parameter_count; i++)
        if (launcher->parameters[i].name == name ||
            PyUnicode_Compare(launcher->parameters[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* Whether each parameter gets one value; places of keywords. */
static bool find_places(const Launcher *launcher, Py_ssize_t count, PyObject *names,
                        int16_t *places) {
    bool given[TILE_MAX_ARGUMENTS] = {false};
    Py_ssize_t options = 0;
    if (count > (Py_ssize_t)launcher->parameter_count)
        return false;
    for (Py_ssize_t i = 0; i < count; i++)
        given[i] = true;
    for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); i++) {
        const int at = find_parameter(launcher, PyTuple_GetItem(names, i));
        places[i] = (int16_t)at;
        options += at < 0;
        if (at >= 0 && given[at])
            return false;
        if (at >= 0)
            given[at] = true;
    }
    for (size_t i = 0; i < launcher->parameter_count; i++)
        if (!given[i] && !launcher->parameters[i].fallback)
            return false;
    return options <= MOST_OPTIONS;
}

static const Site *make_site(Launcher *launcher, Py_ssize_t count, PyObject *names) {
    const Py_ssize_t keywords = names ? PyTuple_Size(names) : 0;
    int16_t *places = malloc(((size_t)keywords + 1) * sizeof *places);
    if (!places || !find_places(launcher, count, names, places)) {
        free(places);
        return NULL;
    }
    Site *site = &launcher->sites[launcher->next_site++ % SITES];
    Site old = *site;
    Py_XINCREF(names);
    *site = (Site){names, count, places, true};
    site_clear(&old);
    return site;
}

bool bind_values(Launcher *launcher, PyObject *const *args, Py_ssize_t count, PyObject *names,
                 Values *values) {
    const Site *site = find_site(launcher, count, names);
    if (!site && !(site = make_site(launcher, count, names)))
        return false;
    values->option_count = 0;
    for (size_t i = 0; i < launcher->parameter_count; i++)
        values->of[i] = i < (size_t)count ? args[i] : launcher->parameters[i].fallback;
    const Py_ssize_t keywords = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < keywords; i++) {
        if (site->places[i] >= 0) {
            values->of[site->places[i]] = args[count + i];
        } else {
            values->option_names[values->option_count] = PyTuple_GetItem(names, i);
            values->options[values->option_count++] = args[count + i];
        }
    }
    return true;
}
