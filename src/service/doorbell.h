/* SPDX-License-Identifier: Apache-2.0 */
/* Tells when an agent begins to listen, or ends, in one of the directories that programs of this user use (inotify). */
#ifndef JESCOPE_SERVICE_DOORBELL_H
#define JESCOPE_SERVICE_DOORBELL_H

#include <glib.h>
#include <sys/types.h>

typedef struct Doorbell Doorbell;

/* PID as the name of the socket has it, i.e. in the pid namespace of the agent. */
typedef void (*DoorbellFunc)(pid_t pid, gpointer data);

/* FUNC is called on CONTEXT. Directories that are missing are made, as an agent would. Where inotify does not work,
 * nothing is ever told. */
Doorbell *doorbell_new(GMainContext *context, DoorbellFunc func, gpointer data);
void doorbell_free(Doorbell *doorbell);

/* Directories may have been removed and made anew; cheap. */
void doorbell_renew(Doorbell *doorbell);

#endif
