/* SPDX-License-Identifier: Apache-2.0 */
/* The size classes of the merged arena over a watch: which grow, by exact counters, and which are allocated from. */
#ifndef JESCOPE_DOCTOR_CLASSES_H
#define JESCOPE_DOCTOR_CLASSES_H

#include "doctor/evidence.h"
#include "doctor/trend.h"

typedef struct {
    guint64 size;
    gdouble bytes;     /* live at the end */
    gdouble allocated; /* during the watch */
    gdouble grown;     /* during the watch; 0: it does not grow */
    gdouble risen;     /* last less first */
    gboolean fills;    /* it grows, at less than half of its speed by the end */
    gboolean follows;  /* it grows in step with what is allocated in it */
} DoctorClass;

typedef struct {
    GArray *classes;         /* DoctorClass by ascending size; empty without classes */
    DoctorTrend held;        /* of what the program holds altogether */
    gboolean grows;          /* a class does, or all of them together */
    gboolean slows;          /* what grows does so at less than half of its speed by the end */
    gdouble rate, low, high; /* bytes per second of what grows, with its 95 % interval */
    gdouble recent;          /* the same in the last third, at most */
    gdouble onset;           /* seconds from the first moment */
    gdouble apart;    /* bytes per second of classes that fill or follow the load, which are not part of it, as others
                         grow steadily */
    gboolean follows; /* it grows in step with what is allocated: with the load */
    DoctorLoad load;  /* if so */
    gdouble bytes;    /* that the growing classes hold; of all if only their sum grows */
    gdouble seconds;  /* of the watch */
} DoctorClasses;

void doctor_classes(const GArray *moments, DoctorClasses *classes);
void doctor_classes_clear(DoctorClasses *classes);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DoctorClasses, doctor_classes_clear)

/* The class of objects of SIZE bytes, or NULL. */
const DoctorClass *doctor_class_of(const DoctorClasses *classes, guint64 size);

#endif
