/* SPDX-License-Identifier: Apache-2.0 */
#include "target/remote-output.h"

#include "target/foreign-file.h"
#include "target/remote-control.h"
#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A file that cannot be created, so that the dump just fails if jescope ends before jemalloc opens it. */
static const char dump_name[] = "/proc/self/fd/jescope/heap";
static const char memfd_name[] = "jescope";

enum {
    /* Offsets in the scratch memory. */
    DUMP_NAME_AT = REMOTE_CONTROL_FREE,
    MEMFD_NAME_AT = DUMP_NAME_AT + 64,
    LETTERS_AT = MEMFD_NAME_AT + 64,

    PIECE = 64 * 1024,
    MAPS_PATH_MAX = 64,
};

/* A system call that opens files: its number, and the indices of its arguments for the name and the flags. */
static const struct {
    gint64 number;
    guint name;
    int flags; /* -1: none */
} opens[] = {
#ifdef SYS_creat
    {SYS_creat, 0, -1},
    {SYS_open, 0, 1},
#endif
    {SYS_openat, 1, 2},
};

static gboolean
opens_dump(const TraceeSystemCall *call, guint64 name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(opens); i++)
        if (call->number == opens[i].number)
            return call->arguments[opens[i].name] == name;
    return FALSE;
}

/* Whether CALL may open the list of mapped files, which jemalloc appends to a dump. Another thread may change the name
 * after this. */
static gboolean
opens_maps(const TraceeSystemCall *call, const Tracee *tracee)
{
    for (gsize i = 0; i < G_N_ELEMENTS(opens); i++) {
        const guint name = opens[i].name;
        if (call->number != opens[i].number || opens[i].flags < 0 ||
            (call->arguments[opens[i].flags] & ~(guint64)O_CLOEXEC) != O_RDONLY)
            continue;
        g_autofree char *path = tracee_read_string(tracee, call->arguments[name], MAPS_PATH_MAX);
        return path != NULL && g_str_has_prefix(path, "/proc/") && g_str_has_suffix(path, "/maps");
    }
    return FALSE;
}

/* The kernel sends SIGXFSZ, whose default action ends the process, for a write beyond the limit. */
static void
check_size_limit(RemoteOutput *output, guint64 length)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    struct stat st;
    prlimit(output->process->pid, RLIMIT_FSIZE, NULL, &limit);
    if (limit.rlim_cur == RLIM_INFINITY || fstat(output->shared.fd, &st) != 0 ||
        (guint64)st.st_size + length <= limit.rlim_cur)
        return;
    g_autofree char *most = g_format_size_full(limit.rlim_cur, G_FORMAT_SIZE_IEC_UNITS);
    g_set_error(&output->refused, TARGET_ERROR, OUTCOME_SYSTEM,
                "the dump exceeds its limit of the size of files (RLIMIT_FSIZE), which is %s; raise it: 'prlimit "
                "--pid=%d --fsize=unlimited'",
                most, (int)output->process->pid);
}

/* A write to a dump that was refused has no effect. To jemalloc it succeeds, since it reports a failure on stderr and,
 * with abort:true, ends the process. */
static TraceeVerdict
before_dump_write(RemoteOutput *output, TraceeSystemCall *call)
{
    const guint64 length = call->arguments[2];
    if (output->refused == NULL)
        shared_output_advance(&output->shared, output->process->name, &output->refused);
    if (output->refused == NULL)
        check_size_limit(output, length);
    if (output->refused == NULL)
        return TRACEE_PROCEED;
    call->result = (gint64)length;
    return TRACEE_SKIP;
}

