/* SPDX-License-Identifier: Apache-2.0 */
#include "target/shared-output.h"

#include "confine/account.h"
#include "confine/aside.h"
#include "target/own-room.h"
#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PIECE = 4 << 20,      /* bytes that are in both files while they are moved */
    BUFFER = 64 << 10,    /* on the stack: free memory of a heap stays with each process that has moved something */
    GRANT = 64 << 20,     /* bytes granted ahead of the writer: more than it writes between two looks */
    STAT_BLOCK = 512,     /* unit of st_blocks */
    KEPT_S = 10,          /* how long a child is used, which keeps what the memory of this process was at its start */
    IDLE_MOST = 16,       /* such children */
    DISTRUSTED_MOST = 16, /* users */
};

/* ---- in the child ---- */

typedef enum {
    ASK_BEGIN, /* with the file and PLAN */
    ASK_ADVANCE,
    ASK_RESTART,
    ASK_FINISH,   /* the writer has finished: the file is sealed but for shrinking */
    ASK_TRUNCATE, /* to NUMBER bytes */
    ASK_DISCARD,
    TELL_MOST, /* NUMBER: the new maximum to be allocated; no answer */
} Kind;

typedef struct {
    guint32 kind;
    guint64 number;
    OutputPlan plan;
} Request;

typedef struct {
    gint32 error;    /* errno; 0: done */
    gint32 seals;    /* of a finished file, before it was sealed */
    guint32 stopped; /* OutputPages.stopped */
    guint64 overtaken;
} Answer;

static int
empty(int fd)
{
    if (ftruncate(fd, 0) != 0)
        return errno;
    lseek(fd, 0, SEEK_SET); /* may wait as well: for the lock of the description, which a write() holds */
    return 0;
}

static int
discard(OutputPages *pages)
{
    fcntl(pages->fd, F_ADD_SEALS, F_SEAL_GROW);
    const int code = ftruncate(pages->fd, 0) == 0 ? 0 : errno;
    close(pages->fd);
    pages->fd = -1;
    return code;
}

static int
finish(OutputPages *pages)
{
    output_pages_end(pages);
    pages->plan.most = 0;
    return fcntl(pages->fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW) == 0 ? 0 : errno;
}

static void
begin(OutputPages *pages, ChannelMessage *message, const OutputPlan *plan)
{
    if (pages->fd >= 0)
        discard(pages);
    if (message->n_fds == 0)
        return;
    output_pages_begin(pages, message->fds[0], plan);
    message->n_fds = 0;
}

static Answer
perform(OutputPages *pages, const Request *request, ChannelMessage *message)
{
    Answer answer = {0};
    if (request->kind == ASK_BEGIN)
        begin(pages, message, &request->plan);
    if (pages->fd < 0)
        return (Answer){.error = EBADF};
    switch ((Kind)request->kind) {
    case ASK_BEGIN:
        break;
    case ASK_ADVANCE:
        output_pages_advance(pages);
        break;
    case ASK_RESTART:
        answer.error = empty(pages->fd);
        break;
    case ASK_FINISH:
        answer.seals = fcntl(pages->fd, F_GET_SEALS);
        answer.error = finish(pages);
        break;
    case ASK_TRUNCATE:
        answer.error = ftruncate(pages->fd, (off_t)request->number) == 0 ? 0 : errno;
        break;
    case ASK_DISCARD:
        answer.error = discard(pages);
        break;
    case TELL_MOST:
        pages->plan.most = request->number;
        break;
    }
    answer.stopped = pages->stopped;
    answer.overtaken = pages->overtaken;
    return answer;
}

/* FALSE: the other end has closed. */
static gboolean
serve_one(int socket, OutputPages *pages)
{
    Request request;
    ChannelMessage message = {.bytes = &request, .size = sizeof(request)};
    if (!channel_receive(socket, &message) || message.size != sizeof(request))
        return FALSE;
    Answer answer = perform(pages, &request, &message);
    channel_close_fds(&message);
    const ChannelMessage reply = {.bytes = &answer, .size = sizeof(answer)};
    return request.kind == TELL_MOST || channel_send(socket, &reply);
}

static void
serve(int socket)
{
    static const struct timespec rest = {.tv_sec = KEPT_S}, pause = {.tv_nsec = OUTPUT_PAGES_EVERY_US * 1000};
    OutputPages pages = {.fd = -1};
    for (;;) {
        struct pollfd request = {.fd = socket, .events = POLLIN};
        const gboolean advancing = pages.fd >= 0 && pages.plan.most > 0;
        const int ready = ppoll(&request, 1, advancing ? &pause : pages.fd >= 0 ? NULL : &rest, NULL);
        if (ready == 0 && advancing)
            output_pages_advance(&pages);
        else if (ready == 0 || (ready > 0 && !serve_one(socket, &pages)))
            break;
    }
    if (pages.fd >= 0)
        discard(&pages);
}

/* ---- in the parent ---- */

typedef struct {
    AsideHelper *child;
    gint64 until_us; /* when it is replaced */
} Helper;

