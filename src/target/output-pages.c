/* SPDX-License-Identifier: Apache-2.0 */
#include "target/output-pages.h"

#include "confine/account.h"
#include "target/own-room.h"
#include "target/target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MIB = 1 << 20,
    STAT_BLOCK = 512, /* unit of st_blocks */
    STEP = MIB,       /* bytes of one fallocate(), during which a write() of the target waits: a millisecond */
    AHEAD_MAX = 16 * MIB,
    LOOK = 8 * MIB,       /* bytes between two looks at the memory that is left */
    DISTRUSTED_MOST = 16, /* users */
};

const OutputPlan output_plan_default = {
    .most = OUTPUT_PAGES_MOST, .first = MIB /* enough for a small dump */, .allowed = G_MAXUINT64};

/* Looks only once in LOOK bytes. */
static gboolean
may_allocate(OutputPages *pages)
{
    if (pages->looked_at != 0 && pages->reach - pages->looked_at < LOOK)
        return TRUE;
    pages->looked_at = MAX(pages->reach, 1);
    return own_room_is_left("/proc", "/sys/fs/cgroup");
}

/* Stops after a step that fails, as without memory for this process. */
static void
allocate_until(OutputPages *pages, guint64 goal)
{
    while (pages->reach < goal) {
        guint64 step = MIN(goal - pages->reach, STEP);
        if (!may_allocate(pages) || fallocate(pages->fd, FALLOC_FL_KEEP_SIZE, (off_t)pages->reach, (off_t)step) != 0) {
            pages->plan.most = pages->reach;
            return;
        }
        pages->reach += step;
    }
}

/* The larger the file is, the more may be written before this process runs again. */
static void
allocate_ahead(OutputPages *pages, guint64 size)
{
    guint64 ahead = CLAMP(size, pages->plan.first, AHEAD_MAX);
    allocate_until(pages, MIN(size + ahead, pages->plan.most));
}

/* Accounts that have kept pages. */
static GMutex lock;
static uid_t distrusted[DISTRUSTED_MOST];
static guint n_distrusted;

static gboolean
is_distrusted(uid_t user)
{
    const uid_t account = account_of(user);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    if (n_distrusted == DISTRUSTED_MOST)
        return account != geteuid();
    for (guint i = 0; i < n_distrusted; i++)
        if (distrusted[i] == account)
            return TRUE;
    return FALSE;
}

void
output_pages_distrust(uid_t user)
{
    const uid_t account = account_of(user);
    if (is_distrusted(user))
        return;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&lock);
    if (n_distrusted < DISTRUSTED_MOST)
        distrusted[n_distrusted++] = account;
}

void
output_pages_begin(OutputPages *pages, int fd, const OutputPlan *plan, uid_t user)
{
    *pages = (OutputPages){.plan = *plan, .fd = fd};
    pages->plan.most = is_distrusted(user) ? 0 : MIN(plan->most, OUTPUT_PAGES_MOST);
    allocate_ahead(pages, 0);
}

static gboolean
set_stopped(const OutputPages *pages, const char *label, GError **error)
{
    g_autofree char *own = g_format_size_full(pages->overtaken, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *allowed = g_format_size_full(pages->plan.allowed, G_FORMAT_SIZE_IEC_UNITS);
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_HEADROOM,
                "the heap dump of %s was stopped after %s of it were charged to its memory control group, which could "
                "take %s, because jescope did not get enough memory or processor time to pay for it; try again later, "
                "or override this with --force (over HTTP: force=true)",
                label, own, allowed);
    return FALSE;
}

gboolean
output_pages_advance(OutputPages *pages, const char *label, GError **error)
{
    struct stat st;
    if (fstat(pages->fd, &st) != 0)
        return TRUE;
    guint64 size = (guint64)st.st_size;
    /* If it is just being truncated, fallocate() gets the lock of the file next, before the target writes. */
    if (size == 0 || (guint64)st.st_blocks * STAT_BLOCK < pages->reach)
        pages->reach = 0; /* it was truncated */
    if (size > pages->reach) {
        pages->overtaken += size - pages->reach;
        pages->reach = size;
    }
    if (pages->overtaken > pages->plan.allowed) {
        fcntl(pages->fd, F_ADD_SEALS, F_SEAL_GROW);
        return set_stopped(pages, label, error);
    }
    allocate_ahead(pages, size);
    return TRUE;
}

void
output_pages_end(OutputPages *pages)
{
    struct stat st;
    int ignored = fstat(pages->fd, &st) == 0 ? ftruncate(pages->fd, st.st_size) : 0;
    (void)ignored;
}
