/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The implementation of Target that needs nothing in the process: it stops one thread at a safe point and has it call
 * jemalloc (tracee.h, docs/attach.md). A lease ends when the Target is freed, or by its keeper
 * (keeper.h).
 */
#ifndef JESCOPE_TARGET_PTRACE_H
#define JESCOPE_TARGET_PTRACE_H

#include "target/process.h"
#include "target/target.h"

/* Finds the process's jemalloc and asks it for its version. */
Target *ptrace_open(const Process *process, GError **error);

#endif
