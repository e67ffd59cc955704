/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_TEXT_SIZE_H
#define JESCOPE_TEXT_SIZE_H

#include <glib.h>

/* "0 B", "1023 B", "1.00 KiB", "512 KiB", "1.21 GiB": three significant digits. To be freed. */
char *size_format(guint64 bytes);

#endif
