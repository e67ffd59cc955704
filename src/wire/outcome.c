/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/outcome.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NO_STATUS = -1 };

const OutcomeRow *
outcome_row(unsigned outcome)
{
    static const OutcomeRow rows[] = {
#define OUTCOME(name, wire, http, exit, public, code, hint) {http, exit, code, hint},
#include "wire/outcomes.def"
    };
    return &rows[outcome < N_OUTCOMES ? outcome : OUTCOME_SYSTEM];
}

Outcome
outcome_of_status(uint32_t wire_status)
{
    static const int statuses[] = {
#define OUTCOME(name, wire, ...) wire,
#include "wire/outcomes.def"
    };
    for (unsigned outcome = 0; outcome < N_OUTCOMES; outcome++)
        if (statuses[outcome] >= 0 && (uint32_t)statuses[outcome] == wire_status)
            return (Outcome)outcome;
    return OUTCOME_PROTOCOL;
}

bool
outcome_is_unreachable(Outcome outcome)
{
    return outcome_row(outcome)->http == outcome_row(OUTCOME_SILENT)->http;
}

__attribute__((format(printf, 3, 0))) static void
fill(Failure *failure, int error, const char *format, va_list arguments)
{
    int saved = errno;
    failure->error = error;
    vsnprintf(failure->why, sizeof(failure->why), format, arguments);
    size_t used = strlen(failure->why);
    if (error != 0)
        snprintf(failure->why + used, sizeof(failure->why) - used, ": %s", error_name(error));
    errno = saved;
}

Outcome
failure_set(Failure *failure, Outcome outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (failure != NULL)
        fill(failure, 0, format, arguments);
    va_end(arguments);
    return outcome;
}

Outcome
failure_set_error(Failure *failure, Outcome outcome, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (failure != NULL)
        fill(failure, error, format, arguments);
    va_end(arguments);
    return outcome;
}

void
outcome_describe_busy(char why[static FAILURE_WHY_MAX], const char *label, const char *operand, uint64_t remaining_ms)
{
    static const struct {
        uint64_t seconds;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    const uint64_t left = (remaining_ms + 999) / 1000;
    size_t unit = 0;
    /* The largest unit of which at least nine tenths are left. */
    while (left * 10 < units[unit].seconds * 9 && units[unit].seconds > 1)
        unit++;
    if (remaining_ms == 0)
        snprintf(why, FAILURE_WHY_MAX, "%s is already being profiled; end that first with 'jescope disable %s'", label,
                 operand);
    else
        snprintf(why, FAILURE_WHY_MAX,
                 "%s is already being profiled, for another %llu %s; wait, or end that with 'jescope disable %s'",
                 label, (unsigned long long)((left + units[unit].seconds - 1) / units[unit].seconds), units[unit].name,
                 operand);
}

const char *
error_name(int error)
{
    const char *name = strerrordesc_np(error);
    return name != NULL ? name : "Unknown error";
}
