/* SPDX-License-Identifier: Apache-2.0 */
#include "target/cgroup.h"
#include "target/headroom.h"
#include "target/implementation.h"
#include "target/own-room.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

/* Files below a directory of the test's own; all of it is removed in the end. */
static char *root;

static void
put(const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(root, name, NULL);
    g_autofree char *directory = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(directory, 0700), ==, 0);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void
begin(void)
{
    root = g_dir_make_tmp("jescope-cgroup-XXXXXX", NULL);
}

static void
end(void)
{
    char remove[] = "rm", whole[] = "-r";
    char *words[] = {remove, whole, root, NULL};
    g_assert_true(g_spawn_sync(NULL, words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
    g_free(root);
}

static gboolean
read_memory(CgroupMemory *memory)
{
    g_autofree char *proc = g_build_filename(root, "proc", NULL);
    g_autofree char *cgroups = g_build_filename(root, "cgroup", NULL);
    return cgroup_memory_read(proc, cgroups, 42, memory);
}

/* Of process 42, beside 43. */
static gboolean
read_rooms(CgroupRooms *rooms)
{
    g_autofree char *proc = g_build_filename(root, "proc", NULL);
    g_autofree char *cgroups = g_build_filename(root, "cgroup", NULL);
    return cgroup_rooms_read(proc, cgroups, 42, 43, rooms);
}

/* The tightest group is not the one with the lowest limit. */
static void
test_version_2(void)
{
    CgroupMemory memory;
    CgroupRooms rooms;
    begin();
    put("proc/42/cgroup", "0::/a/b\n");
    put("cgroup/a/b/memory.current", "104857600\n"); /* 100 MiB */
    put("cgroup/a/b/memory.max", "209715200\n");     /* 200 MiB */
    put("cgroup/a/b/memory.high", "max\n");
    put("cgroup/a/b/memory.stat", "anon 5\ninactive_file 20971520\n"); /* 20 MiB */
    put("cgroup/a/memory.current", "314572800\n");                     /* 300 MiB */
    put("cgroup/a/memory.max", "max\n");
    put("cgroup/a/memory.high", "324009984\n"); /* 309 MiB */
    g_assert_true(read_memory(&memory));
    g_assert_cmpuint(memory.current, ==, 100 * (guint64)MIB);
    g_assert_cmpuint(memory.max, ==, 200 * (guint64)MIB);
    g_assert_true(read_rooms(&rooms));
    g_assert_cmpuint(rooms.alone.left, ==, 9 * (guint64)MIB);
    g_assert_cmpuint(rooms.alone.limit, ==, 309 * (guint64)MIB);
    g_assert_cmpuint(rooms.shared.left, ==, G_MAXUINT64);
    g_assert_cmpuint(rooms.alone_to_max.left, ==, 120 * (guint64)MIB);
    g_assert_cmpuint(rooms.alone_to_max.limit, ==, 200 * (guint64)MIB);
    put("cgroup/a/memory.high", "max\n");
    g_assert_true(read_rooms(&rooms));
    g_assert_cmpuint(rooms.alone.left, ==, 120 * (guint64)MIB);
    g_assert_cmpuint(rooms.alone_to_max.left, ==, 120 * (guint64)MIB);
    end();
}

/* It is slowed down; what is left before it would be killed is another matter. */
static void
test_above_memory_high(void)
{
    CgroupRooms rooms;
    begin();
    put("proc/42/cgroup", "0::/a\n");
    put("cgroup/a/memory.current", "300\n");
    put("cgroup/a/memory.high", "200\n");
    put("cgroup/a/memory.max", "900\n");
    g_assert_true(read_rooms(&rooms));
    g_assert_cmpuint(rooms.alone.left, ==, 0);
    g_assert_cmpuint(rooms.alone.limit, ==, 200);
    g_assert_cmpuint(rooms.alone_to_max.left, ==, 600);
    g_assert_cmpuint(rooms.alone_to_max.limit, ==, 900);
    put("cgroup/a/memory.max", "max\n");
    g_assert_true(read_rooms(&rooms));
    g_assert_cmpuint(rooms.alone_to_max.left, ==, G_MAXUINT64);
    /* In a group of the payer too, memory.high counts. */
    put("proc/43/cgroup", "0::/a\n");
    g_assert_true(read_rooms(&rooms));
    g_assert_cmpuint(rooms.shared.left, ==, 0);
    g_assert_cmpuint(rooms.alone.left, ==, G_MAXUINT64);
    end();
}

static void
test_version_1(void)
{
    CgroupMemory memory;
    CgroupRooms rooms;
    begin();
    put("proc/42/cgroup", "3:cpu,cpuacct:/x\n2:memory:/a/b\n0::/\n");
    put("cgroup/memory/a/b/memory.usage_in_bytes", "104857600\n");
    put("cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    put("cgroup/memory/a/memory.usage_in_bytes", "104857600\n");
    put("cgroup/memory/a/memory.limit_in_bytes", "105906176\n"); /* 101 MiB */
    put("cgroup/memory/a/memory.stat", "inactive_file 7\ntotal_inactive_file 1048576\n");
    g_assert_true(read_memory(&memory));
    g_assert_cmpuint(memory.max, ==, 101 * (guint64)MIB);
    g_assert_true(read_rooms(&rooms));
    g_assert_cmpuint(rooms.alone.left, ==, 2 * (guint64)MIB);
    end();
}

/* A group holds a second process if it is that process's own or one above; names with the same beginning are not. */
static void
test_shared(void)
{
    static const struct {
        const char *group; /* of process 43 */
        guint64 alone, shared;
    } cases[] = {
        {"0::/a/b\n", G_MAXUINT64, 100}, {"0::/a/b/c\n", G_MAXUINT64, 100}, {"0::/a\n", 100, 500},
        {"0::/a/bc\n", 100, 500},        {"0::/other\n", 100, G_MAXUINT64}, {"1:memory:/a/b\n", 100, G_MAXUINT64},
    };
    begin();
    put("proc/42/cgroup", "0::/a/b\n");
    put("cgroup/a/memory.current", "500\n");
    put("cgroup/a/memory.max", "1000\n");
    put("cgroup/a/b/memory.current", "100\n");
    put("cgroup/a/b/memory.max", "200\n");
    put("cgroup/a/bc/memory.current", "0\n");
    put("cgroup/a/b/c/memory.current", "0\n");
    put("cgroup/other/memory.current", "0\n");
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        CgroupRooms rooms;
        put("proc/43/cgroup", cases[i].group);
        g_assert_true(read_rooms(&rooms));
        g_assert_cmpuint(rooms.alone.left, ==, cases[i].alone);
        g_assert_cmpuint(rooms.shared.left, ==, cases[i].shared);
    }
    end();
}

/* What is scarcest, and counters of the own group; an ended process keeps its group, which may have been removed. */
static void
test_gauge(void)
{
    CgroupReading reading;
    begin();
    g_autofree char *proc = g_build_filename(root, "proc", NULL);
    g_autofree char *cgroups = g_build_filename(root, "cgroup", NULL);
    g_autoptr(CgroupGauge) gauge = cgroup_gauge_new();
    put("proc/42/stat", "42 (a) b) R 1 42 42 0 -1 4194560 1\n");
    g_assert_cmpint(cgroup_gauge_read(gauge, proc, cgroups, 42, &reading), ==, CGROUP_GAUGE_NO_GROUP);
    g_assert_cmpuint(cgroup_gauge_oom_kills(gauge), ==, G_MAXUINT64);
    put("proc/42/cgroup", "0::/a/b\n");
    put("cgroup/memory.current", "1\n");
    put("cgroup/a/memory.current", "300\n");
    put("cgroup/a/memory.max", "1000\n");
    put("cgroup/a/b/memory.current", "100\n");
    put("cgroup/a/b/memory.max", "400\n");
    put("cgroup/a/b/memory.stat", "inactive_file 40\n");
    put("cgroup/a/b/memory.events", "low 0\nhigh 7\nmax 8\noom 9\noom_kill 3\noom_group_kill 1\n");
    put("cgroup/a/b/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull total=5\n");
    g_assert_cmpint(cgroup_gauge_read(gauge, proc, cgroups, 42, &reading), ==, CGROUP_GAUGE_READ);
    g_assert_cmpuint(reading.limit, ==, 400);
    g_assert_cmpuint(reading.used, ==, 60);
    g_assert_cmpuint(reading.oom_kills, ==, 3);
    g_assert_cmpuint(reading.high_events, ==, 7);
    g_assert_cmpuint(reading.stalled_us, ==, 12);
    /* On its way out, which version 1 shows as a move to the root. */
    put("proc/42/cgroup", "0::/\n");
    put("proc/42/stat", "42 (a) b) R 1 42 42 0 -1 4194564 1\n");
    put("cgroup/a/b/memory.events", "oom_kill 4\n");
    g_assert_cmpint(cgroup_gauge_read(gauge, proc, cgroups, 42, &reading), ==, CGROUP_GAUGE_ENDING);
    g_assert_cmpuint(cgroup_gauge_oom_kills(gauge), ==, 4);
    /* Gone between the reading of its group and of its state. */
    g_assert_cmpint(cgroup_gauge_read(gauge, proc, cgroups, 43, &reading), ==, CGROUP_GAUGE_ENDING);
    g_assert_cmpuint(cgroup_gauge_oom_kills(gauge), ==, 4);
    end();
    g_assert_cmpuint(cgroup_gauge_oom_kills(gauge), ==, G_MAXUINT64);
}

static void
test_nothing_to_see(void)
{
    CgroupMemory memory = {.current = 7};
    CgroupRooms rooms;
    begin();
    g_assert_false(read_memory(&memory));
    g_assert_false(read_rooms(&rooms));
    g_assert_cmpuint(rooms.alone.left, ==, G_MAXUINT64);
    put("proc/42/cgroup", "0::/../../other\n");
    put("cgroup/memory.current", "1\n");
    g_assert_false(read_memory(&memory));
    g_assert_cmpuint(memory.current, ==, 7);
    end();
}

static void
test_over_the_limit(void)
{
    CgroupRooms rooms;
    begin();
    put("proc/42/cgroup", "0::/a\n");
    put("cgroup/a/memory.current", "300\n");
    put("cgroup/a/memory.max", "200\n");
    g_assert_true(read_rooms(&rooms));
    g_assert_cmpuint(rooms.alone.left, ==, 0);
    end();
}

static void
test_estimate(void)
{
    g_assert_cmpuint(headroom_estimate(0, 19), <, 2 * (guint64)MIB);
    g_assert_cmpuint(headroom_estimate((guint64)8192 * MIB, 19), >, 16384 * 2048);
    g_assert_cmpuint(headroom_estimate((guint64)8192 * MIB, 12), >, headroom_estimate((guint64)8192 * MIB, 19));
    g_assert_cmpuint(headroom_estimate(G_MAXUINT64, 200), <, 2 * (guint64)MIB); /* a hostile target's numbers */
}

/* ---- whether a dump is taken, which memory.high or memory.max may be in the way of ---- */

static gboolean
read_nothing(Target *target, const char *control, WireType type, WireCtlReply *value, GError **error)
{
    return FALSE;
}

static gboolean
write_nothing(Target *target, const char *control, WireType type, guint64 value, GError **error)
{
    return FALSE;
}

/* Sizes in MiB; 0: no limit. */
typedef struct {
    const char *name;
    guint current, high, max; /* of the target's group */
    gboolean shared;          /* jescope is in it, too */
    guint own_left;           /* of jescope's own group */
    guint left;               /* that a refusal names as left; 0: the dump is taken */
    gboolean bounded;         /* it may not be charged to the target */
} Headroom;

static const Headroom headrooms[] = {
    {"no-limit", 100, 0, 0, FALSE, 0, 0, FALSE},
    {"far-from-both", 100, 200, 300, FALSE, 0, 0, FALSE},
    {"above-high-paid-for", 110, 100, 200, FALSE, 0, 0, TRUE},
    {"above-high-near-max", 198, 100, 200, FALSE, 0, 2, TRUE},
    {"below-high-near-max", 198, 300, 200, FALSE, 0, 2, TRUE},
    {"near-high-unpaid", 95, 100, 200, FALSE, 1, 5, TRUE},
    {"near-high-partly-paid", 80, 100, 200, FALSE, 24, 20, TRUE},
    {"far-from-high-partly-paid", 75, 100, 200, FALSE, 24, 0, TRUE},
    {"near-high-shared", 95, 100, 200, TRUE, 0, 5, FALSE},
};

static void
put_size(const char *file, guint mib)
{
    g_autofree char *text =
        mib != 0 ? g_strdup_printf("%" G_GUINT64_FORMAT "\n", (guint64)mib * MIB) : g_strdup("max\n");
    put(file, text);
}

static void
put_groups(const Headroom *headroom)
{
    g_autofree char *own = g_strdup_printf("proc/%d/cgroup", (int)getpid());
    put("proc/42/cgroup", "0::/target\n");
    put(own, headroom->shared ? "0::/target\n" : "0::/own\n");
    put_size("cgroup/target/memory.current", headroom->current);
    put_size("cgroup/target/memory.high", headroom->high);
    put_size("cgroup/target/memory.max", headroom->max);
    put_size("cgroup/own/memory.current", 100);
    put_size("cgroup/own/memory.max", headroom->own_left != 0 ? 100 + headroom->own_left : 0);
}

static void
assert_left(const GError *error, guint mib)
{
    g_autofree char *left = g_format_size_full((guint64)mib * MIB, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *said = g_strdup_printf(" has %s left of ", left);
    g_assert_error(error, TARGET_ERROR, OUTCOME_NO_HEADROOM);
    g_assert_nonnull(strstr(error->message, said));
}

/* How large the dump will be is not known: 32 MiB. */
static void
test_headroom(gconstpointer data)
{
    const Headroom *headroom = data;
    const TargetOps ops = {.read = read_nothing, .write = write_nothing};
    char label[] = "grow (42)";
    Target target = {.ops = &ops, .pid = 42, .label = label, .output_max = G_MAXUINT64};
    g_autoptr(GError) error = NULL;
    begin();
    put_groups(headroom);
    g_autofree char *proc = g_build_filename(root, "proc", NULL);
    g_autofree char *cgroups = g_build_filename(root, "cgroup", NULL);
    g_assert_cmpint(headroom_check(&target, proc, cgroups, &error), ==, headroom->left == 0);
    if (headroom->left != 0)
        assert_left(error, headroom->left);
    g_assert_cmpint(target.plan.allowed != G_MAXUINT64, ==, headroom->bounded);
    end();
}

static gboolean
check_beginning(const Headroom *headroom, GError **error)
{
    begin();
    put_groups(headroom);
    g_autofree char *proc = g_build_filename(root, "proc", NULL);
    g_autofree char *cgroups = g_build_filename(root, "cgroup", NULL);
    const gboolean room = headroom_check_beginning(42, "grow (42)", proc, cgroups, error);
    end();
    return room;
}

static void
test_beginning(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GError) shared = NULL;
    g_assert_true(check_beginning(&(Headroom){.current = 100}, &error));
    g_assert_true(check_beginning(&(Headroom){.current = 100, .max = 104}, &error));
    g_assert_true(check_beginning(&(Headroom){.current = 110, .high = 100, .max = 200}, &error));
    g_assert_no_error(error);
    g_assert_false(check_beginning(&(Headroom){.current = 100, .max = 103}, &error));
    assert_left(error, 3);
    g_assert_false(check_beginning(&(Headroom){.current = 100, .max = 102, .shared = TRUE}, &shared));
    assert_left(shared, 2);
}

/* Of a process with LOCKED of 100000 KiB locked, and the capabilities CAPABLE. */
static gboolean
check_limits(const char *space, const char *lock, guint locked, const char *capable, GError **error)
{
    g_autofree char *limits =
        g_strdup_printf("Limit                     Soft Limit           Hard Limit           Units\n"
                        "Max locked memory         %-20s unlimited            bytes\n"
                        "Max address space         %-20s unlimited            bytes\n",
                        lock, space);
    g_autofree char *status =
        g_strdup_printf("Name:\tgrow\nVmSize:\t  100000 kB\nVmLck:\t %u kB\nCapEff:\t%s\n", locked, capable);
    begin();
    put("proc/42/limits", limits);
    put("proc/42/status", status);
    g_autofree char *proc = g_build_filename(root, "proc", NULL);
    g_autofree char *cgroups = g_build_filename(root, "cgroup", NULL);
    const gboolean room = headroom_check_beginning(42, "grow (42)", proc, cgroups, error);
    end();
    return room;
}

static void
test_limits(void)
{
    static const char none[] = "0000000000000000", all[] = "000001ffffffffff";
    g_autoptr(GError) error = NULL;
    g_autoptr(GError) locked = NULL;
    g_assert_true(check_limits("unlimited", "8388608", 0, none, &error));
    g_assert_true(check_limits("204800000", "unlimited", 99000, none, &error));
    g_assert_true(check_limits("unlimited", "104857600", 1000, none, &error)); /* some memory alone */
    g_assert_true(check_limits("unlimited", "104857600", 99000, all, &error)); /* CAP_IPC_LOCK */
    g_assert_no_error(error);
    g_assert_false(check_limits("104857600", "unlimited", 0, none, &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_NO_HEADROOM);
    g_assert_nonnull(strstr(error->message, "(RLIMIT_AS)"));
    g_assert_nonnull(strstr(error->message, "--force"));
    g_assert_false(check_limits("unlimited", "104857600", 99000, none, &locked));
    g_assert_nonnull(strstr(locked->message, "(RLIMIT_MEMLOCK)"));
}

static gboolean
read_charges(CgroupCharges *charges)
{
    g_autofree char *proc = g_build_filename(root, "proc", NULL);
    g_autofree char *cgroups = g_build_filename(root, "cgroup", NULL);
    return cgroup_charges_read(proc, cgroups, 42, charges);
}

static void
test_charges_2(void)
{
    CgroupCharges charges;
    begin();
    put("proc/42/cgroup", "0::/a\n");
    put("cgroup/a/memory.current", "900\n");
    put("cgroup/a/memory.stat", "anon 100\nfile 200\nkernel 50\nkernel_stack 20\npagetables 7\nsock 9\nshmem 70\n"
                                "file_mapped 3\nanon_thp 4\nslab 5\ninactive_file 33\n");
    put("cgroup/a/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n"
                                    "full avg10=0.00 avg60=0.00 avg300=0.00 total=11\n");
    g_assert_true(read_charges(&charges));
    g_assert_cmpuint(charges.current, ==, 900);
    g_assert_cmpuint(charges.anonymous, ==, 100);
    g_assert_cmpuint(charges.file, ==, 200);
    g_assert_cmpuint(charges.shmem, ==, 70);
    g_assert_cmpuint(charges.kernel, ==, 50);
    g_assert_cmpuint(charges.kernel_stacks, ==, 20);
    g_assert_cmpuint(charges.page_tables, ==, 7);
    g_assert_cmpuint(charges.sockets, ==, 9);
    g_assert_cmpuint(charges.inactive_file, ==, 33);
    g_assert_cmpuint(charges.stalled_ns, ==, 12000);
    end();
}

static void
test_charges_1(void)
{
    CgroupCharges charges;
    begin();
    put("proc/42/cgroup", "2:memory:/a\n");
    put("cgroup/memory/a/memory.usage_in_bytes", "900\n");
    put("cgroup/memory/a/memory.stat", "cache 1\nrss 2\ntotal_cache 300\ntotal_rss 100\n"
                                       "total_inactive_file 44\n");
    put("cgroup/memory/a/memory.kmem.usage_in_bytes", "60\n");
    g_assert_true(read_charges(&charges));
    g_assert_cmpuint(charges.current, ==, 900);
    g_assert_cmpuint(charges.anonymous, ==, 100);
    g_assert_cmpuint(charges.file, ==, 300);
    g_assert_cmpuint(charges.shmem, ==, G_MAXUINT64);
    g_assert_cmpuint(charges.kernel, ==, 60);
    g_assert_cmpuint(charges.sockets, ==, G_MAXUINT64);
    g_assert_cmpuint(charges.kernel_stacks, ==, G_MAXUINT64);
    g_assert_cmpuint(charges.inactive_file, ==, 44);
    g_assert_cmpuint(charges.stalled_ns, ==, G_MAXUINT64);
    end();
}

/* A user who may make groups could have thousands of them in each other, and each level takes time to read. */
static void
test_depth(void)
{
    CgroupMemory memory;
    begin();
    for (guint depth = 31; depth <= 33; depth++) {
        g_autoptr(GString) path = g_string_new(NULL);
        for (guint i = 0; i < depth; i++)
            g_string_append(path, "/x");
        g_autofree char *line = g_strdup_printf("0::%s\n", path->str);
        g_autofree char *file = g_strdup_printf("cgroup%s/memory.current", path->str);
        put("proc/42/cgroup", line);
        put(file, "4096\n");
        g_assert_cmpint(read_memory(&memory), ==, depth <= 32);
    }
    end();
}

static gboolean
is_left_beside(const char *used, guint64 held)
{
    g_autofree char *proc = g_build_filename(root, "proc", NULL);
    g_autofree char *cgroups = g_build_filename(root, "cgroup", NULL);
    put("cgroup/us/memory.current", used);
    return own_room_is_left(proc, cgroups, held);
}

static gboolean
is_left_to_us(const char *used)
{
    return is_left_beside(used, 0);
}

/* A process that takes outputs leaves 128 MiB of its own group, or a part of a smaller one. */
static void
test_left_to_us(void)
{
    begin();
    g_autofree char *own = g_strdup_printf("proc/%d/cgroup", (int)getpid());
    put(own, "0::/us\n");
    put("cgroup/us/memory.high", "max\n");
    put("cgroup/us/memory.max", "2147483648\n");
    g_assert_true(is_left_to_us("2013265920\n"));
    g_assert_false(is_left_to_us("2013265921\n"));
    put("cgroup/us/memory.max", "268435456\n");
    g_assert_true(is_left_to_us("251658240\n"));
    g_assert_false(is_left_to_us("251658241\n"));
    put("cgroup/us/memory.max", "max\n");
    g_assert_true(is_left_to_us("2147483648\n"));
    end();
}

/* What an account's outputs hold is left to others as well: of 1920 MiB beside the reserve, one account has half, and
 * then another one has half of the rest. */
static void
test_shares(void)
{
    const guint64 mib = 1 << 20;
    begin();
    g_autofree char *own = g_strdup_printf("proc/%d/cgroup", (int)getpid());
    put(own, "0::/us\n");
    put("cgroup/us/memory.high", "max\n");
    put("cgroup/us/memory.max", "2147483648\n");
    g_assert_true(is_left_beside("1006632960\n", 960 * mib));
    g_assert_false(is_left_beside("1006632961\n", 960 * mib));
    g_assert_true(is_left_beside("1006632961\n", 0));
    g_assert_true(is_left_beside("1509949440\n", 480 * mib));
    g_assert_false(is_left_beside("1509949441\n", 480 * mib));
    end();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cgroup/version-2", test_version_2);
    g_test_add_func("/cgroup/above-memory-high", test_above_memory_high);
    g_test_add_func("/cgroup/version-1", test_version_1);
    g_test_add_func("/cgroup/shared", test_shared);
    g_test_add_func("/cgroup/gauge", test_gauge);
    g_test_add_func("/cgroup/nothing-to-see", test_nothing_to_see);
    g_test_add_func("/cgroup/over-the-limit", test_over_the_limit);
    g_test_add_func("/cgroup/depth", test_depth);
    g_test_add_func("/cgroup/estimate", test_estimate);
    g_test_add_func("/cgroup/charges-version-2", test_charges_2);
    g_test_add_func("/cgroup/left-to-us", test_left_to_us);
    g_test_add_func("/cgroup/shares", test_shares);
    g_test_add_func("/cgroup/charges-version-1", test_charges_1);
    for (gsize i = 0; i < G_N_ELEMENTS(headrooms); i++) {
        g_autofree char *path = g_strconcat("/cgroup/headroom/", headrooms[i].name, NULL);
        g_test_add_data_func(path, &headrooms[i], test_headroom);
    }
    g_test_add_func("/cgroup/headroom/of-profiling", test_beginning);
    g_test_add_func("/cgroup/headroom/of-limits", test_limits);
    return g_test_run();
}
