/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known about a process's memory when the doctor judges it: a series of statistics, the ledger, and the stacks
 * of a heap profile that grow or hold most. Any part may be missing; nothing here is about how it was obtained.
 */
#ifndef JESCOPE_DOCTOR_EVIDENCE_H
#define JESCOPE_DOCTOR_EVIDENCE_H

#include "doctor/trend.h"
#include "stats/ledger.h"
#include "stats/stats.h"

/* One moment of the watch. Of the process: G_MAXUINT64 where it is unknown. */
typedef struct {
    gdouble seconds;     /* since the first moment */
    StatsSample *sample; /* or NULL */
    guint64 rss, peak;   /* VmRSS and VmHWM */
    guint64 threads, descriptors;
    guint64 processor_ms; /* of processor time that it has used */
} DoctorMoment;

/* A function, and the stacks through it. Sizes are bytes. */
typedef struct {
    GPtrArray *functions; /* char *: from the named function outwards */
    gdouble bytes;        /* held now */
    gdouble error;        /* standard error of it */
    gdouble grown;        /* of the growth during the watch */
    gdouble moved;        /* that came or went between the dumps, at least */
    gdouble samples;      /* that grown rests on, about */
    gdouble p;            /* probability of such growth by chance */
    gsize dumps;          /* that it is known from */
    DoctorTrend trend;    /* of what they hold of it */
    gboolean follows;     /* which rises in step with what is allocated, */
    DoctorLoad load;      /* which is this */
    guint64 block;        /* the mean size of an object */
    gboolean unloaded;    /* allocated by code that no file is mapped for */
    char *object;         /* if so, the file that was mapped there, or NULL */
    gboolean container;   /* allocated by a container that grows: realloc, reserve... */
    gboolean recent;      /* of what was sampled at the end of the watch alone: what it held before is not known */
    gboolean buckets;     /* most of it is the array of a hash table whose entries are allocated one by one */
} DoctorStack;

typedef enum {
    DOCTOR_PROFILE_NONE,  /* no profile: not compiled in, off, or no rights */
    DOCTOR_PROFILE_READY, /* it could be switched on, or jescope's sampler could */
    DOCTOR_PROFILE_YOUNG, /* sampling began during the watch or shortly before */
    DOCTOR_PROFILE_WHOLE, /* sampling was on for long */
} DoctorProfile;

typedef struct {
    GArray *moments;            /* DoctorMoment, in the order of time; may be empty */
    const Ledger *first, *last; /* or NULL */
    DoctorProfile profile;
    GPtrArray *growing;        /* DoctorStack: those that grow, the most first; empty without a profile */
    GPtrArray *unfreed;        /* DoctorStack: those that grow in size classes that do not; see unfreed.h */
    DoctorStack *holder;       /* the one that holds the largest part, or NULL */
    DoctorStack *mover;        /* the one of which most came and went between the dumps, or NULL */
    DoctorStack *class_holder; /* the one whose objects keep most holes in slabs, or NULL */
    gdouble pinned;            /* bytes of these holes; 0: unknown, it has most objects of the class that wastes most */
    gboolean slabs_known;      /* of these holes: by the slabs of single objects, not by shares of size classes */
    gdouble profiled;          /* bytes that the profile explains */
    DoctorTrend profile_trend; /* of them */
    gdouble profiled_seconds;  /* between its first and last dump; 0: fewer than two */
    gdouble born_objects;      /* a second, by dumps that carry births; 0: unknown */
    gdouble born_bytes;
    gdouble age;             /* of the process in seconds, at the end; 0: unknown */
    guint64 limit;           /* of the control group; 0: none known */
    const char *unloaded;    /* a file that was mapped executable and unmapped during the watch, or NULL */
    gboolean without_arenas; /* the size classes of every arena could not be read, or not in time */
} DoctorEvidence;

void doctor_moment_clear(DoctorMoment *moment);
void doctor_stack_free(DoctorStack *stack);

/* Whether samples tell that the first of STACKS grows, not its size class alone. */
gboolean doctor_growth_is_sampled(const GPtrArray *stacks);

/* Everything is unknown. */
void doctor_evidence_init(DoctorEvidence *evidence);
void doctor_evidence_clear(DoctorEvidence *evidence);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DoctorEvidence, doctor_evidence_clear)

#endif
