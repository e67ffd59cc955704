/* SPDX-License-Identifier: Apache-2.0 */
#include "export/labels.h"

#include "export/sink.h"

#include <string.h>
#include <unistd.h>

static char *
text_of(const GArray *labels)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < labels->len; i++) {
        const BatchLabel *label = &g_array_index(labels, BatchLabel, i);
        g_string_append_printf(text, "%s%s=%s", i > 0 ? " " : "", label->name, label->value);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void
test_groups(void)
{
    static const struct {
        const char *path, *labels;
    } rows[] = {
        {"/", ""},
        {"/system.slice/redis-server.service", "unit=redis-server.service"},
        {"/user.slice/user-1000.slice/user@1000.service/app.slice/shop.service", "unit=shop.service"},
        {"/docker/" ID, "container=0123456789ab"},
        {"/system.slice/docker-" ID ".scope", "container=0123456789ab"},
        {"/kubepods/burstable/pod01234567-89ab-cdef-0123-456789abcdef/" ID,
         "pod=01234567-89ab-cdef-0123-456789abcdef container=0123456789ab"},
        {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice/"
         "cri-containerd-" ID ".scope",
         "pod=01234567-89ab-cdef-0123-456789abcdef container=0123456789ab"},
        {"/podium/podcast", ""},
        {"/system.slice/shop.service/a\xff.service", "unit=shop.service"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GArray) labels = labels_new();
        labels_add_group(labels, rows[i].path);
        g_autofree char *text = text_of(labels);
        g_assert_cmpstr(text, ==, rows[i].labels);
    }
}

static void
test_text(void)
{
    static const char *const bad[] = {"", "x", "=x", "x=", "1x=y", "a-b=c", "a b=c", "é=x"};
    g_autoptr(GArray) labels = labels_new();
    g_assert_true(labels_add_text(labels, "zone=a=b", NULL));
    g_assert_true(labels_add_text(labels, "team=x", NULL));
    g_assert_true(labels_add_text(labels, "zone=c", NULL));
    g_autofree char *text = text_of(labels);
    g_assert_cmpstr(text, ==, "team=x zone=c");
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(labels_add_text(labels, bad[i], &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION);
    }
}

/* Only what is named leaves the environment. */
static void
test_variables(void)
{
    static const char *const named[] = {"data=JESCOPE_DATA", "absent=JESCOPE_NO_SUCH", NULL}, *const bad[] = {"x",
                                                                                                              NULL};
    g_autoptr(GArray) labels = labels_new();
    g_assert_true(labels_add_variables(labels, getpid(), named, NULL));
    g_autofree char *text = text_of(labels), *wanted = g_strconcat("data=", g_getenv("JESCOPE_DATA"), NULL);
    g_assert_cmpstr(text, ==, wanted);
    g_assert_true(labels_add_variables(labels, getpid(), NULL, NULL));
    g_assert_false(labels_add_variables(labels, getpid(), bad, NULL));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/labels/groups", test_groups);
    g_test_add_func("/labels/text", test_text);
    g_test_add_func("/labels/variables", test_variables);
    return g_test_run();
}
