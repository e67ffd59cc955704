/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of one destination in the service, and the thread that sends what is in it. Any thread but for new and
 * free. */
#ifndef JESCOPE_SERVICE_PUSH_SENDER_H
#define JESCOPE_SERVICE_PUSH_SENDER_H

#include "service/core.h"
#include "service/push.h"

typedef struct PushSender PushSender;

/* Whether push_sender_new() can work: the URL and its files, the labels, and the directory of the queue. */
gboolean push_sender_check(const ServicePush *push, GError **error);

/* PUSH outlives it. Failures are reported to the operator. */
PushSender *push_sender_new(Service *service, const ServicePush *push);

/* Nothing is sent any more; what is added waits for the next process, and so does what a request was under way with,
 * which ends now. Waits for the thread: about a second at most. */
void push_sender_end(PushSender *sender);

void push_sender_free(PushSender *sender);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PushSender, push_sender_free)

/* What the sink wants of a batch. */
ExportSinkFlags push_sender_flags(const PushSender *sender);

/* As queue_add(). */
gboolean push_sender_add(PushSender *sender, GBytes *batch, GError **error);

/* Its part of FIGURES. */
void push_sender_figures(PushSender *sender, ServicePushFigures *figures);

#endif
