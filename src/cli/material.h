/* SPDX-License-Identifier: Apache-2.0 */
/* Files for the doctor: statistics, history files, heap dumps, and directories of them. */
#ifndef JESCOPE_CLI_MATERIAL_H
#define JESCOPE_CLI_MATERIAL_H

#include "doctor/evidence.h"
#include "stats/reader.h"

typedef struct {
    GArray *files;      /* StatsFile: statistics, open */
    GPtrArray *paths;   /* char *: of files */
    char *history;      /* or NULL */
    int samples;        /* a file of the server's (stats/sample-bytes.h), open; 0: none */
    const char *target; /* in the history file, or NULL */
} Material;

/* Whether this may be something that the doctor reads, and not a program. */
gboolean material_may_be(const char *path);

/* Whether this has the samples of a process over time: a history file, or what the server has taken out of its own. */
gboolean material_is_history(const char *path);

/* Opens NAMES (NULL-terminated) and adds the paths of dumps to DUMPS (char *). MATERIAL must be cleared, also on error.
 * TARGET: whose samples, if a history file has several; or NULL. */
gboolean material_open(Material *material, char *const *names, const char *target, GPtrArray *dumps, GError **error);

/* In the confined child: adds the samples, in the order of time, as moments. */
gboolean material_read(Material *material, DoctorEvidence *evidence, GError **error);

/* Adds the descriptors that material_read() needs, of int. */
void material_descriptors(const Material *material, GArray *descriptors);

void material_clear(Material *material);

#endif
