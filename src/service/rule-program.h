/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one program of a rule, in the main context: in a process group of its own, which ends with it or at a time
 * limit; without a shell, our descriptors and our environment. The kernel kills it, not what it has started, if the
 * thread that started it ends. */
#ifndef JESCOPE_SERVICE_RULE_PROGRAM_H
#define JESCOPE_SERVICE_RULE_PROGRAM_H

#include <glib.h>

typedef struct {
    char **argv;        /* the first is an absolute path */
    char **environment; /* all of it */
    const char *user;   /* NULL: our own */
    const int *files;   /* descriptors that it gets as 3, 4, ...; -1: not that one */
    guint n_files;
    gint64 limit_us;
} RuleProgramSetup;

typedef struct RuleProgram RuleProgram;

/* FAILURE is a sentence, NULL: it ended with status 0. The program is to be freed by then. */
typedef void (*RuleProgramDone)(const char *failure, gpointer data);

/* DONE is called once, from CONTEXT, unless it is freed before. NULL with ERROR: it cannot be started. */
RuleProgram *rule_program_start(const RuleProgramSetup *setup, GMainContext *context, RuleProgramDone done,
                                gpointer data, GError **error);

/* Tells its process group to end (SIGTERM, two seconds later SIGKILL); DONE is called then. */
void rule_program_stop(RuleProgram *program);

/* Kills its process group if it still runs. */
void rule_program_free(RuleProgram *program);

#endif
