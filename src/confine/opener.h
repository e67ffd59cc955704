/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a confined process: each goes to a handler, in this process or in the parent of a confined one
 * (confined.h), which answers with a descriptor. Handlers treat every request as an attacker's.
 */
#ifndef JESCOPE_CONFINE_OPENER_H
#define JESCOPE_CONFINE_OPENER_H

#include <gio/gio.h>

typedef enum {
    OPENER_FILE,        /* a file named by untrusted data: target-files.h */
    OPENER_TEXT,        /* the same, for display */
    OPENER_DEBUGINFOD,  /* a debug file by its build id, from the network */
    OPENER_CACHE_READ,  /* a file of the cache of names */
    OPENER_CACHE_WRITE, /* a new one, with the content */
    OPENER_HISTORY,     /* a history file, or an auxiliary file of SQLite; the subject is how to open it */
    OPENER_N_KINDS,
} OpenerKind;

#define OPENER_MAX_TEXT 8192

typedef struct {
    OpenerKind kind;
    guint64 subject;           /* the TargetFiles, or as the kind defines */
    const char *text;          /* a path, a build id, a name; shorter than OPENER_MAX_TEXT */
    const GByteArray *content; /* for the handler; NULL: none */
    int fd;                    /* of a question to a handler: a file with the content; -1: none */
} OpenerQuestion;

typedef struct {
    int fd; /* or -1; the requester closes it */
    char text[OPENER_MAX_TEXT];
} OpenerAnswer;

/* Returns 0 or errno. Runs in any thread. */
typedef int OpenerHandler(const OpenerQuestion *question, OpenerAnswer *answer);

void opener_handle(OpenerKind kind, OpenerHandler *handler);

/* Returns what the handler returns; ENOSYS without one. Thread-safe. */
int opener_ask(const OpenerQuestion *question, OpenerAnswer *answer);

/* The two ends of a confined process: from now on this process sends its requests to socket, with contents in the
 * memory file, since it can create none; one request at socket is answered (FALSE: the other end has closed). */
void opener_ask_at(int socket, int file);
gboolean opener_answer_one(int socket);

#endif
