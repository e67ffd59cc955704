/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, in a process's own executable memory, the few instructions that a remote call returns through. */
#ifndef JESCOPE_TARGET_REMOTE_CODE_H
#define JESCOPE_TARGET_REMOTE_CODE_H

#include "target/address-space.h"
#include "target/registers.h"

/* FALSE with a TARGET_ERROR if something is missing. */
gboolean remote_code_find(const AddressSpace *space, RemoteCode *code, GError **error);

/* The same in LENGTH bytes at ADDRESS; sets the fields that CODE lacks. */
void remote_code_search(const guint8 *bytes, gsize length, guint64 address, RemoteCode *code);

/* Whether CODE has all a call needs. */
gboolean remote_code_is_complete(const RemoteCode *code);

#endif
