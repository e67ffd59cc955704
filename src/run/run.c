/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run.h"

#include "run/conf.h"
#include "run/preload.h"

const char *
run_obstacle(const Program *program)
{
    if ((program->flags & PROGRAM_FOREIGN) != 0)
        return "it is built for another architecture than this jescope";
    if ((program->flags & PROGRAM_PRIVILEGED) != 0)
        return "it changes its user, group or capabilities, so the dynamic loader ignores LD_PRELOAD; run it as the "
               "user it changes to";
    if (program->loader == NULL)
        return "it is statically linked; link the agent into it, or link it dynamically";
    if ((program->flags & PROGRAM_MUSL) != 0)
        return "it is linked against musl, and the agent needs glibc; commands work without the agent";
    return NULL;
}

gboolean
run_can_prepare(const Program *program)
{
    return program->loader != NULL || (program->flags & (PROGRAM_FOREIGN | PROGRAM_JEMALLOC)) != PROGRAM_JEMALLOC;
}

/* Checks PROGRAM before anything is started: FALSE if it would crash, or preloading would have no effect. */
static gboolean
check_program(const Program *program, GError **error)
{
    if ((program->flags & PROGRAM_MUSL) == 0 || (program->flags & PROGRAM_JEMALLOC) != 0)
        return TRUE;
    g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED,
                "%s is linked against musl (%s), which can load neither the agent nor libjemalloc.so.2, and brings no "
                "jemalloc with symbols; start it without 'jescope run', or link it with jemalloc",
                program->path, program->loader);
    return FALSE;
}

char **
run_environment(const Program *program, const char *asked, GError **error)
{
    g_autofree char *agent = check_program(program, error) ? preload_find_agent(error) : NULL;
    if (agent == NULL)
        return NULL;
    char **environment = g_get_environ();
    g_autofree char *preload = preload_list(program, g_environ_getenv(environment, "LD_PRELOAD"), agent, error);
    if (preload == NULL) {
        g_strfreev(environment);
        return NULL;
    }
    environment = g_environ_setenv(environment, "LD_PRELOAD", preload, TRUE);
    g_autofree char *defaults = g_strdup_printf(
        "%slg_prof_sample:%d", run_can_prepare(program) ? "prof:true,prof_active:false," : "", RUN_LG_SAMPLE_DEFAULT);
    conf_set_variables(&environment, program->prefix, defaults, asked);
    return environment;
}
