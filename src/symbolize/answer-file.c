/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/answer-file.h"
#include "confine/keyed-hash.h"

#include <string.h>

static guint64
mix(guint64 hash, guint64 word)
{
    hash = (hash ^ word) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Four lanes keep the multiplier busy: the checksum of the whole file is computed on every use. */
guint64
answer_checksum(const guint8 *data, gsize size)
{
    guint64 lanes[4] = {1, 2, 3, 4};
    gsize at = 0;
    for (; size - at >= sizeof(lanes); at += sizeof(lanes)) {
        guint64 words[4];
        memcpy(words, data + at, sizeof(words));
        for (gsize i = 0; i < G_N_ELEMENTS(lanes); i++)
            lanes[i] = mix(lanes[i], words[i]);
    }
    guint64 sum = size;
    for (; at < size; at++)
        sum = mix(sum, data[at]);
    for (gsize i = 0; i < G_N_ELEMENTS(lanes); i++)
        sum = mix(sum, lanes[i]);
    return sum;
}

#define CHECKED_FROM G_STRUCT_OFFSET(AnswerHeader, fingerprint)

static guint64
expected_size(const AnswerHeader *header)
{
    return sizeof(*header) + header->n_addresses * (guint64)sizeof(guint64) +
           ((guint64)header->n_addresses + 1) * sizeof(guint32) + header->n_frames * (guint64)sizeof(AnswerFrame) +
           header->n_text;
}

static gboolean
addresses_are_sound(const AnswerFile *file)
{
    const AnswerHeader *header = file->header;
    for (guint32 i = 0; i < header->n_addresses; i++)
        if (file->first[i] > file->first[i + 1] || (i > 0 && file->addresses[i - 1] >= file->addresses[i]))
            return FALSE;
    return file->first[0] == 0 && file->first[header->n_addresses] == header->n_frames;
}

static gboolean
frames_are_sound(const AnswerFile *file)
{
    guint32 n_text = file->header->n_text;
    for (guint32 i = 0; i < file->header->n_frames; i++) {
        const AnswerFrame *frame = &file->frames[i];
        if (frame->function >= n_text || frame->system_name >= n_text ||
            (frame->file >= n_text && frame->file != ANSWER_NO_TEXT))
            return FALSE;
    }
    return n_text == 0 || file->text[n_text - 1] == '\0';
}

gboolean
answer_file_parse(const guint8 *data, gsize size, AnswerFile *file)
{
    const AnswerHeader *header = (const AnswerHeader *)(gconstpointer)data;
    if (size < sizeof(*header) || size > ANSWER_MAX_SIZE ||
        memcmp(header->magic, ANSWER_MAGIC, sizeof(header->magic)) != 0 || expected_size(header) != size ||
        header->source > SYMBOLS_DWARF || answer_checksum(data + CHECKED_FROM, size - CHECKED_FROM) != header->checksum)
        return FALSE;
    AnswerFile parsed = {.header = header};
    parsed.addresses = (const guint64 *)(gconstpointer)(header + 1);
    parsed.first = (const guint32 *)(gconstpointer)(parsed.addresses + header->n_addresses);
    parsed.frames = (const AnswerFrame *)(gconstpointer)(parsed.first + header->n_addresses + 1);
    parsed.text = (const char *)(parsed.frames + header->n_frames);
    if (!addresses_are_sound(&parsed) || !frames_are_sound(&parsed))
        return FALSE;
    *file = parsed;
    return TRUE;
}

static SymbolFrame
decode(const AnswerFile *file, const AnswerFrame *frame)
{
    return (SymbolFrame){
        .function = file->text + frame->function,
        .system_name = file->text + frame->system_name,
        .file = frame->file != ANSWER_NO_TEXT ? file->text + frame->file : NULL,
        .line = frame->line,
        .start_line = frame->start_line,
        .known = frame->known != 0,
    };
}

static Symbol
decode_symbol(const AnswerFile *file, guint32 index, Names *names)
{
    guint32 first = file->first[index];
    guint32 n = file->first[index + 1] - first;
    SymbolFrame *frames = names_frames(names, n);
    for (guint32 i = 0; i < n; i++)
        frames[i] = decode(file, &file->frames[first + i]);
    return (Symbol){frames, n};
}

guint
answer_file_apply(const AnswerFile *file, ObjectWork *work)
{
    guint32 at = 0;
    guint open = 0;
    for (guint i = 0; i < work->asked->len; i++) {
        ObjectAsked *asked = &g_array_index(work->asked, ObjectAsked, i);
        while (at < file->header->n_addresses && file->addresses[at] < asked->address)
            at++;
        if (asked->symbol.n_frames != 0)
            continue;
        if (at == file->header->n_addresses || file->addresses[at] != asked->address)
            open++;
        else if (file->first[at] == file->first[at + 1])
            asked->symbol = names_unknown(work->names, work->request.object, asked->address);
        else
            asked->symbol = decode_symbol(file, at, work->names);
    }
    return open;
}

/* The parts of a file under construction. */
typedef struct {
    GArray *addresses; /* guint64 */
    GArray *first;     /* guint32 */
    GArray *frames;    /* AnswerFrame */
    GByteArray *text;
    GHashTable *by_pointer; /* const char * -> offset + 1; most strings recur as the same pointer */
    GHashTable *by_content;
} Encoder;

static guint32
add_text(Encoder *encoder, const char *text)
{
    if (text == NULL)
        return ANSWER_NO_TEXT;
    guint32 known = GPOINTER_TO_UINT(g_hash_table_lookup(encoder->by_pointer, text));
    if (known == 0) {
        known = GPOINTER_TO_UINT(g_hash_table_lookup(encoder->by_content, text));
        if (known == 0) {
            known = encoder->text->len + 1;
            g_byte_array_append(encoder->text, (const guint8 *)text, (guint)strlen(text) + 1);
            g_hash_table_insert(encoder->by_content, (gpointer)(guintptr)text, GUINT_TO_POINTER(known));
        }
        g_hash_table_insert(encoder->by_pointer, (gpointer)(guintptr)text, GUINT_TO_POINTER(known));
    }
    return known - 1;
}

static void
add_frame(Encoder *encoder, const SymbolFrame *frame)
{
    const AnswerFrame encoded = {
        .function = add_text(encoder, frame->function),
        .system_name = add_text(encoder, frame->system_name),
        .file = add_text(encoder, frame->file),
        .line = frame->line,
        .start_line = frame->start_line,
        .known = frame->known != FALSE,
    };
    g_array_append_val(encoder->frames, encoded);
}

static void
add_address(Encoder *encoder, guint64 address)
{
    guint32 first = encoder->frames->len;
    g_array_append_val(encoder->addresses, address);
    g_array_append_val(encoder->first, first);
}

static void
add_old(Encoder *encoder, const AnswerFile *old, guint32 index)
{
    add_address(encoder, old->addresses[index]);
    for (guint32 i = old->first[index]; i < old->first[index + 1]; i++) {
        const SymbolFrame frame = decode(old, &old->frames[i]);
        add_frame(encoder, &frame);
    }
}

/* An address without a name is stored without frames, since its placeholder depends on the current path. */
static void
add_asked(Encoder *encoder, const ObjectAsked *asked)
{
    gboolean known = asked->symbol.n_frames > 1 || asked->symbol.frames[0].known;
    add_address(encoder, asked->address);
    for (guint32 i = 0; known && i < asked->symbol.n_frames; i++)
        add_frame(encoder, &asked->symbol.frames[i]);
}

static gsize
encoded_size(const Encoder *encoder)
{
    return sizeof(AnswerHeader) + encoder->addresses->len * sizeof(guint64) +
           (encoder->first->len + 1) * sizeof(guint32) + encoder->frames->len * sizeof(AnswerFrame) +
           encoder->text->len;
}

/* Both are ascending; the same address may occur more than once. */
static gboolean
merge(Encoder *encoder, const GArray *asked, const AnswerFile *old)
{
    guint32 n_old = old != NULL ? old->header->n_addresses : 0;
    guint32 at = 0;
    for (guint i = 0; i < asked->len; i++) {
        const ObjectAsked *one = &g_array_index(asked, ObjectAsked, i);
        for (; at < n_old && old->addresses[at] < one->address; at++)
            add_old(encoder, old, at);
        at += at < n_old && old->addresses[at] == one->address;
        if (i == 0 || one[-1].address != one->address)
            add_asked(encoder, one);
        if (encoded_size(encoder) > ANSWER_MAX_SIZE)
            return FALSE;
    }
    for (; at < n_old; at++)
        add_old(encoder, old, at);
    return encoded_size(encoder) <= ANSWER_MAX_SIZE;
}

static GByteArray *
join(const Encoder *encoder, const AnswerHeader *header)
{
    GByteArray *bytes = g_byte_array_sized_new((guint)encoded_size(encoder));
    guint32 end = encoder->frames->len;
    g_byte_array_append(bytes, (const guint8 *)header, sizeof(*header));
    g_byte_array_append(bytes, (const guint8 *)encoder->addresses->data,
                        encoder->addresses->len * (guint)sizeof(guint64));
    g_byte_array_append(bytes, (const guint8 *)encoder->first->data, encoder->first->len * (guint)sizeof(guint32));
    g_byte_array_append(bytes, (const guint8 *)&end, sizeof(end));
    g_byte_array_append(bytes, (const guint8 *)encoder->frames->data,
                        encoder->frames->len * (guint)sizeof(AnswerFrame));
    g_byte_array_append(bytes, encoder->text->data, encoder->text->len);
    AnswerHeader *written = (AnswerHeader *)(gpointer)bytes->data;
    written->checksum = answer_checksum(bytes->data + CHECKED_FROM, bytes->len - CHECKED_FROM);
    return bytes;
}

GByteArray *
answer_file_encode(const ObjectWork *work, const AnswerFile *old, guint64 fingerprint)
{
    Encoder encoder = {
        .addresses = g_array_new(FALSE, FALSE, sizeof(guint64)),
        .first = g_array_new(FALSE, FALSE, sizeof(guint32)),
        .frames = g_array_new(FALSE, FALSE, sizeof(AnswerFrame)),
        .text = g_byte_array_new(),
        .by_pointer = g_hash_table_new(NULL, NULL),
        .by_content = g_hash_table_new(keyed_hash_string, g_str_equal),
    };
    GByteArray *bytes = NULL;
    if (merge(&encoder, work->asked, old)) {
        AnswerHeader header = {
            .fingerprint = fingerprint,
            .n_addresses = encoder.addresses->len,
            .n_frames = encoder.frames->len,
            .n_text = encoder.text->len,
            .source = work->result.source,
        };
        memcpy(header.magic, ANSWER_MAGIC, sizeof(header.magic));
        bytes = join(&encoder, &header);
    }
    g_array_unref(encoder.addresses);
    g_array_unref(encoder.first);
    g_array_unref(encoder.frames);
    g_byte_array_unref(encoder.text);
    g_hash_table_unref(encoder.by_pointer);
    g_hash_table_unref(encoder.by_content);
    return bytes;
}
