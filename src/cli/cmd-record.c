/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/family.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/recording.h"
#include "cli/renewing.h"
#include "cli/sampling.h"
#include "cli/size.h"
#include "cli/user-times.h"
#include "cli/via.h"
#include "client/client.h"
#include "confine/account.h"
#include "confine/input-file.h"
#include "confine/keyed-hash.h"
#include "run/preload.h"
#include "source/named-dump.h"

#include "source/capture.h"
#include "target/candidates.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    TICK_MS = 200,
    FOLLOW_MS = 1000,  /* interval of searching for new processes */
    TRIES = 5,         /* attempts to reach a process that has just been started */
    TEND_MS = 10000,   /* that intermediate dumps of one user's processes may take at a time */
    DUMPS_MS = 120000, /* that the last dumps of one user's processes may take */
    END_MS = 10000,    /* that one user's processes may take to restore their state, as a lease does by itself */
    SLOW_MS = 5000,    /* that failed attempts may take for the processes of one user, and each attempt */
    LATE_MS = 1000,    /* an attempt that succeeds takes less, but on a busy machine */
    MANY_MS = 15000,   /* that attempts of one search that fail or are late may take for all users */
    KEPT_MAX = 4096,   /* dumps that are kept until they are written */
};

/* The command line. */
static struct {
    char *duration, *sample, *every, *path;
    SamplerArguments sampler;
    int count;
    gboolean keep_on, children, symbolized, attach;
} arguments;

static const GOptionEntry options[] = {
    {.long_name = "for",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &arguments.duration,
     .description = "how long to record; a bare number is seconds (default: until Ctrl-C)",
     .arg_description = "DURATION"},
    {.long_name = "sample",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &arguments.sample,
     .description = "sampling period of this recording, discarding earlier samples",
     .arg_description = "SIZE"},
    SAMPLER_OPTIONS(arguments.sampler),
    {.long_name = "attach",
     .arg_data = &arguments.attach,
     .description = "load the agent for this recording if it is not there, and stop it afterwards"},
    {.long_name = "every",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &arguments.every,
     .description = "write a dump at each interval while sampling stays on, for 'jescope growth'",
     .arg_description = "DURATION"},
    {.long_name = "count",
     .arg = G_OPTION_ARG_INT,
     .arg_data = &arguments.count,
     .description = "with --every: end after this many dumps",
     .arg_description = "N"},
    {.long_name = "keep-on", .arg_data = &arguments.keep_on, .description = "leave profiling on afterwards"},
    {.long_name = "children",
     .arg_data = &arguments.children,
     .description = "record every process of that name and their descendants, also new ones, into one file"},
    {.long_name = "output",
     .short_name = 'o',
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &arguments.path,
     .description = "write to this file, which must not exist; - is stdout",
     .arg_description = "FILE"},
    SYMBOLIZE_OPTION(arguments.symbolized),
    VIA_OPTION,
    MAX_OUTPUT_OPTION,
    FORCE_OPTION,
    {0},
};

/* The targets of this command and their results. */
typedef struct {
    const char *name;      /* as typed */
    char *label;           /* for display */
    char *path;            /* of the file, or of the first of several files */
    Output *output;        /* opened before anything is switched on */
    GPtrArray *recordings; /* Recording, of running processes */
    Renewing *renewing;    /* all of them */
    GPtrArray *ended;      /* NamedDump, of processes that have ended */
    RecordingRoom room;    /* for all dumps until they are written */
    guint64 collected;     /* bytes of it that those have which are being written */
    GHashTable *tried;     /* "PID.START" -> number of attempts; TRIES: given up */
    UserTimes *slow;       /* failed attempts */
    UserTimes *spent;      /* in this round */
    gboolean has_user;     /* of all families */
    uid_t user;
    gboolean told;       /* that there are families of others */
    gboolean told_room;  /* that there was no room for a dump */
    gint64 failed_us;    /* that attempts of this search have taken that failed or were late */
    guint64 duration_ms; /* G_MAXUINT64: until a signal */
    guint64 every_ms;    /* 0: one dump at the end */
    unsigned lg;
    SamplerChoice choice;
    char *attached; /* the process in which this command loaded the agent, as process_operand(); NULL: none */
    guint dumps;    /* written */
    gint64 start_us;
    gboolean begun; /* the duration counts from START_US on */
    guint64 followed_ms;
    gboolean interrupted;
    gboolean partial; /* a process was skipped, or nothing was sampled */
    GError *cause;    /* why the last recording ended */
    guint64 cut_ms;   /* the time covered by the dump of the last target that ended; 0: none */
    Interrupt interrupt;
    Progress *progress;
} Session;

