/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/directory.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder;

static char *
path_of(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static void
put(const char *name, const char *text, guint mode)
{
    g_autofree char *path = path_of(name);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    g_assert_cmpint(chmod(path, mode), ==, 0);
}

static void
drop(const char *name)
{
    g_autofree char *path = path_of(name);
    g_remove(path);
}

static void
begin(void)
{
    folder = g_dir_make_tmp("jescope-rules-XXXXXX", NULL);
    g_assert_nonnull(folder);
}

static void
end(void)
{
    static const char *const names[] = {"a.rules", "b.rules", "c.rules", ".d.rules", "e.txt", "f.rules", "g.rules"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        drop(names[i]);
    g_rmdir(folder);
    g_free(folder);
}

static const char *
problem(const RulesDirectory *directory, guint i)
{
    g_assert_cmpuint(rules_directory_problems(directory)->len, >, i);
    return rules_directory_problems(directory)->pdata[i];
}

/* Files are read in the order of their names, and again when something changes. */
static void
test_refresh(void)
{
    begin();
    g_autoptr(RulesDirectory) directory = rules_directory_new(folder);
    put("b.rules", "[b]\nwhen = held above 1\ndo = log\n[a]\nwhen = held above 1\ndo = log\n", 0644);
    put("a.rules", "[a]\nwhen = held above 1\ndo = log\n", 0600);
    put(".d.rules", "[d]\nwhen = held above 1\ndo = log\n", 0644);
    put("e.txt", "[e]\nwhen = held above 1\ndo = log\n", 0644);
    g_assert_true(rules_directory_refresh(directory));
    g_assert_cmpuint(rules_directory_rules(directory)->len, ==, 2);
    g_assert_cmpstr(((const Rule *)rules_directory_rules(directory)->pdata[0])->name, ==, "a");
    g_assert_nonnull(strstr(problem(directory, 0), "b.rules:4: [a]: the name is taken by the rule at "));
    g_assert_false(rules_directory_refresh(directory));
    put("a.rules", "[x]\nwhen = held above 1\ndo = log\n", 0600);
    g_assert_true(rules_directory_refresh(directory));
    g_assert_cmpuint(rules_directory_rules(directory)->len, ==, 3);
    drop("b.rules");
    g_assert_true(rules_directory_refresh(directory));
    g_assert_cmpuint(rules_directory_rules(directory)->len, ==, 1);
    g_assert_cmpuint(rules_directory_problems(directory)->len, ==, 0);
    end();
}

static void
test_missing(void)
{
    begin();
    g_autofree char *none = path_of("none");
    g_autoptr(RulesDirectory) directory = rules_directory_new(none);
    g_assert_true(rules_directory_refresh(directory));
    g_assert_nonnull(strstr(problem(directory, 0), "no rules are used: No such file"));
    g_assert_false(rules_directory_refresh(directory));
    end();
}

static void
test_many_files(void)
{
    enum { FILES = 1001 };
    begin();
    g_autoptr(RulesDirectory) directory = rules_directory_new(folder);
    for (guint i = 0; i < FILES; i++) {
        g_autofree char *name = g_strdup_printf("%u.rules", i);
        g_autofree char *text = g_strdup_printf("[r%u]\nwhen = held above 1\ndo = log\n", i);
        put(name, text, 0644);
    }
    g_assert_true(rules_directory_refresh(directory));
    g_assert_cmpuint(rules_directory_rules(directory)->len, ==, 1000);
    g_assert_nonnull(strstr(problem(directory, 0), ": 1000 files are used and no more"));
    for (guint i = 0; i < FILES; i++) {
        g_autofree char *name = g_strdup_printf("%u.rules", i);
        drop(name);
    }
    end();
}

/* Rules decide what is run, so only trusted users may write them. */
static void
test_owners(void)
{
    static const char rule[] = "[r]\nwhen = held above 1\ndo = log\n";
    begin();
    g_autoptr(RulesDirectory) directory = rules_directory_new(folder);
    g_autofree char *b = path_of("b.rules");
    g_autofree char *a = path_of("a.rules");
    put("a.rules", rule, 0666);
    g_assert_cmpint(symlink(a, b), ==, 0);
    put("c.rules", rule, 0620);
    g_autofree char *f = path_of("f.rules");
    g_assert_cmpint(mkfifo(f, 0600), ==, 0);
    g_assert_true(rules_directory_refresh(directory));
    g_assert_cmpuint(rules_directory_rules(directory)->len, ==, 0);
    g_assert_nonnull(strstr(problem(directory, 0), "a.rules: not used: other users can write to it"));
    g_assert_nonnull(strstr(problem(directory, 1), "b.rules: not used: it is a symbolic link"));
    g_assert_nonnull(strstr(problem(directory, 2), "c.rules: not used: other users can write to it"));
    g_assert_nonnull(strstr(problem(directory, 3), "f.rules: not used: it is not a regular file"));
    drop("b.rules");
    drop("c.rules");
    drop("f.rules");
    put("a.rules", rule, 0644);
    g_assert_cmpint(chmod(folder, 0777), ==, 0);
    g_assert_true(rules_directory_refresh(directory));
    g_assert_cmpuint(rules_directory_rules(directory)->len, ==, 0);
    g_assert_nonnull(strstr(problem(directory, 0), "no rules are used: other users can write to it"));
    g_assert_cmpint(chmod(folder, 0700), ==, 0);
    if (geteuid() == 0) {
        g_assert_cmpint(chown(a, 65534, 65534), ==, 0);
        g_assert_true(rules_directory_refresh(directory));
        g_assert_nonnull(strstr(problem(directory, 0), "a.rules: not used: it belongs to another user"));
    }
    end();
}

/* Programs run as root only if the rule says so. */
static void
test_run_as(void)
{
    begin();
    g_autoptr(RulesDirectory) directory = rules_directory_new(folder);
    put("a.rules", "[none]\nwhen = held above 1\ndo = run /bin/true\n", 0644);
    put("b.rules", "[root]\nwhen = held above 1\ndo = run /bin/true\nrun-as = root\n", 0644);
    put("c.rules", "[unknown]\nwhen = held above 1\ndo = run /bin/true\nrun-as = no-such-user-here\n", 0644);
    put("f.rules", "[no-program]\nwhen = held above 1\ndo = log\n", 0644);
    g_assert_true(rules_directory_refresh(directory));
    g_assert_cmpuint(rules_directory_rules(directory)->len, ==, 2);
    const Rule *first = rules_directory_rules(directory)->pdata[0];
    if (geteuid() == 0) {
        g_assert_cmpstr(first->name, ==, "root");
        g_assert_nonnull(strstr(problem(directory, 1), "[none] run-as: jescope runs as root"));
    } else {
        g_assert_cmpstr(first->name, ==, "none");
        g_assert_nonnull(strstr(problem(directory, 1), "[root] run-as: only root can run programs as 'root'"));
    }
    g_assert_nonnull(strstr(problem(directory, 0), "no user 'no-such-user-here'"));
    end();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/directory/refresh", test_refresh);
    g_test_add_func("/directory/missing", test_missing);
    g_test_add_func("/directory/many-files", test_many_files);
    g_test_add_func("/directory/owners", test_owners);
    g_test_add_func("/directory/run-as", test_run_as);
    return g_test_run();
}
