/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a rule's program, from the main context, in its own process group, which is killed when the program exits or at
 * a time limit; without a shell, and without jescope's descriptors and environment. If the thread that started it ends,
 * the kernel kills it, but not its children. */
#ifndef JESCOPE_SERVICE_RULE_PROGRAM_H
#define JESCOPE_SERVICE_RULE_PROGRAM_H

#include <glib.h>

typedef struct {
    char **argv;        /* the first is an absolute path */
    char **environment; /* the complete environment */
    const char *user;   /* NULL: jescope's own */
    const int *files;   /* descriptors for it, as 3, 4, ...; -1: none */
    guint n_files;
    gint64 limit_us;
} RuleProgramSetup;

typedef struct RuleProgram RuleProgram;

/* FAILURE is a sentence, or NULL if it exited with status 0. The RuleProgram may be freed then. */
typedef void (*RuleProgramDone)(const char *failure, gpointer data);

/* DONE is called once, from CONTEXT, unless the RuleProgram is freed first. NULL with ERROR if it cannot be started. */
RuleProgram *rule_program_start(const RuleProgramSetup *setup, GMainContext *context, RuleProgramDone done,
                                gpointer data, GError **error);

/* Terminates its process group (SIGTERM, two seconds later SIGKILL); DONE is called at the end. */
void rule_program_stop(RuleProgram *program);

/* Kills its process group if it is still running. */
void rule_program_free(RuleProgram *program);

#endif