static guint64
session_ms(const Session *session)
{
    return (guint64)(g_get_monotonic_time() - session->start_us) / 1000;
}

static guint64
left_ms(const Session *session)
{
    guint64 passed = session->begun ? session_ms(session) : 0;
    return session->duration_ms > passed ? session->duration_ms - passed : 0;
}

static void
session_clear(Session *session)
{
    progress_end(g_steal_pointer(&session->progress));
    g_clear_pointer(&session->renewing, renewing_free);
    g_clear_pointer(&session->recordings, g_ptr_array_unref);
    g_clear_pointer(&session->spent, g_hash_table_unref);
    g_clear_pointer(&session->ended, g_ptr_array_unref);
    g_clear_pointer(&session->tried, g_hash_table_unref);
    g_clear_pointer(&session->slow, g_hash_table_unref);
    g_clear_pointer(&session->output, output_free);
    g_clear_pointer(&session->path, g_free);
    g_clear_pointer(&session->label, g_free);
    g_clear_pointer(&session->attached, g_free);
    g_clear_pointer(&session->room.refusal, g_free);
    g_clear_error(&session->cause);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Session, session_clear)

/* Prints on stderr; the progress line redraws itself. */
G_GNUC_PRINTF(2, 3)
static void
tell(Session *session, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    g_autofree char *text = g_strdup_vprintf(format, values);
    va_end(values);
    gboolean shown = session->progress != NULL;
    progress_end(g_steal_pointer(&session->progress));
    command_say("%s", text);
    if (shown)
        session->progress = progress_begin("recording %s", session->label);
}

/* ---- writing ---- */

/* Inserts a number for the second and further files: "x.heap" becomes "x.2.heap". */
static char *
numbered_path(const char *path, guint number)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    gsize stem = dot != NULL ? (gsize)(dot - path) : strlen(path);
    return g_strdup_printf("%.*s.%u%s", (int)stem, path, number, path + stem);
}

static gboolean
open_output(Session *session, GError **error)
{
    const Recording *first = session->recordings->len > 0 ? session->recordings->pdata[0] : NULL;
    if (arguments.path == NULL && first != NULL) {
        g_free(session->path);
        session->path = output_dump_name(target_name(first->target), (int)target_own_pid(first->target));
    } else if (arguments.path != NULL) {
        g_free(session->path);
        session->path = session->every_ms != 0 && strcmp(arguments.path, "-") != 0
                            ? numbered_path(arguments.path, session->dumps + 1)
                            : g_strdup(arguments.path);
    }
    session->output = output_open(session->path, OUTPUT_PRIVATE, error);
    return session->output != NULL;
}

/* Concatenates all DUMPS in one file, which 'jescope report' can read. */
static gboolean
write_dumps(Session *session, const GPtrArray *dumps, GError **error)
{
    if (session->output == NULL && !open_output(session, error))
        return FALSE;
    for (guint i = 0; i < dumps->len; i++)
        if (!output_copy(session->output, ((const NamedDump *)dumps->pdata[i])->fd, error))
            return FALSE;
    if (!output_commit(session->output, error))
        return FALSE;
    g_clear_pointer(&session->output, output_free);
    session->dumps++;
    if (strcmp(session->path, "-") != 0) {
        progress_end(g_steal_pointer(&session->progress));
        puts(session->path);
        fflush(stdout);
    }
    return TRUE;
}

/* No object was live at the end; prints the likely reasons, the most certain first. */
static void
explain_empty(Session *session)
{
    Recording *first = session->recordings->pdata[0];
    WireCtlReply threads = {.value = 1};
    WireCtlReply lg = {.value = 0};
    g_autofree char *duration = duration_format(MIN(recording_ms(first), session->duration_ms));
    renewing_take(session->renewing, first);
    target_read(first->target, "prof.thread_active_init", WIRE_TYPE_BOOL, &threads, NULL);
    gboolean known = target_read(first->target, "prof.lg_sample", WIRE_TYPE_SIZE, &lg, NULL) && lg.value < 64;
    g_autofree char *period = known ? size_format(G_GUINT64_CONSTANT(1) << lg.value) : g_strdup("one sampling period");
    renewing_give_back(session->renewing, first);
    session->partial = TRUE;
    if (threads.value == 0)
        tell(session,
             "nothing was sampled: prof_thread_active_init:false keeps the threads of %s unsampled; start it without "
             "that",
             target_label(first->target));
    else
        tell(session,
             "no live samples after %s: %s allocated little (samples are taken about every %s) or freed it again; "
             "record for longer, or sample more often with --sample",
             duration, target_label(first->target), period);
}

