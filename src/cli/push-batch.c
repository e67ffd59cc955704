/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/push-batch.h"

#include "cli/command.h"
#include "cli/confined-work.h"
#include "cli/progress.h"

#include "confine/account.h"
#include "confine/rights.h"
#include "export/batch-build.h"
#include "export/labels.h"
#include "stats/ledger-take.h"
#include "stats/live.h"
#include "target/cgroup.h"
#include "target/user-name.h"

#include <unistd.h>

typedef struct {
    const PushBatchOptions *options;
    SourceOptions source;
    GPtrArray *parts;
    BatchCircumstances circumstances;
    GArray *labels;
    LedgerTaken ledger;
    StatsSample *sample;
    char *program;
    BatchProcess process;
    gint64 taken_us; /* since 1970 */
} Making;

static void
making_clear(Making *making)
{
    g_clear_pointer(&making->parts, g_ptr_array_unref);
    g_clear_pointer(&making->labels, g_array_unref);
    g_clear_pointer(&making->sample, stats_sample_unref);
    g_clear_pointer(&making->program, g_free);
    ledger_taken_clear(&making->ledger);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Making, making_clear)

/* Runs in the confined child. */
static int
make_batch(gpointer data, GOutputStream *out, GError **error)
{
    Making *making = data;
    progress_phase(PROGRESS_READS, 0, 0);
    g_autoptr(Source) source = source_finish(making->parts, &making->source, error);
    g_autoptr(GBytes) batch = source != NULL ? batch_build(&source->input, &making->circumstances, error) : NULL;
    if (batch == NULL ||
        !g_output_stream_write_all(out, g_bytes_get_data(batch, NULL), g_bytes_get_size(batch), NULL, NULL, error))
        return STATUS_FAILED;
    return source->partial ? STATUS_PARTIAL : STATUS_DONE;
}

/* Any user's process may have any name. Returns the user. */
static uid_t
add_user(Making *making, const Target *target)
{
    Process process;
    uid_t user = target_user(target); /* of one that has ended, too */
    if (process_look(target_pid(target), &process))
        user = rights_lesser(process_author(&process), user);
    g_autofree char *name = user_name(user);
    labels_add(making->labels, "user", name);
    return user;
}

/* Collects the known facts about a process on this machine; missing ones are omitted. */
static gboolean
look_at_process(Making *making, Target *target, uid_t *user, GError **error)
{
    pid_t pid = target_pid(target);
    g_autofree char *group = cgroup_path(pid), *link = g_strdup_printf("/proc/%d/exe", (int)pid);
    g_autoptr(StatsLive) live = stats_live_new(target, STATS_LIVE_TOTALS, NULL);
    /* Variables first: the process chooses their values, which do not replace what is known of it. */
    if (!labels_add_variables(making->labels, pid, making->options->variables, error))
        return FALSE;
    *user = add_user(making, target);
    if (group != NULL)
        labels_add_group(making->labels, group);
    making->process = (BatchProcess){.pid = (guint64)pid, .start = target_start_time(target), .time = making->taken_us};
    making->circumstances.process = pid != 0 ? &making->process : NULL;
    making->program = g_file_read_link(link, NULL);
    making->sample = live != NULL ? stats_live_sample(live, NULL) : NULL;
    if (ledger_take(target_process(target), target, &making->ledger, NULL))
        making->circumstances.ledger = &making->ledger.ledger;
    return target_check_unchanged(target, error);
}

static gboolean
look_around(Making *making, PushBatchFacts *facts, GError **error)
{
    const Source *source = making->parts->pdata[0];
    uid_t user = source->owner;
    making->labels = labels_new();
    if (source->live && !look_at_process(making, source->target, &user, error))
        return FALSE;
    facts->account = account_of(user);
    for (const char *const *label = making->options->labels; label != NULL && *label != NULL; label++)
        if (!labels_add_text(making->labels, *label, error))
            return FALSE;
    making->circumstances.service = making->options->service;
    making->circumstances.host = making->options->host;
    making->circumstances.labels = (const BatchLabel *)(gconstpointer)making->labels->data;
    making->circumstances.n_labels = making->labels->len;
    making->circumstances.program = making->program;
    making->circumstances.sample = making->sample;
    return TRUE;
}

static GBytes *
read_batch(int fd, GError **error)
{
    g_autoptr(GMappedFile) mapped = g_mapped_file_new_from_fd(fd, FALSE, error);
    close(fd);
    g_autoptr(GBytes) bytes = mapped != NULL ? g_mapped_file_get_bytes(mapped) : NULL;
    g_autoptr(Batch) batch = bytes != NULL ? batch_read(bytes, error) : NULL;
    return batch != NULL ? g_steal_pointer(&bytes) : NULL;
}

GBytes *
push_batch_make(char *name, const PushBatchOptions *options, PushBatchFacts *facts, GError **error)
{
    g_auto(Making) making = {.options = options};
    int fd = -1;
    report_fill_source_options(&making.source, options->arguments);
    making.source.keeps_text = TRUE;
    making.circumstances.with_heap = options->with_heap;
    gint64 begin = g_get_monotonic_time();
    making.parts = source_begin_all(&name, 1, &making.source, error);
    facts->took_us = g_get_monotonic_time() - begin;
    making.taken_us = g_get_real_time();
    if (making.parts == NULL || !look_around(&making, facts, error))
        return NULL;
    g_autoptr(GArray) descriptors = source_descriptors(making.parts);
    const Confined confined = {.work = make_batch,
                               .data = &making,
                               .keep = (const int *)(gconstpointer)descriptors->data,
                               .n_keep = descriptors->len,
                               .seconds = report_seconds(descriptors, source_author(making.parts), &making.source)};
    int result = confined_work_run(&confined, "naming functions", &fd, error);
    facts->partial = result == STATUS_PARTIAL;
    if (result == STATUS_DONE || result == STATUS_PARTIAL)
        return read_batch(fd, error);
    if (fd >= 0)
        close(fd);
    return NULL;
}
