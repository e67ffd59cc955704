/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small programs with a known memory problem each, in one executable: `battery CASE` brings itself into the state,
 * prints the truth as a line of JSON on stdout, and goes on until its standard input ends. A line there has it print
 * the truth as it is then. `battery --list` prints name, cause, function and MALLOC_CONF of every case, with tabs.
 */
#ifndef JESCOPE_BATTERY_H
#define JESCOPE_BATTERY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *name;
    const char *cause;    /* as in doctor's JSON */
    const char *function; /* whose memory it is, alternatives with '|'; "": there is none */
    const char *conf;     /* for MALLOC_CONF, beside what the mode sets; "": nothing */
    void (*prepare)(void);
    void (*step)(void); /* every few milliseconds, or NULL */
} Case;

/* Each file's cases, ending with a row without name. */
extern const Case heap_cases[], allocator_cases[], system_cases[], cxx_cases[], shape_cases[], trade_cases[];

/* Bytes that the cause holds; cases keep it. */
extern size_t truth;

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* Functions that stacks are to show. */
#if __has_attribute(noclone)
#define NAMED __attribute__((noinline, noclone, used))
#else /* clang makes no clones */
#define NAMED __attribute__((noinline, used))
#endif

/* Never returns NULL; what it returns is written to. */
void *filled(size_t bytes);

/* A number below LIMIT, the same in every run. */
unsigned random_below(unsigned limit);

/* Runs BODY in COUNT threads, which wait afterwards, and returns when all do. */
void in_threads(int count, void (*body)(int number));

#ifdef __cplusplus
}
#endif

#endif
