/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of batches. Others who can write to one could choose what is sent with the operator's token, what is
 * removed, and, by links, where files are written. One is checked when it is opened, and what is below it is reached
 * through the descriptor: the owner of a directory above can put another one in its place at any time. */
#ifndef JESCOPE_EXPORT_OWN_DIRECTORY_H
#define JESCOPE_EXPORT_OWN_DIRECTORY_H

#include <glib.h>

/* Opens the directory PATH (O_PATH), which begins at the directory BASE, or AT_FDCWD, if it is relative; creates it and
 * its parents if needed. -1 with EXPORT_ERROR if that fails, or if it is neither root's nor the caller's alone; OPTION,
 * for the message, chooses it. */
int own_directory_open(int base, const char *path, const char *option, GError **error);

#endif
