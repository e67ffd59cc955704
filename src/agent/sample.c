/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample.h"

#include "agent/control.h"
#include "wire/message.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { SHORT_COMPONENTS = 2 }; /* of "stats.arenas.", abbreviated by a "." at the beginning */

/* A control of the request, and its place in jemalloc. */
typedef struct {
    uint32_t type;
    const char *name; /* in parsed.names, as wire_sample_name() takes it */
    bool numbered;
    ControlMib mib;
    size_t number_at; /* in mib.places */
} Item;

/* The last allowed request: a polling client repeats it. Under the turn. */
static struct {
    atomic_bool valid; /* a child forked while it changes finds it invalid */
    Mallctl asked;     /* the jemalloc that was queried */
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

/* The components before the number of the arena. */
static size_t
count_components(const char *name, const char *end)
{
    size_t n = 0;
    for (; name < end; name++)
        n += *name == '.';
    return n;
}

static void
parse_item(Item *item, const char *text)
{
    const char *name = text + 1;
    const char *star = strchr(name, '*');
    const bool is_short = *name == '.';
    *item = (Item){.type = (uint32_t)(*text - '0'), .name = name, .numbered = is_short || star != NULL};
    if (item->numbered)
        item->number_at = is_short ? SHORT_COMPONENTS : count_components(name, star);
}

/* Whether a control is allowed does not depend on the arena, so one check is valid for all rows. */
static WireStatus
add_item(const Guest *guest, const char *text, uint32_t first)
{
    Item *item = &parsed.items[parsed.n];
    char name[WIRE_CONTROL_NAME_MAX];
    parse_item(item, text);
    if (!wire_sample_name(item->name, first, name))
        return WIRE_STATUS_BAD_MESSAGE;
    WireStatus status = control_check_read(guest, name, item->type);
    if (status == WIRE_STATUS_OK) {
        control_look_up(&guest->allocator, name, &item->mib);
        parsed.n++;
    }
    return status;
}

static WireStatus
parse_items(const Guest *guest, const WireSampleRequest *request)
{
    if (parsed.valid && parsed.asked == guest->allocator.mallctl &&
        memcmp(parsed.names, request->names, sizeof(parsed.names)) == 0)
        return WIRE_STATUS_OK;
    parsed.valid = false;
    parsed.asked = guest->allocator.mallctl;
    parsed.n = 0;
    memcpy(parsed.names, request->names, sizeof(parsed.names));
    for (const char *text = parsed.names; *text != '\0'; text += strlen(text) + 1) {
        WireStatus status = add_item(guest, text, request->first);
        if (status != WIRE_STATUS_OK)
            return status;
    }
    parsed.valid = true;
    return WIRE_STATUS_OK;
}

void
sample_forget(void)
{
    parsed.valid = false;
}

/* By its place if that is known; else by its name, as for an arena that did not exist when it was looked up. */
static int
read_item(const Guest *guest, Item *item, uint32_t arena, uint64_t *value)
{
    char name[WIRE_CONTROL_NAME_MAX];
    if (item->mib.length > item->number_at) {
        if (item->numbered)
            item->mib.places[item->number_at] = arena;
        return control_read_number_at(&guest->allocator, &item->mib, item->type, value);
    }
    return wire_sample_name(item->name, arena, name) ? control_read_number(&guest->allocator, name, item->type, value)
                                                     : ENAMETOOLONG;
}

static void
read_row(const Guest *guest, uint32_t arena, uint64_t *row)
{
    for (uint32_t i = 0; i < parsed.n; i++)
        if (read_item(guest, &parsed.items[i], arena, &row[1 + i]) == 0)
            row[0] |= UINT64_C(1) << i;
}

WireStatus
sample_answer(const Guest *guest, const WireSampleRequest *request, WireSampleReply *reply)
{
    WireStatus status = parse_items(guest, request);
    if (status != WIRE_STATUS_OK)
        return status;
    uint64_t start = now_ns();
    if ((request->flags & WIRE_SAMPLE_REFRESH) != 0) {
        const uint64_t epoch = 1;
        reply->reply.error = allocator_write(&guest->allocator, "epoch", &epoch, sizeof(epoch));
        if (reply->reply.error != 0)
            return WIRE_STATUS_CONTROL_FAILED;
    }
    const uint32_t n = parsed.n;
    uint32_t fitting = WIRE_SAMPLE_WORDS / (1 + n);
    reply->rows = request->count < fitting ? request->count : fitting;
    for (uint32_t i = 0; i < reply->rows; i++)
        read_row(guest, request->first + i, &reply->words[(size_t)i * (1 + n)]);
    reply->duration_ns = now_ns() - start;
    return WIRE_STATUS_OK;
}