static GMutex lock;
static Helper idle[IDLE_MOST]; /* the last one was used last. Protected by the lock */
static guint n_idle;

static gboolean
is_usable(const Helper *helper)
{
    return aside_helper_is_there(helper->child) && g_get_monotonic_time() < helper->until_us;
}

/* The child is NULL if it cannot be started. */
static Helper
take_helper(void)
{
    Helper helper = {0};
    g_mutex_lock(&lock);
    while (n_idle > 0 && helper.child == NULL) {
        helper = idle[--n_idle];
        if (!is_usable(&helper))
            g_clear_pointer(&helper.child, aside_helper_free);
    }
    g_mutex_unlock(&lock);
    if (helper.child == NULL)
        helper = (Helper){aside_helper_start(serve), g_get_monotonic_time() + KEPT_S * G_USEC_PER_SEC};
    return helper;
}

static void
give_helper_back(Helper helper)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    if (n_idle < IDLE_MOST && is_usable(&helper))
        idle[n_idle++] = helper;
    else
        aside_helper_free(helper.child);
}

static gboolean
set_given_up(const char *label, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_SILENT,
                "%s kept its output file locked: one of its threads writes from memory on a file system that does not "
                "respond; try again once it responds",
                label);
    return FALSE;
}

/* FALSE: the child does not answer, or has ended. */
static gboolean
ask(SharedOutput *output, const Request *request, Answer *answer, const char *label, GError **error)
{
    ChannelMessage question = {.bytes = (gpointer)(guintptr)request, .size = sizeof(*request)};
    ChannelMessage reply = {.bytes = answer, .size = sizeof(*answer)};
    if (request->kind == ASK_BEGIN)
        question.fds[question.n_fds++] = output->fd;
    if (output->given_up)
        return set_given_up(label, error);
    const AsideEnd end = aside_helper_ask(output->helper, &question, output->account, &reply);
    if (end == ASIDE_GIVEN_UP) {
        output->given_up = TRUE;
        return set_given_up(label, error);
    }
    if (end != ASIDE_DONE || reply.size != sizeof(*answer)) {
        g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM,
                    "the child process that watched the output of %s has ended; see the kernel's log", label);
        return FALSE;
    }
    output->overtaken = answer->overtaken;
    output->is_stopped = answer->stopped != 0;
    return TRUE;
}

static gboolean
set_stopped(const SharedOutput *output, const char *label, GError **error)
{
    g_autofree char *own = g_format_size_full(output->overtaken, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *allowed = g_format_size_full(output->allowed, G_FORMAT_SIZE_IEC_UNITS);
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_HEADROOM,
                "the heap dump of %s was stopped after %s of it were charged to its memory control group, which could "
                "take %s, because jescope did not get enough memory or processor time to pay for it; try again later, "
                "or override this with --force (over HTTP: force=true)",
                label, own, allowed);
    return FALSE;
}

/* Accounts that have kept pages. Protected by the lock. */
static uid_t distrusted[DISTRUSTED_MOST];
static guint n_distrusted;

static gboolean
is_distrusted(uid_t account)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    if (n_distrusted == DISTRUSTED_MOST)
        return account != geteuid();
    for (guint i = 0; i < n_distrusted; i++)
        if (distrusted[i] == account)
            return TRUE;
    return FALSE;
}

static void
distrust(uid_t account)
{
    if (is_distrusted(account))
        return;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    if (n_distrusted < DISTRUSTED_MOST)
        distrusted[n_distrusted++] = account;
}

static void
hold(SharedOutput *output, guint64 bytes)
{
    own_room_hold(output->account, (gint64)bytes - (gint64)output->held);
    output->held = bytes;
}

static gboolean
is_room_left(const SharedOutput *output)
{
    return own_room_may_hold(own_room_held(output->account));
}

gboolean
shared_output_begin(SharedOutput *output, int fd, const OutputPlan *plan, uid_t user, const char *label, GError **error)
{
    Request request = {.kind = ASK_BEGIN, .plan = *plan};
    Answer answer;
    *output = (SharedOutput){.fd = fd, .account = account_of(user), .allowed = plan->allowed, .given_up = TRUE};
    if (!aside_may_begin(user)) {
        g_set_error(error, TARGET_ERROR, OUTCOME_SILENT,
                    "%s was not asked for its output, because processes of its user have kept jescope waiting too "
                    "often; try again in a minute",
                    label);
        return FALSE;
    }
    const Helper helper = take_helper();
    if (helper.child == NULL) {
        g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM, "cannot start a child process for the output of %s: %s", label,
                    g_strerror(errno));
        return FALSE;
    }
    output->helper = helper.child;
    output->helper_until_us = helper.until_us;
    output->given_up = FALSE;
    output->most = is_distrusted(output->account) ? 0 : MIN(plan->most, OUTPUT_PAGES_MOST);
    hold(output, MIN(output->most, plan->first));
    output->granted = is_room_left(output) ? MIN(output->most, GRANT) : 0;
    request.plan.most = output->granted;
    return ask(output, &request, &answer, label, error);
}

