/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the size classes of the merged arena that grow during a watch, by jemalloc's exact counters, and measures what
 * is allocated in each. */
#ifndef JESCOPE_DOCTOR_CLASSES_H
#define JESCOPE_DOCTOR_CLASSES_H

#include "doctor/evidence.h"
#include "doctor/trend.h"

typedef struct {
    guint64 size;
    gdouble bytes;     /* live at the end */
    gdouble allocated; /* during the watch */
    gdouble grown;     /* during the watch; 0: it does not grow */
    gdouble risen;     /* last value minus the first */
    gboolean fills;    /* it grows, less than half as fast by the end */
    gboolean follows;  /* it grows in step with the rate of allocation in it */
} DoctorClass;

typedef struct {
    GArray *classes;         /* DoctorClass by ascending size; empty if the statistics lack them */
    DoctorTrend held;        /* of all memory that the program holds */
    gboolean grows;          /* a class grows, or all classes together */
    gboolean slows;          /* the growth is less than half as fast by the end */
    gdouble rate, low, high; /* growth in bytes per second, with its 95 % interval */
    gdouble recent;          /* upper bound of the rate in the last third */
    gdouble onset;           /* of the growth, in seconds from the first moment */
    gdouble apart;    /* bytes per second of classes that fill or follow the load; excluded from rate, since others grow
                         steadily */
    gboolean follows; /* the growth is in step with the rate of allocation, the load */
    DoctorLoad load;  /* if follows */
    gdouble bytes;    /* held by the growing classes; if only the sum grows, by the classes that contribute */
    gdouble seconds;  /* duration of the watch */
} DoctorClasses;

void doctor_classes(const GArray *moments, DoctorClasses *classes);
void doctor_classes_clear(DoctorClasses *classes);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DoctorClasses, doctor_classes_clear)

/* The class of objects of SIZE bytes, or NULL. */
const DoctorClass *doctor_class_of(const DoctorClasses *classes, guint64 size);

#endif
