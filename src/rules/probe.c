/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/probe.h"

#include "confine/keyed-hash.h"
#include "text/suggest.h"

#include <string.h>

enum {
    REGEX_MAX = 1000,
    LINE_MAX_BYTES = 1 << 20, /* of a stack: a match cannot be interrupted, and its time grows with the length */
};

/* The limit of a match at one position of a text, which stops nested repetitions. */
#define MATCH_LIMIT "(*LIMIT_MATCH=10000)"

const char *const probe_words[PROBE_KINDS + 1] = {"ledger", "function", "stack", NULL};

/* The kind of "WORD(...)"; PROBE_KINDS if the word is unknown. */
static ProbeKind
kind_of(const char *text)
{
    const gsize length = strcspn(text, "(");
    for (guint i = 0; i < PROBE_KINDS && text[length] == '('; i++)
        if (strlen(probe_words[i]) == length && strncmp(probe_words[i], text, length) == 0)
            return (ProbeKind)i;
    return PROBE_KINDS;
}

gboolean
probe_is(const char *text)
{
    return kind_of(text) != PROBE_KINDS;
}

static gboolean
find_line(const char *name, LedgerId *line, char **why)
{
    const char *names[LEDGER_LINES + 1] = {0};
    for (guint i = 0; i < LEDGER_LINES; i++) {
        names[i] = ledger_lines[i].name;
        if (strcmp(names[i], name) == 0) {
            *line = (LedgerId)i;
            return TRUE;
        }
    }
    const char *near = suggest(name, names);
    *why = g_strdup_printf("no line '%s' in the ledger; %s%s%s", name,
                           near != NULL ? "did you mean '" : "see 'jescope ledger", near != NULL ? near : "",
                           near != NULL ? "'?" : " TARGET'");
    return FALSE;
}

static GRegex *
compile(const char *text, char **why)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *limited = g_strconcat(MATCH_LIMIT, text, NULL);
    GRegex *regex = NULL;
    if (text[0] != '\0' && strlen(text) <= REGEX_MAX && !g_str_has_prefix(text, "(*"))
        regex = g_regex_new(limited, G_REGEX_OPTIMIZE, (GRegexMatchFlags)0, &error);
    if (regex == NULL)
        *why = g_strdup_printf("'%s' is not a regular expression of 1 to %d characters%s%s", text, REGEX_MAX,
                               error != NULL ? ": " : "", error != NULL ? error->message : "");
    return regex;
}

Probe *
probe_parse(const char *text, char **why)
{
    const char *behind = strchr(text, '(');
    const gsize length = behind != NULL ? strlen(behind) : 0;
    if (length < 3 || behind[length - 1] != ')') {
        *why = g_strdup_printf("'%s': write it as ledger(slab-holes), function(^cache_) or stack(main;.*;cache_add)",
                               text);
        return NULL;
    }
    g_autofree char *inner = g_strndup(behind + 1, length - 2);
    Probe *probe = g_new0(Probe, 1);
    probe->kind = kind_of(text);
    if (probe->kind == PROBE_LEDGER ? find_line(inner, &probe->line, why)
                                    : (probe->regex = compile(inner, why)) != NULL)
        return probe;
    g_free(probe);
    return NULL;
}

void
probe_free(Probe *probe)
{
    if (probe == NULL)
        return;
    g_clear_pointer(&probe->regex, g_regex_unref);
    g_free(probe);
}

/* ---- sums ---- */

typedef struct {
    const GPtrArray *probes;
    guint n;
    GHashTable *functions; /* name -> bit i: probe i matches it */
    gint64 until_us;
} Sum;

static gboolean
is_over(const Sum *sum)
{
    return g_get_monotonic_time() > sum->until_us;
}

static gboolean
matches(const Sum *sum, const Probe *probe, const char *text)
{
    return !is_over(sum) && g_regex_match(probe->regex, text, (GRegexMatchFlags)0, NULL);
}

/* The probes of functions that match NAME, as bits. */
static guint
probes_of(const Sum *sum, const char *name)
{
    gpointer known;
    guint found = 0;
    if (g_hash_table_lookup_extended(sum->functions, name, NULL, &known))
        return GPOINTER_TO_UINT(known);
    for (guint i = 0; i < sum->n; i++) {
        const Probe *probe = sum->probes->pdata[i];
        if (probe->kind == PROBE_FUNCTION && matches(sum, probe, name))
            found |= 1u << i;
    }
    g_hash_table_insert(sum->functions, g_strdup(name), GUINT_TO_POINTER(found));
    return found;
}

/* The probes that match STACK, "main;serve;keep", as bits. STACK is modified. */
static guint
probes_of_stack(const Sum *sum, char *stack)
{
    guint found = 0;
    for (guint i = 0; i < sum->n; i++) {
        const Probe *probe = sum->probes->pdata[i];
        if (probe->kind == PROBE_STACK && matches(sum, probe, stack))
            found |= 1u << i;
    }
    for (char *name = stack, *next; name != NULL; name = next) {
        next = strchr(name, ';');
        if (next != NULL)
            *next++ = '\0';
        found |= probes_of(sum, name);
    }
    return found;
}

/* Adds a line "main;serve;keep 4096"; FALSE if it is invalid. */
static gboolean
add_line(const Sum *sum, char *line, gdouble *sums)
{
    char *blank = strrchr(line, ' ');
    gint64 bytes;
    if (blank == NULL || !g_ascii_string_to_signed(blank + 1, 10, G_MININT64, G_MAXINT64, &bytes, NULL))
        return FALSE;
    *blank = '\0';
    const guint found = probes_of_stack(sum, line);
    for (guint i = 0; i < sum->n; i++)
        if ((found >> i & 1) != 0)
            sums[i] += (gdouble)bytes;
    return TRUE;
}

G_STATIC_ASSERT(PROBES_MAX <= 32);

gboolean
probes_sum(const GPtrArray *probes, const char *text, gsize length, gint64 limit_us, gdouble *sums)
{
    g_autoptr(GHashTable) functions = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    const Sum sum = {probes, MIN(probes->len, (guint)PROBES_MAX), functions, g_get_monotonic_time() + limit_us};
    const char *end = text + length;
    while (text < end) {
        const char *line_end = memchr(text, '\n', MIN((gsize)(end - text), (gsize)LINE_MAX_BYTES));
        g_autofree char *line = line_end != NULL ? g_strndup(text, (gsize)(line_end - text)) : NULL;
        if (line == NULL || !g_utf8_validate(line, -1, NULL) || !add_line(&sum, line, sums) || is_over(&sum))
            return FALSE;
        text = line_end + 1;
    }
    return TRUE;
}