static TraceeVerdict
before_dump(TraceeSystemCall *call, gpointer data)
{
    RemoteOutput *output = data;
    if (!loan_files_check(&output->files, call))
        return TRACEE_SKIP;
    if (output->shared.fd >= 0 && call->number == SYS_write && (gint64)call->arguments[0] == output->file)
        return before_dump_write(output, call);
    output->opening = output->shared.fd < 0 && output->refused == NULL && opens_dump(call, output->name);
    /* A filter that forbids to open files still does: jemalloc gets an empty file, and the list is added later
     * (dump-maps.h). */
    if (!output->opening && !(tracee_suspends_filter(output->tracee) && opens_maps(call, output->tracee)))
        return TRACEE_PROCEED;
    call->number = SYS_memfd_create;
    call->arguments[0] = output->name + MEMFD_NAME_AT - DUMP_NAME_AT;
    call->arguments[1] = foreign_file_flags;
    return TRACEE_REPLACE;
}

static void
after_dump(const TraceeSystemCall *call, gpointer data)
{
    RemoteOutput *output = data;
    loan_files_note(&output->files, call);
    if (!output->opening)
        return;
    output->opening = FALSE;
    output->failure = call->result < 0 ? (int)-call->result : 0;
    output->file = call->result;
    const int fd = call->result >= 0 ? foreign_file_take(output->files.thread, call->result, &output->refused) : -1;
    if (fd >= 0)
        shared_output_begin(&output->shared, fd, &output->plan, output->process->uids[0], output->process->name,
                            &output->refused);
}

static gboolean
set_failed(const RemoteOutput *output, const char *what, int failure, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM, "%s (%d) could not write its %s: %s", output->process->name,
                (int)output->process->pid, what, g_strerror(failure));
    return FALSE;
}

gboolean
remote_output_dump(Tracee *tracee, const RemoteJemalloc *jemalloc, RemoteOutput *output, GError **error)
{
    const TraceeWatch watch = {before_dump, after_dump, output};
    int failure = 0;
    if (!tracee_may_call_system(tracee)) {
        g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION,
                    "cannot dump %s (%d): its seccomp filter may forbid the necessary system calls; run jescope as "
                    "root, which can suspend the filter, or restart it under 'jescope run'",
                    output->process->name, (int)output->process->pid);
        return FALSE;
    }
    output->tracee = tracee;
    output->files = (LoanFiles){.thread = tracee_thread(tracee)};
    output->name = tracee_scratch(tracee) + DUMP_NAME_AT;
    if (!tracee_disable_cancellation(tracee, error) ||
        !tracee_write(tracee, output->name, dump_name, sizeof(dump_name), error) ||
        !tracee_write(tracee, tracee_scratch(tracee) + MEMFD_NAME_AT, memfd_name, sizeof(memfd_name), error))
        return FALSE;
    tracee_watch(tracee, &watch);
    gboolean called = remote_control_dump(tracee, jemalloc, output->name, &failure, error);
    tracee_watch(tracee, NULL);
    if (!called) {
        g_clear_error(&output->refused);
        return FALSE;
    }
    if (output->refused == NULL && output->files.lost)
        g_set_error(
            &output->refused, TARGET_ERROR, OUTCOME_SYSTEM,
            "it has closed the descriptor to which jemalloc wrote, as a program does that closes all; try again");
    if (output->refused != NULL) {
        g_propagate_prefixed_error(error, g_steal_pointer(&output->refused),
                                   "cannot dump %s (%d): ", output->process->name, (int)output->process->pid);
        return FALSE;
    }
    if (output->failure == 0)
        output->failure = output->shared.fd < 0 && failure == 0 ? ENOENT : failure;
    return output->failure == 0 || set_failed(output, "heap dump", output->failure, error);
}

/* Whether LENGTH more bytes of statistics are within the limit. */
static gboolean
may_take(RemoteOutput *output, gsize length)
{
    const OutputWriter writer = {output->process->name, output->limit, TRUE};
    const guint64 taken = (guint64)lseek(output->descriptor, 0, SEEK_CUR);
    const guint64 bytes = length < G_MAXUINT64 - taken ? taken + length : G_MAXUINT64;
    return output->refused == NULL && output_file_check_bytes(bytes, &writer, &output->refused);
}