static gboolean
all_empty(const GPtrArray *dumps)
{
    for (guint i = 0; i < dumps->len; i++)
        if (!recording_is_empty(((const NamedDump *)dumps->pdata[i])->fd))
            return FALSE;
    return TRUE;
}

/* ---- the targets ---- */

/* Takes over KEPT. */
static NamedDump *
dump_of_ended(const Recording *recording, int kept)
{
    NamedDump *dump = named_dump_new(kept, recording->target);
    if (target_alive(recording->target, NULL))
        return dump;
    dump->pid = 0;
    dump->owner = recording->owner;
    return dump;
}

/* RECORDING, which was taken, has ended for CAUSE, which is taken over, as is the descriptor KEPT, a dump that covers
 * AFTER_MS; -1: none. */
static void
member_ended(Session *session, Recording *recording, int kept, guint64 after_ms, GError *cause)
{
    g_autofree char *when = duration_format(after_ms);
    session->cut_ms = kept >= 0 ? after_ms : 0;
    if (kept >= 0)
        g_ptr_array_add(session->ended, dump_of_ended(recording, kept));
    if (arguments.children) {
        session->partial = TRUE;
        if (kept >= 0)
            tell(session, "%s; the file holds its memory after %s of recording", cause->message, when);
        else
            tell(session, "%s; nothing of it is in the file", cause->message);
    }
    g_clear_error(&session->cause);
    session->cause = cause;
    renewing_remove(session->renewing, recording);
    g_ptr_array_remove(session->recordings, recording);
}

static void
tell_refusal(Session *session)
{
    if (session->room.refusal == NULL || session->told_room)
        return;
    session->told_room = TRUE;
    session->partial = TRUE;
    tell(session, "dumps are left out: %s", session->room.refusal);
}

/* ---- the time for the processes of each user ---- */

/* Workers of a service may be of another user, and each may let every deadline pass. All that is asked of a user's
 * processes in one round shares a time. */
static void
begin_round(Session *session)
{
    g_hash_table_remove_all(session->spent);
}

/* Limits what is asked of RECORDING's process to what is left of MS for its user. FALSE: nothing. One process alone
 * has its own deadlines. */
static gboolean
begin_turn(Session *session, const Recording *recording, guint ms)
{
    const gint64 left_us = (gint64)ms * 1000 - user_times_of(session->spent, account_of(recording->owner));
    if (!arguments.children)
        return TRUE;
    target_wait_until(recording->target, g_get_monotonic_time() + MAX(left_us, 0));
    return left_us > 0;
}

static void
end_turn(Session *session, const Recording *recording, gint64 begin_us)
{
    user_times_add_since(session->spent, account_of(recording->owner), begin_us);
    target_wait_until(recording->target, 0);
}

/* Takes an intermediate dump if it is time for it. FALSE: the recording, which was taken, has ended. */
static gboolean
tend(Session *session, Recording *recording, GError **cause)
{
    const gint64 begin_us = g_get_monotonic_time();
    if (!target_alive(recording->target, cause) || !renewing_goes_on(session->renewing, recording, cause))
        return FALSE;
    const gboolean goes_on =
        !begin_turn(session, recording, TEND_MS) || recording_keep(recording, left_ms(session), cause);
    end_turn(session, recording, begin_us);
    return goes_on;
}

static void
salvage(Session *session, Recording *recording, GError *cause)
{
    const gint64 begin_us = g_get_monotonic_time();
    guint64 after_ms;
    const int kept = begin_turn(session, recording, TEND_MS) ? recording_salvage(recording, &after_ms)
                                                             : recording_take_kept(recording, &after_ms);
    end_turn(session, recording, begin_us);
    member_ended(session, recording, kept, after_ms, cause);
}

/* Tends all recordings. FALSE: all have ended. */
static gboolean
tend_all(Session *session)
{
    begin_round(session);
    for (guint i = session->recordings->len; i-- > 0;) {
        GError *cause = NULL;
        Recording *recording = session->recordings->pdata[i];
        if (!renewing_try_take(session->renewing, recording))
            continue;
        if (tend(session, recording, &cause))
            renewing_give_back(session->renewing, recording);
        else
            salvage(session, recording, cause);
    }
    tell_refusal(session);
    return session->recordings->len > 0;
}

static gboolean
is_own(const Session *session, uid_t account)
{
    return !session->has_user || account_of(session->user) == account;
}

static guint
count_of(const Session *session, uid_t account)
{
    guint count = 0;
    for (guint i = 0; i < session->recordings->len; i++)
        count += account_of(((const Recording *)session->recordings->pdata[i])->owner) == account;
    return count;
}

