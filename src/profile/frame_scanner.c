/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/frame_scanner.h"
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

static guint64
load_head(const char *at)
{
    guint64 head;
    memcpy(&head, at + PREFIX, sizeof head);
    return head;
}

static guint32
load_tail(const char *at)
{
    guint32 tail;
    memcpy(&tail, at + PREFIX + HEAD, sizeof tail);
    return tail;
}

/* PROFILE_NONE stands for address 0 until it is clear whether it ends the stack. */
static const char *
read_new_frame(FrameScanner *scanner, const char *at, guint32 *location)
{
    guint64 address = 0;
    const char *next = at[1] == '0' && at[2] == 'x' ? scan_hex(at + PREFIX, &address) : NULL;

    if (next == NULL) {
        return NULL;
    }
    if (address == 0) {
        *location = PROFILE_NONE;
        return next;
    }
    *location = builder_address(scanner->builder, address - (scanner->depth > 0));
    if (next - at == USUAL && *next <= ' ' && scanner->depth > 0) {
        index_table_put(&scanner->texts, load_head(at), load_tail(at), *location);
    }
    return next;
}

static void
settle_zeros(FrameScanner *scanner)
{
    while (scanner->depth > 0 && scanner->frames[scanner->depth - 1] == PROFILE_NONE) {
        scanner->depth--;
    }
    for (guint32 i = 0; i < scanner->depth; i++) {
        if (scanner->frames[i] == PROFILE_NONE) {
            scanner->frames[i] = builder_address(scanner->builder, 0);
        }
    }
}

static void
reserve_frame(FrameScanner *scanner)
{
    if (G_UNLIKELY(scanner->depth == scanner->capacity)) {
        scanner->capacity = MAX(256, scanner->capacity * 2);
        scanner->frames = g_renew(guint32, scanner->frames, scanner->capacity);
    }
}

/* The location of a frame whose text is known, or PROFILE_NONE. Whatever follows twelve digits has to end them. */
static inline guint32
find_known_frame(const FrameScanner *scanner, const char *at)
{
    if (at[USUAL] > ' ' || at[1] != '0' || at[2] != 'x' || scanner->depth == 0) {
        return PROFILE_NONE;
    }
    return index_table_find(&scanner->texts, load_head(at), load_tail(at));
}

const char *
frame_scanner_read(FrameScanner *scanner, const char *at, const char **fault)
{
    gboolean zeros = FALSE;

    scanner->depth = 0;
    while (*at == ' ') {
        reserve_frame(scanner);
        guint32 location = find_known_frame(scanner, at);
        if (G_LIKELY(location != PROFILE_NONE)) {
            at += USUAL;
        } else if (at[1] == ' ' || at[1] == '\n') { /* more blanks than one */
            at++;
            continue;
        } else {
            const char *next = read_new_frame(scanner, at, &location);
            if (next == NULL) {
                *fault = at + 1;
                return NULL;
            }
            zeros |= location == PROFILE_NONE;
            at = next;
        }
        scanner->frames[scanner->depth++] = location;
    }
    if (zeros) {
        settle_zeros(scanner);
    }
    return at;
}
