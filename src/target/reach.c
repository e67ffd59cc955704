/* SPDX-License-Identifier: Apache-2.0 */
#include "target/reach.h"

#include "target/process-file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static const ReachOps *elsewhere;

void
reach_through(const ReachOps *reach)
{
    elsewhere = reach;
}

const ReachOps *
reach_elsewhere(void)
{
    return elsewhere;
}

uid_t
reach_user(void)
{
    return elsewhere != NULL ? elsewhere->user : geteuid();
}

const char *
reach_file_name(ReachFile file)
{
    static const char *const names[] = {
        [REACH_MAPS] = "maps", [REACH_ROLLUP] = "smaps_rollup", [REACH_SMAPS] = "smaps"};
    return names[file];
}

char *
reach_read_setting(const char *path, GError **error)
{
    char *text = process_read_whole(reach_open_setting(path));
    int code = errno;
    if (text == NULL)
        g_set_error_literal(error, G_FILE_ERROR, (int)g_file_error_from_errno(code), g_strerror(code));
    return text;
}

int
reach_open_setting(const char *path)
{
    return elsewhere != NULL ? elsewhere->setting(path) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

void
reach_unlink(const char *path)
{
    if (elsewhere != NULL)
        elsewhere->unlink(path);
    else
        unlink(path);
}