/* Half of the dumps that may be kept are for processes of the service's own user. */
static guint
most_of(const Session *session, uid_t account)
{
    return session->room.dumps_most / (is_own(session, account) ? 2 : 4);
}

/* Takes over TARGET. */
static Recording *
add(Session *session, Target *target, GError **error)
{
    /* A worker forked during the recording has inherited the lease. */
    Recording *recording = session->followed_ms > 0 ? recording_adopt(target, session->recordings) : NULL;
    if (recording == NULL && !target_check_headroom(target, error)) { /* its dump would be refused at the end */
        target_free(target);
        return NULL;
    }
    if (recording == NULL)
        recording = recording_begin(target, session->lg, &session->choice, error);
    if (recording == NULL)
        return NULL;
    recording->content = arguments.symbolized ? CAPTURE_NAMES : CAPTURE_ADDRESSES;
    recording->room = &session->room;
    g_autofree char *notice = capture_notice(target);
    if (notice != NULL)
        tell(session, "warning: %s: %s", target_label(target), notice);
    /* The service's own come first, in case that the others are not waited for. */
    const uid_t account = account_of(recording->owner);
    g_ptr_array_insert(session->recordings, is_own(session, account) ? (gint)count_of(session, account) : -1,
                       recording);
    renewing_add(session->renewing, recording);
    return recording;
}

static void
leave_out(Session *session, const Process *process, const char *why)
{
    session->partial = TRUE;
    tell(session, "%s (%d) is left out: %s", process->name, (int)process->pid, why);
}

/* The number of previous attempts for this process. */
static guint
count_try(Session *session, const Process *process)
{
    char *key = g_strdup_printf("%d.%" G_GUINT64_FORMAT, (int)process->pid, process->start_time);
    guint tries = GPOINTER_TO_UINT(g_hash_table_lookup(session->tried, key));
    g_hash_table_insert(session->tried, key, GUINT_TO_POINTER(tries + 1));
    return tries;
}

static gboolean
is_recorded(const Session *session, const Process *process)
{
    for (guint i = 0; i < session->recordings->len; i++) {
        const Recording *recording = session->recordings->pdata[i];
        if (target_pid(recording->target) == process->pid && recording->start_time == process->start_time)
            return TRUE;
    }
    return FALSE;
}

/* Any user may have processes of the name that let each deadline pass, or thousands of them. */
static void
note_failed(Session *session, const Process *process, gint64 begin_us)
{
    user_times_add_since(session->slow, account_of(process->uids[1]), begin_us);
    session->failed_us += g_get_monotonic_time() - begin_us;
}

static void
try_candidate(Session *session, const Candidate *candidate)
{
    g_autoptr(GError) cause = NULL;
    const uid_t account = account_of(candidate->process.uids[1]);
    if (candidate->reach == REACH_NO_JEMALLOC || is_recorded(session, &candidate->process))
        return;
    guint tries = count_try(session, &candidate->process);
    if (tries >= TRIES)
        return;
    if (count_of(session, account) >= most_of(session, account)) {
        if (tries == 0)
            leave_out(session, &candidate->process,
                      "the maximum number of processes of its user is recorded; raise the limit of open files "
                      "(ulimit -n), or record it alone by its pid");
        return;
    }
    if (user_times_of(session->slow, account) >= SLOW_MS * 1000) {
        if (tries + 1 == TRIES)
            leave_out(session, &candidate->process, "other processes of its user do not answer in time");
        return;
    }
    const gint64 begin = g_get_monotonic_time();
    g_autofree char *operand = process_operand(&candidate->process);
    Target *target = candidate->reach == REACH_NOT ? NULL : via_open(operand, &cause);
    if (target != NULL)
        target_wait_until(target, begin + SLOW_MS * 1000);
    if (target != NULL && add(session, target, &cause) != NULL) {
        target_wait_until(target, 0);
        if (g_get_monotonic_time() - begin >= LATE_MS * 1000)
            session->failed_us += g_get_monotonic_time() - begin;
        return;
    }
    note_failed(session, &candidate->process, begin);
    gboolean gone = !process_alive(candidate->process.pid, candidate->process.start_time);
    if (tries + 1 == TRIES && !gone)
        leave_out(session, &candidate->process, cause != NULL ? cause->message : candidate->obstacle);
}

/* Whether a search goes on; the next one continues with those that were not tried too often. */
static gboolean
goes_on(const Session *session)
{
    return !session->interrupted && session->failed_us < MANY_MS * 1000 &&
           (!session->begun || session_ms(session) < session->duration_ms);
}

