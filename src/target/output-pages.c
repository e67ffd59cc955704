/* SPDX-License-Identifier: Apache-2.0 */
#include "target/output-pages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MIB = 1 << 20,
    STAT_BLOCK = 512, /* unit of st_blocks */
    STEP = MIB,       /* bytes of one fallocate(), during which a write() of the target waits: a millisecond */
    AHEAD_MAX = 16 * MIB,
};

const OutputPlan output_plan_default = {
    .most = OUTPUT_PAGES_MOST, .first = MIB /* enough for a small dump */, .allowed = G_MAXUINT64};

/* Stops after a step that fails, as without memory for this process. */
static void
allocate_until(OutputPages *pages, guint64 goal)
{
    while (pages->reach < goal) {
        const guint64 step = MIN(goal - pages->reach, STEP);
        if (fallocate(pages->fd, FALLOC_FL_KEEP_SIZE, (off_t)pages->reach, (off_t)step) != 0) {
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

void
output_pages_begin(OutputPages *pages, int fd, const OutputPlan *plan)
{
    *pages = (OutputPages){.plan = *plan, .fd = fd};
    allocate_ahead(pages, 0);
}

void
output_pages_advance(OutputPages *pages)
{
    struct stat st;
    if (pages->stopped || fstat(pages->fd, &st) != 0)
        return;
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
        pages->stopped = TRUE;
    } else {
        allocate_ahead(pages, size);
    }
}

void
output_pages_end(OutputPages *pages)
{
    struct stat st;
    int ignored = fstat(pages->fd, &st) == 0 ? ftruncate(pages->fd, st.st_size) : 0;
    (void)ignored;
}
