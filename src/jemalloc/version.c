/* SPDX-License-Identifier: Apache-2.0 */
#include "jemalloc/version.h"

#include <stddef.h>

enum { COMPONENT_MAX = 9999 };

/* First and last version with a quirk, both inclusive. */
typedef struct {
    unsigned quirk;
    JemallocVersion first;
    JemallocVersion last;
} QuirkRange;

static const QuirkRange ranges[] = {
    {JEMALLOC_QUIRK_ZERO_BACKGROUND_THREADS, {5, 1, 0}, {5, 3, 0}},
};

static bool
parse_component(const char **text, unsigned *component)
{
    unsigned value = 0;
    const char *at = *text;
    while (*at >= '0' && *at <= '9') {
        value = value * 10 + (unsigned)(*at++ - '0');
        if (value > COMPONENT_MAX) {
            return false;
        }
    }
    if (at == *text) {
        return false;
    }
    *text = at;
    *component = value;
    return true;
}

bool
jemalloc_version_parse(const char *text, JemallocVersion *version)
{
    JemallocVersion parsed;
    if (!parse_component(&text, &parsed.major) || *text++ != '.' || !parse_component(&text, &parsed.minor) ||
        *text++ != '.' || !parse_component(&text, &parsed.bugfix) || (*text != '\0' && *text != '-')) {
        return false;
    }
    *version = parsed;
    return true;
}

static int
compare(const JemallocVersion *a, const JemallocVersion *b)
{
    if (a->major != b->major) {
        return a->major < b->major ? -1 : 1;
    }
    if (a->minor != b->minor) {
        return a->minor < b->minor ? -1 : 1;
    }
    return (a->bugfix > b->bugfix) - (a->bugfix < b->bugfix);
}

unsigned
jemalloc_quirks(const JemallocVersion *version)
{
    unsigned quirks = 0;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (version == NULL || (compare(version, &ranges[i].first) >= 0 && compare(version, &ranges[i].last) <= 0)) {
            quirks |= ranges[i].quirk;
        }
    }
    return quirks;
}
