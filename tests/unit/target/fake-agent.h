/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that listens like an agent and answers as a test tells it to. */
#ifndef JESCOPE_TESTS_UNIT_TARGET_FAKE_AGENT_H
#define JESCOPE_TESTS_UNIT_TARGET_FAKE_AGENT_H

#include "wire/wire.h"

#include <glib.h>

typedef union {
    WireHeader header;
    WireReply reply;
    WireHelloReply hello;
    WireCtlReply ctl;
    WireOutputReply output;
    WireLeaseReply lease;
    char bytes[2 * WIRE_MESSAGE_MAX];
} FakeReply;

/* A request as it came, with the descriptor that came along (-1: none; closed after the call). */
typedef struct {
    union {
        WireHeader header;
        WireHelloRequest hello;
        WireCtlRequest ctl;
        WireStatsRequest stats;
        WireLeaseRequest lease;
        char bytes[WIRE_MESSAGE_MAX];
    };
    int descriptor;
} FakeRequest;

enum {
    FAKE_HANG_UP = -1, /* close the connection instead of answering */
    FAKE_SILENT = 0,   /* do not answer */
};

/* Fills *reply, whose header and size for the request's op are set already, and returns how many bytes of it to send.
 */
typedef ssize_t (*FakeAnswer)(const FakeRequest *request, FakeReply *reply, gpointer data);

typedef struct {
    char *directory; /* 0700, its own */
    char *path;      /* of the socket in it */
    int listener;
    GThread *thread;
    FakeAnswer answer;
    gpointer data;
    int along;         /* a descriptor that is sent once, and closed; -1: none, the default */
    gboolean apart;    /* in a message of its own after a reply, not with the reply */
    GAsyncQueue *sent; /* has an element when it was sent */
} FakeAgent;

/* SUBDIRECTORY: made below the temporary one, to lengthen the path; "" for none. */
FakeAgent *fake_agent_new(const char *subdirectory, FakeAnswer answer, gpointer data);
void fake_agent_free(FakeAgent *fake);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FakeAgent, fake_agent_free)

/* Waits until ALONG was sent. */
void fake_agent_await(FakeAgent *fake);

/* A good answer to HELLO of a jemalloc that can profile, and to nothing else. */
ssize_t fake_answer_well(const FakeRequest *request, FakeReply *reply, gpointer data);

#endif
