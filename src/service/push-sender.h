/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of one destination in the service, and the thread that sends its content. All functions except new and free
 * may be called on any thread. */
#ifndef JESCOPE_SERVICE_PUSH_SENDER_H
#define JESCOPE_SERVICE_PUSH_SENDER_H

#include "service/core.h"
#include "service/push.h"

typedef struct PushSender PushSender;

/* Checks that push_sender_new() can work: the URL and its files, the labels, and the queue's directory. */
gboolean push_sender_check(const ServicePush *push, GError **error);

/* PUSH must outlive it. Failures are reported to the operator. */
PushSender *push_sender_new(Service *service, const ServicePush *push);

/* Stops sending and aborts a request in progress, without waiting. */
void push_sender_stop(PushSender *sender);

/* The same, and waits for the thread: for about a second, or for three if the request cannot be ended
 * (client/bounded-transfer.h). Its batches, and those added later, stay in the queue for the next process. */
void push_sender_end(PushSender *sender);

void push_sender_free(PushSender *sender);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PushSender, push_sender_free)

/* The flags of its sink. */
ExportSinkFlags push_sender_flags(const PushSender *sender);

/* Like queue_add(). */
gboolean push_sender_add(PushSender *sender, GBytes *batch, uid_t account, GError **error);

/* Sets the members of FIGURES about delivery and queue. */
void push_sender_figures(PushSender *sender, ServicePushFigures *figures);

#endif
