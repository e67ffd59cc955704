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
