/* SPDX-License-Identifier: Apache-2.0 */
#include "target/reach-open.h"

#include "target/process-change.h"
#include "target/process-file.h"

#include <errno.h>
#include <unistd.h>

/* The kernel binds the file to what the process executes when it is opened, and so between the checks. */
static int
open_unchanged(const Process *found, ReachFile file)
{
    int error = process_change_check(found);
    int fd = error == 0 ? process_open(found->pid, reach_file_name(file), REACH_FILE_MAX) : -1;
    if (error == 0)
        error = fd >= 0 ? process_change_check(found) : errno;
    if (error != 0 && fd >= 0)
        close(fd);
    errno = error;
    return error == 0 ? fd : -1;
}

int
reach_open(const Process *found, ReachFile file)
{
    const ReachOps *elsewhere = reach_elsewhere();
    return elsewhere != NULL ? elsewhere->open(found, file) : open_unchanged(found, file);
}

char *
reach_read(const Process *found, ReachFile file)
{
    return process_read_whole(reach_open(found, file));
}
