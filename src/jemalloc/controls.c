/* SPDX-License-Identifier: Apache-2.0 */
#include "jemalloc/controls.h"

#include <stddef.h>
#include <string.h>

#define R                                    CONTROL_READABLE
#define W                                    CONTROL_WRITABLE
#define AW                                   CONTROL_AGENT_WRITES
#define OPT                                  CONTROL_VALUE_OPTIONAL
#define ACTS                                 CONTROL_READ_ACTS
#define CONTROL(pattern, type, flags, since) {pattern, CONTROL_##type, flags, since},
static const Control controls[] = {
#include "jemalloc/controls.def"
};

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
matches(const char *pattern, const char *name)
{
    while (*pattern != '\0') {
        if (*pattern != '*') {
            if (*pattern++ != *name++)
                return false;
            continue;
        }
        if (!is_digit(*name))
            return false;
        while (is_digit(*name))
            name++;
        pattern++;
    }
    return *name == '\0';
}

static bool
begins_with(const char *name, const char *beginning)
{
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

const Control *
control_find(const char *name)
{
    for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
        if (matches(controls[i].pattern, name))
            return &controls[i];
    return NULL;
}

/*
 * jemalloc parses an index up to the first non-digit: it would take "arena.0x.name" as "arena.0.name", which the table
 * does not match.
 */
static bool
is_component_character(char c, char first)
{
    return is_digit(c) || (!is_digit(first) && ((c >= 'a' && c <= 'z') || c == '_'));
}

bool
control_name_is_sound(const char *name)
{
    char previous = '.';
    char first = '\0'; /* of the component */
    for (; *name != '\0'; previous = *name++) {
        first = previous == '.' ? *name : first;
        if (*name == '.' ? previous == '.' : !is_component_character(*name, first))
            return false;
    }
    return previous != '.';
}

bool
control_may_read(const char *name, ControlType type)
{
    const Control *control = control_find(name);
    if (control == NULL) {
        /* experimental.* has neither stable names nor stable meanings; some of its controls write through pointers that
         * the caller passes in. */
        return type != CONTROL_STRING && type != CONTROL_NONE && !begins_with(name, "experimental.");
    }
    return (control->flags & CONTROL_READABLE) != 0 && (control->flags & CONTROL_READ_ACTS) == 0 &&
           (type == CONTROL_STRING) == (control->type == CONTROL_STRING);
}

bool
control_may_write(const char *name, ControlType type)
{
    const Control *control = control_find(name);
    if (control == NULL || (control->flags & CONTROL_AGENT_WRITES) == 0)
        return false;
    /* A string would be a pointer or a file name, neither of which is accepted from a client. */
    return (type == control->type && type != CONTROL_STRING) ||
           (type == CONTROL_NONE && (control->flags & CONTROL_VALUE_OPTIONAL) != 0);
}

bool
control_is_profiling(const char *name)
{
    return begins_with(name, "prof.") || begins_with(name, "thread.prof.") ||
           begins_with(name, "experimental.prof_recent.") || begins_with(name, "experimental.hooks.prof_");
}
