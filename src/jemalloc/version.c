/* SPDX-License-Identifier: Apache-2.0 */
#include "jemalloc/version.h"

#include <stddef.h>
#include <string.h>

enum { COMPONENT_MAX = 9999 };

/* First and last version with a quirk, both inclusive. */
typedef struct {
    unsigned quirk;
    JemallocVersion first;
    JemallocVersion last;
} QuirkRange;

static const QuirkRange ranges[] = {
    {JEMALLOC_QUIRK_ZERO_BACKGROUND_THREADS, {5, 1, 0}, {5, 3, 0}},
    {JEMALLOC_QUIRK_DUMP_AFTER_ALLOCATION, {0, 0, 0}, {3, COMPONENT_MAX, COMPONENT_MAX}},
};

static bool
parse_component(const char **text, unsigned *component)
{
    unsigned value = 0;
    const char *at = *text;
    while (*at >= '0' && *at <= '9') {
        value = value * 10 + (unsigned)(*at++ - '0');
        if (value > COMPONENT_MAX)
            return false;
    }
    if (at == *text)
        return false;
    *text = at;
    *component = value;
    return true;
}

bool
jemalloc_version_parse(const char *text, JemallocVersion *version)
{
    JemallocVersion parsed;
    if (!parse_component(&text, &parsed.major) || *text++ != '.' || !parse_component(&text, &parsed.minor) ||
        *text++ != '.' || !parse_component(&text, &parsed.bugfix) || (*text != '\0' && *text != '-'))
        return false;
    *version = parsed;
    return true;
}

static int
compare(const JemallocVersion *a, const JemallocVersion *b)
{
    if (a->major != b->major)
        return a->major < b->major ? -1 : 1;
    if (a->minor != b->minor)
        return a->minor < b->minor ? -1 : 1;
    return (a->bugfix > b->bugfix) - (a->bugfix < b->bugfix);
}

bool
jemalloc_version_has_hooks(const char *text)
{
    static const JemallocVersion first = {5, 2, 0};
    static const JemallocVersion last = {5, 3, 1};
    JemallocVersion version;
    return jemalloc_version_parse(text, &version) && compare(&version, &first) >= 0 && compare(&version, &last) <= 0;
}

unsigned
jemalloc_quirks(const JemallocVersion *version)
{
    unsigned quirks = 0;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (version == NULL || (compare(version, &ranges[i].first) >= 0 && compare(version, &ranges[i].last) <= 0))
            quirks |= ranges[i].quirk;
    return quirks;
}

JemallocHarm
jemalloc_harm(unsigned quirks, const char *name, uint64_t value)
{
    if ((quirks & JEMALLOC_QUIRK_ZERO_BACKGROUND_THREADS) == 0)
        return JEMALLOC_HARMLESS;
    if (strcmp(name, "max_background_threads") == 0 && value == 0)
        return JEMALLOC_HARMFUL;
    return strcmp(name, "background_thread") == 0 && value != 0 ? JEMALLOC_HARMFUL_WITHOUT_THREADS : JEMALLOC_HARMLESS;
}

void
jemalloc_conf_variable(const char *prefix, char *text, size_t size)
{
    static const char name[] = "MALLOC_CONF";
    size_t n = strnlen(prefix, size - sizeof(name));
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(prefix[i] >= 'a' && prefix[i] <= 'z' ? prefix[i] - 'a' + 'A' : prefix[i]);
    memcpy(text + n, name, sizeof(name));
}
