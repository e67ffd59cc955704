/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a command line: the file that the kernel loads, and whether libraries can be preloaded into it. */
#ifndef JESCOPE_RUN_PROGRAM_H
#define JESCOPE_RUN_PROGRAM_H

#include <glib.h>

typedef enum {
    PROGRAM_FOREIGN = 1 << 0,    /* for another machine or word size, so that jescope's libraries cannot be loaded */
    PROGRAM_PRIVILEGED = 1 << 1, /* gains a user, group or capabilities, so that the loader ignores LD_PRELOAD paths */
    PROGRAM_JEMALLOC = 1 << 2,   /* has its own jemalloc: linked in, as a library or preloaded by the user */
    PROGRAM_MUSL = 1 << 3,       /* loaded by musl's dynamic loader: jescope's libraries, built for glibc, would crash
                                  * it */
    PROGRAM_OWN_MALLOC = 1 << 4, /* its executable exports a malloc, which preloading cannot replace */
    PROGRAM_STRIPPED_JEMALLOC = 1 << 5, /* contains a jemalloc without symbols, whose heap cannot be examined */
} ProgramFlag;

typedef struct {
    char *path;     /* the requested program, found in PATH */
    char *image;    /* the file that the kernel loads: PATH, or the interpreter of a script, with links resolved */
    char *loader;   /* the loader of IMAGE; NULL: statically linked, or foreign */
    char *prefix;   /* symbol prefix of its own jemalloc, or NULL */
    unsigned flags; /* ProgramFlag */
} Program;

/* Looks up NAME like execvp() and inspects it. NULL with G_SPAWN_ERROR if not found. */
Program *program_find(const char *name, GError **error);
void program_free(Program *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Program, program_free)

/* The file that PROGRAM's loader finds for SONAME, or NULL. In that case *COMPLAINT, to be freed, is the loader's
 * message if it cannot load PROGRAM, otherwise NULL. */
char *program_find_library(const Program *program, const char *soname, char **complaint);

#endif
