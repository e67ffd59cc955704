/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/rights.h"
#include "confine/target-files.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OTHER_USER = 65533, GROUP = 42421 };

/* A process of RIGHTS_NOBODY with GROUP as a supplementary group, perhaps in a root of its own, beside some files. */
typedef struct {
    char *directory; /* everybody may enter it */
    pid_t pid;
    TargetFiles *files;
} Fixture;

static char *
in(const Fixture *fixture, const char *name)
{
    return g_build_filename(fixture->directory, name, NULL);
}

static void
add_file(const Fixture *fixture, const char *name, uid_t owner, gid_t group, mode_t mode)
{
    g_autofree char *path = in(fixture, name);
    g_assert_true(g_file_set_contents(path, name, -1, NULL));
    g_assert_no_errno(chown(path, owner, group));
    g_assert_no_errno(chmod(path, mode));
}

static void
add_link(const Fixture *fixture, const char *name, const char *to)
{
    g_autofree char *path = in(fixture, name);
    g_assert_no_errno(symlink(to, path));
}

static void
become_nobody(void)
{
    const gid_t groups[] = {GROUP};
    if (setgroups(1, groups) != 0 || setresgid(RIGHTS_NOBODY, RIGHTS_NOBODY, RIGHTS_NOBODY) != 0 ||
        setresuid(RIGHTS_NOBODY, RIGHTS_NOBODY, RIGHTS_NOBODY) != 0)
        _exit(1);
}

static void
stay_root(void)
{
}

/* Returns when the child has its final user. */
static pid_t
start_process(const char *root, void (*become)(void))
{
    int ends[2];
    g_assert_no_errno(pipe(ends));
    pid_t pid = fork();
    if (pid == 0) {
        if (root != NULL && (chroot(root) != 0 || chdir("/") != 0))
            _exit(1);
        become();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        (void)!write(ends[1], "", 1);
        for (;;)
            pause();
    }
    char byte;
    close(ends[1]);
    g_assert_cmpint(read(ends[0], &byte, 1), ==, 1);
    close(ends[0]);
    return pid;
}

static void
set_up(Fixture *fixture, gconstpointer chrooted)
{
    *fixture = (Fixture){0};
    if (geteuid() != 0)
        return;
    fixture->directory = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_assert_no_errno(chmod(fixture->directory, 0755));
    add_file(fixture, "public", 0, 0, 0644);
    add_file(fixture, "secret", 0, 0, 0600);
    add_file(fixture, "of-group", 0, GROUP, 0640);
    add_file(fixture, "of-nobody", RIGHTS_NOBODY, 0, 0600);
    add_link(fixture, "to-secret", "secret");
    add_link(fixture, "to-proc", "/proc/self/environ");
    add_link(fixture, "absolute", "/public");
    g_autofree char *fifo = in(fixture, "fifo");
    g_assert_no_errno(mkfifo(fifo, 0666));
    g_autofree char *device = in(fixture, "device");
    mknod(device, S_IFCHR | 0666, 0x103); /* null; not permitted in every container */
    fixture->pid = start_process(chrooted != NULL ? fixture->directory : NULL, become_nobody);
    fixture->files = target_files_new(&(TargetFilesOptions){.pid = fixture->pid});
}

static void
remove_tree(const char *directory)
{
    g_autoptr(GDir) entries = g_dir_open(directory, 0, NULL);
    for (const char *name; (name = g_dir_read_name(entries)) != NULL;) {
        g_autofree char *path = g_build_filename(directory, name, NULL);
        g_unlink(path);
    }
    g_rmdir(directory);
}

static void
tear_down(Fixture *fixture, gconstpointer chrooted)
{
    if (fixture->directory == NULL)
        return;
    kill(fixture->pid, SIGKILL);
    waitpid(fixture->pid, NULL, 0);
    target_files_unref(fixture->files);
    remove_tree(fixture->directory);
    g_free(fixture->directory);
}

/* Resolution of "/proc/PID/root" and below. */
static gboolean
may_open_below(const Fixture *fixture, const char *below)
{
    g_auto(TargetFile) file = {.fd = -1};
    g_autofree char *path = g_strdup_printf("/proc/%d/root%s", (int)fixture->pid, below);
    return target_files_open(fixture->files, path, &file, NULL);
}

