/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample.h"

#include "agent/control.h"
#include "agent/text.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* One control of the request: its name in the two parts around the arena's number, and where jemalloc has it. */
typedef struct {
    uint32_t type;
    bool numbered;
    char head[WIRE_CONTROL_NAME_MAX];
    const char *tail; /* in parsed.names */
    ControlMib mib;
    size_t number_at; /* in mib.places */
} Item;

/* The last request that was allowed: who asks again and again asks for the same. Under the turn. */
static struct {
    atomic_bool valid; /* a child forked while it changes finds it invalid */
    Mallctl asked;     /* of which jemalloc */
    uint32_t n;
    char names[WIRE_SAMPLE_NAMES_SIZE];
    Item items[WIRE_SAMPLE_CONTROLS_MAX];
} parsed;

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

static size_t
count_dots(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += *text == '.';
    }
    return n;
}

/* The number of an arena changes nothing of what a control is, so one judgement holds for all rows. */
static WireStatus
add_item(const Guest *guest, const char *text, uint32_t first)
{
    Item *item = &parsed.items[parsed.n];
    char name[WIRE_CONTROL_NAME_MAX];
    parse_item(item, text);
    if (!name_item(item, first, name)) {
        return WIRE_STATUS_BAD_MESSAGE;
    }
    WireStatus status = control_check_read(guest, name, item->type);
    if (status == WIRE_STATUS_OK) {
        control_look_up(&guest->allocator, name, &item->mib);
        item->number_at = count_dots(item->head);
        parsed.n++;
    }
    return status;
}

static WireStatus
parse_items(const Guest *guest, const WireSampleRequest *request)
{
    if (parsed.valid && parsed.asked == guest->allocator.mallctl &&
        memcmp(parsed.names, request->names, sizeof parsed.names) == 0) {
        return WIRE_STATUS_OK;
    }
    parsed.valid = false;
    parsed.asked = guest->allocator.mallctl;
    parsed.n = 0;
    memcpy(parsed.names, request->names, sizeof parsed.names);
    for (const char *text = parsed.names; *text != '\0'; text += strlen(text) + 1) {
        WireStatus status = add_item(guest, text, request->first);
        if (status != WIRE_STATUS_OK) {
            return status;
        }
    }
    parsed.valid = true;
    return WIRE_STATUS_OK;
}

/* By its place where that is known; else by its name, as with an arena that was not there when it was looked up. */
static int
read_item(const Guest *guest, Item *item, uint32_t arena, uint64_t *value)
{
    char name[WIRE_CONTROL_NAME_MAX];
    if (item->mib.length > item->number_at) {
        if (item->numbered) {
            item->mib.places[item->number_at] = arena;
        }
        return control_read_number_at(&guest->allocator, &item->mib, item->type, value);
    }
    return name_item(item, arena, name) ? control_read_number(&guest->allocator, name, item->type, value)
                                        : ENAMETOOLONG;
}

static void
read_row(const Guest *guest, uint32_t arena, uint64_t *row)
{
    for (uint32_t i = 0; i < parsed.n; i++) {
        if (read_item(guest, &parsed.items[i], arena, &row[1 + i]) == 0) {
            row[0] |= UINT64_C(1) << i;
        }
    }
}

WireStatus
sample_answer(const Guest *guest, const WireSampleRequest *request, WireSampleReply *reply)
{
    WireStatus status = parse_items(guest, request);
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
    const uint32_t n = parsed.n;
    uint32_t fitting = WIRE_SAMPLE_WORDS / (1 + n);
    reply->rows = request->count < fitting ? request->count : fitting;
    for (uint32_t i = 0; i < reply->rows; i++) {
        read_row(guest, request->first + i, &reply->words[(size_t)i * (1 + n)]);
    }
    reply->duration_ns = now_ns() - start;
    return WIRE_STATUS_OK;
}
