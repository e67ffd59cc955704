/* SPDX-License-Identifier: Apache-2.0 */
#include "service/follow.h"

#include "service/log-file.h"

#include "confine/aside.h"
#include "confine/rights.h"
#include "history/history.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

enum {
    CHUNK = 64 * 1024, /* of one answer */
    /* Answers, most of which may be short: a file system of the writer's can give single bytes. */
    POLL_MAX = (16 << 20) / CHUNK,
    FOREIGN_POLL_MAX = (1 << 20) / CHUNK, /* of a log of another user, who may write the same bytes again and again */
};

typedef enum { ASK_BEGIN, ASK_READ } Kind;

typedef struct {
    Kind kind;
    LogPlace place;
    char path[PATH_MAX];
} Request;

typedef struct {
    LogPlace place;
    gboolean failed; /* BYTES says why */
    gsize length;
    char bytes[CHUNK];
} Answer;

struct Follow {
    char *path;
    FollowFunc func;
    gpointer data;
    AsideHelper *helper; /* opens and reads the log; NULL: none */
    LogPlace place;
    gboolean begun; /* the place is known */
    Request request;
    Answer answer;
};

/* ---- in the child ---- */

static void
perform(LogFile *file, const Request *request, Answer *answer)
{
    g_autoptr(GError) error = NULL;
    file->path = request->path;
    file->place = request->place;
    answer->length = 0;
    answer->failed = request->kind == ASK_BEGIN ? !log_file_begin(file, &error)
                                                : !log_file_read(file, answer->bytes, CHUNK, &answer->length, &error);
    if (answer->failed)
        answer->length = MIN(g_strlcpy(answer->bytes, error->message, CHUNK), CHUNK - 1);
    answer->place = file->place;
}

static void
serve(int socket)
{
    LogFile file = {.fd = -1};
    Request *request = g_new(Request, 1);
    Answer *answer = g_new0(Answer, 1);
    for (;;) {
        ChannelMessage message = {.bytes = request, .size = sizeof(*request)};
        if (!channel_receive(socket, &message) || message.size != sizeof(*request))
            return;
        perform(&file, request, answer);
        if (!channel_send(socket, &(ChannelMessage){.bytes = answer, .size = offsetof(Answer, bytes) + answer->length}))
            return;
    }
}

/* ---- in the parent ---- */

/* A new one goes on where the last one was given up. */
static gboolean
have_helper(Follow *follow)
{
    if (follow->helper != NULL && !aside_helper_is_there(follow->helper))
        g_clear_pointer(&follow->helper, aside_helper_free);
    if (follow->helper == NULL && aside_may_begin(follow->place.owner))
        follow->helper = aside_helper_start(serve);
    return follow->helper != NULL;
}

/* The lookup, the opening and the reading of a log can each take without end where its writer has mounted a file
 * system. */
static gboolean
ask(Follow *follow, Kind kind, GError **error)
{
    const ChannelMessage request = {.bytes = &follow->request, .size = sizeof(follow->request)};
    ChannelMessage answer = {.bytes = &follow->answer, .size = sizeof(follow->answer)};
    const char *why = "the file system does not answer";
    follow->request.kind = kind;
    follow->request.place = follow->place;
    if (have_helper(follow) && aside_helper_ask(follow->helper, &request, follow->place.owner, &answer) == ASIDE_DONE) {
        follow->place = follow->answer.place;
        if (!follow->answer.failed)
            return TRUE;
        follow->answer.bytes[follow->answer.length] = '\0';
        why = follow->answer.bytes;
    }
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED, "cannot read '%s': %s", follow->path, why);
    return FALSE;
}

Follow *
follow_new(const char *path, FollowFunc func, gpointer data)
{
    Follow *follow = g_new0(Follow, 1);
    follow->path = g_strdup(path);
    follow->func = func;
    follow->data = data;
    follow->place.owner = (uid_t)-1;
    g_strlcpy(follow->request.path, path, sizeof(follow->request.path));
    follow->begun = ask(follow, ASK_BEGIN, NULL);
    return follow;
}

void
follow_free(Follow *follow)
{
    if (follow == NULL)
        return;
    if (follow->helper != NULL)
        aside_helper_free(follow->helper);
    g_free(follow->path);
    g_free(follow);
}

static guint
most_of_poll(const Follow *follow)
{
    const uid_t owner = follow->place.owner;
    return owner == (uid_t)-1 || rights_are_trusted(owner) ? POLL_MAX : FOREIGN_POLL_MAX;
}

gboolean
follow_poll(Follow *follow, GError **error)
{
    if (!follow->begun && !ask(follow, ASK_BEGIN, error))
        return FALSE;
    follow->begun = TRUE;
    for (guint taken = 0; taken < most_of_poll(follow); taken++) {
        if (!ask(follow, ASK_READ, error))
            return FALSE;
        if (follow->answer.length == 0)
            return TRUE;
        if (!follow->func(follow->answer.bytes, follow->answer.length, follow->data, error))
            return FALSE;
    }
    return TRUE;
}
