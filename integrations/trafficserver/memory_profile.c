/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apache Traffic Server's memory_profile plugin: jemalloc's heap profiler by message, as the plugin of that name that
 * comes with Traffic Server does it, also where jemalloc is preloaded. C for Traffic Server 9, C++17 for 10.
 *
 *   traffic_ctl plugin msg memory_profile activate|dump|stats|deactivate
 *
 * plugin.config: memory_profile.so [agent]
 *
 * With "agent" jescope's agent runs too, so that `jescope` reaches the server. The messages do not go through it: they
 * are to give jemalloc's own answers, whatever its version.
 */
#include <jescope.h>
#include <ts/ts.h>

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PLUGIN "memory_profile"

/* Traffic Server 10 has its headers in C++ alone, and debug controls in place of tags. */
#if TS_VERSION_MAJOR >= 10
static DbgCtl debug_control{PLUGIN};
#define debug(...) Dbg(debug_control, __VA_ARGS__)
#else
#define debug(...) TSDebug(PLUGIN, __VA_ARGS__)
#endif

#ifdef __cplusplus
extern "C" {
#endif

#include "embed/own-dump.h"

/* jemalloc's, if one is in the process; it is not linked. */
__attribute__((weak)) int mallctl(const char *name, void *value, size_t *size, void *written, size_t written_size);
__attribute__((weak)) void malloc_stats_print(void (*write)(void *, const char *), void *closure, const char *options);

enum {
    SHOWN_MAX = 80, /* bytes of an unexpected message that are logged */
};

/* jemalloc would choose a predictable name, and follow a link that another user may have created there: it writes into
 * a file that we have made. What it says when it cannot profile, or finds no place for a file, is as if it had tried.
 * */
static int
write_dump(char *path, size_t size)
{
    bool ready = false;
    const char *prefix = NULL;
    size_t length = sizeof(ready);
    char name[32];
    const char *written = name;
    if (mallctl("opt.prof", &ready, &length, NULL, 0) != 0 || !ready)
        return mallctl("prof.dump", NULL, NULL, NULL, 0);
    length = sizeof(prefix);
    if (mallctl("opt.prof_prefix", &prefix, &length, NULL, 0) != 0 || prefix == NULL)
        return EFAULT;
    int fd = own_dump_create(prefix, path, size);
    if (fd < 0)
        return EFAULT;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    int result = mallctl("prof.dump", NULL, NULL, &written, sizeof(written));
    if (result != 0)
        unlink(path);
    close(fd);
    return result;
}

/* Traffic Server's documentation names another variable, which jemalloc does not read. */
static void
log_wrong_variable(void)
{
    if (getenv("JEMALLOC_CONF") != NULL && getenv("MALLOC_CONF") == NULL)
        TSError("[" PLUGIN "] jemalloc does not read JEMALLOC_CONF, which is set; the variable is MALLOC_CONF");
}

/* mallctl() tells by what it returns; errno is logged because the original does. */
static void
dump(void)
{
    char path[PATH_MAX];
    int result = write_dump(path, sizeof(path));
    if (result == 0)
        debug("dump is in %s", path);
    else
        TSError("[" PLUGIN "] mallctl(prof.dump) failed retval=%d errno=%d", result, errno);
}

static void
set_active(bool active)
{
    int result = mallctl("prof.active", NULL, NULL, &active, sizeof(active));
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
    size_t n = length < SHOWN_MAX ? length : (size_t)SHOWN_MAX;
    for (size_t i = 0; i < n; i++)
        shown[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
    shown[n] = '\0';
    TSError("[" PLUGIN "] Unexpected msg %s%s; known: dump activate deactivate stats", shown, n < length ? "..." : "");
}

/* Where a program gets privileges when it starts, the loader ignores LD_PRELOAD and jemalloc MALLOC_CONF: so it is if
 * traffic_manager runs as root and gives its user to traffic_server. */
static void
log_no_jemalloc(void)
{
    if (getauxval(AT_SECURE) != 0)
        TSError("[" PLUGIN "] Not built with jemalloc, and LD_PRELOAD is ignored because traffic_manager was started "
                "as root; start it as Traffic Server's own user (User=trafficserver in its unit)");
    else
        TSError("[" PLUGIN "] Not built with jemalloc and none is preloaded; start Traffic Server with "
                "LD_PRELOAD=libjemalloc.so.2 and MALLOC_CONF=prof:true,prof_active:false,prof_prefix:DIRECTORY/NAME");
}

/* TEXT is not terminated. */
static void
act(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        if (strlen(actions[i].word) == length && memcmp(actions[i].word, text, length) == 0) {
            actions[i].run();
            return;
        }
    log_unexpected(text, length);
}

static void
take_message(const TSPluginMsg *message)
{
    debug("Message to '%s' - %zu bytes of data", message->tag, message->data_size);
    if (strcmp(message->tag, PLUGIN) != 0)
        return;
    if (mallctl == NULL || malloc_stats_print == NULL) {
        log_no_jemalloc();
        return;
    }
    size_t length = message->data_size;
    const char *text = (const char *)message->data;
    if (length > 0 && text[length - 1] == '\0') /* traffic_ctl 9 sends the end of the string along */
        length--;
    if (length > 0)
        act(text, length);
}

static int
on_event(TSCont contp, TSEvent event, void *data)
{
    if (event == TS_EVENT_LIFECYCLE_MSG)
        take_message((const TSPluginMsg *)data);
    else
        TSError("[" PLUGIN "] Unexpected event %d", event);
    return TS_EVENT_NONE;
}

static void
start_agent(void)
{
    JescopeError error;
    if (jescope_start(NULL, &error) == JESCOPE_OK)
        debug("agent started");
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
    TSPluginRegistrationInfo info;
    info.plugin_name = PLUGIN;
    info.vendor_name = "jescope";
    info.support_email = "";
    if (TSPluginRegister(&info) != TS_SUCCESS) {
        TSError("[" PLUGIN "] Plugin registration failed");
        TSError("[" PLUGIN "] Unable to initialize plugin (disabled)");
        return;
    }
    TSLifecycleHookAdd(TS_LIFECYCLE_MSG_HOOK, TSContCreate(on_event, TSMutexCreate()));
    debug("online");
    log_wrong_variable();
    take_arguments(argc, argv);
}

#ifdef __cplusplus
}
#endif
