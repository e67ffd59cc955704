/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/confined.h"

#include "confine/child.h"
#include "confine/death-signal.h"
#include "confine/file-waits.h"
#include "confine/forking.h"
#include "confine/opener.h"
#include "confine/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_MESSAGE = 4096,
    MAX_STATUS = 255,
};

/* The result that the child reports before it ends. */
typedef struct {
    gint32 status; /* -1: failed */
    gint32 code;   /* of the error */
    char domain[64];
    char message[MAX_MESSAGE];
} Outcome;

typedef struct {
    int asks, answers;  /* the two ends of the opener's socket */
    int tells, listens; /* of the pipe for the result */
    int says, hears;    /* of the pipe that is its stderr */
    int output;         /* memory file, its stdout */
    pid_t pid;
} Child;

static gboolean
set_up(Child *child, GError **error)
{
    int sockets[2] = {-1, -1}, ends[2] = {-1, -1}, words[2] = {-1, -1};
    *child = (Child){.output = memfd_create("jescope-output", MFD_CLOEXEC)};
    gboolean ready = child->output >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0 &&
                     pipe2(ends, O_CLOEXEC) == 0 && pipe2(words, O_CLOEXEC) == 0;
    int code = errno;
    child->asks = sockets[0];
    child->answers = sockets[1];
    child->listens = ends[0];
    child->tells = ends[1];
    child->hears = words[0];
    child->says = words[1];
    if (!ready) {
        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(code), "cannot start a child process for reading: %s",
                    g_strerror(code));
    }
    return ready;
}

static void
close_if_open(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The child's standard streams: stdin is empty, stdout and stderr go to the caller. Returns a file for the contents of
 * requests: the child can create none, whose memory would not be part of its address space. */
static int
keep_descriptors(const Confined *confined, const Child *child)
{
    const int content = memfd_create("jescope-content", MFD_CLOEXEC);
    const int own[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, child->asks, child->tells, content};
    int empty = memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(int));
    fcntl(empty, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL);
    dup2(empty, STDIN_FILENO);
    dup2(child->output, STDOUT_FILENO);
    dup2(child->says, STDERR_FILENO);
    g_array_append_vals(kept, own, G_N_ELEMENTS(own));
    g_array_append_vals(kept, confined->keep, confined->n_keep);
    child_keep_only((const int *)(gconstpointer)kept->data, kept->len);
    return content;
}

static void
tell(const Child *child, int status, const GError *failure)
{
    Outcome outcome = {.status = failure != NULL ? -1 : CLAMP(status, 0, MAX_STATUS)};
    if (failure != NULL) {
        outcome.code = failure->code;
        g_strlcpy(outcome.domain, g_quark_to_string(failure->domain), sizeof(outcome.domain));
        g_strlcpy(outcome.message, failure->message, sizeof(outcome.message));
    }
    (void)!write(child->tells, &outcome, sizeof(outcome));
}

static void G_GNUC_NORETURN
run_child(const Confined *confined, const Child *child, pid_t parent)
{
    g_autoptr(GError) failure = NULL;
    int status = -1;
    death_signal_bind(parent);
    const int content = keep_descriptors(confined, child);
    opener_ask_at(child->asks, content);
    if (confined->seconds != 0)
        sandbox_limit_time(confined->seconds);
    if (child_confine(confined->memory, &failure)) {
        g_autoptr(GOutputStream) out = g_unix_output_stream_new(STDOUT_FILENO, FALSE);
        status = confined->work(confined->data, out, &failure);
        if (fflush(stdout) != 0 && failure == NULL)
            g_set_error(&failure, G_IO_ERROR, G_IO_ERROR_NO_SPACE, "the output is too large; reduce it");
    }
    tell(child, status, failure);
    _exit(0);
}

/* Reads the child's stderr and drops what exceeds the limit. FALSE: it is closed. */
static gboolean
hear(const Child *child, GString *words)
{
    char text[4096];
    ssize_t got = read(child->hears, text, sizeof(text));
    if (got > 0)
        g_string_append_len(words, text, (gssize)MIN((gsize)got, CONFINED_MAX_WORDS - words->len));
    return got > 0 || (got < 0 && errno == EINTR);
}