/* Copies LENGTH bytes at ADDRESS of the process to our memory file. */
static gboolean
take_text(RemoteOutput *output, guint64 address, gsize length)
{
    char piece[PIECE];
    for (gsize done = 0; done < length;) {
        gsize step = MIN(length - done, sizeof(piece));
        if (!tracee_read(output->tracee, address + done, piece, step, NULL) ||
            write(output->descriptor, piece, step) != (ssize_t)step)
            return FALSE;
        done += step;
    }
    return TRUE;
}

static TraceeVerdict
before_stats(TraceeSystemCall *call, gpointer data)
{
    RemoteOutput *output = data;
    gsize length = call->arguments[2];
    if (call->number != SYS_write || (int)call->arguments[0] != STDERR_FILENO)
        return TRACEE_PROCEED;
    if (output->failure == 0 && may_take(output, length) && !take_text(output, call->arguments[1], length))
        output->failure = errno != 0 ? errno : EIO;
    call->result = (gint64)length;
    call->arguments[2] = 0;
    return TRACEE_SKIP;
}

/* Fails if the program has set malloc_message, since it then receives the text itself. */
static gboolean
check_message(Tracee *tracee, const RemoteJemalloc *jemalloc, const RemoteOutput *output, GError **error)
{
    guint64 function = 0;
    if (jemalloc->message != 0 && !tracee_read(tracee, jemalloc->message, &function, sizeof(function), error))
        return FALSE;
    if (function == 0)
        return TRUE;
    g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM,
                "%s (%d) receives jemalloc's text itself (it has set %smalloc_message); 'jescope attach' loads the "
                "agent, which can get the text",
                output->process->name, (int)output->process->pid, jemalloc->prefix);
    return FALSE;
}

gboolean
remote_output_stats(Tracee *tracee, const RemoteJemalloc *jemalloc, RemoteOutput *output, GError **error)
{
    const TraceeWatch watch = {before_stats, NULL, output};
    const guint64 letters = tracee_scratch(tracee) + LETTERS_AT;
    const guint64 arguments[] = {0, 0, letters};
    if (!check_message(tracee, jemalloc, output, error))
        return FALSE;
    output->tracee = tracee;
    output->descriptor = output_file_new(error);
    if (output->descriptor < 0)
        return FALSE;
    if (!tracee_disable_cancellation(tracee, error) ||
        !tracee_write(tracee, letters, output->letters, strlen(output->letters) + 1, error))
        return FALSE;
    tracee_watch(tracee, &watch);
    gboolean called = tracee_call(tracee, jemalloc->stats_print, arguments, G_N_ELEMENTS(arguments), NULL, error);
    tracee_watch(tracee, NULL);
    if (called && output->refused != NULL) {
        g_propagate_error(error, g_steal_pointer(&output->refused));
        return FALSE;
    }
    g_clear_error(&output->refused);
    return called && (output->failure == 0 || set_failed(output, "statistics", output->failure, error));
}

gboolean
remote_output_finish(RemoteOutput *output, GError **error)
{
    struct stat st;
    const gboolean is_dump = output->letters == NULL;
    g_autofree char *label = g_strdup_printf("%s (%d)", output->process->name, (int)output->process->pid);
    const OutputWriter writer = {label, output->limit, !is_dump};
    if (fstat(is_dump ? output->shared.fd : output->descriptor, &st) != 0)
        return set_failed(output, is_dump ? "heap dump" : "statistics", errno, error);
    if (st.st_size == 0) {
        g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM, "%s wrote nothing", label);
        return FALSE;
    }
    if (!is_dump)
        return output_file_check(output->descriptor, (guint64)st.st_size, &writer, error);
    output->descriptor = shared_output_take(&output->shared, (guint64)st.st_size, &writer, error);
    return output->descriptor >= 0;
}

void
remote_output_discard(RemoteOutput *output)
{
    shared_output_discard(&output->shared, output->process->name, NULL);
    if (output->descriptor >= 0)
        close(output->descriptor);
    output->descriptor = -1;
}
