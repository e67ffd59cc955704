/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates days of programs: objects are born and die at several places of a program; the allocator's exact counters
 * are read every minute, and a sampling heap profiler makes dumps. A sampled object is in every dump during its life.
 */
#ifndef JESCOPE_TESTS_DOCTOR_DAYS_H
#define JESCOPE_TESTS_DOCTOR_DAYS_H

#include "profile/profile.h"
#include "stats/stats.h"

#define DAYS_MIB ((gdouble)(1 << 20))

enum {
    DAY = 1440,      /* minutes */
    DUMP_EVERY = 10, /* minutes */
    DAY_DUMPS = DAY / DUMP_EVERY + 1,
    DAY_MOMENTS = DAY + 1, /* one a minute */
};

typedef enum {
    DAYS_FILLING,     /* a cache that fills more and more slowly */
    DAYS_CACHE,       /* a cache at its limit, of objects of many sizes */
    DAYS_WARM_UP,     /* grows at startup only */
    DAYS_SAWTOOTH,    /* fills and empties periodically */
    DAYS_DIURNAL,     /* sessions of some minutes, few at night */
    DAYS_NOISE,       /* fluctuates by 30 % */
    DAYS_DRIFT,       /* a random walk that reverts to its mean */
    DAYS_BATCH,       /* works for some minutes every hour or so */
    DAYS_TENANTS,     /* tenants come and stay for hours */
    DAYS_CONNECTIONS, /* connections come and go, sometimes in bursts */
    DAYS_PROGRAMS,
} DaysProgram;

extern const char *const days_names[DAYS_PROGRAMS];

typedef struct {
    DaysProgram program;
    guint32 seed;
    gdouble leak;    /* MiB per hour, in the function session_store */
    guint leak_size; /* object size in bytes: a power of two, at least 64 */
} DaysChoice;

typedef struct {
    StatsSample *moments[DAY_MOMENTS];
    Profile *dumps[DAY_DUMPS];    /* without births */
    Profile *counting[DAY_DUMPS]; /* with births */
} Day;

void day_init(Day *day, const DaysChoice *choice);
void day_clear(Day *day);

#endif
