/* SPDX-License-Identifier: Apache-2.0 */
/* A file of the queue of jescope push, the batch in it, and the answer of an OpenTelemetry collector; the input is
 * tried as each of them. */
#include "export/otlp.h"
#include "export/record.h"
#include "export/stored.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Accesses everything that a sink may. */
static void
use(const Batch *batch)
{
    g_autofree char *document = stored_document(batch), *path = stored_path(batch);
    gsize length = strlen(document);
    g_assert_null(strstr(path, "/."));
    for (gsize i = 0; i < batch->n_stacks; i++) {
        const BatchStack *stack = &batch->stacks[i];
        BatchSample sample = batch_sample(batch, i);
        for (gsize value = 0; value < batch->n_values; value++)
            length += sample.estimate[value] > sample.variance[value];
        for (guint32 frame = 0; frame < stack->depth; frame++) {
            const BatchLocation *location = &batch->locations[batch->frames[stack->first + frame]];
            const BatchLine *line = &batch->lines[location->first_line + location->n_lines - 1];
            length += strlen(batch->strings[line->function]) + strlen(batch->strings[line->file]);
            length += location->object != BATCH_NONE ? strlen(batch->objects[location->object].build_id) : 0;
        }
    }
    g_assert_cmpuint(length, <, G_MAXSIZE);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GBytes) file = g_bytes_new(data, size);
    g_autoptr(GBytes) content = record_unwrap(file, NULL);
    g_autoptr(Batch) batch = batch_read(content != NULL ? content : file, NULL);
    otlp_rejected((const char *)data, size);
    if (batch != NULL) {
        g_autoptr(GByteArray) metrics = otlp_metrics(batch), profiles = otlp_profiles(batch);
        g_assert_cmpuint(metrics->len, >, 0);
        g_assert_cmpuint(profiles->len, >, 0);
        use(batch);
    }
    return 0;
}
