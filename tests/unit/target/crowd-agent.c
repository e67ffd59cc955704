/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd-agent.h"

#include <string.h>

static guint64
value_of(const Crowd *crowd, const char *name)
{
    if (strstr(name, "narenas") != NULL)
        return crowd->arenas;
    if (strstr(name, "*.") != NULL)
        return crowd->used;
    return strstr(name, "nbins") != NULL || strstr(name, "nlextents") != NULL || strstr(name, "nlruns") != NULL
               ? crowd->classes
               : 1;
}

ssize_t
crowd_answer(const FakeRequest *request, FakeReply *reply, gpointer data)
{
    Crowd *crowd = data;
    const WireSampleRequest *asked = (const WireSampleRequest *)request->bytes;
    WireSampleReply *sample = (WireSampleReply *)reply->bytes;
    guint64 row[WIRE_SAMPLE_WORDS] = {G_MAXUINT64};
    guint n = 1;
    if (request->header.op != WIRE_OP_SAMPLE)
        return fake_answer_well(request, reply, data);
    for (const char *name = asked->names; *name != '\0'; name += strlen(name) + 1)
        row[n++] = value_of(crowd, name + 1);
    crowd->counts += n == 2 && row[1] == crowd->classes;
    sample->rows = MIN(asked->count, WIRE_SAMPLE_WORDS / n);
    for (guint i = 0; i < sample->rows; i++)
        memcpy(sample->words + (gsize)i * n, row, n * sizeof(guint64));
    return sizeof(WireSampleReply);
}
