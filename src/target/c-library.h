/* SPDX-License-Identifier: Apache-2.0 */
/* The relevant properties of a process's C library. */
#ifndef JESCOPE_TARGET_C_LIBRARY_H
#define JESCOPE_TARGET_C_LIBRARY_H

#include "target/address-space.h"
#include "target/function-ranges.h"

enum {
    C_LIBRARY_FORKS = 2,
    C_LIBRARY_HOLDERS = 12,
};

typedef struct {
    guint64 errno_location;                   /* int *__errno_location(void); 0: not exported */
    guint64 makecontext;                      /* the same */
    guint64 set_cancel_state;                 /* pthread_setcancelstate(); the same */
    FunctionRange forks[C_LIBRARY_FORKS];     /* fork() and the like, which run handlers; empty: not exported */
    FunctionRange holders[C_LIBRARY_HOLDERS]; /* may wait, or call the program, while they hold a lock that dlopen() and
                                                 pthread_create() take */
} CLibrary;

/* Sets *LIBRARY; all zero for a static executable. OBJECTS: loaded_objects() of SPACE. */
void c_library_find(const AddressSpace *space, const GArray *objects, CLibrary *library);

/* Code that the program has in place of the C library's, of functions that jemalloc, the loader or the agent call: an
 * array of FunctionRange. It may have locks of its own, as in a wrapper that keeps a log. All code of a library that
 * replaces one, since its locks may be of all its functions; of the executable the functions themselves. */
GArray *c_library_find_replaced(const AddressSpace *space, const GArray *objects);

#endif
