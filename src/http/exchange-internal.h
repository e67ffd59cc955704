/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an exchange, for the files that receive its request and send its answer. */
#ifndef JESCOPE_HTTP_EXCHANGE_INTERNAL_H
#define JESCOPE_HTTP_EXCHANGE_INTERNAL_H

#include "http/connection.h"

struct Exchange {
    Connection *connection;
    struct MHD_Connection *mhd;
    char *uri;
    char *path;
    char *who;
    RouteRole role;
    Viewer viewer;
    gboolean by_session;
    RouteRequest request;
    GByteArray *body;
    gboolean is_file; /* the body goes into a file; counted in Traffic.files */
    int file;         /* -1: nothing received yet */
    guint64 file_size;
    int file_error;        /* errno of receiving it; 0: none */
    gint64 read_us;        /* when the last piece of its body was read */
    gboolean begun;        /* its headers were received */
    gboolean is_complete;  /* await_end() was done */
    gboolean is_malformed; /* its end is ambiguous */
    gboolean too_long;     /* its body exceeds the limit */
    gboolean crowded;      /* others' files leave no room for its body */
    gboolean handled;      /* it was passed to its owner */
    gboolean waiting;      /* counted in ServerFigures.waiting */
    gboolean suspended;    /* libmicrohttpd waits until we resume it */
    gboolean is_last;      /* its connection is to end with it */
    guint delay_ms;        /* delay of the refusal */
    gboolean held;         /* the answer is there, and waits for its delay; counted as PEER_HELD */
    gboolean at_head;      /* libmicrohttpd calls back for the head again, since the refusal before the body was held */
    guint delay;           /* source id of the timer that wakes it; 0: none */
    ExchangeWait how_long;
    void (*left)(Exchange *exchange, gpointer data); /* NULL: its owner is not waiting */
    gpointer data;
    Answer *answer;
    guint64 unread; /* see exchange_count_unread() */
};

/* The exchange of a request for URI that begins on the connection. */
Exchange *exchange_new(Connection *connection, struct MHD_Connection *mhd, const char *uri);
void exchange_free(Exchange *exchange);

/* Tells the owner that the exchange must no longer be answered. */
void exchange_leave(Exchange *exchange);

/* Wakes EXCHANGE after MS, if nothing does before. */
void exchange_delay(Exchange *exchange, guint ms);

/* Holds the answer back, if it is a refusal to be delayed, until exchange_wake(), by a timer at the latest. FALSE: it
 * is to be sent now. */
gboolean exchange_hold(Exchange *exchange);

void exchange_count_waiting(Exchange *exchange, gboolean waiting);

/* Counts SIZE bytes of its answer as unread by its peer, instead of what was counted before, until exchange_free(). */
void exchange_count_unread(Exchange *exchange, guint64 size);

/* Counts EXCHANGE as refused for the rate of its peer, which may try again in WAIT_S seconds, and returns the refusal.
 */
Answer *exchange_refuse_rate(const Exchange *exchange, guint wait_s);

/* Counts a body that is received into a file, until exchange_free(). */
void exchange_count_file(Exchange *exchange);

/* Its file now has SIZE bytes, which are counted in Traffic.received and for its peer. */
void exchange_count_received(Exchange *exchange, guint64 size);

/* An answer by the transport itself. */
Answer *exchange_refusal(unsigned status, const char *code, const char *message, const char *hint);

#endif