static gboolean
may_open(const Fixture *fixture, const char *name)
{
    g_autofree char *path = in(fixture, name);
    return may_open_below(fixture, path);
}

static gboolean
needs_root(void)
{
    if (geteuid() != 0)
        g_test_skip("becoming other users needs root");
    return geteuid() != 0;
}

static void
test_with_the_rights_of_the_process(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    g_assert_true(may_open(fixture, "public"));
    g_assert_true(may_open(fixture, "of-group"));
    g_assert_true(may_open(fixture, "of-nobody"));
    g_assert_false(may_open(fixture, "secret"));
    g_assert_false(may_open(fixture, "to-secret"));
}

static gboolean
opens(const Fixture *fixture, TargetFiles *files, const char *prefix, const char *name)
{
    g_auto(TargetFile) file = {.fd = -1};
    g_autofree char *path = in(fixture, name);
    g_autofree char *whole = g_strconcat(prefix, path, NULL);
    return target_files_open(files, whole, &file, NULL);
}

/* The names may be somebody else's than those of the process. */
static void
test_files_that_every_user_may_read(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    g_autofree char *closed = in(fixture, "closed"), *within = in(fixture, "closed/within");
    const pid_t pid = start_process(NULL, stay_root);
    g_assert_no_errno(mkdir(closed, 0700));
    add_file(fixture, "closed/within", 0, 0, 0644);
    const TargetFilesOptions options[] = {{.pid = pid, .public_only = TRUE}, {.public_only = TRUE}};
    g_autofree char *root = g_strdup_printf("/proc/%d/root", (int)pid);
    for (gsize i = 0; i < G_N_ELEMENTS(options); i++) {
        g_autoptr(TargetFiles) files = target_files_new(&options[i]);
        static const char *const refused[] = {"secret", "to-secret", "of-nobody", "closed/within"};
        const char *prefix = options[i].pid != 0 ? root : "";
        g_assert_true(opens(fixture, files, prefix, "public"));
        for (gsize j = 0; j < G_N_ELEMENTS(refused); j++)
            g_assert_false(opens(fixture, files, prefix, refused[j]));
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    g_assert_no_errno(unlink(within));
    g_assert_no_errno(rmdir(closed));
}

/* A compiler's map of names belongs to the process, whoever wrote the dump; what it is a link to does not. */
static void
test_map_of_a_compiler(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    g_autofree char *folder = in(fixture, "tmp"), *map = in(fixture, "tmp/perf-12.map");
    g_assert_no_errno(mkdir(folder, 0755));
    add_file(fixture, "tmp/perf-12.map", 0, 0, 0600);
    pid_t pid = start_process(fixture->directory, stay_root);
    g_autoptr(TargetFiles) files = target_files_new(&(TargetFilesOptions){.pid = pid, .public_only = TRUE});
    g_autofree char *path = g_strdup_printf("/proc/%d/root/tmp/perf-12.map", (int)pid);
    g_auto(TargetFile) plain = {.fd = -1}, link = {.fd = -1};
    g_assert_true(target_files_open(files, path, &plain, NULL));
    g_assert_no_errno(unlink(map));
    add_link(fixture, "tmp/perf-12.map", "../secret");
    g_assert_false(target_files_open(files, path, &link, NULL));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    g_assert_no_errno(unlink(map));
    g_assert_no_errno(rmdir(folder));
}

static void
test_no_files_but_regular_ones(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    static const char *const refused[] = {"fifo", "device", "to-proc", "."};
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
        g_assert_false(may_open(fixture, refused[i]));
    static const char *const elsewhere[] = {"/proc/self/maps", "/proc/self/root/etc/passwd", "/proc/thread-self/fd/0",
                                            "/dev/null"};
    for (gsize i = 0; i < G_N_ELEMENTS(elsewhere); i++)
        g_assert_false(may_open_below(fixture, elsewhere[i]));
}

static void
test_in_the_root_of_the_process(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    static const char *const inside[] = {"/public", "/absolute", "/../public", "/../../../../../public"};
    for (gsize i = 0; i < G_N_ELEMENTS(inside); i++)
        g_assert_true(may_open_below(fixture, inside[i]));
    g_assert_false(may_open_below(fixture, "/etc/passwd"));
    g_assert_false(may_open_below(fixture, "/../../../etc/passwd"));
    g_assert_false(may_open_below(fixture, "/secret"));
}

/* Its names stay inside, but a reader that was taken over may request others. */
static void
test_root_of_another_root_is_not_ours(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    pid_t pid = start_process(fixture->directory, stay_root);
    g_autoptr(TargetFiles) files = target_files_new(&(TargetFilesOptions){.pid = pid});
    g_auto(TargetFile) public = {.fd = -1}, secret = {.fd = -1}, inner = {.fd = -1};
    g_autofree char *public_path = in(fixture, "public"), *secret_path = in(fixture, "secret");
    g_autofree char *inner_path = g_strdup_printf("/proc/%d/root/secret", (int)pid);
    g_assert_true(target_files_open(files, public_path, &public, NULL));
    g_assert_false(target_files_open(files, secret_path, &secret, NULL));
    g_assert_null(target_files_open_text(files, secret_path, NULL));
    g_assert_true(target_files_open(files, inner_path, &inner, NULL));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void
take_own_mounts(void)
{
    (void)!unshare(CLONE_NEWNS);
}

static gboolean
shares(pid_t pid, const char *namespace)
{
    struct stat ours, theirs;
    g_autofree char *its = g_strdup_printf("/proc/%d/ns/%s", (int)pid, namespace);
    g_autofree char *own = g_strdup_printf("/proc/self/ns/%s", namespace);
    return stat(own, &ours) == 0 && stat(its, &theirs) == 0 && ours.st_ino == theirs.st_ino;
}

/* A sandbox may hide files by mounts on what is our root. */
static void
test_root_of_other_mounts_is_not_ours(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    pid_t pid = start_process(NULL, take_own_mounts);
    g_autoptr(TargetFiles) files = target_files_new(&(TargetFilesOptions){.pid = pid});
    g_auto(TargetFile) public = {.fd = -1}, secret = {.fd = -1};
    g_autofree char *public_path = in(fixture, "public"), *secret_path = in(fixture, "secret");
    if (shares(pid, "mnt")) {
        g_test_skip("this machine does not permit mount namespaces");
    } else {
        g_assert_true(target_files_open(files, public_path, &public, NULL));
        g_assert_false(target_files_open(files, secret_path, &secret, NULL));
        g_assert_null(target_files_open_text(files, secret_path, NULL));
        g_assert_cmpuint(target_files_user_of(pid), ==, RIGHTS_NOBODY);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void
give_up_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    if (syscall(SYS_capset, &header, none) != 0)
        _exit(1);
}

/* Capabilities of a user namespace are none over our files. */
static void
take_own_users(void)
{
    if (unshare(CLONE_NEWUSER) != 0)
        return;
    int map = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    (void)!write(map, "0 0 1", 5);
    close(map);
}

/* A process of user 0 opens what its capabilities over our files let it. */
static void
assert_limited(const Fixture *fixture, pid_t pid)
{
    g_autoptr(TargetFiles) files = target_files_new(&(TargetFilesOptions){.pid = pid});
    g_autoptr(TargetFiles) root = target_files_new(&(TargetFilesOptions){.owner = 0});
    g_auto(TargetFile) own = {.fd = -1}, other = {.fd = -1};
    g_autofree char *secret = in(fixture, "secret"), *of_nobody = in(fixture, "of-nobody");
    g_autofree char *secret_path = g_strdup_printf("/proc/%d/root%s", (int)pid, secret);
    g_autofree char *other_path = g_strdup_printf("/proc/%d/root%s", (int)pid, of_nobody);
    g_assert_true(target_files_open(files, secret_path, &own, NULL));
    g_assert_false(target_files_open(files, other_path, &other, NULL));
    target_files_join(root, files);
    g_assert_null(target_files_open_text(root, of_nobody, NULL));
}

static void
test_root_without_capabilities_overrides_no_mode(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    pid_t pid = start_process(NULL, give_up_capabilities);
    assert_limited(fixture, pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* "/proc/PID/map_files/RANGE" of the first mapping of a file, the program. */
static char *
first_mapped(pid_t pid)
{
    g_autofree char *maps = g_strdup_printf("/proc/%d/maps", (int)pid);
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(maps, &text, NULL, NULL));
    const char *line = strchr(text, '/');
    while (line > text && line[-1] != '\n')
        line--;
    return g_strdup_printf("/proc/%d/map_files/%.*s", (int)pid, (int)strcspn(line, " "), line);
}

/* The process has become root's since its user has named the files. */
static void
test_author_of_a_process(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    pid_t pid = start_process(NULL, stay_root);
    g_autoptr(TargetFiles) files = target_files_new(&(TargetFilesOptions){.pid = pid, .author = RIGHTS_NOBODY});
    g_autoptr(TargetFiles) roots = target_files_new(&(TargetFilesOptions){.pid = pid});
    g_auto(TargetFile) refused = {.fd = -1}, own = {.fd = -1}, ours = {.fd = -1}, mapped = {.fd = -1};
    g_autofree char *secret = in(fixture, "secret"), *of_nobody = in(fixture, "of-nobody");
    g_autofree char *secret_path = g_strdup_printf("/proc/%d/root%s", (int)pid, secret);
    g_autofree char *own_path = g_strdup_printf("/proc/%d/root%s", (int)pid, of_nobody);
    g_autofree char *range = first_mapped(pid);
    g_assert_true(target_files_open(roots, secret_path, &ours, NULL));
    g_assert_false(target_files_open(files, secret_path, &refused, NULL));
    g_assert_false(target_files_open(files, secret, &refused, NULL));
    g_assert_false(target_files_open(files, range, &refused, NULL));
    g_assert_true(target_files_open(files, own_path, &own, NULL));
    g_assert_true(target_files_open(roots, range, &mapped, NULL));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void
test_root_of_other_users_overrides_no_mode(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    pid_t pid = start_process(NULL, take_own_users);
    if (shares(pid, "user"))
        g_test_skip("this machine does not permit user namespaces");
    else
        assert_limited(fixture, pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void
test_path_says_where_a_link_led(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    g_auto(TargetFile) file = {.fd = -1};
    g_autofree char *path = g_strdup_printf("/proc/%d/root/absolute", (int)fixture->pid);
    g_autofree char *expected = g_strdup_printf("/proc/%d/root/public", (int)fixture->pid);
    g_assert_true(target_files_open(fixture->files, path, &file, NULL));
    g_assert_cmpstr(file.path, ==, expected);
}

static void
test_of_an_ended_process_is_nothing(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    kill(fixture->pid, SIGKILL);
    waitpid(fixture->pid, NULL, 0);
    g_autoptr(TargetFiles) late = target_files_new(&(TargetFilesOptions){.pid = fixture->pid});
    g_autofree char *below = in(fixture, "public");
    g_autofree char *secret = in(fixture, "secret");
    g_autofree char *path = g_strdup_printf("/proc/%d/root%s", (int)fixture->pid, below);
    g_auto(TargetFile) file = {.fd = -1};
    g_assert_false(target_files_open(late, path, &file, NULL));
    g_assert_false(target_files_open(late, secret, &file, NULL));
}

/* A set-user-ID program has root as its effective user; the user that started it is the real one. */
static void
test_of_mixed_ids_the_lesser(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    pid_t pid = fork();
    if (pid == 0) {
        gboolean ready = setresuid(OTHER_USER, 0, 0) == 0;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (ready)
            pause();
        _exit(1);
    }
    Rights rights = {0};
    g_autofree char *proc = g_strdup_printf("/proc/%d", (int)pid);
    int directory = open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (gint64 end = g_get_monotonic_time() + 20 * G_TIME_SPAN_SECOND;
         rights.uid != OTHER_USER && g_get_monotonic_time() < end;) {
        rights_clear(&rights);
        rights_of_process(directory, &rights);
    }
    close(directory);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    g_assert_true(rights.limited);
    g_assert_cmpint(rights.uid, ==, OTHER_USER);
    rights_clear(&rights);
}

static void
test_named_directory_is_read_with_our_rights(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    const char *const directories[] = {fixture->directory, NULL};
    g_autoptr(TargetFiles) files =
        target_files_new(&(TargetFilesOptions){.pid = fixture->pid, .directories = directories});
    g_auto(TargetFile) file = {.fd = -1}, outside = {.fd = -1};
    g_autofree char *secret = in(fixture, "secret");
    g_assert_true(target_files_open(files, secret, &file, NULL));
    g_autofree char *up = in(fixture, "../../../../../../etc/shadow");
    g_assert_false(target_files_open(files, up, &outside, NULL));
}

static void
test_without_a_process_the_owner_of_the_dump_counts(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    g_autoptr(TargetFiles) files = target_files_new(&(TargetFilesOptions){.owner = OTHER_USER});
    g_auto(TargetFile) public = {.fd = -1}, secret = {.fd = -1};
    g_autofree char *secret_path = in(fixture, "secret");
    g_autofree char *public_path = in(fixture, "public");
    g_assert_false(target_files_open(files, secret_path, &secret, NULL));
    g_assert_true(target_files_open(files, public_path, &public, NULL));
}

static void
check_origin(const char *expected)
{
    g_autofree char *origin = target_files_origin();
    g_assert_cmpstr(origin, ==, expected);
}

static void
test_origin_is_whoever_is_not_trusted(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    target_files_unref(g_steal_pointer(&fixture->files));
    g_autoptr(TargetFiles) ours G_GNUC_UNUSED = target_files_new(&(TargetFilesOptions){.owner = 0});
    check_origin("");
    g_autoptr(TargetFiles) theirs = target_files_new(&(TargetFilesOptions){.owner = OTHER_USER});
    check_origin("-65533");
    pid_t pid = start_process(fixture->directory, stay_root);
    g_autoptr(TargetFiles) container G_GNUC_UNUSED = target_files_new(&(TargetFilesOptions){.pid = pid});
    check_origin(NULL);
    target_files_unref(g_steal_pointer(&theirs));
    g_autofree char *origin = target_files_origin();
    g_assert_true(g_str_has_prefix(origin, "-0-"));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Debug information in another user's file may name any text. */
static void
test_text_is_read_with_the_rights_of_all_authors(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    g_autoptr(TargetFiles) files = target_files_new(&(TargetFilesOptions){.owner = 0});
    g_autofree char *secret = in(fixture, "secret");
    g_autofree char *own = in(fixture, "of-nobody");
    g_autofree char *before = target_files_open_text(files, secret, NULL);
    g_assert_cmpstr(before, ==, "secret");
    g_auto(TargetFile) program = {.fd = -1};
    g_assert_true(target_files_open(files, own, &program, NULL));
    g_assert_null(target_files_open_text(files, secret, NULL));
    g_autofree char *still = target_files_open_text(files, own, NULL);
    g_assert_cmpstr(still, ==, "of-nobody");
}

static void
test_rights_are_given_back(Fixture *fixture, gconstpointer data)
{
    if (needs_root())
        return;
    g_autofree char *before = NULL, *after = NULL;
    g_assert_true(g_file_get_contents("/proc/thread-self/status", &before, NULL, NULL));
    g_assert_false(may_open(fixture, "secret"));
    g_assert_true(g_file_get_contents("/proc/thread-self/status", &after, NULL, NULL));
    static const char *const lines[] = {"\nUid:", "\nGid:", "\nGroups:", "\nCapEff:"};
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
        const char *one = strstr(before, lines[i]) + 1, *two = strstr(after, lines[i]) + 1;
        g_assert_true(strncmp(one, two, strcspn(one, "\n") + 1) == 0);
    }
}

enum { LINKS = 39, PIECES = 800, OPENINGS = 1000 };

/* Each link leads a long way to the next one, and the last one nowhere. */
static void
add_long_links(const Fixture *fixture)
{
    g_autoptr(GString) way = g_string_new(NULL);
    for (guint i = 0; i < PIECES; i++)
        g_string_append(way, "d/../");
    for (guint i = 0; i < LINKS; i++) {
        g_autofree char *name = g_strdup_printf("link%u", i), *to = g_strdup_printf("%slink%u", way->str, i + 1);
        add_link(fixture, name, to);
    }
}

static void
remove_long_links(const Fixture *fixture)
{
    for (guint i = 0; i < LINKS; i++) {
        g_autofree char *name = g_strdup_printf("link%u", i), *path = in(fixture, name);
        g_remove(path);
    }
}

/* The time of finding files counts, whether they are there or not. */
static void
test_long_links(Fixture *fixture, gconstpointer data)
{
    const TargetFilesOptions options = {.owner = OTHER_USER};
    g_autoptr(TargetFiles) files = target_files_new(&options);
    g_autofree char *path = in(fixture, "link0"), *directory = in(fixture, "d");
    gboolean over = FALSE;
    g_assert_no_errno(g_mkdir(directory, 0755));
    add_long_links(fixture);
    target_files_take_time(files, TARGET_FILES_MAX_TIME - G_USEC_PER_SEC / 10);
    for (guint i = 0; i < OPENINGS && !over; i++) {
        g_autoptr(GError) error = NULL;
        g_auto(TargetFile) file = {.fd = -1};
        g_assert_false(target_files_open(files, path, &file, &error));
        over = strstr(error->message, "30 s of processor time") != NULL;
    }
    g_assert_true(over);
    remove_long_links(fixture);
    g_rmdir(directory);
}

static void
test_memory_is_bounded(Fixture *fixture, gconstpointer data)
{
    g_autoptr(TargetFiles) files = target_files_new(&(TargetFilesOptions){.owner = geteuid()});
    g_assert_true(target_files_take_memory(files, TARGET_FILES_MAX_MEMORY / 2));
    g_assert_true(target_files_take_memory(files, TARGET_FILES_MAX_MEMORY / 2));
    g_assert_false(target_files_take_memory(files, 1));
    g_assert_cmpuint(target_files_left_out(files), ==, 1);
}

static void
add(const char *name, gboolean chrooted, void (*test)(Fixture *, gconstpointer))
{
    g_autofree char *path = g_strconcat("/confine/target-files/", name, NULL);
    g_test_add(path, Fixture, GINT_TO_POINTER(chrooted), set_up, test, tear_down);
}

int
main(int argc, char **argv)
{
    enum { OUR_ROOT = FALSE, ITS_ROOT = TRUE };
    g_test_init(&argc, &argv, NULL);
    add("with-the-rights-of-the-process", OUR_ROOT, test_with_the_rights_of_the_process);
    add("files-that-every-user-may-read", OUR_ROOT, test_files_that_every_user_may_read);
    add("map-of-a-compiler", OUR_ROOT, test_map_of_a_compiler);
    add("no-files-but-regular-ones", OUR_ROOT, test_no_files_but_regular_ones);
    add("in-the-root-of-the-process", ITS_ROOT, test_in_the_root_of_the_process);
    add("origin-is-whoever-is-not-trusted", OUR_ROOT, test_origin_is_whoever_is_not_trusted);
    add("root-of-another-root-is-not-ours", OUR_ROOT, test_root_of_another_root_is_not_ours);
    add("root-of-other-mounts-is-not-ours", OUR_ROOT, test_root_of_other_mounts_is_not_ours);
    add("root-without-capabilities-overrides-no-mode", OUR_ROOT, test_root_without_capabilities_overrides_no_mode);
    add("root-of-other-users-overrides-no-mode", OUR_ROOT, test_root_of_other_users_overrides_no_mode);
    add("author-of-a-process", OUR_ROOT, test_author_of_a_process);
    add("path-says-where-a-link-led", ITS_ROOT, test_path_says_where_a_link_led);
    add("of-an-ended-process-is-nothing", OUR_ROOT, test_of_an_ended_process_is_nothing);
    add("of-mixed-ids-the-lesser", OUR_ROOT, test_of_mixed_ids_the_lesser);
    add("named-directory-is-read-with-our-rights", OUR_ROOT, test_named_directory_is_read_with_our_rights);
    add("without-a-process-the-owner-of-the-dump-counts", OUR_ROOT,
        test_without_a_process_the_owner_of_the_dump_counts);
    add("text-is-read-with-the-rights-of-all-authors", OUR_ROOT, test_text_is_read_with_the_rights_of_all_authors);
    add("rights-are-given-back", OUR_ROOT, test_rights_are_given_back);
    add("long-links", OUR_ROOT, test_long_links);
    add("memory-is-bounded", OUR_ROOT, test_memory_is_bounded);
    return g_test_run();
}