/* Chooses the user of all families at first. FALSE: there are several. */
static gboolean
choose_user(Session *session, const GPtrArray *found, const GArray *users, GError **error)
{
    for (guint i = 0; i < found->len; i++) {
        const uid_t user = g_array_index(users, uid_t, i);
        if (((const Candidate *)found->pdata[i])->reach == REACH_NO_JEMALLOC)
            continue;
        if (session->has_user && session->user != user) {
            g_set_error(error, TARGET_ERROR, OUTCOME_AMBIGUOUS,
                        "processes of several users are named '%s'; give the pid of one, which is recorded with its "
                        "descendants ('jescope ps' lists them)",
                        session->name);
            return FALSE;
        }
        session->has_user = TRUE;
        session->user = user;
    }
    return TRUE;
}

static void
try_of_user(Session *session, const Candidate *candidate, uid_t user)
{
    if (user == session->user) {
        try_candidate(session, candidate);
    } else if (!session->told && candidate->reach != REACH_NO_JEMALLOC) {
        session->told = TRUE;
        tell(session, "%s (%d) is left out: it is of another user, or was started by one", candidate->process.name,
             (int)candidate->process.pid);
    }
}

/* Starts recordings of the present processes; returns their number, -1: none has the name. */
static int
follow(Session *session, GError **error)
{
    ProcessListGaps gaps;
    g_autoptr(GArray) all = process_list(&gaps);
    g_autoptr(GPtrArray) found =
        candidates_find_among(all, &gaps, session->name, CANDIDATES_FAMILY | CANDIDATES_JEMALLOC, error);
    session->followed_ms = session_ms(session);
    session->failed_us = 0;
    g_autoptr(GArray) users = found != NULL ? families_users(found, all) : NULL;
    if (found != NULL && !session->begun && !choose_user(session, found, users, error))
        return -1;
    for (guint i = 0; found != NULL && i < found->len && goes_on(session); i++) {
        try_of_user(session, found->pdata[i], g_array_index(users, uid_t, i));
        session->interrupted = session->interrupted || interrupt_wait(&session->interrupt, 0);
    }
    session->followed_ms = session_ms(session);
    return found != NULL ? (int)found->len : -1;
}

/* ---- the course of it ---- */

static void
show_progress(Session *session)
{
    g_autofree char *passed = duration_format(session_ms(session) / 1000 * 1000);
    g_autofree char *whole = duration_format(session->duration_ms);
    gboolean bounded = session->duration_ms != G_MAXUINT64;
    if (session->progress == NULL)
        session->progress = progress_begin("recording %s", session->label);
    progress_show_timed(session->progress, "recording %s: %s%s%s, Ctrl-C ends it", session->label,
                        session_ms(session) < 1000 ? "0 s" : passed, bounded ? " of " : "", bounded ? whole : "");
}

static guint64
intermediate_bytes(const Session *session)
{
    guint64 bytes = 0;
    for (guint i = 0; i < session->recordings->len; i++)
        bytes += ((const Recording *)session->recordings->pdata[i])->kept_bytes;
    return bytes;
}

/* The dump of RECORDING, which is taken; -1 with the error. A signal ends the wait for the last
 * dumps. */
static int
take_dump(Session *session, Recording *recording, RecordingDump last, GError **error)
{
    const gint64 begin_us = g_get_monotonic_time();
    int dump = -1;
    renewing_take(session->renewing, recording);
    if (!begin_turn(session, recording, DUMPS_MS))
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "%s: the dumps of its user's processes took %d s; record it alone by its pid",
                    target_label(recording->target), DUMPS_MS / 1000);
    else if (arguments.children && last == RECORDING_ENDS && interrupt_is_pending(&session->interrupt))
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "%s: interrupted", target_label(recording->target));
    else
        dump = recording_take_dump(recording, last, error);
    end_turn(session, recording, begin_us);
    return dump;
}

/* The dumps of all running processes, and of those that have ended since the last dumps. */
static GPtrArray *
collect_dumps(Session *session, RecordingDump last)
{
    GPtrArray *dumps = g_ptr_array_new_with_free_func((GDestroyNotify)named_dump_free);
    gboolean empty = all_empty(session->ended);
    begin_round(session);
    renewing_set_end(session->renewing, G_MAXINT64); /* until all of them are taken */
    for (guint i = 0; i < session->recordings->len;) {
        GError *cause = NULL;
        guint64 after_ms;
        Recording *recording = session->recordings->pdata[i];
        int dump = take_dump(session, recording, last, &cause);
        empty = empty && (dump < 0 || recording_is_empty(dump));
        if (dump >= 0) {
            g_ptr_array_add(dumps, named_dump_new(dump, recording->target));
            renewing_give_back(session->renewing, recording);
            i++;
        } else {
            const int kept = recording_take_kept(recording, &after_ms);
            member_ended(session, recording, kept, after_ms, cause);
        }
    }
    g_ptr_array_extend_and_steal(dumps, g_steal_pointer(&session->ended));
    session->ended = g_ptr_array_new_with_free_func((GDestroyNotify)named_dump_free);
    session->collected = session->room.bytes - intermediate_bytes(session);
    if (dumps->len > 0 && empty && session->recordings->len > 0 && last == RECORDING_ENDS)
        explain_empty(session);
    return dumps;
}

