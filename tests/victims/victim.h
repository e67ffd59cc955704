/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for the agent to be a guest in. It obeys one command per line on stdin and answers each with one line on
 * stdout, "ok ..." or "failed ...": what it did is then known to the test without waiting for time to pass.
 */
#ifndef JESCOPE_VICTIMS_VICTIM_H
#define JESCOPE_VICTIMS_VICTIM_H

#include <stddef.h>

/* The allocator under test. Another build of the same program names another one with these macros. */
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
    /* argument: the rest of the line, "" if none. Answers with answer() or fail(), unless the process is gone. */
    void (*run)(char *argument);
} Command;

extern const Command memory_commands[];
extern const Command process_commands[];
extern const Command thread_commands[];
extern const Command descriptor_commands[];

#ifdef VICTIM_EMBEDS
extern const Command embed_commands[];
/* What such a program does first in main(). */
void embed_start(void);
#endif

void answer(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Answers "failed WHAT: strerror(errno)". */
void fail(const char *what);

#endif
