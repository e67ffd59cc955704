/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the process of a rule's program: a child that assumes the rights of a user and executes the program. */
#ifndef JESCOPE_SERVICE_RULE_PROCESS_H
#define JESCOPE_SERVICE_RULE_PROCESS_H

#include "service/rule-program.h"

#include <sys/types.h>

typedef struct {
    pid_t pid;   /* also the process group that it begins in */
    int failure; /* a descriptor for rule_process_failure(), to be closed by the caller */
} RuleProcess;

/* Does not wait for the child: processes of its user may stop it before it executes the program. The caller waits for
 * PROCESS->pid. FALSE with ERROR if the user is unknown or there can be no process. */
gboolean rule_process_start(const RuleProgramSetup *setup, RuleProcess *process, GError **error);

/* The errno of a PROCESS that has ended and could not execute the program; otherwise 0. */
int rule_process_failure(const RuleProcess *process);

#endif
