/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler-dump.h"

#include "agent/sampler-slabs.h"
#include "agent/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TEXT_SIZE = 4096, DIGITS = 16, NS_PER_US = 1000 };

/* The dump being written; static, since the agent's stack is small. */
static struct {
    SamplerWrite write;
    void *data;
    char bytes[TEXT_SIZE];
    size_t n;
    int error;
} output;

static void
flush(void)
{
    if (output.error == 0 && output.n > 0)
        output.error = output.write(output.data, output.bytes, output.n);
    output.n = 0;
}

static void
put(const char *bytes, size_t n)
{
    while (n > 0 && output.error == 0) {
        const size_t room = sizeof(output.bytes) - output.n;
        const size_t part = n < room ? n : room;
        memcpy(output.bytes + output.n, bytes, part);
        output.n += part;
        bytes += part;
        n -= part;
        if (output.n == sizeof(output.bytes))
            flush();
    }
}

static void
put_text(const char *text)
{
    put(text, strlen(text));
}

/* Writes TEXT, then NUMBER. */
static void
put_number(const char *text, uint64_t number)
{
    char digits[NUMBER_TEXT_MAX];
    Text decimal;
    put_text(text);
    text_init(&decimal, digits, sizeof(digits));
    text_add_number(&decimal, number);
    put(digits, decimal.length);
}

static void
put_hex(const char *text, uint64_t number)
{
    char digits[DIGITS];
    size_t at = sizeof(digits);
    put_text(text);
    do {
        digits[--at] = "0123456789abcdef"[number & 15];
        number >>= 4;
    } while (number != 0);
    put(digits + at, sizeof(digits) - at);
}

/* Writes an integer below 2^128. */
static void
put_wide(double number)
{
    const double word = 0x1p64;
    const uint64_t high = number >= word ? (uint64_t)(number / word) : 0;
    const uint64_t low = (uint64_t)(number - (double)high * word);
    if (high == 0) {
        put_hex(" ", low);
        return;
    }
    put_hex(" ", high);
    for (int shift = 60; shift >= 0; shift -= 4)
        put(&"0123456789abcdef"[low >> shift & 15], 1);
}

typedef struct {
    uint64_t objects, bytes, all_objects, all_bytes;
} Sums;

static void
put_sums(const Sums *sums)
{
    put_number("  t*: ", sums->objects);
    put_number(": ", sums->bytes);
    put_number(" [", sums->all_objects);
    put_number(": ", sums->all_bytes);
    put_text("]\n");
}

static Sums
sums_of(const SamplerStack *stack)
{
    const uint64_t all = stack->live + stack->dead;
    return (Sums){stack->live, stack->live * stack->size, all, all * stack->size};
}

/* The live samples by their node. */
typedef struct {
    uint32_t *first; /* for each node: place + 1; 0: none */
    uint32_t *next;  /* for each place */
    size_t bytes;
} Lists;

static bool
list_live(const SamplerTable *table, Lists *lists)
{
    SamplerLive live;
    const uint32_t places = sampler_memory_places(table->memory);
    lists->bytes = ((size_t)table->memory->max_nodes + places) * sizeof(uint32_t);
    void *space = mmap(NULL, lists->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (space == MAP_FAILED)
        return false;
    lists->first = space;
    lists->next = lists->first + table->memory->max_nodes;
    for (uint32_t i = 0; i < places; i++) {
        if (sampler_table_live(table, i, &live)) {
            lists->next[i] = lists->first[live.node];
            lists->first[live.node] = i + 1;
        }
    }
    return true;
}

static void
put_live(const SamplerTable *table, uint32_t i, uint64_t size, uint64_t began)
{
    SamplerLive live;
    if (!sampler_table_live(table, i, &live))
        return;
    put_hex("#live ", live.address);
    put_number(" ", size);
    put_number(" ", live.born > began ? (live.born - began) / NS_PER_US : 0);
    put_number(" ", live.thread);
    const SamplerSlab *slab = sampler_slab_of(table, i, live.address);
    if (slab != NULL) {
        put_number(" ", slab->unused);
        put_number(" ", slab->regions);
    }
    put_text("\n");
}

static void
put_stack(const SamplerStack *stack)
{
    const Sums sums = sums_of(stack);
    put_text("@");
    for (size_t i = 0; i < stack->n_frames; i++)
        put_hex(" 0x", stack->frames[i]);
    put_text("\n");
    put_sums(&sums);
}

static void
put_dead(const SamplerStack *stack)
{
    put_number("#died ", stack->size);
    put_number(" ", stack->dead);
    put_number(" ", stack->lifetimes);
    put_wide(stack->squares);
    put_text("\n");
}

static void
put_stacks(const SamplerTable *table, const Lists *lists, uint64_t began)
{
    SamplerStack stack;
    for (uint32_t i = 1; i <= sampler_table_stacks(table); i++) {
        if (!sampler_table_stack(table, i, &stack))
            continue;
        put_stack(&stack);
        for (uint32_t place = lists->first[i]; place != 0; place = lists->next[place - 1])
            put_live(table, place - 1, stack.size, began);
        if (stack.dead > 0)
            put_dead(&stack);
    }
}

static Sums
total_of(const SamplerTable *table)
{
    SamplerStack stack;
    Sums total = {0};
    for (uint32_t i = 1; i <= sampler_table_stacks(table); i++) {
        if (sampler_table_stack(table, i, &stack)) {
            const Sums sums = sums_of(&stack);
            total.objects += sums.objects;
            total.bytes += sums.bytes;
            total.all_objects += sums.all_objects;
            total.all_bytes += sums.all_bytes;
        }
    }
    return total;
}

static void
put_maps(void)
{
    char part[1024];
    ssize_t n;
    const int descriptor = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    put_text("\nMAPPED_LIBRARIES:\n");
    if (descriptor < 0) {
        output.error = errno;
        return;
    }
    while ((n = read(descriptor, part, sizeof(part))) > 0)
        put(part, (size_t)n);
    close(descriptor);
}

int
sampler_dump_write(const SamplerTable *table, const SamplerRecording *recording, SamplerWrite write, void *data)
{
    Lists lists = {0};
    Sums total = {0};
    if (!recording->is_empty && !list_live(table, &lists))
        return ENOMEM;
    output.write = write;
    output.data = data;
    output.n = 0;
    output.error = 0;
    put_number("heap_v2/", UINT64_C(1) << recording->lg);
    put_text("\n#sampler jescope 1");
    if (!recording->is_empty) {
        put_number(" since=", recording->since_us);
        put_number(" window=", (recording->ended_ns - recording->began_ns) / NS_PER_US);
        put_number(" dropped=", atomic_load(&table->figures.lost));
        put_number(" dropped_bytes=", atomic_load(&table->figures.lost_bytes));
        put_number(" thinned=", atomic_load(&table->figures.doublings));
        total = total_of(table);
    }
    put_text("\n");
    put_sums(&total);
    if (!recording->is_empty) {
        put_stacks(table, &lists, recording->began_ns);
        munmap(lists.first, lists.bytes);
    }
    put_maps();
    flush();
    return output.error;
}
