/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Days of simulated programs: objects that are born and die at several places of a program, the allocator's exact
 * counters of them every minute, and what a heap profiler that samples them has in its dumps. An object that is sampled
 * is so in every dump of its life.
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
    DAYS_FILLING,     /* a cache that fills, ever more slowly */
    DAYS_CACHE,       /* a cache at its limit, of objects of many sizes */
    DAYS_WARM_UP,     /* a start, then nothing more */
    DAYS_SAWTOOTH,    /* collects, and empties */
    DAYS_DIURNAL,     /* sessions of minutes, few of them at night */
    DAYS_NOISE,       /* swings by 30 % */
    DAYS_DRIFT,       /* a random walk that is drawn back */
    DAYS_BATCH,       /* works for some minutes every hour or so */
    DAYS_TENANTS,     /* come, and stay for hours */
    DAYS_CONNECTIONS, /* come and go, at times more */
    DAYS_PROGRAMS,
} DaysProgram;

extern const char *const days_names[DAYS_PROGRAMS];

typedef struct {
    DaysProgram program;
    guint32 seed;
    gdouble leak;    /* MiB an hour, by the function session_store */
    guint leak_size; /* of its objects in bytes: a power of two from 64 on */
} DaysChoice;

typedef struct {
    StatsSample *moments[DAY_MOMENTS];
    Profile *dumps[DAY_DUMPS];    /* without births, */
    Profile *counting[DAY_DUMPS]; /* and with them */
} Day;

void day_init(Day *day, const DaysChoice *choice);
void day_clear(Day *day);

#endif
