/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of the MAPPED_LIBRARIES section. Linux copies /proc/PID/maps (proc_pid_maps(5)), FreeBSD /proc/curproc/map,
 * macOS has "START-END: PATH" per image.
 */
#ifndef JESCOPE_PROFILE_MAPS_H
#define JESCOPE_PROFILE_MAPS_H

#include "profile/profile.h"

typedef struct {
    guint64 start, limit, file_offset;
    guint64 device, inode; /* device as makedev() makes it */
    const char *path;      /* into the line, not terminated; without " (deleted)" */
    gsize n_path;
    ProfileObjectFlags flags;
    gboolean executable;
} MapsLine;

/*
 * Parses line, which ends with '\n'. Returns NULL, or the position of the first error: then *map is untouched and
 * *expected names what was expected.
 */
const char *maps_line_parse(const char *line, MapsLine *map, const char **expected);

#endif
