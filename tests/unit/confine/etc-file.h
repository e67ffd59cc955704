/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /etc as a test wants them. */
#ifndef JESCOPE_TESTS_ETC_FILE_H
#define JESCOPE_TESTS_ETC_FILE_H

#include <glib.h>

/* Has this process, in mounts of its own, read TEXT in the file PATH, which must exist. FALSE if that is not permitted
 * here. */
gboolean etc_file_replace(const char *path, const char *text);

#endif
