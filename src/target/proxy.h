/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target that another process of jescope has opened: that process serves a socket (confine/channel.h) and executes
 * the proxy's requests.
 */
#ifndef JESCOPE_TARGET_PROXY_H
#define JESCOPE_TARGET_PROXY_H

#include "target/process.h"
#include "target/target.h"

/* Serves TARGET until the other end is closed. TARGET may be NULL where it could not be opened: then the other end
 * receives ERROR. Takes none of them. Requests are not trusted. */
void proxy_serve(int socket, Target *target, const GError *error);

/* The other end, for PROCESS as it was found here. Takes SOCKET. Errors are those that were had there, of TARGET_ERROR
 * or TARGET_OWN_DUMP_ERROR. */
Target *proxy_open(int socket, const Process *process, GError **error);

#endif
