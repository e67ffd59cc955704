/* SPDX-License-Identifier: Apache-2.0 */
#include "http/head.h"

#include "http/authority.h"

#include <string.h>

/* Headers that determine the end, the recipient or the sender of a request: a duplicate is an attack. */
static const char *const single[] = {
    "Authorization", "Content-Length", "Content-Type",   "Expect",         "Host",           "Origin",
    "Referer",       "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Sec-Fetch-User", "Transfer-Encoding",
};

typedef struct {
    const HeadLine *line;
    const char *end;   /* end of the checked part */
    gboolean in_place; /* the strings are in the receive buffer */
    const char *fault;
    const char *host;
    const char *length;
    const char *coding;
    gboolean seen[G_N_ELEMENTS(single)];
} Head;

/* ---- positions of the bytes ---- */

/* Whether libmicrohttpd splits a head in its receive buffer, overwriting colons and line ends with NULs, as 0.9 does.
 * Later versions do not, and refuse by themselves what cannot be checked here. */
static gboolean
is_split_in_place(void)
{
    return g_str_has_prefix(MHD_get_version(), "0.");
}

int
head_strictness(void)
{
    return is_split_in_place() ? 0 : 1;
}

/* Whether TEXT begins N bytes after END; both are in the buffer of one connection. */
static gboolean
begins_behind(const char *text, const char *end, gsize n)
{
    return (guintptr)text == (guintptr)end + n;
}

/* Whether TEXT begins directly after CR and LF at END, so that the line was neither continued nor ended otherwise and
 * contained no NUL. */
static gboolean
follows_line(const char *text, const char *end)
{
    return begins_behind(text, end, strlen("\r\n")) && end[0] == '\0' && end[1] == '\0';
}

/* Whether single blanks separate method, target and version, so that the target was not truncated at a NUL. */
static gboolean
is_joined(const HeadLine *line)
{
    return begins_behind(line->version, line->method, strlen(line->method) + strlen(line->target) + 2);
}

/* Whether only a colon and blanks separate name and value. */
static gboolean
follows_name(const char *value, const char *name, gsize name_size)
{
    guintptr colon = (guintptr)name + name_size;
    if ((guintptr)value <= colon || (guintptr)value - colon > G_MAXUINT16)
        return FALSE;
    const char *blanks = name + name_size + 1;
    return strspn(blanks, " \t") == (gsize)(value - blanks);
}

/* Whether the whole head was checked: its size with the empty line is the one that libmicrohttpd counted. */
static gboolean
is_complete(struct MHD_Connection *mhd, const Head *head)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    static const char ends[] = {'\0', '\0', '\0', '\0'}; /* were CR, LF, CR, LF */
    return info != NULL && begins_behind(head->line->method + info->header_size, head->end, sizeof(ends)) &&
           memcmp(head->end, ends, sizeof(ends)) == 0;
}

/* ---- one header ---- */

static gboolean
is_token(const char *text, gsize size)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (gsize i = 0; i < size; i++)
        if (!g_ascii_isalnum(text[i]) && memchr(others, text[i], sizeof(others) - 1) == NULL)
            return FALSE;
    return size > 0;
}

static gboolean
has_control(const char *text, gsize size)
{
    for (gsize i = 0; i < size; i++)
        if (g_ascii_iscntrl(text[i]) && text[i] != '\t')
            return TRUE;
    return FALSE;
}

static void
note(Head *head, const char *name, const char *value)
{
    for (gsize i = 0; i < G_N_ELEMENTS(single); i++) {
        if (g_ascii_strcasecmp(name, single[i]) != 0)
            continue;
        if (head->seen[i])
            head->fault = "a header that may occur only once was repeated";
        head->seen[i] = TRUE;
    }
    if (g_ascii_strcasecmp(name, "Host") == 0)
        head->host = value;
    else if (g_ascii_strcasecmp(name, "Content-Length") == 0)
        head->length = value;
    else if (g_ascii_strcasecmp(name, "Transfer-Encoding") == 0)
        head->coding = value;
}

