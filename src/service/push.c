/* SPDX-License-Identifier: Apache-2.0 */
#include "service/push.h"

void
service_push_free(ServicePush *push)
{
    char *const texts[] = {push->section,    push->to,      push->service,   push->host,    push->queue,
                           push->token_file, push->ca_file, push->cert_file, push->key_file};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    g_strfreev(push->targets);
    g_strfreev(push->labels);
    g_strfreev(push->variables);
    g_free(push);
}

static gboolean
are_equal(char *const *one, char *const *other)
{
    static char *const none[] = {NULL};
    return g_strv_equal((const char *const *)(one != NULL ? one : none),
                        (const char *const *)(other != NULL ? other : none));
}

static gboolean
names_file(const ServicePush *push)
{
    return push->token_file != NULL || push->ca_file != NULL || push->cert_file != NULL || push->key_file != NULL;
}

gboolean
service_push_equal(const ServicePush *push, const ServicePush *other)
{
    const Schedule *one = &push->schedule, *two = &other->schedule;
    return !names_file(push) && !names_file(other) && g_strcmp0(push->section, other->section) == 0 &&
           g_strcmp0(push->to, other->to) == 0 && g_strcmp0(push->service, other->service) == 0 &&
           g_strcmp0(push->host, other->host) == 0 && g_strcmp0(push->queue, other->queue) == 0 &&
           push->queue_size == other->queue_size && are_equal(push->targets, other->targets) &&
           are_equal(push->labels, other->labels) && are_equal(push->variables, other->variables) &&
           one->every_us == two->every_us && one->per_service == two->per_service && one->dump_share == two->dump_share;
}
