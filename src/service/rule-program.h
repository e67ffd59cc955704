/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a rule's program, from the main context, in its own process group, which is killed when the program exits or,
 * with the program, at a time limit; without a shell, and without jescope's descriptors and environment. If the thread
 * that started it ends, the kernel kills it, but not its children. */
#ifndef JESCOPE_SERVICE_RULE_PROGRAM_H
#define JESCOPE_SERVICE_RULE_PROGRAM_H

#include <glib.h>

typedef struct {
    char **argv;        /* the first is an absolute path */
    char **environment; /* the complete environment */
    const char *user;   /* NULL: jescope's own */
    const int *files;   /* descriptors for it, as 3, 4, ...; -1: none */
    guint n_files;      /* 4 at most */
    gint64 limit_us;
} RuleProgramSetup;

typedef struct RuleProgram RuleProgram;

/* FAILURE is a sentence, or NULL if it exited with status 0. The RuleProgram may be freed then. Some seconds after it
 * was killed, it comes without the end of a program that the kernel cannot end. */
typedef void (*RuleProgramDone)(const char *failure, gpointer data);

/* DONE is called once, from CONTEXT, unless the RuleProgram is freed first; also if the program cannot be executed,
 * which is not waited for. NULL with ERROR if there can be no process. */
RuleProgram *rule_program_start(const RuleProgramSetup *setup, GMainContext *context, RuleProgramDone done,
                                gpointer data, GError **error);

/* Terminates it and its process group (SIGTERM, two seconds later SIGKILL); DONE is called at the end. */
void rule_program_stop(RuleProgram *program);

/* Kills it and its process group if it is still running. */
void rule_program_free(RuleProgram *program);

#endif