/* Answers requests and reads stderr until the child has ended or closed both. FALSE: it is held up. */
static gboolean
serve_child(const Confined *confined, const Child *child, GString *words)
{
    struct pollfd ends[] = {{.fd = child->answers, .events = POLLIN}, {.fd = child->hears, .events = POLLIN}};
    g_autoptr(FileWaits) waits = file_waits_new(child->pid, confined->keep, confined->n_keep);
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
        const int n = poll(ends, G_N_ELEMENTS(ends), file_waits_due_ms(waits));
        if (!file_waits_look(waits))
            return FALSE;
        if (n <= 0)
            continue;
        if (ends[0].revents != 0 && !opener_answer_one(child->answers))
            ends[0].fd = -1;
        if (ends[1].revents != 0 && !hear(child, words))
            ends[1].fd = -1;
    }
    return TRUE;
}

static const char *
meaning_of_signal(int number)
{
    static const struct {
        int number;
        const char *meaning;
    } meanings[] = {
        {0, "it has ended by itself, as where it has no memory for a document"},
        {SIGBUS, "a file was truncated while it was read; try again"},
        {SIGKILL, "it was killed, possibly because memory ran out"},
        {SIGXCPU, "it took too much time; reduce the output, or choose a simpler format"},
        {SIGXFSZ, "the output is too large; reduce it, or choose a simpler format"},
        {SIGTRAP, "possibly out of memory"},
        {SIGABRT, "possibly out of memory"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(meanings); i++)
        if (meanings[i].number == number)
            return meanings[i].meaning;
    return "a damaged file crashed the reader; please report it with the file";
}

static int
judge(const Child *child, int ended, GError **error)
{
    Outcome outcome = {.status = -1};
    ssize_t got = read(child->listens, &outcome, sizeof(outcome));
    if (got != sizeof(outcome)) {
        int number = WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT, "reading was aborted (signal %d): %s", number,
                    meaning_of_signal(number));
        return -1;
    }
    if (outcome.status < 0) {
        outcome.message[sizeof(outcome.message) - 1] = '\0';
        outcome.domain[sizeof(outcome.domain) - 1] = '\0';
        g_set_error_literal(error, g_quark_from_string(outcome.domain), outcome.code, outcome.message);
    }
    return MIN(outcome.status, MAX_STATUS);
}

static void
close_all(Child *child)
{
    int *const all[] = {&child->asks,  &child->answers, &child->tells, &child->listens,
                        &child->hears, &child->says,    &child->output};
    for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
        close_if_open(all[i]);
}

int
confined_run(const Confined *confined, ConfinedResult *result, GError **error)
{
    Child child;
    int status = -1;
    pid_t self = getpid();
    g_autoptr(GString) words = g_string_new(NULL);
    *result = (ConfinedResult){.output = -1};
    fflush(stdout);
    sandbox_prepare();
    gboolean ready = set_up(&child, error);
    if (ready && (child.pid = forking_fork()) == 0)
        run_child(confined, &child, self);
    close_if_open(&child.asks);
    close_if_open(&child.tells);
    close_if_open(&child.says);
    if (ready && child.pid < 0) {
        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(errno), "cannot start a child process for reading: %s",
                    g_strerror(errno));
    } else if (ready && serve_child(confined, &child, words)) {
        status = judge(&child, child_wait(child.pid), error);
    } else if (ready) {
        kill(child.pid, SIGKILL); /* without effect until the file system answers, so that its end is not waited for */
        g_set_error(
            error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT,
            "reading was aborted: files have taken %d s longer to answer than all else; they are in a file system "
            "that another user answers for; end the process that uses it, or run jescope as its user",
            FILE_WAITS_S);
    }
    if (ready && lseek(child.output, 0, SEEK_SET) == 0) {
        result->output = child.output;
        child.output = -1;
    }
    result->words = g_string_free(g_steal_pointer(&words), FALSE);
    close_all(&child);
    return status;
}
