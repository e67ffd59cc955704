/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/protocol.h"

#include "routes/native-parameters.h"
#include "routes/render.h"
#include "routes/report-format.h"
#include "routes/report-query.h"
#include "target/reach.h"

#include <errno.h>
#include <string.h>

typedef enum {
    TEXT_NONE, /* empty */
    TEXT_ONE,
    TEXT_PATH, /* absolute */
    TEXT_LIST, /* NUL-terminated strings and a final NUL */
} TextKind;

static const struct {
    gboolean process;
    TextKind text;
    guint least_fds, most_fds;
    guint32 detail_max;
    guint64 number_max; /* of a report, or of an examination */
} kinds[BROKER_N_KINDS] = {
    [BROKER_OPEN] = {TRUE, TEXT_NONE, 0, 0, REACH_N_FILES - 1, 0},
    [BROKER_FILE] = {FALSE, TEXT_ONE, 0, 0, 0, 0},
    [BROKER_WATCH] = {FALSE, TEXT_NONE, 1, 1, 0, 0},
    [BROKER_UNLINK] = {FALSE, TEXT_PATH, 0, 0, 0, 0},
    [BROKER_EXITS] = {FALSE, TEXT_NONE, 0, 0, 0, 0},
    [BROKER_CONNECT] = {TRUE, TEXT_PATH, 0, 0, 0, 0},
    [BROKER_VARIABLE] = {TRUE, TEXT_ONE, 0, 0, 0, 0},
    [BROKER_OWN_DUMP] = {TRUE, TEXT_ONE, 1, 1, G_MAXINT32, 0},
    [BROKER_RENDER] = {FALSE, TEXT_LIST, 1, 2, RENDER_SECONDS, RENDER_BYTES},
    [BROKER_GROWTH] = {FALSE, TEXT_LIST, 3, RENDER_GROWTH_MAX, RENDER_SECONDS, RENDER_BYTES},
    [BROKER_EXAMINE] = {TRUE, TEXT_ONE, 0, 1, NATIVE_WATCH_MAX_MS / 1000 + RENDER_SECONDS, NATIVE_WATCH_MAX_MS},
    [BROKER_TARGET] = {TRUE, TEXT_ONE, 0, 0, TARGET_VIA_ATTACH, 0},
    [BROKER_SCAN] = {FALSE, TEXT_NONE, 0, 0, 0, G_MAXUINT32},
};

gboolean
broker_is_brief(BrokerKind kind)
{
    return kind == BROKER_OPEN || kind == BROKER_CONNECT || kind == BROKER_VARIABLE;
}

static gboolean
text_fits(const char *text, TextKind kind)
{
    const char *end = memchr(text, '\0', BROKER_TEXT_MAX);
    switch (kind) {
    case TEXT_NONE:
        return text[0] == '\0';
    case TEXT_ONE:
        return end != NULL && end != text;
    case TEXT_PATH:
        return end != NULL && text[0] == '/' && end - text < BROKER_PATH_MAX;
    default:
        return memmem(text, BROKER_TEXT_MAX, "\0", 2) != NULL;
    }
}

int
broker_check_request(const BrokerRequest *request, gsize size, guint n_fds)
{
    if (size != sizeof(*request) || request->magic != BROKER_MAGIC)
        return EBADMSG;
    if (request->kind >= BROKER_N_KINDS)
        return ENOSYS;
    if (n_fds < kinds[request->kind].least_fds || n_fds > kinds[request->kind].most_fds)
        return EBADF;
    if (request->detail > kinds[request->kind].detail_max || request->number > kinds[request->kind].number_max ||
        !text_fits(request->text, kinds[request->kind].text))
        return EINVAL;
    /* A report need not be about a process. */
    gboolean reports = request->kind == BROKER_RENDER || request->kind == BROKER_GROWTH;
    gboolean process = kinds[request->kind].process || (reports && request->pid != 0);
    return process ? (request->pid > 0 && request->start_time != 0 ? 0 : ESRCH) : request->pid == 0 ? 0 : EINVAL;
}

static gboolean
are_offered(const char *options)
{
    for (const char *text = options; *text != '\0'; text += strlen(text) + 1)
        if (!report_query_offers(text))
            return FALSE;
    return TRUE;
}

gboolean
broker_check_rendering(const char *text, gboolean source)
{
    const ReportFormat *format = report_format_find(text);
    const gboolean is_batch = render_is_batch(text);
    if (!is_batch && (format == NULL || ((format->flags & REPORT_FORMAT_SOURCE_LINES) != 0 && !source)))
        return FALSE;
    text += strlen(text) + 1;
    if (*text == '\0')
        return FALSE;
    text += strlen(text) + 1;
    return is_batch ? *text == '\0' : are_offered(text);
}

gboolean
broker_check_growth(const char *text, guint n)
{
    for (guint i = 0; i < n; i++, text += strlen(text) + 1)
        if (*text == '\0' || strspn(text, "0123456789") != strlen(text))
            return FALSE;
    return are_offered(text);
}
