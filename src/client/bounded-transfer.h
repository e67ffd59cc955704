/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers of libcurl that end in time. Its deadlines do not hold while a library computes or waits on its behalf:
 * GnuTLS verifies a signature for many minutes if the server's key is large, and getaddrinfo() waits for a name server
 * without end. So each transfer runs on a thread of its own, which is left behind if it does not end.
 */
#ifndef JESCOPE_CLIENT_BOUNDED_TRANSFER_H
#define JESCOPE_CLIENT_BOUNDED_TRANSFER_H

#include "client/curl-library.h"
#include "client/loopback.h"

enum {
    BOUNDED_TRANSFER_GRACE_MS = 2000, /* for libcurl to end the transfer itself */
    BOUNDED_TRANSFER_LEFT_MAX = 2,    /* threads left behind for a receiver, beyond which no transfer begins */
};

typedef struct {
    CURL *curl;
    const char *receiver; /* its scheme, host and port */
    guint deadline_ms;    /* not 0; libcurl has it too */
    Loopback *loopback;   /* of STATE; what it refuses is tried at the next address of the name */
    /* Called on the caller's thread, a few times in a second; TRUE: the transfer is aborted. NULL: never. */
    gboolean (*is_over)(gpointer data);
    gpointer data;
    /* All that libcurl's callbacks use: the caller gives away a reference, which RELEASE drops when libcurl has
     * returned. */
    gpointer state;
    GDestroyNotify release;
} BoundedTransfer;

typedef enum {
    BOUNDED_TRANSFER_ENDED,
    BOUNDED_TRANSFER_LEFT,      /* libcurl has not returned: CURL and STATE are in use until RELEASE is called */
    BOUNDED_TRANSFER_REFUSED,   /* others to the receiver have been left */
    BOUNDED_TRANSFER_NO_THREAD, /* none could be started */
} BoundedTransferEnd;

/* Calls loopback_perform(), whose result is CODE if it has ended. Returns BOUNDED_TRANSFER_GRACE_MS after the
 * deadline, or after is_over(), at the latest. */
BoundedTransferEnd bounded_transfer_perform(const BoundedTransfer *transfer, CURLcode *code);

/* Says why a transfer has not ended; to be freed. */
char *bounded_transfer_failure(BoundedTransferEnd end, const char *receiver);

#endif
