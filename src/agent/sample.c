/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample.h"

#include "agent/control.h"
#include "agent/text.h"

#include <string.h>
#include <time.h>

/* One control of the request: its name in the two parts around the arena's number. */
typedef struct {
    uint32_t type;
    bool numbered;
    char head[WIRE_CONTROL_NAME_MAX];
    const char *tail;
} Item;

/* The agent thread's alone. */
static Item items[WIRE_SAMPLE_CONTROLS_MAX];

static uint64_t
now_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
parse_item(Item *item, const char *text)
{
    Text head;
    item->type = (uint32_t)(*text++ - '0');
    text_init(&head, item->head, sizeof item->head);
    if (*text == '.') {
        text_add(&head, "stats.arenas.");
        item->tail = text;
        item->numbered = true;
        return;
    }
    text_add(&head, text);
    char *star = strchr(item->head, '*');
    item->numbered = star != NULL;
    item->tail = star != NULL ? text + (star - item->head) + 1 : "";
    if (star != NULL) {
        *star = '\0';
    }
}

/* False if it does not fit. */
static bool
name_item(const Item *item, uint32_t arena, char name[WIRE_CONTROL_NAME_MAX])
{
    Text text;
    text_init(&text, name, WIRE_CONTROL_NAME_MAX);
    text_add(&text, item->head);
    if (item->numbered) {
        text_add_number(&text, arena);
        text_add(&text, item->tail);
    }
    return !text.overflowed;
}

/* The number of an arena changes nothing of what a control is, so one judgement holds for all rows. */
static WireStatus
parse_items(const Guest *guest, const WireSampleRequest *request, uint32_t *n)
{
    char name[WIRE_CONTROL_NAME_MAX];
    *n = 0;
    for (const char *text = request->names; *text != '\0'; text += strlen(text) + 1) {
        Item *item = &items[(*n)++];
        parse_item(item, text);
        if (!name_item(item, request->first, name)) {
            return WIRE_STATUS_BAD_MESSAGE;
        }
        WireStatus status = control_check_read(guest, name, item->type);
        if (status != WIRE_STATUS_OK) {
            return status;
        }
    }
    return WIRE_STATUS_OK;
}

static void
read_row(const Guest *guest, uint32_t n, uint32_t arena, uint64_t *row)
{
    char name[WIRE_CONTROL_NAME_MAX];
    for (uint32_t i = 0; i < n; i++) {
        if (name_item(&items[i], arena, name) &&
            control_read_number(&guest->allocator, name, items[i].type, &row[1 + i]) == 0) {
            row[0] |= UINT64_C(1) << i;
        }
    }
}

WireStatus
sample_answer(const Guest *guest, const WireSampleRequest *request, WireSampleReply *reply)
{
    uint32_t n;
    WireStatus status = parse_items(guest, request, &n);
    if (status != WIRE_STATUS_OK) {
        return status;
    }
    uint64_t start = now_ns();
    if ((request->flags & WIRE_SAMPLE_REFRESH) != 0) {
        const uint64_t epoch = 1;
        reply->reply.error = allocator_write(&guest->allocator, "epoch", &epoch, sizeof epoch);
        if (reply->reply.error != 0) {
            return WIRE_STATUS_CONTROL_FAILED;
        }
    }
    uint32_t fitting = WIRE_SAMPLE_WORDS / (1 + n);
    reply->rows = request->count < fitting ? request->count : fitting;
    for (uint32_t i = 0; i < reply->rows; i++) {
        read_row(guest, n, request->first + i, &reply->words[(size_t)i * (1 + n)]);
    }
    reply->duration_ns = now_ns() - start;
    return WIRE_STATUS_OK;
}
