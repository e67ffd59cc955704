/* SPDX-License-Identifier: Apache-2.0 */
#include "target/headroom.h"

#include "target/cgroup.h"
#include "target/implementation.h"
#include "target/limit-room.h"
#include "target/output-pages.h"
#include "target/own-room.h"

#include <string.h>
#include <unistd.h>

enum {
    /* Bytes that must be left in the target's own groups if jescope is charged: for pages that jemalloc writes before
     * jescope has allocated them again, and for allocations of the program meanwhile. */
    RESERVE = 8 << 20,
};

static gboolean
read_number(Target *target, const char *control, WireType type, guint64 *number)
{
    WireCtlReply value;
    if (!target->ops->read(target, control, type, &value, NULL))
        return FALSE;
    *number = value.value;
    return TRUE;
}

/* With prof_accum, stacks without live objects are kept too. */
static guint64
expected_bytes(Target *target)
{
    guint64 allocated, lg_sample, accumulates;
    target->ops->write(target, "epoch", WIRE_TYPE_U64, 1, NULL);
    if (!read_number(target, "stats.allocated", WIRE_TYPE_SIZE, &allocated) ||
        !read_number(target, "prof.lg_sample", WIRE_TYPE_SIZE, &lg_sample) ||
        !read_number(target, "opt.prof_accum", WIRE_TYPE_BOOL, &accumulates) || accumulates != 0)
        return HEADROOM_UNKNOWN_BYTES;
    return headroom_estimate(allocated, lg_sample);
}

gdouble
headroom_spare(void)
{
    guint64 available = own_room_machine("MemAvailable:"), total = own_room_machine("MemTotal:");
    return available != G_MAXUINT64 && total != G_MAXUINT64 && total > 0 ? (gdouble)available / (gdouble)total : 1;
}

/* The bytes of a dump that can be charged to this process. */
static guint64
own_means(const char *proc, const char *cgroups)
{
    CgroupRooms rooms;
    cgroup_rooms_read(proc, cgroups, (int)getpid(), (int)getpid(), &rooms);
    guint64 left = MIN(rooms.shared.left, own_room_machine("MemAvailable:"));
    return left > RESERVE ? MIN(left - RESERVE, OUTPUT_PAGES_MOST) : 0;
}

/* The room that a dump needs in a group, with the reason. */
typedef struct {
    guint64 expected; /* bytes of the dump */
    guint64 needed;   /* bytes that must be left */
    CgroupRoom room;
    const char *why;
} Need;

static gboolean
check_need(const Target *target, const Need *need, GError **error)
{
    if (need->needed <= need->room.left)
        return TRUE;
    g_autofree char *expected = g_format_size_full(need->expected, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *needed = g_format_size_full(need->needed, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *has = g_format_size_full(need->room.left, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *of = g_format_size_full(need->room.limit, G_FORMAT_SIZE_IEC_UNITS);
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_HEADROOM,
                "a heap dump of %s may take %s, and its memory control group has %s left of %s, where %s must be left "
                "%s; raise the group's limit, or override this check with --force (over HTTP: force=true)",
                target->label, expected, has, of, needed, need->why);
    return FALSE;
}

gboolean
headroom_check(Target *target, const char *proc, const char *cgroups, GError **error)
{
    CgroupRooms rooms;
    target->plan = output_plan_default;
    if (!cgroup_rooms_read(proc, cgroups, (int)target->pid, (int)getpid(), &rooms) ||
        (rooms.alone.left == G_MAXUINT64 && rooms.shared.left == G_MAXUINT64))
        return TRUE;
    const guint64 expected = MIN(expected_bytes(target), target->output_max);
    const guint64 paid = MIN(own_means(proc, cgroups), expected);
    /* Above memory.high, the target is throttled for what is charged to it, which is next to nothing if jescope is
     * charged for the dump; and above memory.high, a dump is most useful. So the limit is ignored then. */
    const Need alone = {
        expected, MIN(expected, expected - paid + RESERVE), paid == expected ? rooms.alone_to_max : rooms.alone,
        paid > 0 ? "although jescope pays for the dump" : "since jescope has no memory to pay for the dump"};
    const Need shared = {expected, expected, rooms.shared, "since jescope runs in the same group"};
    target->plan = (OutputPlan){.most = paid, .first = MIN(paid, OUTPUT_PAGES_FIRST), .allowed = G_MAXUINT64};
    if (rooms.alone.left < expected)
        target->plan.allowed = expected - paid + RESERVE / 2;
    return check_need(target, &alone, error) && check_need(target, &shared, error);
}

gboolean
headroom_check_beginning(pid_t pid, const char *label, const char *proc, const char *cgroups, GError **error)
{
    CgroupRooms rooms;
    if (!limit_room_check(pid, label, proc, error))
        return FALSE;
    if (!cgroup_rooms_read(proc, cgroups, (int)pid, (int)getpid(), &rooms))
        return TRUE;
    const CgroupRoom *room = rooms.shared.left < rooms.alone_to_max.left ? &rooms.shared : &rooms.alone_to_max;
    if (room->left >= HEADROOM_BEGINNING)
        return TRUE;
    g_autofree char *needed = g_format_size_full(HEADROOM_BEGINNING, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *has = g_format_size_full(room->left, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *of = g_format_size_full(room->limit, G_FORMAT_SIZE_IEC_UNITS);
    g_set_error(
        error, TARGET_ERROR, OUTCOME_NO_HEADROOM,
        "the memory control group of %s has %s left of %s, and profiling would take up to %s of it, so that the "
        "kernel might end it; raise the group's limit, or override this check with --force",
        label, has, of, needed);
    return FALSE;
}