static gboolean
name_dumps(const GPtrArray *dumps, GError **error)
{
    for (guint i = 0; i < dumps->len; i++)
        if (arguments.symbolized && !named_dump_finish(dumps->pdata[i], error))
            return FALSE;
    return TRUE;
}

static gboolean
dump_all(Session *session, GError **error)
{
    g_autoptr(GPtrArray) dumps = collect_dumps(session, RECORDING_GOES_ON);
    if (dumps->len > 0 && (!name_dumps(dumps, error) || !write_dumps(session, dumps, error)))
        return FALSE;
    session->room.dumps -= dumps->len;
    session->room.bytes -= session->collected;
    return TRUE;
}

static gboolean
is_over(const Session *session)
{
    gboolean enough = arguments.count > 0 && session->dumps >= (guint)arguments.count;
    return session->interrupted || enough || session_ms(session) >= session->duration_ms;
}

/* Does everything that is due. FALSE: nothing is left to record, or, with error set, a file cannot be written. */
static gboolean
beat(Session *session, GError **error)
{
    guint64 passed = session_ms(session);
    if (session->every_ms != 0 && passed >= (session->dumps + 1) * session->every_ms && !dump_all(session, error))
        return FALSE;
    if (arguments.children && passed - session->followed_ms >= FOLLOW_MS)
        follow(session, NULL);
    if (!tend_all(session) && !arguments.children)
        return FALSE;
    return TRUE;
}

static gboolean
wait_for_end(Session *session, GError **error)
{
    while (beat(session, error) && !is_over(session)) {
        guint64 due = session->every_ms != 0 ? (session->dumps + 1) * session->every_ms : G_MAXUINT64;
        guint64 passed = session_ms(session);
        show_progress(session);
        session->interrupted = interrupt_wait(
            &session->interrupt, MIN(MIN((guint64)TICK_MS, left_ms(session)), due > passed ? due - passed : 0));
    }
    return error == NULL || *error == NULL;
}

