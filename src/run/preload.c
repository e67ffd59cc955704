/* SPDX-License-Identifier: Apache-2.0 */
#include "run/preload.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char agent_name[] = "libjescope-agent.so";
static const char jemalloc_soname[] = "libjemalloc.so.2";

/* Relative to the directory of this program: the build tree, then the installation, even if it was moved. */
static const char *const agent_places[] = {"../agent", JESCOPE_AGENT_FROM_BINDIR};

static char *
agent_from_environment(const char *path, GError **error)
{
    if (access(path, R_OK) == 0)
        return g_canonicalize_filename(path, NULL);
    g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "cannot read the agent '%s' that JESCOPE_AGENT names: %s",
                path, g_strerror(errno));
    return NULL;
}

char *
preload_find_agent(GError **error)
{
    const char *given = g_getenv("JESCOPE_AGENT");
    if (given != NULL)
        return agent_from_environment(given, error);
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *directory = g_path_get_dirname(self != NULL ? self : "/usr/bin/jescope");
    for (size_t i = 0; i < G_N_ELEMENTS(agent_places); i++) {
        g_autofree char *path = g_build_filename(directory, agent_places[i], agent_name, NULL);
        if (access(path, R_OK) == 0)
            return g_canonicalize_filename(path, NULL);
    }
    g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED,
                "the agent %s is not installed with %s; reinstall jescope, or set JESCOPE_AGENT to its path",
                agent_name, self != NULL ? self : "jescope");
    return NULL;
}

static gboolean
append_library(GString *list, const char *path, GError **error)
{
    if (strpbrk(path, ": ") != NULL) {
        g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED,
                    "LD_PRELOAD cannot hold '%s': it has a blank or a colon; install it elsewhere", path);
        return FALSE;
    }
    g_string_append_printf(list, "%s%s", list->len > 0 ? ":" : "", path);
    return TRUE;
}

static gboolean
append_jemalloc(GString *list, const Program *program, GError **error)
{
    const unsigned brings = PROGRAM_JEMALLOC | PROGRAM_OWN_MALLOC;
    if ((program->flags & brings) != 0 || program->loader == NULL)
        return TRUE;
    g_autofree char *complaint = NULL;
    g_autofree char *path = program_find_library(program, jemalloc_soname, &complaint);
    if (path != NULL)
        return append_library(list, path, error);
    if (complaint != NULL && complaint[0] != '\0' && strstr(complaint, jemalloc_soname) == NULL)
        g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "%s cannot be loaded: %s", program->path,
                    g_strdelimit(complaint, "\n", ' '));
    else
        g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED,
                    "%s has no jemalloc and %s is not installed; install the package libjemalloc2 (Debian, Ubuntu) or "
                    "jemalloc (Fedora, Arch, Alpine)",
                    program->path, jemalloc_soname);
    return FALSE;
}

char *
preload_list(const Program *program, const char *user, const char *agent, GError **error)
{
    g_autoptr(GString) list = g_string_new(user);
    if ((program->flags & PROGRAM_MUSL) != 0)
        return g_strdup(list->str);
    /* `jescope run` inside `jescope run`. */
    gboolean there = user != NULL && strstr(user, agent_name) != NULL;
    if (!there && !append_library(list, agent, error))
        return NULL;
    return append_jemalloc(list, program, error) ? g_strdup(list->str) : NULL;
}
