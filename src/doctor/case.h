/* SPDX-License-Identifier: Apache-2.0 */
/* One case before the judges of this room: the evidence, what follows from it, and the findings so far. Each judge
 * looks for some of the causes and adds what it finds. */
#ifndef JESCOPE_DOCTOR_CASE_H
#define JESCOPE_DOCTOR_CASE_H

#include "doctor/judge.h"
#include "stats/waste.h"

#define MIB ((gdouble)(1 << 20))

/* The thresholds of causes.def that several judges have. */
#define WASTE_LEAST  (16 * MIB)
#define WASTE_SHARE  0.2 /* of the memory */
#define HOLDER_LEAST (48 * MIB)
#define HOLDER_SHARE 0.4

/* The order in which causes are reported: growth, then what could be given back, then what explains the rest. */
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
    gdouble memory;   /* resident, and what the process holds beside it */
    gdouble resident; /* of jemalloc */
    gboolean fills;   /* the heap grows, ever more slowly */
    GArray *ranked;   /* Ranked */
} Case;

/* The members that follow from the evidence. */
void case_prepare(Case *the);

/* "%S" stands for a size in bytes, of a gdouble; the other conversions are "%s", of a string, and "%u". */
char *case_sentence(const char *format, ...);

DoctorFinding *case_add(Case *the, Rank rank, CauseId cause, gdouble bytes);
void case_finding_free(gpointer finding);
void case_say(DoctorFinding *finding, char *text); /* takes TEXT */
void case_say_against(DoctorFinding *finding, CauseId other, const char *because);
void case_say_unloaded(DoctorFinding *finding, const DoctorStack *stack);
void case_set_functions(DoctorFinding *finding, const DoctorStack *stack);

gdouble case_line(const Ledger *ledger, LedgerId id);
gdouble case_line_now(const Case *the, LedgerId id);
gboolean case_is_waste(const Case *the, gdouble bytes);
gboolean case_is_holder(const Case *the, gdouble bytes);
uint64_t case_merged(const StatsSample *sample, StatsMetric metric); /* of all arenas; 0: unknown */

/* Processors that were used from moment FROM to moment TO; 0: unknown. */
gdouble case_processors(const Case *the, guint from, guint to);

/* Whether it is known that nothing grew: by statistics, or by dumps that are long enough apart. */
gboolean case_saw_time_pass(const Case *the);

/* The growth in bytes per second that dumps alone would have shown; infinite: too few. */
gdouble case_detectable(const DoctorEvidence *evidence);

/* The judges. */
void judge_heap_growth(Case *the);
void judge_places(Case *the); /* lines of the ledger */
void judge_waste(Case *the);  /* what jemalloc holds and the program does not use */
void judge_holder(Case *the); /* what holds the memory, if nothing is wrong with it */
void judge_past(Case *the);   /* what was */

/* What to do about FINDING, and how many bytes that gives back, by this process's own numbers. */
void case_remedy(const Case *the, DoctorFinding *finding);

#endif
