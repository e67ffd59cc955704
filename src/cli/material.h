/* SPDX-License-Identifier: Apache-2.0 */
/* Input files of the doctor: statistics, history files, heap dumps, and directories of them. */
#ifndef JESCOPE_CLI_MATERIAL_H
#define JESCOPE_CLI_MATERIAL_H

#include "doctor/evidence.h"
#include "stats/reader.h"

typedef struct {
    GArray *files;      /* StatsFile: open statistics */
    GPtrArray *paths;   /* char *: of the files */
    char *history;      /* or NULL */
    int samples;        /* an open file of the server (stats/sample-bytes.h); 0: none */
    gboolean partial;   /* parts of the files are damaged and were left out, which is reported on stderr */
    int extract;        /* such a file with the samples of the history file; 0: none */
    const char *target; /* in the history file, or NULL */
    pid_t pid;          /* the process of which the history must have samples; 0: any */
    guint64 start_time; /* of it */
    char *boot;         /* HistoryLife.boot of it */
} Material;

/* Whether this may be an input of the doctor, and not a program. */
gboolean material_may_be(const char *path);

/* Whether this contains the samples of a process over time: a history file, or an extract that the server made of its
 * own. */
gboolean material_is_history(const char *path);

/* Opens NAMES (NULL-terminated) and adds the paths of dumps to DUMPS (char *); a history file is read by a child of its
 * own, which has 30 s of processor time if the file is another user's, and fails if the history has no samples of the
 * process that is set in MATERIAL, whose other members are set here. MATERIAL must be cleared, also on error.
 * TARGET selects the samples if a history file has several targets; or NULL. */
gboolean material_open(Material *material, char *const *names, const char *target, GPtrArray *dumps, GError **error);

/* In the confined child: adds the samples in time order as moments. */
gboolean material_read(Material *material, DoctorEvidence *evidence, GError **error);

/* Adds the descriptors that material_read() needs, of int. */
void material_descriptors(const Material *material, GArray *descriptors);

void material_clear(Material *material);

#endif
