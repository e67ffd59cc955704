/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file jemalloc wrote. prof.dump without a name makes one up and tells nobody:
 * PREFIX.PID.SEQUENCE.mNUMBER.heap (src/prof_sys.c of jemalloc 5.3, src/prof.c before), both numbers its own. Since
 * 5.3.1 another pid may stand before PID (opt.prof_pid_namespace). libc only; safe from any thread.
 */
#ifndef JESCOPE_TRAFFICSERVER_DUMP_FILE_H
#define JESCOPE_TRAFFICSERVER_DUMP_FILE_H

#include <stddef.h>
#include <sys/types.h>
#include <time.h>

/* The time as file systems stamp it: to be taken before a dump. */
struct timespec dump_file_now(void);

/* The newest file of PREFIX (opt.prof_prefix) and PID that jemalloc wrote on demand, since SINCE. Numbers cannot tell:
 * a process that had our pid before may have left files with higher ones. Returns 0 and the path in PATH (its
 * directory as PREFIX has it), or an errno: ENOENT for none. */
int dump_file_find(const char *prefix, pid_t pid, struct timespec since, char *path, size_t size);

#endif