/* Restores the earlier state of RECORDING. */
static gboolean
end_one(Session *session, Recording *recording, GError **error)
{
    g_autoptr(GError) cause = NULL;
    const gint64 begin_us = g_get_monotonic_time();
    gboolean ended = FALSE;
    if (!begin_turn(session, recording, END_MS))
        g_set_error(&cause, CLI_ERROR, CLI_ERROR_FAILED, "%s: the processes of its user took %d s to end the recording",
                    target_label(recording->target), END_MS / 1000);
    else
        ended = arguments.keep_on ? recording_leave_on(recording, &cause) : recording_end(recording, &cause);
    end_turn(session, recording, begin_us);
    if (ended || g_error_matches(cause, TARGET_ERROR, OUTCOME_GONE))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

/* Restores the earlier state of every target, whatever happens to the others. */
static gboolean
end_all(Session *session, GError **error)
{
    gboolean ok = TRUE;
    renewing_stop(session->renewing);
    begin_round(session);
    for (guint i = 0; i < session->recordings->len; i++)
        ok = end_one(session, session->recordings->pdata[i], ok ? error : NULL) && ok;
    return ok;
}

/* Called before functions are named, so that the targets need not wait. */
static void
end_with_dumps(Session *session, GError **error)
{
    GError *cause = NULL;
    g_autoptr(GPtrArray) dumps = collect_dumps(session, RECORDING_ENDS);
    end_all(session, &cause);
    if (arguments.symbolized)
        progress_show(session->progress, "naming functions of %s", session->label);
    if (dumps->len > 0 && name_dumps(dumps, cause == NULL ? &cause : NULL))
        write_dumps(session, dumps, cause == NULL ? &cause : NULL);
    if (cause != NULL)
        g_propagate_error(error, cause);
}

static void
tell_how_long(Session *session, guint64 passed_ms)
{
    if (!session->interrupted || session->duration_ms == G_MAXUINT64 || passed_ms >= session->duration_ms)
        return;
    g_autofree char *passed = duration_format(passed_ms);
    g_autofree char *whole = duration_format(session->duration_ms);
    tell(session, "interrupted: recorded %s of %s", passed, whole);
}

/* The last target has ended, or its recording was ended. */
static int
broken_off(Session *session, guint64 passed_ms, GError **error)
{
    g_autofree char *passed = duration_format(passed_ms);
    g_autofree char *cut = duration_format(session->cut_ms);
    if (session->dumps == 0) {
        g_propagate_prefixed_error(error, g_steal_pointer(&session->cause),
                                   "the recording was aborted after %s: ", passed);
        return STATUS_FAILED;
    }
    if (session->cut_ms > 0)
        tell(session, "the recording was aborted after %s: %s; the file holds memory live after %s", passed,
             session->cause->message, cut);
    else
        tell(session, "the recording was aborted after %s: %s", passed, session->cause->message);
    return STATUS_PARTIAL;
}

static int
record(Session *session, GError **error)
{
    GError *cause = NULL;
    wait_for_end(session, &cause);
    guint64 passed_ms = session_ms(session);
    gboolean alone = session->recordings->len == 0;
    while (interrupt_wait(&session->interrupt, 0)) /* only a later one ends the wait for the last dumps */
        session->interrupted = TRUE;
    gboolean unfinished = session->every_ms == 0 || session->interrupted || session->ended->len > 0;
    if (cause == NULL && unfinished)
        end_with_dumps(session, &cause);
    else
        end_all(session, cause == NULL ? &cause : NULL);
    progress_end(g_steal_pointer(&session->progress));
    if (cause != NULL) {
        g_propagate_error(error, cause);
        return STATUS_FAILED;
    }
    tell_how_long(session, passed_ms);
    if (session->cause != NULL && (alone || session->recordings->len == 0))
        return broken_off(session, passed_ms, error);
    if (arguments.keep_on)
        tell(session, "profiling stays on; 'jescope disable' ends it");
    return session->partial ? STATUS_PARTIAL : STATUS_DONE;
}

/* Opens the target, after attaching an agent if --attach is given. */
static Target *
open_target(Session *session, GError **error)
{
    if (!arguments.attach)
        return via_open(session->name, error);
    Target *target = target_open_via(session->name, TARGET_VIA_AGENT, NULL);
    g_autofree char *agent = target == NULL ? preload_find_agent(error) : NULL;
    if (target != NULL || agent == NULL)
        return target;
    target = target_attach(session->name, agent, TARGET_ATTACH_PLAIN, error);
    if (target != NULL)
        session->attached = process_operand(target_process(target));
    return target;
}

/* Reverts open_target(), after the state before the recording was restored. Meanwhile the name may be another's. */
static gboolean
detach(const Session *session, GError **error)
{
    g_autoptr(Target) target =
        session->attached != NULL ? target_open_via(session->attached, TARGET_VIA_AGENT, NULL) : NULL;
    return target == NULL || target_leave(target, error);
}

static gboolean
begin(Session *session, GError **error)
{
    if (!arguments.children) {
        Target *target = open_target(session, error);
        if (target == NULL)
            return FALSE;
        g_free(session->label);
        session->label = g_strdup(target_label(target));
        return add(session, target, error) != NULL;
    }
    const int found = follow(session, error);
    if (found < 0)
        return FALSE;
    if (session->recordings->len == 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "no process of the %d of '%s' can be recorded; 'jescope status PID' shows why", found,
                    session->name);
    return session->recordings->len > 0;
}

static gboolean
parse(Session *session, GError **error)
{
    session->duration_ms = G_MAXUINT64;
    session->lg = RECORDING_PERIOD_AS_IT_IS;
    if ((arguments.duration != NULL && !duration_parse(arguments.duration, "--for", &session->duration_ms, error)) ||
        (arguments.every != NULL && !duration_parse(arguments.every, "--every", &session->every_ms, error)) ||
        (arguments.sample != NULL && !sampling_parse(arguments.sample, &session->lg, error)) ||
        !sampler_parse(&arguments.sampler, &session->choice, error))
        return FALSE;
    if (arguments.attach && (arguments.children || arguments.keep_on || client_is_url(session->name))) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "record: --attach is for one process of this machine, and detaches at the end; run 'jescope "
                    "attach' for each process before --children or --keep-on");
        return FALSE;
    }
    if (arguments.count < 0 || (arguments.count > 0 && arguments.every == NULL)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "record: --count needs a positive number and --every, as in --every 10m --count 4");
        return FALSE;
    }
    return TRUE;
}

