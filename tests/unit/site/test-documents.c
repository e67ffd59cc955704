/* SPDX-License-Identifier: Apache-2.0 */
/* docs/api.md is what the route tables say; with the argument --write it is made so. */
#include "routes/table.h"
#include "site/openapi.h"
#include "site/table.h"

#include <string.h>

enum {
    LONG_LIST = 8, /* words are not repeated on the page */
};

typedef struct {
    const char *group;
    const char *title;
    const char *about;
} Section;

/* The groups in the order of the page; behind them the dialects. */
static const Section sections[] = {
    {"service", "The service", "Operations on all targets, or on jescope itself."},
    {"target", "A target",
     "`{target}` is the id that `/api/v1/targets` lists (the pid), its unique id, or the name of the process if only "
     "one process has it."},
};

static const char head[] =
    "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
    "<!-- Made from the route tables by `ninja -C build update-api`. -->\n"
    "# The API of `jescope serve`\n"
    "\n"
    "Responses are JSON unless noted. An error is `{\"error\":{\"code\":…,\"message\":…,\"hint\":…}}`: a code for\n"
    "programs, a sentence for people, and what to do. Bodies are compressed for clients that accept gzip if that\n"
    "makes them smaller. Cacheable responses have an `ETag`; `If-None-Match` is answered with 304. HEAD works\n"
    "wherever GET does. `/api/v1/openapi.json` describes the same operations for programs.\n"
    "\n"
    "The paths of a dialect refer to the only target or to the target that `--default` names; below\n"
    "`/targets/{target}` they exist for every target. An operation marked *control* changes the target, or can,\n"
    "and needs a control token (`docs/serve.md`); so does a GET of a dump with `force` or `max-output`, which\n"
    "apply to `now` only.\n"
    "\n"
    "Types of parameters: *duration* `90s`, `5m`; *size* `512KiB`; *boolean* `true` or `false`; *regex* a PCRE\n"
    "regular expression; *fraction* a number from 0 to 1; *words* one of a long list, which `openapi.json` has.\n";

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
        if (g_string_replace(kind, "|", "`, `", 0) > LONG_LIST)
            g_string_assign(kind, "words");
        const char *quote = strchr(kind->str, '`') != NULL ? "`" : "";
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

/* Returns how many operations there are. */
static guint
append_section(GString *out, const GPtrArray *operations, const Section *section)
{
    guint written = 0;
    g_string_append_printf(out, "\n## %s\n\n%s\n", section->title, section->about);
    for (guint i = 0; i < operations->len;) {
        const OpenapiOperation *operation = operations->pdata[i];
        guint n = 1;
        if (strcmp(operation->group, section->group) == 0)
            written += n = append_row(out, operations, i);
        i += n;
    }
    return written;
}

static char *
api_document(void)
{
    g_autoptr(GPtrArray) operations = openapi_operations(site_tables);
    GString *out = g_string_new(head);
    guint written = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(sections); i++)
        written += append_section(out, operations, &sections[i]);
    for (gsize i = 1; i < ROUTE_N_DIALECTS; i++)
        written +=
            append_section(out, operations,
                           &(Section){routes_dialects[i]->name, routes_dialects[i]->title, routes_dialects[i]->about});
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
    g_test_add_func("/site/documents/api", test_api);
    return g_test_run();
}
