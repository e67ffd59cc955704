/* SPDX-License-Identifier: Apache-2.0 */
/* When and how a profile's dump was taken: the line of routes/capture-line.h. */
#ifndef JESCOPE_PROFILE_CAPTURE_H
#define JESCOPE_PROFILE_CAPTURE_H

#include "routes/capture-line.h"

#include <glib.h>

typedef struct Profile Profile;

typedef CaptureLine ProfileCapture;

/* The line, its end included. To be freed. */
char *capture_format(const ProfileCapture *capture);

/* FALSE, and *capture untouched: LINE, which ends with '\n', is not such a line. Unknown words are skipped. */
gboolean capture_parse(const char *line, ProfileCapture *capture);

typedef ClassLine ProfileClass;

/* The same for the line of a size class. */
gboolean class_parse(const char *line, ProfileClass *class);

/* The small size classes of the process when the dump was taken, in ascending order. None: they are unknown, or the
 * profile was merged from several. */
const ProfileClass *profile_classes(const Profile *profile, guint *n_classes);

/* NULL: the dump was not taken by jescope, or the profile was merged from several. */
const ProfileCapture *profile_capture(const Profile *profile);

/* Combines the captures of PARTS (Profile), the dumps of several processes, into WHOLE's, as far as they can be
 * added. */
void capture_join(Profile *whole, const GPtrArray *parts);

/* The overhead of a dump's sampled small objects in stats.allocated if each is counted as LARGE bytes. */
guint64 profile_sampling_overhead(const Profile *profile, guint64 large);

/* The memory held by the program when PROFILE was taken (docs/metrics.md). FALSE: unknown. */
gboolean profile_held(const Profile *profile, guint64 *held);

#endif
