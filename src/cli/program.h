/* SPDX-License-Identifier: Apache-2.0 */
/* What a command line will start: which file the kernel loads in the end, and whether that can be preloaded. */
#ifndef JESCOPE_CLI_PROGRAM_H
#define JESCOPE_CLI_PROGRAM_H

#include <glib.h>

typedef enum {
    PROGRAM_FOREIGN = 1 << 0,    /* of another machine or word size: our libraries do not fit */
    PROGRAM_PRIVILEGED = 1 << 1, /* gains a user, group or capabilities: the loader ignores LD_PRELOAD paths then */
    PROGRAM_JEMALLOC = 1 << 2,   /* brings its own jemalloc, linked in, as a library or preloaded by the user */
} ProgramFlag;

typedef struct {
    char *path;     /* what was asked for, found in PATH */
    char *image;    /* what the kernel loads: PATH, or the interpreter of a script */
    char *loader;   /* of IMAGE; NULL: statically linked, or foreign */
    char *prefix;   /* of the symbols of its own jemalloc, else NULL */
    unsigned flags; /* ProgramFlag */
} Program;

/* Looks up NAME as execvp() would and inspects it. CLI_ERROR_FAILED if there is no such program. */
Program *program_find(const char *name, GError **error);
void program_free(Program *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Program, program_free)

/* The file that PROGRAM's own loader finds for SONAME, or NULL: it finds none. */
char *program_find_library(const Program *program, const char *soname);

#endif