/* Above the sum of what is granted, the writer pays itself. */
static void
grant(SharedOutput *output, guint64 size)
{
    const guint64 wanted = MIN(size + GRANT, output->most);
    if (output->given_up || wanted < output->granted + GRANT / 2 || !is_room_left(output))
        return;
    Request request = {.kind = TELL_MOST, .number = wanted};
    const ChannelMessage message = {.bytes = &request, .size = sizeof(request)};
    if (aside_helper_tell(output->helper, &message))
        output->granted = wanted;
}

gboolean
shared_output_watch(SharedOutput *output, const OutputWriter *writer, GError **error)
{
    struct stat st;
    if (fstat(output->fd, &st) == 0) {
        hold(output, MAX(output->held, (guint64)st.st_blocks * STAT_BLOCK));
        grant(output, (guint64)st.st_size);
    }
    return output_file_check_size(output->fd, writer, error);
}

gboolean
shared_output_advance(SharedOutput *output, const char *label, GError **error)
{
    Answer answer;
    const Request request = {.kind = ASK_ADVANCE};
    if (!shared_output_watch(output, &(OutputWriter){label, G_MAXUINT64, FALSE}, error))
        return FALSE;
    return ask(output, &request, &answer, label, error) && (!output->is_stopped || set_stopped(output, label, error));
}

gboolean
shared_output_restart(SharedOutput *output, const char *label, GError **error)
{
    Answer answer;
    const Request request = {.kind = ASK_RESTART};
    return ask(output, &request, &answer, label, error);
}

/* ---- the content ---- */

static gboolean
set_too_little_memory(const char *label, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_HEADROOM,
                "there is too little memory left for the output of %s in the control group of jescope, or on the "
                "machine; try again later, or raise the limit of the group",
                label);
    return FALSE;
}

static gboolean
set_not_taken(const char *label, int code, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM, "cannot take the output of %s: %s", label, g_strerror(code));
    return FALSE;
}

/* Moves SIZE bytes, from the end to the beginning: each piece is freed once it was copied. Without memory for more than
 * one of them, it fails with OUTCOME_NO_HEADROOM. */
static gboolean
move(SharedOutput *output, int to, guint64 size, const char *label, GError **error)
{
    char buffer[BUFFER];
    for (guint64 end = size; end > 0;) {
        Answer answer;
        const guint64 begin = (end - 1) / PIECE * PIECE;
        const Request request = {.kind = ASK_TRUNCATE, .number = begin};
        if (begin > 0 && !is_room_left(output))
            return set_too_little_memory(label, error);
        for (guint64 at = begin; at < end;) {
            const ssize_t got = pread(output->fd, buffer, (gsize)MIN(end - at, BUFFER), (off_t)at);
            if (got <= 0 || pwrite(to, buffer, (gsize)got, (off_t)at) != got)
                return errno == ENOMEM ? set_too_little_memory(label, error) : set_not_taken(label, errno, error);
            at += (guint64)got;
        }
        if (!ask(output, &request, &answer, label, error))
            return FALSE;
        if (answer.error != 0)
            return set_not_taken(label, answer.error, error);
        end = begin;
    }
    return TRUE;
}

static int
move_to_own(SharedOutput *output, guint64 size, const char *label, GError **error)
{
    const int own = output_file_new(error);
    hold(output, size);
    if (own < 0 || move(output, own, size, label, error))
        return own;
    close(own);
    return -1;
}

/* FALSE if it is not to be read. */
static gboolean
seal(SharedOutput *output, const char *label, GError **error)
{
    Answer answer;
    const Request request = {.kind = ASK_FINISH};
    if (!ask(output, &request, &answer, label, error))
        return FALSE;
    if (output->is_stopped)
        return set_stopped(output, label, error);
    if (answer.error != 0)
        return output_file_set_malformed(label, "a memory file that it still has mapped, or has sealed", error);
    return (answer.seals & F_SEAL_SHRINK) == 0 ||
           output_file_set_malformed(label, "a memory file that it has sealed", error);
}

/* FALSE: its writer has sealed it, or holds its lock, so that it is freed when the writer closes it. */
static gboolean
release(SharedOutput *output)
{
    Answer answer;
    const Request request = {.kind = ASK_DISCARD};
    const gboolean freed = ask(output, &request, &answer, "", NULL) && answer.error == 0;
    if (output->helper != NULL)
        give_helper_back((Helper){output->helper, output->helper_until_us});
    output->helper = NULL;
    hold(output, 0);
    close(output->fd);
    output->fd = -1;
    if (!freed && output->granted > 0)
        distrust(output->account);
    return freed;
}

int
shared_output_take(SharedOutput *output, guint64 bytes, const OutputWriter *writer, GError **error)
{
    int own = -1;
    if (seal(output, writer->label, error) && output_file_check(output->fd, bytes, writer, error))
        own = move_to_own(output, bytes, writer->label, error);
    release(output);
    return own;
}

gboolean
shared_output_discard(SharedOutput *output, const char *label, GError **error)
{
    if (output->fd < 0)
        return TRUE;
    release(output);
    return !output->is_stopped || set_stopped(output, label, error);
}
