/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/environment.h"

#include "agent/process.h"
#include "wire/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

bool
environment_lists(const char *list, const char *name)
{
    size_t length = strlen(name);
    while (length > 0 && *list != '\0') {
        size_t n = strcspn(list, ",");
        if (n == length && memcmp(list, name, n) == 0)
            return true;
        list += n;
        list += *list == ',';
    }
    return false;
}

/* Matches the name it was started under, or the kernel's (cut to 15 characters, as `ps` prints). */
static bool
is_listed(const char *list)
{
    char name[PROCESS_NAME_MAX] = "";
    prctl(PR_GET_NAME, name);
    return environment_lists(list, program_invocation_short_name) || environment_lists(list, name);
}

/* False if VALUE is set to an unusable path. */
static bool
copy_directory(char directory[DIRECTORY_MAX], const char *value)
{
    size_t size = value == NULL ? 0 : strlen(value) + 1;
    if (size <= 1)
        return true;
    if (value[0] != '/' || size > DIRECTORY_MAX)
        return false;
    memcpy(directory, value, size);
    return true;
}

/* Parses the decimal number at *TEXT, up to MAX, and moves *TEXT past it. */
static bool
take_number(const char **text, uint64_t max, uint64_t *number)
{
    const char *at = *text;
    for (*number = 0; *at >= '0' && *at <= '9' && *number <= max; at++)
        *number = *number * 10 + (uint64_t)(*at - '0');
    const bool found = at != *text && *number <= max;
    *text = at;
    return found;
}

static bool
take_word(const char **text, const char *word)
{
    const size_t n = strlen(word);
    const bool found = strncmp(*text, word, n) == 0;
    *text += found ? n : 0;
    return found;
}

/* One word of JESCOPE_SAMPLER. */
static bool
take_wish(const char **text, SamplerWish *wish)
{
    uint64_t number;
    if (take_word(text, "active:true"))
        wish->active = true;
    else if (take_word(text, "lg_sample:") && take_number(text, WIRE_LEASE_PERIOD_MAX - 1, &number))
        wish->period = (unsigned)number + 1;
    else if (take_word(text, "memory:") && take_number(text, WIRE_SAMPLER_MEMORY_MAX, &number))
        wish->memory = (size_t)number;
    else
        return false;
    return **text == ',' || **text == '\0';
}

bool
environment_sampler(const char *text, SamplerWish *wish)
{
    *wish = (SamplerWish){0};
    while (*text != '\0') {
        if (!take_wish(&text, wish)) {
            *wish = (SamplerWish){0};
            return false;
        }
        text += *text == ',';
    }
    return true;
}

enum { CONF_MAX = 256 };

static struct {
    const char *prefix;
    const char *name;
    bool is_set;
    char text[CONF_MAX];
} confs[] = {
    {.prefix = "", .name = "MALLOC_CONF"},
    {.prefix = "je_", .name = "JE_MALLOC_CONF"},
    {.prefix = "jem_", .name = "JEM_MALLOC_CONF"},
    {.prefix = "_rjem_", .name = "_RJEM_MALLOC_CONF"},
};

static void
keep_malloc_conf(void)
{
    for (size_t i = 0; i < sizeof(confs) / sizeof(confs[0]); i++) {
        const char *text = getenv(confs[i].name);
        confs[i].is_set = text != NULL;
        size_t n = text != NULL ? strnlen(text, CONF_MAX - 1) : 0;
        memcpy(confs[i].text, text != NULL ? text : "", n);
        confs[i].text[n] = '\0';
    }
}

const char *
environment_malloc_conf(const char *prefix)
{
    for (size_t i = 0; i < sizeof(confs) / sizeof(confs[0]); i++)
        if (strcmp(confs[i].prefix, prefix) == 0)
            return confs[i].is_set ? confs[i].text : NULL;
    return NULL;
}

void
environment_read(Environment *environment)
{
    *environment = (Environment){.wanted = true};
    if (getauxval(AT_SECURE) != 0)
        return;
    const char *state = getenv("JESCOPE");
    const char *only = getenv("JESCOPE_ONLY");
    environment->wanted = (state == NULL || strcmp(state, "off") != 0) && (only == NULL || is_listed(only));
    const char *children = getenv("JESCOPE_CHILDREN");
    environment->childless = children != NULL && strcmp(children, "off") == 0;
    const char *debug = getenv("JESCOPE_DEBUG");
    environment->debug = debug != NULL && debug[0] != '\0' && strcmp(debug, "0") != 0;
    const char *sampler = getenv(WIRE_SAMPLER_VARIABLE);
    environment->bad_sampler = sampler != NULL && !environment_sampler(sampler, &environment->sampler);
    /* If a directory is named, the socket must not be in another one. */
    environment->bad_socket_directory = !copy_directory(environment->socket_directory, getenv("JESCOPE_SOCKET_DIR"));
    environment->wanted &= !environment->bad_socket_directory;
    copy_directory(environment->runtime_directory, getenv("XDG_RUNTIME_DIR"));
    keep_malloc_conf();
}

bool
environment_given(Environment *environment, const char *socket_directory, const char *runtime_directory)
{
    Environment given = {.wanted = true, .childless = environment->childless, .debug = environment->debug};
    if (getauxval(AT_SECURE) == 0 && (!copy_directory(given.socket_directory, socket_directory) ||
                                      !copy_directory(given.runtime_directory, runtime_directory)))
        return false;
    *environment = given;
    return true;
}

bool
environment_set_directory(Environment *environment, const char *socket_directory)
{
    return copy_directory(environment->socket_directory, socket_directory);
}
