/* SPDX-License-Identifier: Apache-2.0 */
#include "service/failure.h"

#include "history/history.h"
#include "target/target.h"

#include <errno.h>

Outcome
failure_from_error(const GError *error, int code, Failure *failure)
{
    Outcome result = error->domain == TARGET_ERROR ? (Outcome)error->code : OUTCOME_SYSTEM;
    if (g_error_matches(error, HISTORY_ERROR, HISTORY_ERROR_MISSING))
        result = OUTCOME_NOT_FOUND;
    failure->error = result == OUTCOME_TOO_LARGE                                    ? EFBIG
                     : result == OUTCOME_NO_HEADROOM                                ? ENOMEM
                     : result == OUTCOME_CONTROL_FAILED || result == OUTCOME_SYSTEM ? (code != 0 ? code : EIO)
                                                                                    : 0;
    g_strlcpy(failure->why, error->message, sizeof(failure->why));
    g_strdelimit(failure->why, "\n", ' ');
    return result;
}
