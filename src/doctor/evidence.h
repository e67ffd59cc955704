/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of the judges: a series of statistics, the ledger, and the stacks of a heap profile that grow or hold most.
 * Any part may be missing; how it was obtained does not matter.
 */
#ifndef JESCOPE_DOCTOR_EVIDENCE_H
#define JESCOPE_DOCTOR_EVIDENCE_H

#include "doctor/trend.h"
#include "stats/ledger.h"
#include "stats/stats.h"

/* One moment of the watch. Integers are G_MAXUINT64 if unknown. */
typedef struct {
    gdouble seconds;     /* since the first moment */
    StatsSample *sample; /* or NULL */
    guint64 rss, peak;   /* VmRSS and VmHWM */
    guint64 threads, descriptors;
    guint64 processor_ms; /* processor time used so far */
} DoctorMoment;

/* A function, and the stacks through it. Sizes are bytes. */
typedef struct {
    GPtrArray *functions; /* char *: from the named function outwards */
    gdouble bytes;        /* currently held */
    gdouble error;        /* standard error of bytes */
    gdouble grown;        /* its part of the growth during the watch */
    gdouble moved;        /* lower bound of what was allocated or freed between dumps */
    gdouble samples;      /* approximate number of samples in grown */
    gdouble p;            /* probability of such growth by chance */
    gsize dumps;          /* number of dumps that show it */
    DoctorTrend trend;    /* of the bytes held, over the dumps */
    gboolean follows;     /* the trend is in step with the rate of allocation */
    DoctorLoad load;      /* that rate, if follows */
    guint64 block;        /* the mean size of an object */
    gboolean unloaded;    /* allocated by code without a mapped file */
    char *object;         /* if unloaded, the file that was mapped there, or NULL */
    gboolean container;   /* allocated by a container that grows: realloc, reserve... */
    gboolean recent;      /* sampled at the end of the watch only: what it held before is unknown */
    gboolean buckets;     /* most of it is the array of a hash table whose entries are allocated one by one */
} DoctorStack;

typedef enum {
    DOCTOR_PROFILE_NONE,  /* no profile: not compiled in, off, or no permission */
    DOCTOR_PROFILE_READY, /* off, but it or jescope's sampler can be switched on */
    DOCTOR_PROFILE_YOUNG, /* sampling began during the watch or shortly before */
    DOCTOR_PROFILE_WHOLE, /* sampling has been on for a long time */
} DoctorProfile;

typedef struct {
    GArray *moments;            /* DoctorMoment, in chronological order; may be empty */
    const Ledger *first, *last; /* or NULL */
    DoctorProfile profile;
    GPtrArray *growing;        /* DoctorStack: those that grow, by descending growth; empty without a profile */
    GPtrArray *unfreed;        /* DoctorStack: those that grow in size classes that do not; see unfreed.h */
    DoctorStack *holder;       /* the one that holds most, or NULL */
    DoctorStack *mover;        /* the one with the most turnover between dumps, or NULL */
    DoctorStack *class_holder; /* the one whose objects cause most holes in slabs, or NULL */
    gdouble pinned; /* bytes of these holes; 0: unknown, class_holder has most objects of the class that wastes most */
    gboolean slabs_known; /* pinned is computed from the slabs of single objects, not from shares of size classes */
    gdouble profiled;     /* bytes that the profile explains */
    DoctorTrend profile_trend; /* of profiled */
    gdouble profiled_seconds;  /* between the first and last dump; 0: fewer than two dumps */
    gdouble born_objects;      /* allocations per second, from dumps with births; 0: unknown */
    gdouble born_bytes;
    gdouble age;             /* of the process in seconds, at the end; 0: unknown */
    guint64 limit;           /* of the control group in bytes; 0: none, or unknown */
    const char *unloaded;    /* a file that was mapped executable and unmapped during the watch, or NULL */
    gboolean without_arenas; /* the size classes of each arena could not be read, or not in time */
} DoctorEvidence;

void doctor_moment_clear(DoctorMoment *moment);
void doctor_stack_free(DoctorStack *stack);

/* Whether samples show the growth of the first of STACKS, not only its size class. */
gboolean doctor_growth_is_sampled(const GPtrArray *stacks);

/* Sets everything to unknown. */
void doctor_evidence_init(DoctorEvidence *evidence);
void doctor_evidence_clear(DoctorEvidence *evidence);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DoctorEvidence, doctor_evidence_clear)

#endif
