/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/directory.h"

#include "rules/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".rules"

enum { FILES_MAX = 1000 };

struct RulesDirectory {
    char *path;
    char *seen; /* names and states of the files that were read; NULL: not read yet */
    GPtrArray *rules, *problems;
};

RulesDirectory *
rules_directory_new(const char *path)
{
    RulesDirectory *directory = g_new0(RulesDirectory, 1);
    directory->path = g_strdup(path);
    directory->rules = rules_new();
    directory->problems = g_ptr_array_new_with_free_func(g_free);
    return directory;
}

void
rules_directory_free(RulesDirectory *directory)
{
    if (directory == NULL)
        return;
    g_free(directory->path);
    g_free(directory->seen);
    g_ptr_array_unref(directory->rules);
    g_ptr_array_unref(directory->problems);
    g_free(directory);
}

const GPtrArray *
rules_directory_rules(const RulesDirectory *directory)
{
    return directory->rules;
}

const GPtrArray *
rules_directory_problems(const RulesDirectory *directory)
{
    return directory->problems;
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of the rule files, of char *, sorted; NULL: the directory cannot be read. */
static GPtrArray *
list_files(const RulesDirectory *directory)
{
    g_autoptr(GDir) dir = g_dir_open(directory->path, 0, NULL);
    if (dir == NULL)
        return NULL;
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    for (const char *name = g_dir_read_name(dir); name != NULL && names->len < FILES_MAX; name = g_dir_read_name(dir))
        if (g_str_has_suffix(name, SUFFIX) && name[0] != '.')
            g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, compare_names);
    return names;
}

static void
describe_state(GString *seen, const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        st = (struct stat){.st_size = -1};
    g_string_append_printf(seen, "%s %lu %ld %ld.%ld %ld.%ld %o %u\n", path, (unsigned long)st.st_ino, (long)st.st_size,
                           (long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec,
                           (unsigned)st.st_mode, (unsigned)st.st_uid);
}

static char *
describe_files(const RulesDirectory *directory, const GPtrArray *names)
{
    GString *seen = g_string_new(NULL);
    describe_state(seen, directory->path);
    for (guint i = 0; names != NULL && i < names->len; i++) {
        g_autofree char *path = g_build_filename(directory->path, names->pdata[i], NULL);
        describe_state(seen, path);
    }
    return g_string_free(seen, FALSE);
}

/* A phrase if other users can change the file, otherwise NULL. */
static const char *
check_owner(const struct stat *st)
{
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return "it belongs to another user; chown it to root or to the user of jescope";
    if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "other users can write to it; chmod go-w it";
    return NULL;
}

static const char *
check_file(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return g_strerror(errno);
    if (!S_ISREG(st.st_mode))
        return "it is not a regular file";
    return check_owner(&st);
}

static void
read_file(RulesDirectory *directory, int dir, const char *name)
{
    g_autofree char *path = g_build_filename(directory->path, name, NULL);
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const char *wrong = fd < 0 ? (errno == ELOOP ? "it is a symbolic link" : g_strerror(errno)) : check_file(fd);
    gsize length;
    g_autofree char *text = wrong == NULL ? rules_file_read(fd, &length) : NULL;
    if (text != NULL)
        rules_file_parse(path, text, length, directory->rules, directory->problems);
    else
        g_ptr_array_add(directory->problems,
                        g_strdup_printf("%s: not used: %s", path, wrong != NULL ? wrong : g_strerror(errno)));
    if (fd >= 0)
        close(fd);
}

static gboolean
runs_programs(const Rule *rule)
{
    for (guint i = 0; i < rule->actions->len; i++)
        if (g_array_index(rule->actions, RuleAction, i).kind == RULE_RUN)
            return TRUE;
    return FALSE;
}

/* Why the programs of RULE cannot run as its user; NULL: they can. */
static char *
check_user(const Rule *rule)
{
    if (!runs_programs(rule))
        return NULL;
    if (rule->run_as == NULL)
        return geteuid() == 0 ? g_strdup("jescope runs as root, and a program does not without need; write the user "
                                         "that it runs as, or 'run-as = root'")
                              : NULL;
    g_autofree struct passwd *user = g_unix_get_passwd_entry(rule->run_as, NULL);
    if (user == NULL)
        return g_strdup_printf("no user '%s'", rule->run_as);
    if (geteuid() != 0 && user->pw_uid != geteuid())
        return g_strdup_printf("only root can run programs as '%s'; leave it out", rule->run_as);
    return NULL;
}

static void
drop_wrong_users(RulesDirectory *directory)
{
    for (guint i = directory->rules->len; i-- > 0;) {
        const Rule *rule = directory->rules->pdata[i];
        g_autofree char *why = check_user(rule);
        if (why == NULL)
            continue;
        g_ptr_array_add(directory->problems, g_strdup_printf("%s: [%s] run-as: %s", rule->place, rule->name, why));
        g_ptr_array_remove_index(directory->rules, i);
    }
}

static void
read_files(RulesDirectory *directory, const GPtrArray *names)
{
    struct stat st;
    int dir = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *wrong = dir < 0 || fstat(dir, &st) != 0 ? g_strerror(errno) : check_owner(&st);
    g_ptr_array_set_size(directory->rules, 0);
    g_ptr_array_set_size(directory->problems, 0);
    if (wrong != NULL)
        g_ptr_array_add(directory->problems, g_strdup_printf("%s: no rules are used: %s", directory->path, wrong));
    if (names != NULL && names->len == FILES_MAX)
        g_ptr_array_add(directory->problems, g_strdup_printf("%s: %d files are used and no more; put several rules "
                                                             "into one file",
                                                             directory->path, FILES_MAX));
    for (guint i = 0; wrong == NULL && names != NULL && i < names->len; i++)
        read_file(directory, dir, names->pdata[i]);
    drop_wrong_users(directory);
    if (dir >= 0)
        close(dir);
}

gboolean
rules_directory_refresh(RulesDirectory *directory)
{
    g_autoptr(GPtrArray) names = list_files(directory);
    g_autofree char *seen = describe_files(directory, names);
    if (g_strcmp0(seen, directory->seen) == 0)
        return FALSE;
    g_free(directory->seen);
    directory->seen = g_steal_pointer(&seen);
    read_files(directory, names);
    return TRUE;
}
