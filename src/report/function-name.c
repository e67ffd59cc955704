/* SPDX-License-Identifier: Apache-2.0 */
#include "report/function-name.h"

#include <string.h>

static gboolean
is_word(char c)
{
    return g_ascii_isalnum(c) || c == '_' || c == '$' || (guchar)c >= 0x80;
}

/* Whether the word "operator" ends right before at. */
static gboolean
follows_operator(const char *name, const char *at)
{
    static const char word[] = "operator";
    gsize length = sizeof(word) - 1;

    return (gsize)(at - name) >= length && memcmp(at - length, word, length) == 0 &&
           ((gsize)(at - name) == length || !is_word(at[-(gssize)length - 1]));
}

/* The number of characters of an operator symbol at `at`, unless it is a bracket (0: none). */
static gsize
operator_symbol(const char *name, const char *at)
{
    static const char *const symbols[] = {"()", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "->*", "->", "<", ">"};

    if (!follows_operator(name, at))
        return 0;
    for (guint i = 0; i < G_N_ELEMENTS(symbols); i++)
        if (g_str_has_prefix(at, symbols[i]))
            return strlen(symbols[i]);
    return 0;
}

/* The position after the bracket that matches the one at open; NULL: unbalanced. "->" inside is not a bracket. */
static const char *
skip_brackets(const char *name, const char *open)
{
    guint depth = 0;

    for (const char *at = open; *at; at++) {
        gsize symbol = operator_symbol(name, at);
        if (symbol) {
            at += symbol - 1;
            continue;
        }
        if (strchr("(<{[", *at))
            depth++;
        else if (*at == '>' && at > name && at[-1] == '-')
            continue;
        else if (strchr(")>}]", *at) && --depth == 0)
            return at + 1;
    }
    return NULL;
}

/* The parts of a name: [path, path_end) are its components. */
typedef struct {
    const char *path, *path_end;
} Parts;

/* Skips " const", " volatile", " &" and " &&" of a member function. */
static const char *
skip_qualifiers(const char *at)
{
    static const char *const words[] = {" const", " volatile", " &&", " &"};

    for (guint i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_str_has_prefix(at, words[i]))
            at += strlen(words[i]);
    return at;
}

/* "(anonymous namespace)" (and JavaScript's "(anonymous)") is a component, as is a complete function around a local
 * class: returns its end, or NULL for neither. */
static const char *
skip_component(const char *open, const char *behind)
{
    const char *qualified = skip_qualifiers(behind);

    if (g_str_has_prefix(open, "(anonymous"))
        return behind;
    if (qualified[0] == '.' && is_word(qualified[1])) /* D: "app.run(int).inner" */
        return qualified;
    return g_str_has_prefix(qualified, "::") ? qualified : NULL;
}

/* D's template arguments: "app.Cart!(int).fill". */
static gboolean
is_instance(const char *name, const char *open)
{
    return *open == '(' && open > name && open[-1] == '!' && !follows_operator(name, open - 1);
}

/* Whether a blank separates the return type from the path: not in "operator new" and "operator<< <int>", nor before a
 * clone. */
static gboolean
is_path_start(const char *name, const char *blank, gboolean *in_operator)
{
    *in_operator = *in_operator || follows_operator(name, blank);
    return !*in_operator && blank[1] != '[' && blank[1] != '<';
}

static Parts
split(const char *name)
{
    Parts parts = {.path = name};
    gboolean in_operator = FALSE;
    const char *at = name;

    while (*at) {
        gsize symbol = operator_symbol(name, at);
        if (symbol) {
            at += symbol;
            continue;
        }
        if (*at == ' ') {
            if (is_path_start(name, at, &in_operator))
                parts.path = at + 1;
            at++;
            continue;
        }
        if (strchr("(<{[", *at)) {
            const char *behind = skip_brackets(name, at);
            if (!behind)
                break;
            const char *component = *at == '(' && !is_instance(name, at) ? skip_component(at, behind) : behind;
            if (!component && at > parts.path) {
                parts.path_end = at;
                return parts;
            }
            at = component ? component : behind;
            continue;
        }
        at++;
    }
    return (Parts){.path = name, .path_end = name + strlen(name)};
}

/* Skips all clone suffixes: " [clone .x]" of C++, ".x.0" of C. */
static gsize
clone_start(const char *name)
{
    static const char *const suffixes[] = {".cold", ".part", ".isra", ".constprop"};
    const char *bracket = strstr(name, " [clone ");
    const char *first = bracket ? bracket : name + strlen(name);

    for (guint i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        const char *at = strstr(name, suffixes[i]);
        gsize length = strlen(suffixes[i]);
        if (at && at > name && at < first && (at[length] == '\0' || at[length] == '.'))
            first = at;
    }
    return (gsize)(first - name);
}

char *
function_name_unclone(const char *name)
{
    return g_strndup(name, clone_start(name));
}

char *
function_name_plain(const char *name)
{
    g_autofree char *whole = function_name_unclone(name);
    Parts parts = split(whole);

    return g_strndup(parts.path, (gsize)(parts.path_end - parts.path));
}

char *
function_name_elide(const char *name)
{
    GString *text = g_string_new(NULL);
    gboolean balanced = TRUE;

    for (const char *at = name; *at;) {
        gsize symbol = operator_symbol(name, at);
        /* Rust's "<T as Trait>::f" begins with its bracket, and C++'s "<lambda(int)>" is a name of its own. */
        gboolean arguments =
            is_instance(name, at) || (*at == '<' && !symbol && at > name && (is_word(at[-1]) || at[-1] == ':'));
        const char *behind = arguments && balanced ? skip_brackets(name, at) : NULL;
        balanced = balanced && (behind || !arguments);
        if (behind) {
            g_string_append(text, *at == '<' ? "<...>" : "(...)");
            at = behind;
            continue;
        }
        g_string_append_len(text, at, (gssize)MAX(symbol, 1));
        at += MAX(symbol, 1);
    }
    return g_string_free(text, FALSE);
}

const char *
function_name_last(const char *plain)
{
    const char *last = plain;
    gboolean balanced = TRUE;

    for (const char *at = plain; *at;) {
        gsize symbol = operator_symbol(plain, at);
        gboolean opens = strchr("(<{[", *at) && !symbol;
        const char *behind = opens && balanced ? skip_brackets(plain, at) : NULL;
        balanced = balanced && (behind || !opens);
        if (g_str_has_prefix(at, "::"))
            last = at + 2;
        at = behind ? behind : at + MAX(symbol, 1);
    }
    return last;
}
