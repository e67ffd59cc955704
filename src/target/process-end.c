/* SPDX-License-Identifier: Apache-2.0 */
#include "target/process-end.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct pidfd_info of <linux/pidfd.h>, which older headers do not have. */
typedef struct {
    guint64 mask;
    guint64 cgroup;
    guint32 ids[11];
    gint32 exit_code;
} PidfdInfo;

#define PIDFD_GET_INFO_REQUEST _IOWR(0xFF, 11, PidfdInfo)
#define PIDFD_INFO_EXIT_BIT    (G_GUINT64_CONSTANT(1) << 3)

enum {
    EXIT_CODE_FIELD = 52, /* of /proc/PID/stat */
    FIRST_FIELD_AFTER_NAME = 3,
};

int
process_end_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Only of a zombie: until then the field is 0, and to others always. */
static gboolean
read_zombie(pid_t pid, int *status)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid);
    g_autofree char *text = NULL;
    const char *rest = g_file_get_contents(path, &text, NULL, NULL) ? strrchr(text, ')') : NULL;
    if (rest == NULL || rest[1] == '\0')
        return FALSE;
    g_auto(GStrv) fields = g_strsplit(rest + 2, " ", -1);
    if (g_strv_length(fields) <= EXIT_CODE_FIELD - FIRST_FIELD_AFTER_NAME || fields[0][0] != 'Z')
        return FALSE;
    *status = (int)g_ascii_strtoll(fields[EXIT_CODE_FIELD - FIRST_FIELD_AFTER_NAME], NULL, 10);
    return *status != 0;
}

gboolean
process_end_read(int pidfd, pid_t pid, int *status)
{
    PidfdInfo info = {.mask = PIDFD_INFO_EXIT_BIT};
    if (ioctl(pidfd, PIDFD_GET_INFO_REQUEST, &info) != 0 || (info.mask & PIDFD_INFO_EXIT_BIT) == 0)
        return read_zombie(pid, status);
    *status = info.exit_code;
    return TRUE;
}
