/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an operation on a target ended: outcomes.def has the list. A function that returns an Outcome fills a Failure
 * unless it is OUTCOME_DONE; the codes of TARGET_ERROR are outcomes as well. Thread safe, libc only, allocates nothing.
 */
#ifndef JESCOPE_WIRE_OUTCOME_H
#define JESCOPE_WIRE_OUTCOME_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum {
#define OUTCOME(name, ...) OUTCOME_##name,
#include "wire/outcomes.def"
    N_OUTCOMES,
} Outcome;

enum {
    FAILURE_WHY_MAX = 512, /* with the NUL */
};

typedef struct {
    int error;                 /* errno, or mallctl's return value, if the outcome says so; else 0 */
    char why[FAILURE_WHY_MAX]; /* one sentence that names the value and what to do; no full stop, no newline */
} Failure;

typedef struct {
    unsigned http;
    int exit;
    const char *code;
    const char *hint;
} OutcomeRow;

/* The row of OUTCOME; for an unknown number, that of OUTCOME_SYSTEM. */
const OutcomeRow *outcome_row(unsigned outcome);

/* OUTCOME_PROTOCOL for every status that only a misunderstanding explains. */
Outcome outcome_of_status(uint32_t wire_status);

/* The target exists, but cannot be reached now: a retry may succeed. */
bool outcome_is_unreachable(Outcome outcome);

/* Fills *FAILURE, which may be NULL, with an error of 0 and a sentence; returns OUTCOME. In the format, strings and
 * integers only: then nothing is allocated. Preserves errno. */
Outcome failure_set(Failure *failure, Outcome outcome, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with an ERROR, whose name is added: "cannot read FILE: No such file or directory". */
Outcome failure_set_error(Failure *failure, Outcome outcome, int error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The sentence of OUTCOME_BUSY for a process: "LABEL is already being profiled..."; OPERAND is its name on jescope's
 * command line. REMAINING_MS: until that ends; 0: it does not end by itself. */
void outcome_describe_busy(char why[static FAILURE_WHY_MAX], const char *label, const char *operand,
                           uint64_t remaining_ms);

/* The English name of an errno value, whatever the locale. */
const char *error_name(int error);

#endif
