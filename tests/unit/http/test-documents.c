/* SPDX-License-Identifier: Apache-2.0 */
/* docs/api.md is what the route tables say; with the argument --write it is made so. */
#include "http/openapi.h"

#include <string.h>

/* The groups in the order of the page. */
static const struct {
    const char *group;
    const char *title;
    const char *about;
} sections[] = {
    {"service", "The service", "What is about all targets, or about jescope itself."},
    {"target", "A target",
     "`{target}` is the id that `/api/v1/targets` lists (the pid), its unique id, or the name of the process if only "
     "one "
     "has it."},
    {"pprof", "The pprof family", "For `go tool pprof`, jeprof, Parca, Alloy and whatever else speaks it."},
    {"libmtev", "libmtev's dialect", "Paths, answers and errors are those of libmtev's own handlers."},
    {"userver", "userver's dialect", "Paths, answers and errors are those of userver's `handler-jemalloc`."},
    {"mesos", "Mesos' dialect",
     "Paths, answers and errors are those of libprocess' `/memory-profiler`. Any method will do."},
};

static const char head[] = "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
                           "<!-- Made from the route tables by `ninja -C build update-api`. -->\n"
                           "# The API of `jescope serve`\n"
                           "\n"
                           "Answers are JSON where nothing else is said. A failure is "
                           "`{\"error\":{\"code\":…,\"message\":…,\"hint\":…}}`: a word for "
                           "programs,\na sentence for people, and the way out. Bodies that pay for it are compressed "
                           "for who accepts gzip; what can be "
                           "cached has an\n`ETag` and answers `If-None-Match` with 304. HEAD works wherever GET does. "
                           "`/api/v1/openapi.json` says the same "
                           "for programs.\n"
                           "\n"
                           "The paths of dialects are about the one target there is, or about the one that `--default` "
                           "names; behind `/targets/{target}` "
                           "they\nare there for every target. An operation marked *control* changes something, or does "
                           "if asked to, and needs a token "
                           "that may\n(`docs/serve.md`).\n"
                           "\n"
                           "Kinds of parameters: *duration* `90s`, `5m`; *size* `512KiB`; *boolean* `true` or `false`; "
                           "*regex* as PCRE has them; "
                           "*fraction* a number\nfrom 0 to 1.\n";

static gboolean
changes(const OpenapiOperation *operation)
{
    return operation->role == ROUTE_ROLE_CONTROL;
}

static void
append_parameters(GString *out, const RouteParameter *parameters)
{
    if (parameters == NULL || parameters->name == NULL)
        return;
    g_string_append(out, "\n| parameter | kind | what |\n|---|---|---|\n");
    for (; parameters->name != NULL; parameters++) {
        g_autoptr(GString) kind = g_string_new(parameters->kind);
        g_string_replace(kind, "|", "`, `", 0);
        const char *quote = strchr(parameters->kind, '|') != NULL ? "`" : "";
        g_string_append_printf(out, "| `%s` | %s%s%s | %s |\n", parameters->name, quote, kind->str, quote,
                               parameters->about);
    }
}

/* METHODS: "PUT|POST". */
static void
append_operation(GString *out, const OpenapiOperation *operation, const char *methods)
{
    g_string_append_printf(out, "\n### `%s %s`\n\n%c%s%s.\n", methods, operation->path,
                           g_ascii_toupper(operation->summary[0]), operation->summary + 1,
                           changes(operation) ? " — *control*" : "");
    append_parameters(out, operation->parameters);
}

/* One heading for all methods of a row of the table. Returns how many operations that are. */
static guint
append_row(GString *out, const GPtrArray *operations, guint first)
{
    const OpenapiOperation *operation = operations->pdata[first];
    g_autoptr(GString) methods = g_string_new(operation->method);
    guint n = 1;
    for (; first + n < operations->len; n++) {
        const OpenapiOperation *next = operations->pdata[first + n];
        if (strcmp(next->path, operation->path) != 0 || next->summary != operation->summary)
            break;
        g_string_append_printf(methods, "|%s", next->method);
    }
    append_operation(out, operation, methods->str);
    return n;
}

static char *
api_document(void)
{
    g_autoptr(GPtrArray) operations = openapi_operations();
    GString *out = g_string_new(head);
    guint written = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(sections); i++) {
        g_string_append_printf(out, "\n## %s\n\n%s\n", sections[i].title, sections[i].about);
        for (guint j = 0; j < operations->len;) {
            const OpenapiOperation *operation = operations->pdata[j];
            guint n = 1;
            if (strcmp(operation->group, sections[i].group) == 0)
                written += n = append_row(out, operations, j);
            j += n;
        }
    }
    g_assert_cmpuint(written, ==, operations->len);
    return g_string_free(out, FALSE);
}

static void
test_api(void)
{
    g_autofree char *made = api_document();
    g_autofree char *kept = NULL;
    g_assert_true(g_file_get_contents(DOCS "/api.md", &kept, NULL, NULL));
    if (strcmp(made, kept) != 0)
        g_test_message("docs/api.md is out of date: run 'ninja -C build update-api'");
    g_assert_cmpstr(made, ==, kept);
}

int
main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--write") == 0) {
        g_autofree char *made = api_document();
        return g_file_set_contents(DOCS "/api.md", made, -1, NULL) ? 0 : 1;
    }
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/http/documents/api", test_api);
    return g_test_run();
}
