/* SPDX-License-Identifier: Apache-2.0 */
/* Stored files in an S3-compatible object store: the sink put with signed requests. */
#include "export/put.h"

#include <string.h>

static gpointer new (const Destination *destination, GError **error)
{
    static const char *const known[] = {"region", NULL};
    const char *region = destination_setting(destination, "region", "us-east-1");
    if (!destination_check_settings(destination, known, error))
        return NULL;
    if (destination->access.token_file == NULL || strspn(region, G_CSET_a_2_z G_CSET_DIGITS "-") != strlen(region)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION,
                    destination->access.token_file == NULL
                        ? "%s: an object store needs a key; give a file with KEY-ID SECRET with --token-file"
                        : "%s: invalid region; it has lower-case letters, digits and '-'",
                    destination->text);
        return NULL;
    }
    return put_new(destination, HTTP_SIGNED, region, error);
}

const ExportSink s3_sink = {
    .name = "s3",
    .summary = "the same two files in a bucket of an object store, signed with AWS SigV4",
    .form = "s3://HOST/BUCKET[/PATH]?region=REGION",
    .transport = EXPORT_TLS,
    .flags = EXPORT_WANTS_HEAP,
    .max_batches = 1,
    .new = new,
    .free = put_free,
    .send = put_send,
};
