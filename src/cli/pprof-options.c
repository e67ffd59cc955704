/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pprof-options.h"

#include "cli/command.h"

#include <string.h>

typedef enum {
    FLAG,    /* replaced by a jescope option */
    VALUE,   /* replaced by an option with its value */
    LISTING, /* replaced by an option with its value, and the format is source */
    REFUSED, /* error with the option to use */
} TranslationKind;

/* pprof: https://github.com/google/pprof/blob/main/doc/README.md; jeprof: jeprof --help. */
static const struct {
    const char *theirs;
    TranslationKind kind;
    const char *ours;
} translations[] = {
    {"inuse_space", FLAG, "--value=inuse_space"},
    {"inuse_objects", FLAG, "--value=inuse_objects"},
    {"alloc_space", FLAG, "--value=alloc_space"},
    {"alloc_objects", FLAG, "--value=alloc_objects"},
    {"sample_index", VALUE, "--value"},
    {"text", FLAG, "--format=text"},
    {"top", FLAG, "--format=text"},
    {"traces", FLAG, "--format=stacks"},
    {"collapsed", FLAG, "--format=folded"},
    {"dot", FLAG, "--format=callgraph"},
    {"svg", FLAG, "--format=callgraph-svg"},
    {"proto", FLAG, "--format=pprof"},
    {"list", LISTING, "--focus"},
    {"functions", FLAG, "--by=function"},
    {"lines", FLAG, "--by=line"},
    {"files", FLAG, "--by=file"},
    {"addresses", FLAG, "--by=address"},
    {"nodecount", VALUE, "--count"},
    {"nodefraction", VALUE, "--min-fraction"},
    {"edgefraction", VALUE, "--edge-fraction"},
    {"base", VALUE, "--base"},
    {"diff_base", VALUE, "--base"},
    {"focus", VALUE, "--focus"},
    {"ignore", VALUE, "--ignore"},
    {"hide", VALUE, "--exclude"},
    {"show", VALUE, "--retain"},
    {"show_from", VALUE, "--show-from"},
    {"cum", FLAG, "--cum"},
    {"flat", FLAG, "--sort=flat"},
    {"show_bytes", FLAG, "--bytes"},
    {"noinlines", FLAG, "--no-inlines"},
    {"tree", REFUSED, "use --format=tree for the call tree, or --format=callgraph for callers and callees"},
    {"peek", REFUSED, "use --focus=REGEX with --format=tree, and --callers for the callers"},
    {"raw", REFUSED, "use --format=symbolized for a dump with its names (jeprof's --raw), or --format=json"},
    {"disasm", REFUSED, "use --by=address, or --format=source for source lines"},
    {"weblist", REFUSED, "use --format=source with --focus=REGEX"},
    {"web", REFUSED, "write a picture with -o FILE.svg and open it in a browser"},
    {"gv", REFUSED, "write a picture with -o FILE.svg and open it in a browser"},
    {"evince", REFUSED, "write a picture with -o FILE.svg and open it in a browser"},
    {"http", REFUSED, "use 'jescope serve', or write --format=pprof for 'go tool pprof -http'"},
    {"pdf", REFUSED, "use --format=callgraph and Graphviz: dot -Tpdf"},
    {"ps", REFUSED, "use --format=callgraph and Graphviz: dot -Tps"},
    {"png", REFUSED, "use --format=callgraph and Graphviz: dot -Tpng"},
    {"gif", REFUSED, "use --format=callgraph and Graphviz: dot -Tgif"},
    {"interactive", REFUSED, "use --format=pprof and 'go tool pprof'"},
};

/* The row of WORD, an option with dashes and possibly a value; -1: not a foreign option, or jescope's own spelling. */
static int
find(const char *word)
{
    const char *name = word + strspn(word, "-");
    gsize length = strcspn(name, "=");
    gsize dashes = (gsize)(name - word);

    for (guint i = 0; dashes >= 1 && dashes <= 2 && i < G_N_ELEMENTS(translations); i++) {
        const char *ours = translations[i].ours + strspn(translations[i].ours, "-");
        gboolean same = strlen(translations[i].theirs) == length && strncmp(name, translations[i].theirs, length) == 0;
        if (same && !(dashes == 2 && strcmp(ours, translations[i].theirs) == 0))
            return (int)i;
    }
    return -1;
}

static void
add_ours(GStrvBuilder *words, guint row, const char *value)
{
    g_autofree char *ours = NULL;

    if (translations[row].kind == FLAG) {
        g_strv_builder_add(words, translations[row].ours);
        return;
    }
    if (translations[row].kind == LISTING)
        g_strv_builder_add(words, "--format=source");
    ours = g_strconcat(translations[row].ours, value, NULL);
    g_strv_builder_add(words, ours);
}

static gboolean
translate_word(GStrvBuilder *words, const char *word, GError **error)
{
    int row = find(word);
    const char *value = strchr(word, '=');

    if (row >= 0 && translations[row].kind == REFUSED) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "'%.*s' is an option of pprof; %s", (int)strcspn(word, "="),
                    word, translations[row].ours);
        return FALSE;
    }
    if (row < 0 || (translations[row].kind == FLAG && value != NULL && strcmp(value, "=true") != 0))
        g_strv_builder_add(words, word); /* GLib reports its errors */
    else
        add_ours(words, (guint)row, value);
    return TRUE;
}

gboolean
pprof_options_translate(char ***argv, GError **error)
{
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    gboolean open = TRUE;

    for (char **word = *argv; *word != NULL; word++) {
        open = open && strcmp(*word, "--") != 0;
        if (!open || word == *argv)
            g_strv_builder_add(words, *word);
        else if (!translate_word(words, *word, error))
            return FALSE;
    }
    g_strfreev(*argv);
    *argv = g_strv_builder_end(words);
    return TRUE;
}