/* Half of the files that may be open; each process takes another one. */
static guint
most_dumps(void)
{
    struct rlimit files;
    input_file_raise_limit();
    return getrlimit(RLIMIT_NOFILE, &files) == 0 ? (guint)MIN(files.rlim_cur / 2, KEPT_MAX) : KEPT_MAX;
}

static void
session_init(Session *session)
{
    session->label = g_strdup_printf("all of %s", session->name);
    session->recordings = g_ptr_array_new_with_free_func((GDestroyNotify)recording_free);
    session->ended = g_ptr_array_new_with_free_func((GDestroyNotify)named_dump_free);
    session->tried = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    session->slow = user_times_new();
    session->spent = user_times_new();
    session->start_us = g_get_monotonic_time();
    session->room.bytes_most = target_output_limit();
    session->room.dumps_most = most_dumps();
}

static int
record_all(Session *session, GError **error)
{
    if (session->lg != RECORDING_PERIOD_AS_IT_IS && session->recordings->len > 0)
        sampling_warn_of(((Recording *)g_ptr_array_index(session->recordings, 0))->target, session->lg);
    session->start_us = g_get_monotonic_time();
    session->begun = TRUE;
    if (session->duration_ms < G_MAXINT64 / 1000 - (guint64)session->start_us / 1000)
        renewing_set_end(session->renewing, session->start_us + (gint64)session->duration_ms * 1000);
    if (session->output == NULL && !open_output(session, error)) {
        end_all(session, NULL);
        return STATUS_FAILED;
    }
    return record(session, error);
}

static int
run(char **operands, GError **error)
{
    g_auto(Session) session = {.name = operands[0]};
    if (!parse(&session, error))
        return STATUS_USAGE;
    session_init(&session);
    if (arguments.path != NULL && !open_output(&session, error))
        return STATUS_FAILED;
    if (!interrupt_catch(&session.interrupt, error))
        return STATUS_FAILED;
    session.renewing = renewing_new(error);
    if (session.renewing == NULL)
        return STATUS_FAILED;
    int status = begin(&session, error) ? record_all(&session, error) : STATUS_FAILED;
    if (!detach(&session, *error == NULL ? error : NULL))
        status = STATUS_FAILED;
    return status;
}

static const Example examples[] = {
    {"jescope record redis-server --for 60s", "profile for a minute"},
    {"jescope record redis-server --every 10m --count 4", "four dumps for 'jescope growth', sampling on between them"},
    {"jescope record 4711 --attach --for 60s", "a process that was started without anything, as it was afterwards"},
    {"jescope record 4711 --for 5m -o busy.heap", "profile process 4711 for five minutes and name the file"},
    {0},
};

const Command cmd_record = {
    .name = "record",
    .synopsis = "TARGET",
    .summary = "profile a target for some time and write a dump",
    .description =
        "Switches heap profiling in TARGET on, waits, writes a heap dump, restores the earlier state and prints the "
        "name of the file, by default NAME.PID.YYYYmmddTHHMMSS.heap. Without --for it records until Ctrl-C. Ctrl-C, "
        "SIGTERM and SIGHUP shorten a recording; the dump is still written. If TARGET ends earlier, the file holds the "
        "last intermediate dump (taken after 1 s, 2 s, 4 s and so on, at least every 5 min), and the exit status is 3. "
        "If jescope is killed, the agent in TARGET restores the earlier state within ten seconds; without an agent, a "
        "separate process that jescope started for this purpose does so immediately.\n"
        "\n"
        "A dump holds only what was allocated while sampling was on. To compare dumps, it must stay on between them: "
        "--every writes one at each interval (with -o x.heap: x.1.heap, x.2.heap and so on), and --keep-on leaves "
        "profiling on for later dumps.\n"
        "\n"
        "Where jemalloc was built or started without its profiler, jescope's own sampler takes its place with jemalloc "
        "5.2.0 to 5.3.1. It must be inside TARGET: --attach loads the agent as 'jescope attach' does, and stops it "
        "when the dump is written, unless it was there before. --sampler=jescope uses it also where jemalloc could "
        "profile, also at a URL; its dumps have the lifetimes of objects. When its memory is full it samples half as "
        "often; --sampler-memory gives it more or less for this recording.\n"
        "\n"
        "--sample sets the sampling period for this recording; the earlier period is restored at its end. With "
        "--children, TARGET selects all processes of that name, or the pid, and their descendants, including those "
        "started meanwhile (a reload); their dumps are written to one file, which 'jescope report' adds up; until "
        "then they have at most --max-output together, and dumps beyond that are left out. A quarter of the limit of "
        "open files is the maximum number of processes, an eighth for those of other users than the service's. "
        "Processes "
        "of the name must be of one user, as far as none of them has started the other; others that come are left out.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