static enum MHD_Result
look(void *data, enum MHD_ValueKind kind, const char *name, size_t name_size, const char *value, size_t value_size)
{
    Head *head = data;
    const char *text = value != NULL ? value : "";
    if (!is_token(name, name_size))
        head->fault = "a header's name has a character that no name has";
    else if (has_control(text, value_size))
        head->fault = "a header's value has a control character";
    else if (head->in_place && (!follows_line(name, head->end) || !follows_name(text, name, name_size)))
        head->fault = "a header's line does not end with CR and LF, or is continued";
    else
        note(head, name, text);
    head->end = text + value_size;
    return head->fault == NULL ? MHD_YES : MHD_NO;
}

/* ---- the whole head ---- */

static gboolean
is_number(const char *text)
{
    guint64 value;
    return g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64, &value, NULL);
}

static const char *
find_fault_of_body(const Head *head)
{
    if (head->coding == NULL)
        return head->length == NULL || is_number(head->length) ? NULL : "Content-Length is not a number";
    if (head->length != NULL)
        return "Content-Length and Transfer-Encoding exclude each other";
    if (strcmp(head->line->version, MHD_HTTP_VERSION_1_0) == 0)
        return "HTTP/1.0 has no Transfer-Encoding";
    return g_ascii_strcasecmp(head->coding, "chunked") == 0 ? NULL : "the only possible Transfer-Encoding is chunked";
}

/* Whether TARGET, "http://host/path" as sent to proxies and legal everywhere (RFC 9112 section 3.2.2), names another
 * host than Host. */
static gboolean
names_other_host(const char *target, const char *host)
{
    static const char scheme[] = "http";
    const char *authority = strstr(target, "://");
    if (target[0] == '/' || authority == NULL)
        return FALSE;
    gsize n = strcspn(authority + 3, "/?#");
    return g_ascii_strncasecmp(target, scheme, strlen(scheme)) != 0 || host == NULL || strlen(host) != n ||
           g_ascii_strncasecmp(authority + 3, host, n) != 0;
}

static const char *
find_fault_of_host(const Head *head)
{
    if (head->host == NULL)
        return strcmp(head->line->version, MHD_HTTP_VERSION_1_0) == 0 ? NULL : "the header Host is missing";
    g_autofree char *name = authority_host(head->host);
    if (name == NULL && head->host[0] != '\0')
        return "the header Host is not HOST or HOST:PORT";
    return names_other_host(head->line->target, head->host) ? "the request names another host than the header Host"
                                                            : NULL;
}

static const char *
find_fault_of_line(const Head *head)
{
    const HeadLine *line = head->line;
    if (!is_token(line->method, strlen(line->method)))
        return "the method is not a token";
    for (const char *c = line->target; *c != '\0'; c++)
        if (*c == ' ' || g_ascii_iscntrl(*c))
            return "the path has a blank or a control character; encode it as %XX";
    return head->in_place && !is_joined(line) ? "the request line has a NUL, or more than one blank in a row" : NULL;
}

const char *
head_fault(struct MHD_Connection *mhd, const HeadLine *line)
{
    Head head = {.line = line, .end = line->version + strlen(line->version), .in_place = is_split_in_place()};
    head.fault = find_fault_of_line(&head);
    if (head.fault == NULL)
        MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, look, &head);
    if (head.fault == NULL && head.in_place && !is_complete(mhd, &head))
        head.fault = "a line does not end with CR and LF";
    if (head.fault == NULL)
        head.fault = find_fault_of_body(&head);
    return head.fault != NULL ? head.fault : find_fault_of_host(&head);
}

gboolean
head_has_bad_length(struct MHD_Connection *mhd)
{
    const char *length = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, "Content-Length");
    return length != NULL && !is_number(length);
}
