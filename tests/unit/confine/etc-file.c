/* SPDX-License-Identifier: Apache-2.0 */
#include "etc-file.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

gboolean
etc_file_replace(const char *path, const char *text)
{
    g_autofree char *instead = NULL;
    const int fd = g_file_open_tmp("jescope-test-XXXXXX", &instead, NULL);
    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_assert_true(g_file_set_contents(instead, text, -1, NULL));
    g_assert_no_errno(chmod(instead, 0644));
    const gboolean replaced = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                              mount(instead, path, NULL, MS_BIND, NULL) == 0;
    unlink(instead);
    return replaced;
}
