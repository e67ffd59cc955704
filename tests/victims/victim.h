/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for the agent to run in. It executes one command per line of stdin and answers each with one line on
 * stdout, "ok ..." or "failed ...", so that tests need no delays.
 */
#ifndef JESCOPE_VICTIMS_VICTIM_H
#define JESCOPE_VICTIMS_VICTIM_H

#include <stddef.h>

/* The allocator under test; another build of the same program defines these macros for another one. */
#ifndef VICTIM_MALLOC
#define VICTIM_MALLOC malloc
#define VICTIM_FREE   free
#endif
#ifndef VICTIM_MALLCTL
#define VICTIM_MALLCTL mallctl
#endif
#ifndef VICTIM_STATS_PRINT
#define VICTIM_STATS_PRINT malloc_stats_print
#endif

void *VICTIM_MALLOC(size_t size);
void VICTIM_FREE(void *block);

typedef struct {
    const char *name;
    /* ARGUMENT is the rest of the line, "" if none. Answers with answer() or fail(), unless the process ends. */
    void (*run)(char *argument);
} Command;

extern const Command memory_commands[];
extern const Command process_commands[];
extern const Command thread_commands[];
extern const Command descriptor_commands[];

#ifdef VICTIM_EMBEDS
extern const Command embed_commands[];
/* Called first in main(). */
void embed_start(void);
#endif

void answer(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Answers "failed WHAT: strerror(errno)". */
void fail(const char *what);

#endif
