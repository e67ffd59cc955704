/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, in a process's own executable memory, the few instructions through which a remote call returns. */
#ifndef JESCOPE_TARGET_REMOTE_CODE_H
#define JESCOPE_TARGET_REMOTE_CODE_H

#include "target/address-space.h"
#include "target/registers.h"

/* Sets *CODE. OBJECTS: loaded_objects() of SPACE. FALSE with a TARGET_ERROR if an instruction is missing. */
gboolean remote_code_find(const AddressSpace *space, const GArray *objects, RemoteCode *code, GError **error);

/* The same in LENGTH bytes at ADDRESS; sets the fields that CODE lacks. */
void remote_code_search(const guint8 *bytes, gsize length, guint64 address, RemoteCode *code);

/* Whether CODE has all that a call needs. */
gboolean remote_code_is_complete(const RemoteCode *code);

#endif
