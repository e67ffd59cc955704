/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/source.h"
#include "cli/via.h"
#include "report/units.h"
#include "target/target.h"

#include <unistd.h>

/* Everything about a live target that a report needs beside its dump. */
typedef struct {
    WireHelloReply hello;
    guint64 allocated; /* stats.allocated, 0: unknown */
} LiveFacts;

static char *
format_time(guint64 realtime_ns)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local((gint64)(realtime_ns / 1000000000));

    return time ? g_date_time_format(time, "%Y-%m-%d %H:%M:%S") : g_strdup("an unknown time");
}

static char *
note_since(const WireHelloReply *hello)
{
    g_autofree char *since = NULL;

    if (!(hello->flags & WIRE_FLAG_PROF_ACTIVE))
        return g_strdup("sampling is off now: what was allocated since then is not in here");
    if (hello->since == WIRE_SINCE_START)
        return g_strdup("sampling on since the process started");
    if (hello->since == WIRE_SINCE_UNKNOWN || hello->active_since_ns == 0)
        return g_strdup("since when sampling is on is not known: what was allocated before is not in here");
    since = format_time(hello->active_since_ns);
    return g_strdup_printf("sampling on since %s: what was allocated before is not in here", since);
}

static char *
note_coverage(const Profile *profile, guint64 allocated)
{
    gdouble inuse = profile_total(profile)->estimate[PROFILE_INUSE_SPACE];
    char percent[UNITS_BUFFER], amount[UNITS_BUFFER];

    if (allocated == 0)
        return NULL;
    return g_strdup_printf("explains %s of stats.allocated (%s)", units_percent(percent, inuse, (gdouble)allocated),
                           units_format(amount, PROFILE_INUSE_SPACE, (gdouble)allocated, UNITS_PLAIN));
}

/* The statistics are a courtesy: a target whose jemalloc has none still gets its report. */
static guint64
read_allocated(Target *target)
{
    ControlValue value;

    if (!target_write(target, "epoch", WIRE_TYPE_U64, 1, NULL) ||
        !target_read(target, "stats.allocated", WIRE_TYPE_SIZE, &value, NULL))
        return 0;
    return value.value;
}

/* The process must still be there when its files are read, so names come before the target is let go. */
Source *
source_open_target(const char *name, const SourceOptions *options, GError **error)
{
    g_autoptr(Source) source = g_new0(Source, 1);
    g_autoptr(Target) target = via_open(name, error);
    SymbolizeOptions symbolize_options = options->symbolize;
    LiveFacts facts = {0};
    gboolean ok;
    int fd;

    if (!target) {
        if (error != NULL && g_error_matches(*error, TARGET_ERROR, TARGET_ERROR_NO_PROCESS))
            g_prefix_error(error, "'%s' is no file, and ", name);
        return NULL;
    }
    if (!target_hello(target, &facts.hello, error))
        return NULL;
    fd = target_dump(target, error);
    if (fd < 0)
        return NULL;
    facts.allocated = read_allocated(target);
    ok = source_read_mapped(source, fd, target_label(target), options->read, error);
    close(fd);
    if (!ok)
        return NULL;
    source->name = g_strdup(target_label(target));
    source->input.time = g_get_real_time() / G_USEC_PER_SEC;
    symbolize_options.pid = target_pid(target);
    source->symbols = symbolize(source->profile, &symbolize_options, error);
    source_add_note(source, note_coverage(source->profile, facts.allocated));
    source_add_note(source, note_since(&facts.hello));
    return source->symbols ? g_steal_pointer(&source) : NULL;
}
