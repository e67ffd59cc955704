/* SPDX-License-Identifier: Apache-2.0 */
#include "target/inprocess.h"

#include "target/agent.h"

#include <jescope.h>

static const struct {
    JescopeCode code;
    TargetError error;
} errors[] = {
    {JESCOPE_NO_JEMALLOC, TARGET_ERROR_NO_JEMALLOC},
    {JESCOPE_NOT_STARTED, TARGET_ERROR_NO_AGENT},
};

static TargetError
error_for(int code)
{
    for (gsize i = 0; i < G_N_ELEMENTS(errors); i++)
        if ((int)errors[i].code == code)
            return errors[i].error;
    return TARGET_ERROR_PROTOCOL;
}

static gboolean
ask_library(gconstpointer request, gsize size, int descriptor, gpointer reply, gsize *reply_size, GError **error)
{
    JescopeError failure;
    int code = jescope_exchange(request, size, descriptor, reply, reply_size, &failure);
    if (code != JESCOPE_OK)
        g_set_error_literal(error, TARGET_ERROR, error_for(code), failure.message);
    return code == JESCOPE_OK;
}

Target *
inprocess_open(GError **error)
{
    return agent_open_through(ask_library, error);
}
