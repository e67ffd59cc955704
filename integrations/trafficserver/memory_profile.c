/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apache Traffic Server's memory_profile plugin: jemalloc's heap profiler by message, as the plugin of that name that
 * comes with Traffic Server 9 does it, also where jemalloc is preloaded.
 *
 *   traffic_ctl plugin msg memory_profile activate|dump|stats|deactivate
 *
 * plugin.config: memory_profile.so [agent]
 *
 * With "agent" jescope's agent runs too, so that `jescope` reaches the server. The messages do not go through it: they
 * are to give jemalloc's own answers, whatever its version.
 */
#include "dump_file.h"

#include <jescope.h>
#include <ts/ts.h>

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN "memory_profile"

/* jemalloc's, if one is in the process: nobody links it for us. */
__attribute__((weak)) int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
__attribute__((weak)) void malloc_stats_print(void (*write)(void *, const char *), void *closure, const char *options);

enum {
    SHOWN_MAX = 80, /* bytes of an unexpected message that are logged */
};

/* The name of the dump is worth a line to those who look for it, and no failure without it. */
static void
log_dump_file(struct timespec since)
{
    const char *prefix = NULL;
    size_t size = sizeof prefix;
    char path[PATH_MAX];
    if (!TSIsDebugTagSet(PLUGIN) || mallctl("opt.prof_prefix", &prefix, &size, NULL, 0) != 0 || prefix == NULL)
        return;
    int error = dump_file_find(prefix, getpid(), since, path, sizeof path);
    if (error == 0)
        TSDebug(PLUGIN, "dump is in %s", path);
    else
        TSDebug(PLUGIN, "dump is not to be found under %s: %s", prefix, strerror(error));
}

/* mallctl() tells by what it returns; errno is logged because the original does. */
static void
dump(void)
{
    struct timespec since = dump_file_now();
    int result = mallctl("prof.dump", NULL, NULL, NULL, 0);
    if (result == 0)
        log_dump_file(since);
    else
        TSError("[" PLUGIN "] mallctl(prof.dump) failed retval=%d errno=%d", result, errno);
}

static void
set_active(bool active)
{
    int result = mallctl("prof.active", NULL, NULL, &active, sizeof active);
    if (result != 0)
        TSError("[" PLUGIN "] mallctl(prof.active) %s failed retval=%d errno=%d", active ? "on" : "off", result, errno);
}

static void
activate(void)
{
    set_active(true);
}

static void
deactivate(void)
{
    set_active(false);
}

/* Where jemalloc prints by itself: standard error, which is traffic.out. */
static void
print_stats(void)
{
    malloc_stats_print(NULL, NULL, NULL);
}

static const struct {
    const char *word;
    void (*run)(void);
} actions[] = {
    {"dump", dump},
    {"activate", activate},
    {"deactivate", deactivate},
    {"stats", print_stats},
};

/* Text from outside goes to a log: one line, of a bounded length. */
static void
log_unexpected(const char *text, size_t length)
{
    char shown[SHOWN_MAX + 1];
    size_t n = length < SHOWN_MAX ? length : SHOWN_MAX;
    for (size_t i = 0; i < n; i++)
        shown[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
    shown[n] = '\0';
    TSError("[" PLUGIN "] Unexpected msg %s%s; known: dump activate deactivate stats", shown, n < length ? "..." : "");
}

/* TEXT is not terminated. */
static void
act(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strlen(actions[i].word) == length && memcmp(actions[i].word, text, length) == 0) {
            actions[i].run();
            return;
        }
    log_unexpected(text, length);
}

static void
take_message(const TSPluginMsg *message)
{
    TSDebug(PLUGIN, "Message to '%s' - %zu bytes of data", message->tag, message->data_size);
    if (strcmp(message->tag, PLUGIN) != 0)
        return;
    if (mallctl == NULL || malloc_stats_print == NULL) {
        TSError("[" PLUGIN "] Not built with jemalloc and none is preloaded; start Traffic Server with "
                "LD_PRELOAD=libjemalloc.so.2 and MALLOC_CONF=prof:true,prof_active:false,prof_prefix:DIRECTORY/NAME");
        return;
    }
    size_t length = message->data_size;
    const char *text = message->data;
    if (length > 0 && text[length - 1] == '\0') /* traffic_ctl 9 sends the end of the string along */
        length--;
    if (length > 0)
        act(text, length);
}

static int
on_event(TSCont contp, TSEvent event, void *data)
{
    if (event == TS_EVENT_LIFECYCLE_MSG)
        take_message(data);
    else
        TSError("[" PLUGIN "] Unexpected event %d", event);
    return TS_EVENT_NONE;
}

static void
start_agent(void)
{
    JescopeError error;
    if (jescope_start(NULL, &error) == JESCOPE_OK)
        TSDebug(PLUGIN, "agent started");
    else
        TSError("[" PLUGIN "] No agent: %s", error.message);
}

/* What plugin.config says behind our name. */
static void
take_arguments(int argc, const char *argv[])
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "agent") == 0)
            start_agent();
        else
            TSError("[" PLUGIN "] Unknown argument '%s' in plugin.config; known: agent", argv[i]);
}

__attribute__((visibility("default"))) void
TSPluginInit(int argc, const char *argv[])
{
    TSPluginRegistrationInfo info = {
        .plugin_name = PLUGIN,
        .vendor_name = "jescope",
        .support_email = "",
    };
    if (TSPluginRegister(&info) != TS_SUCCESS) {
        TSError("[" PLUGIN "] Plugin registration failed");
        TSError("[" PLUGIN "] Unable to initialize plugin (disabled)");
        return;
    }
    TSLifecycleHookAdd(TS_LIFECYCLE_MSG_HOOK, TSContCreate(on_event, TSMutexCreate()));
    TSDebug(PLUGIN, "online");
    take_arguments(argc, argv);
}
