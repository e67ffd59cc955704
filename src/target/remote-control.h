/* SPDX-License-Identifier: Apache-2.0 */
/* Calls mallctl() in a stopped thread. */
#ifndef JESCOPE_TARGET_REMOTE_CONTROL_H
#define JESCOPE_TARGET_REMOTE_CONTROL_H

#include "target/remote-jemalloc.h"
#include "target/tracee.h"

#include "wire/wire.h"

typedef enum {
    REMOTE_READ = 1u << 0,
    REMOTE_WRITE = 1u << 1,
} RemoteAccess;

/* One control to read or write. */
typedef struct {
    const char *name; /* shorter than WIRE_CONTROL_NAME_MAX */
    WireType type;
    unsigned access; /* RemoteAccess */
    guint64 value;   /* in: to write; out: read, a ssize_t sign-extended, a string's address */
    int error;       /* out: what mallctl() returned */
} RemoteControl;

/* Prevents TRACEE from using a thread at a place where jemalloc must not be called. */
void remote_control_guard(Tracee *tracee, const RemoteJemalloc *jemalloc);

/* Calls mallctl() once in the attached TRACEE. FALSE if the call could not be made; control->error has an error of
 * jemalloc. */
gboolean remote_control(Tracee *tracee, const RemoteJemalloc *jemalloc, RemoteControl *control, GError **error);

/* Reads a control whose value is a structure of SIZE bytes, up to 4096; *FAILURE is what mallctl() returned. */
gboolean remote_control_bytes(Tracee *tracee, const RemoteJemalloc *jemalloc, const char *name, void *bytes, gsize size,
                              int *failure, GError **error);

/* Calls prof.dump with the address of a file name; *FAILURE is what mallctl() returned. */
gboolean remote_control_dump(Tracee *tracee, const RemoteJemalloc *jemalloc, guint64 file_name, int *failure,
                             GError **error);

/* The offset in the scratch memory from which callers may store their own data. */
enum { REMOTE_CONTROL_FREE = 512 };

#endif
