/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a command line: the file that the kernel loads, and whether libraries can be preloaded into it. */
#ifndef JESCOPE_RUN_PROGRAM_H
#define JESCOPE_RUN_PROGRAM_H

#include <glib.h>

typedef enum {
    PROGRAM_FOREIGN = 1 << 0,    /* of another machine or word size: our libraries do not fit */
    PROGRAM_PRIVILEGED = 1 << 1, /* gains a user, group or capabilities: the loader ignores LD_PRELOAD paths then */
    PROGRAM_JEMALLOC = 1 << 2,   /* brings its own jemalloc, linked in, as a library or preloaded by the user */
    PROGRAM_MUSL = 1 << 3,       /* loaded by musl's dynamic loader: our libraries, made for glibc, end it */
    PROGRAM_OWN_MALLOC = 1 << 4, /* its executable exports a malloc, which no preloaded one replaces */
    PROGRAM_STRIPPED_JEMALLOC = 1 << 5, /* holds a jemalloc without symbols: its heap cannot be seen */
} ProgramFlag;

typedef struct {
    char *path;     /* the requested program, found in PATH */
    char *image;    /* the file that the kernel loads: PATH, or the interpreter of a script, with links resolved */
    char *loader;   /* of IMAGE; NULL: statically linked, or foreign */
    char *prefix;   /* of the symbols of its own jemalloc, else NULL */
    unsigned flags; /* ProgramFlag */
} Program;

/* Looks up NAME as execvp() would and inspects it. G_SPAWN_ERROR if not found. */
Program *program_find(const char *name, GError **error);
void program_free(Program *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Program, program_free)

/* The file that PROGRAM's own loader finds for SONAME, or NULL. *COMPLAINT, to be freed, is then its message if it
 * cannot load PROGRAM, else NULL. */
char *program_find_library(const Program *program, const char *soname, char **complaint);

#endif
