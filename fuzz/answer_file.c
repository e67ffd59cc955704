/* SPDX-License-Identifier: Apache-2.0 */
/* A file of the symbol cache. The checksum is corrected first, since nothing else would be reached otherwise. */
#include "symbolize/answer-file.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECKED_FROM G_STRUCT_OFFSET(AnswerHeader, fingerprint)

static void
ask(const AnswerFile *file)
{
    static const ProfileObject object = {.path = "/usr/bin/service"};
    const LocateRequest request = {.object = &object};
    g_autoptr(Names) names = names_new();
    ObjectWork *work = object_work_new(&request, names);
    for (guint32 i = 0; i < MIN(file->header->n_addresses, 64); i++) {
        object_ask(work, i, file->addresses[i]);
        object_ask(work, i, file->addresses[i] + 1);
    }
    answer_file_apply(file, work);
    gsize total = 0;
    for (guint i = 0; i < work->asked->len; i++) {
        const Symbol *symbol = &g_array_index(work->asked, ObjectAsked, i).symbol;
        for (guint32 k = 0; k < symbol->n_frames; k++) {
            const SymbolFrame *frame = &symbol->frames[k];
            total +=
                strlen(frame->function) + strlen(frame->system_name) + (frame->file != NULL ? strlen(frame->file) : 0);
        }
    }
    g_assert_cmpuint(total, <, G_MAXSIZE);
    object_work_free(work);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree guint8 *copy = g_memdup2(data, size);
    if (size >= sizeof(AnswerHeader)) {
        AnswerHeader header;
        memcpy(&header, copy, sizeof(header));
        memcpy(header.magic, ANSWER_MAGIC, sizeof(header.magic));
        header.checksum = answer_checksum(copy + CHECKED_FROM, size - CHECKED_FROM);
        memcpy(copy, &header, sizeof(header));
    }
    AnswerFile file;
    if (copy != NULL && answer_file_parse(copy, size, &file))
        ask(&file);
    return 0;
}
