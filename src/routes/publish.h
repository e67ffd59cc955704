/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for local programs that need a path, like Mesos' under its tmp_dir. They are in a directory of mode 0700 with
 * an unpredictable name, created for the first file. Allocates nothing. Not thread safe.
 */
#ifndef JESCOPE_ROUTES_PUBLISH_H
#define JESCOPE_ROUTES_PUBLISH_H

#include "routes/routes.h"

/* All zero: nothing is published. */
typedef struct {
    char directory[ROUTE_DIRECTORY_MAX]; /* "": not created yet */
    uint64_t ids[ROUTE_N_FILES];         /* of the recordings that the files belong to; 0: none */
} Published;

/* The file's name in the directory. */
const char *publish_name(RouteFile file);

/* Implements RouteHostOps.publish; the directory is created in PARENT, an absolute path. */
Outcome publish_put(Published *published, const char *parent, const RoutePublication *what, Failure *failure);

/* Sets *BYTES to the size of FILE on disk, 0 if it does not exist. False if the size cannot be determined. */
bool publish_size(const Published *published, RouteFile file, uint64_t *bytes);

/* Removes files and directory. */
void publish_remove(Published *published);

#endif
