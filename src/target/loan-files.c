/* SPDX-License-Identifier: Apache-2.0 */
#include "target/loan-files.h"

#include "target/foreign-file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static gboolean
is_opening(gint64 number)
{
    switch (number) {
#ifdef SYS_open
    case SYS_open:
    case SYS_creat:
#endif
    case SYS_openat:
    case SYS_memfd_create:
        return TRUE;
    default:
        return FALSE;
    }
}

/* The descriptor that CALL uses; -1: none. */
static gint64
descriptor_of(const TraceeSystemCall *call)
{
    switch (call->number) {
    case SYS_read:
    case SYS_pread64:
    case SYS_write:
    case SYS_lseek:
    case SYS_fstat:
    case SYS_close:
        return (gint64)(gint32)call->arguments[0];
    case SYS_mmap:
        return (call->arguments[3] & MAP_ANONYMOUS) == 0 ? (gint64)(gint32)call->arguments[4] : -1;
    default:
        return -1;
    }
}

static gint64
result_of_skipped(const TraceeSystemCall *call)
{
    return call->number == SYS_write ? (gint64)call->arguments[2] : call->number == SYS_close ? 0 : -EBADF;
}

void
loan_files_note(LoanFiles *files, const TraceeSystemCall *call)
{
    struct stat st;
    if (!is_opening(call->number) || call->result < 0 || files->n >= LOAN_FILES_MAX ||
        !foreign_file_stat(files->thread, call->result, &st))
        return;
    files->files[files->n].number = call->result;
    files->files[files->n].device = st.st_dev;
    files->files[files->n++].inode = st.st_ino;
}

gboolean
loan_files_check(LoanFiles *files, TraceeSystemCall *call)
{
    const gint64 number = descriptor_of(call);
    struct stat st;
    guint i = 0;
    while (i < files->n && files->files[i].number != number)
        i++;
    if (i == files->n)
        return TRUE;
    const gboolean same = foreign_file_stat(files->thread, number, &st) && st.st_dev == files->files[i].device &&
                          st.st_ino == files->files[i].inode;
    if (call->number == SYS_close)
        files->files[i] = files->files[--files->n];
    if (same)
        return TRUE;
    files->lost = TRUE;
    call->result = result_of_skipped(call);
    return FALSE;
}
