/* SPDX-License-Identifier: Apache-2.0 */
/* The state that the judges share: the evidence, values derived from it, and the findings so far. Each judge looks for
 * some of the causes and adds its findings. */
#ifndef JESCOPE_DOCTOR_CASE_H
#define JESCOPE_DOCTOR_CASE_H

#include "doctor/judge.h"
#include "stats/waste.h"

#define MIB ((gdouble)(1 << 20))

/* Thresholds of causes.def that several judges use. */
#define WASTE_LEAST  (16 * MIB)
#define WASTE_SHARE  0.2 /* minimum share of the memory */
#define HOLDER_LEAST (48 * MIB)
#define HOLDER_SHARE 0.4

/* The order in which causes are reported: growth, memory that can be freed, what holds the memory, past events. */
typedef enum { RANK_GROWTH, RANK_WASTE, RANK_HOLDER, RANK_PAST } Rank;

typedef struct {
    Rank rank;
    DoctorFinding *finding;
} Ranked;

typedef struct {
    const DoctorEvidence *evidence;
    const DoctorClasses *classes;
    const DoctorMoment *first, *last;         /* or NULL */
    const StatsSample *first_sample, *sample; /* or NULL */
    StatsWaste waste, before;
    gdouble memory;   /* resident, plus tmpfs files, kernel memory and children */
    gdouble resident; /* jemalloc's */
    gboolean fills;   /* the heap grows, but slows down */
    gdouble loaded; /* bytes held for all threads or descriptors, if the heap rises in step with them; 0: it does not */
    GArray *ranked; /* Ranked */
} Case;

/* Sets the members that are derived from the evidence. */
void case_prepare(Case *the);

/* Returns a new string. The conversions are "%S", a size in bytes (gdouble), "%s", a string, "%u", a guint, and
 * "%%". */
char *case_sentence(const char *format, ...);

DoctorFinding *case_add(Case *the, Rank rank, CauseId cause, gdouble bytes);
void case_finding_free(gpointer finding);
void case_say(DoctorFinding *finding, char *text); /* takes ownership of TEXT */
void case_say_against(DoctorFinding *finding, CauseId other, const char *because);
void case_say_unloaded(DoctorFinding *finding, const DoctorStack *stack);
void case_set_functions(DoctorFinding *finding, const DoctorStack *stack);

gdouble case_line(const Ledger *ledger, LedgerId id);
gdouble case_line_now(const Case *the, LedgerId id);
gboolean case_is_waste(const Case *the, gdouble bytes);
gboolean case_is_holder(const Case *the, gdouble bytes);
uint64_t case_merged(const StatsSample *sample, StatsMetric metric); /* the sum over all arenas; 0: unknown */

/* The mean number of processors in use between the moments FROM and TO; 0: unknown. */
gdouble case_processors(const Case *the, guint from, guint to);

/* Whether growth would have been seen: there are statistics over time, or dumps at least 10 s apart. */
gboolean case_saw_time_pass(const Case *the);

/* The smallest growth, in bytes per second, that dumps alone would have shown; infinite: too few dumps. */
gdouble case_detectable(const DoctorEvidence *evidence);

/* The judges. */
void judge_heap_growth(Case *the);
void judge_places(Case *the); /* lines of the ledger */
void judge_waste(Case *the);  /* memory that jemalloc holds and the program does not use */
void judge_holder(Case *the); /* what holds the memory of a healthy process */
void judge_past(Case *the);   /* past peaks, retained address space, churn */

/* Sets the advice of FINDING and the bytes that it frees, computed from this process's numbers. */
void case_remedy(const Case *the, DoctorFinding *finding);

#endif
