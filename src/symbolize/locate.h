/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the file of an object, and its separate debug file, and checks that they are the ones that ran.
 *
 * The first match is used: /proc/PID/map_files and /proc/PID/root of a live target; SYSROOT/PATH; in each directory of
 * PPROF_BINARY_PATH NAME and PATH; PATH itself (with a target or a sysroot: only there).
 *
 * A file matches if it was not deleted, replaced or written after the dump, and its executable segments cover the
 * mappings.
 */
#ifndef JESCOPE_SYMBOLIZE_LOCATE_H
#define JESCOPE_SYMBOLIZE_LOCATE_H

#include "symbolize/image.h"
#include "symbolize/symbolize.h"

typedef struct {
    const ProfileObject *object;
    const ProfileMapping *const *mappings; /* the executable mappings of object */
    guint n_mappings;
    guint64 page; /* page size of the machine that ran it */
    const SymbolizeOptions *options;
} LocateRequest;

typedef struct {
    Image *file;      /* the file that ran, or NULL */
    Image *debug;     /* its separate debug file, or NULL; without a file there is none */
    gboolean refused; /* a file was found, but not the one that ran */
    char *note;       /* the reason for a missing file, one sentence, or NULL */
} Located;

/* Never fails: a missing file is NULL and explained by note. */
void locate_object(const LocateRequest *request, Located *located);
void located_clear(Located *located);

#endif
