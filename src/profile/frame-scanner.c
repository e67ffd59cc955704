/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/frame-scanner.h"
#include "profile/scan.h"

/* One frame of the usual form: a blank, "0x", twelve digits. */
enum { PREFIX = 3, HEAD = 8, TAIL = 4, USUAL = PREFIX + HEAD + TAIL };

void
frame_scanner_init(FrameScanner *scanner, ProfileBuilder *builder)
{
    *scanner = (FrameScanner){.builder = builder};
    index_table_init(&scanner->texts);
}

void
frame_scanner_clear(FrameScanner *scanner)
{
    index_table_clear(&scanner->texts);
    g_clear_pointer(&scanner->frames, g_free);
}

typedef struct {
    guint64 head;
    guint32 tail;
} FrameText;

static inline FrameText
load_text(const char *at)
{
    FrameText text;
    memcpy(&text.head, at + PREFIX, sizeof(text.head));
    memcpy(&text.tail, at + PREFIX + HEAD, sizeof(text.tail));
    return text;
}

static inline gboolean
has_prefix(const char *at)
{
    guint32 word;
    memcpy(&word, at, sizeof(word));
    return (GUINT32_FROM_LE(word) & 0xffffff) == (' ' | '0' << 8 | 'x' << 16);
}

/* PROFILE_NONE represents address 0 until it is known whether it ends the stack. */
static const char *
read_new_frame(FrameScanner *scanner, const char *at, guint32 *location)
{
    guint64 address = 0;
    const char *next = has_prefix(at) ? scan_hex(at + PREFIX, &address) : NULL;

    if (next == NULL)
        return NULL;
    if (address == 0) {
        *location = PROFILE_NONE;
        return next;
    }
    *location = builder_address(scanner->builder, address - (scanner->depth > 0));
    if (next - at == USUAL && *next <= ' ' && scanner->depth > 0) {
        FrameText text = load_text(at);
        index_table_put(&scanner->texts, text.head, text.tail, *location);
    }
    return next;
}

static void
settle_zeros(FrameScanner *scanner)
{
    while (scanner->depth > 0 && scanner->frames[scanner->depth - 1] == PROFILE_NONE)
        scanner->depth--;
    for (guint32 i = 0; i < scanner->depth; i++)
        if (scanner->frames[i] == PROFILE_NONE)
            scanner->frames[i] = builder_address(scanner->builder, 0);
}

static void
reserve_frame(FrameScanner *scanner)
{
    if (G_UNLIKELY(scanner->depth == scanner->capacity)) {
        scanner->capacity = MAX(256, scanner->capacity * 2);
        scanner->frames = g_renew(guint32, scanner->frames, scanner->capacity);
    }
}

/*
 * Skips frames with known text, as long as there is room. The innermost frame is never one of them, since its address
 * is interpreted differently. The character after the twelve digits must end them.
 */
static const char *
pass_known_frames(FrameScanner *scanner, const char *at)
{
    const IndexTable texts = scanner->texts; /* a copy: storing frames cannot change it */
    guint32 *frames = scanner->frames;
    guint32 capacity = scanner->capacity;
    guint32 depth = scanner->depth;

    while (depth < capacity && has_prefix(at) && at[USUAL] <= ' ') {
        FrameText text = load_text(at);
        guint32 location = index_table_find(&texts, text.head, text.tail);
        if (G_UNLIKELY(location == PROFILE_NONE))
            break;
        frames[depth++] = location;
        at += USUAL;
    }
    scanner->depth = depth;
    return at;
}

const char *
frame_scanner_read(FrameScanner *scanner, const char *at, const char **fault)
{
    gboolean zeros = FALSE;

    scanner->depth = 0;
    while (*at == ' ') {
        if (at[1] == ' ' || at[1] == '\n') { /* more than one blank */
            at++;
            continue;
        }
        guint32 location = PROFILE_NONE;
        const char *next = read_new_frame(scanner, at, &location);
        if (next == NULL) {
            *fault = at + 1;
            return NULL;
        }
        zeros |= location == PROFILE_NONE;
        reserve_frame(scanner);
        scanner->frames[scanner->depth++] = location;
        at = pass_known_frames(scanner, next);
    }
    if (zeros)
        settle_zeros(scanner);
    return at;
}
