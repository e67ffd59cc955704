/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/patience.h"

#include "confine/thread-time.h"

_Thread_local guint64 patience_unseen;

static _Thread_local struct {
    TargetFiles *files;
    gint64 read_us;
} current;

void
patience_begin(TargetFiles *files)
{
    current.files = files;
    current.read_us = files != NULL ? thread_time_us() : 0;
    patience_unseen = files != NULL ? PATIENCE_UNSEEN : 0;
}

/* Once the time is up, each call comes here. */
gboolean
patience_look(void)
{
    patience_unseen = 0;
    if (current.files == NULL)
        return TRUE;
    gint64 now = thread_time_us();
    gboolean goes_on = target_files_take_time(current.files, now - current.read_us);
    current.read_us = now;
    patience_unseen = goes_on ? 0 : PATIENCE_UNSEEN;
    return goes_on;
}

void
patience_end(void)
{
    patience_look();
    current.files = NULL;
    patience_unseen = 0;
}
