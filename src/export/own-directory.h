/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of batches. Others who can write to one could choose what is sent with the operator's token, what is
 * removed, and, by links, where files are written. */
#ifndef JESCOPE_EXPORT_OWN_DIRECTORY_H
#define JESCOPE_EXPORT_OWN_DIRECTORY_H

#include <glib.h>

/* Creates DIRECTORY and its parents if needed. FALSE with EXPORT_ERROR if that fails, or if it is neither root's nor
 * the caller's alone; OPTION, for the message, chooses it. */
gboolean own_directory_make(const char *directory, const char *option, GError **error);

#endif
