/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of dumps: a report creates a page tree of the dump, which is cached; each page is extracted from it by another
 * report, which reads nothing else.
 */
#include "service/host.h"

#include "service/failure.h"
#include "service/live.h"

#include "routes/report-query.h"

#include <string.h>
#include <unistd.h>

/* Options that apply to a page but not to its page tree. */
static const char *const cut_options[] = {"--part=", "--width=", "--depth=", "--zoom=", "--count="};

/* The options of a page in two NULL-terminated groups; the strings are borrowed from the page. */
typedef struct {
    const char *tree[REPORT_QUERY_OPTIONS + 1];
    const char *cut[REPORT_QUERY_OPTIONS + 1];
} PageOptions;

static gboolean
is_of_cut(const char *option)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cut_options); i++)
        if (g_str_has_prefix(option, cut_options[i]))
            return TRUE;
    return FALSE;
}

static void
split_options(const char *const *options, PageOptions *split)
{
    gsize n_tree = 0, n_cut = 0;

    *split = (PageOptions){0};
    for (; options != NULL && *options != NULL; options++)
        if (is_of_cut(*options))
            split->cut[n_cut++] = *options;
        else
            split->tree[n_tree++] = *options;
}

/* Whether the options name a function, whose callers and callees a page tree does not have. */
static gboolean
has_function(const PageOptions *options)
{
    for (const char *const *option = options->tree; *option != NULL; option++)
        if (g_str_has_prefix(*option, "--function="))
            return TRUE;
    return FALSE;
}

static char *
key_of(const char *content, const PageOptions *options)
{
    g_autofree char *words = g_strjoinv("\n", (char **)(guintptr)options->tree);

    return g_strconcat(content, "\n", words, NULL);
}

/* ---- dumps ---- */

/* Checks that all dumps are still kept; FAILURE names a missing one. */
static Outcome
check_kept(Job *job, gint64 incarnation, const RoutePage *page, Failure *failure)
{
    gint64 lives[2] = {incarnation, incarnation};
    const guint64 wanted[] = {page->dump, page->base};

    for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++) {
        Outcome result = wanted[i] != 0 ? host_find_base(job, wanted[i], &lives[i], failure) : OUTCOME_DONE;
        if (result != OUTCOME_DONE && result != OUTCOME_NOT_FOUND)
            return result;
        if (result != OUTCOME_DONE || lives[0] != incarnation)
            return failure_set(failure, OUTCOME_NOT_FOUND, "no such dump: %" G_GUINT64_FORMAT, wanted[i]);
    }
    return OUTCOME_DONE;
}

/* ---- pages ---- */

static Outcome
cut(Service *service, const ServicePage *page, int tree, const PageOptions *options, int *report, Failure *failure)
{
    const RouteRendering rendering = {.format = "page", .options = options->cut, .dump = tree, .base = -1};
    const ServiceRender wanted = {
        .account = page->account, .peer = page->peer, .rendering = &rendering, .no_files = TRUE};

    return service_render(service, &wanted, report, failure);
}

Outcome
service_page(Service *service, const ServicePage *page, int *descriptor, Failure *failure)
{
    PageOptions options;

    split_options(page->options, &options);
    if (has_function(&options))
        return page->render(page->data, "page", page->options, descriptor, failure);
    g_autofree char *key = key_of(page->key, &options);
    int tree = held_files_find(service->page_trees, key);
    if (tree < 0) {
        Outcome result = page->render(page->data, "page-tree", options.tree, &tree, failure);
        /* The page tree may be too large for a file even if the page is not. */
        if (result == OUTCOME_SYSTEM)
            return page->render(page->data, "page", page->options, descriptor, failure);
        if (result != OUTCOME_DONE)
            return result;
        held_files_add(service->page_trees, key, page->account, tree);
    }
    Outcome result = cut(service, page, tree, &options, descriptor, failure);
    close(tree);
    return result;
}

/* ---- pages of a target ---- */

typedef struct {
    Job *job;
    const RoutePage *page;
} Kept;

static Outcome
render_kept(gpointer data, const char *format, const char *const *options, int *report, Failure *failure)
{
    const Kept *kept = data;
    RouteRendering rendering = {.format = format, .options = options, .dump = -1, .base = -1};
    Outcome result = host_open_dump(kept->job, kept->page->dump, &rendering.dump, failure);

    if (result == OUTCOME_DONE && kept->page->base != 0)
        result = host_open_base(kept->job, kept->page->base, &rendering.base, failure);
    if (result == OUTCOME_DONE)
        result = host_render(kept->job, &rendering, report, failure);
    if (rendering.dump >= 0)
        close(rendering.dump);
    if (rendering.base >= 0)
        close(rendering.base);
    return result;
}

/* Dump ids are never reused, so they can be part of the key. */
Outcome
host_page(void *job, const RoutePage *page, int *descriptor, Failure *failure)
{
    ServiceTarget *target = work_target(job);
    Kept kept = {job, page};
    gint64 incarnation;
    g_autoptr(GError) error = NULL;

    if (!live_incarnation(target, &incarnation, &error))
        return failure_from_error(error, 0, failure);
    Outcome result = check_kept(job, incarnation, page, failure);
    if (result != OUTCOME_DONE)
        return result;
    g_autofree char *key = g_strdup_printf("%" G_GINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, incarnation,
                                           page->dump, page->base);
    const ServicePage wanted = {.account = live_account(target),
                                .peer = work_peer(job),
                                .key = key,
                                .options = page->options,
                                .render = render_kept,
                                .data = &kept};
    /* The report does not need the target, so other work on it may begin. */
    work_release(job);
    return service_page(live_service(target), &wanted, descriptor, failure);
}
