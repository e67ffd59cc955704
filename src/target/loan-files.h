/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that called functions open in a process. Its other threads run, and may close their descriptors, or have
 * others of their own with the same numbers, as a daemon that closes all descriptors: a function that goes on would
 * write to the program's file, or close it.
 */
#ifndef JESCOPE_TARGET_LOAN_FILES_H
#define JESCOPE_TARGET_LOAN_FILES_H

#include "target/traced.h"

enum { LOAN_FILES_MAX = 16 }; /* of more, the rest is not known */

typedef struct {
    pid_t thread; /* that calls the functions */
    guint n;
    struct {
        gint64 number;
        dev_t device;
        ino_t inode;
    } files[LOAN_FILES_MAX];
    gboolean lost; /* out: a system call was not made, since its file is no longer the one that was opened */
} LoanFiles;

/* After CALL was made: notes the file that it has opened, if it opens one. */
void loan_files_note(LoanFiles *files, const TraceeSystemCall *call);

/* Before CALL is made: FALSE if its descriptor is no longer that of the file. Its result is then what it is to be
 * skipped with: a write or close appears to have succeeded. */
gboolean loan_files_check(LoanFiles *files, TraceeSystemCall *call);

#endif
