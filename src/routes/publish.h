/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for programs on this machine that need a path, as Mesos' under its tmp_dir. They are in a directory of mode
 * 0700 with an unpredictable name, created for the first file. Allocates nothing. Not thread safe.
 */
#ifndef JESCOPE_ROUTES_PUBLISH_H
#define JESCOPE_ROUTES_PUBLISH_H

#include "routes/routes.h"

/* All zero: nothing is published. */
typedef struct {
    char directory[ROUTE_DIRECTORY_MAX]; /* "": not made yet */
    uint64_t ids[ROUTE_N_FILES];         /* of the recordings with files; 0: none */
} Published;

/* The file's name in the directory. */
const char *publish_name(RouteFile file);

/* As RouteHostOps.publish; the directory is made in PARENT, an absolute path. */
Outcome publish_put(Published *published, const char *parent, const RoutePublication *what, Failure *failure);

/* Removes files and directory. */
void publish_remove(Published *published);

#endif
