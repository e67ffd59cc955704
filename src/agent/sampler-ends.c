/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler-ends.h"

#include "agent/sampler-unwind.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    KEYS = 1024,             /* of the C library: PTHREAD_KEYS_MAX */
    TSD_MAX = 16384,         /* bytes of jemalloc's per-thread data, which are 2 to 3 KiB */
    TRIES = 3,               /* the hooks may change in between */
    VARIABLES_MAX = 1 << 20, /* bytes of the C library's variables, which are about 60 KiB */
    NOT_FOUND = KEYS,        /* no key */
};

typedef void Destructor(void *value);

/* struct pthread_key_struct of glibc, since 2.0. The number is odd while the key exists. */
typedef struct {
    uintptr_t number;
    _Atomic(Destructor *) destructor;
} Key;

/* Filled completely before end_thread() is installed. */
static struct {
    Destructor *own; /* jemalloc's; NULL: nothing was installed */
    pthread_key_t key;
    ptrdiff_t distance; /* of jemalloc's per-thread data from the thread's own data: the same in all threads */
    Mallctl mallctl;
} ends;

static ptrdiff_t
distance_from_thread(const void *value)
{
    return (ptrdiff_t)((uintptr_t)value - (uintptr_t)pthread_self());
}

/*
 * Runs in a thread that ends. jemalloc's destructor sets the key again when it is done; it would then be called a
 * second time and do nothing. A call made at that time would make it start again.
 */
static void
end_thread(void *value)
{
    const int saved = errno;
    if (distance_from_thread(value) != ends.distance) {
        ends.own(value);
        return;
    }
    for (int i = 0; i < TRIES; i++) {
        const char *version;
        size_t size = sizeof(version);
        ends.mallctl("version", (void *)&version, &size, NULL, 0);
        ends.own(value);
        if (pthread_getspecific(ends.key) != NULL) {
            pthread_setspecific(ends.key, NULL);
            break;
        }
    }
    errno = saved;
}

/* The destructor of a temporary key. Never called. */
static void
mark_key(void *value)
{
    (void)value;
}

/* The writable memory of the object at BEGIN, which the loader mapped with its headers first. */
static bool
find_writable(uintptr_t begin, uintptr_t *first, uintptr_t *last)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)begin;
    const ElfW(Phdr) *program = (const ElfW(Phdr) *)(begin + header->e_phoff);
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    for (size_t i = 0; i < header->e_phnum; i++)
        if (program[i].p_type == PT_LOAD && (program[i].p_flags & PF_W) != 0) {
            *first = (begin + program[i].p_vaddr + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
            *last = begin + program[i].p_vaddr + program[i].p_memsz;
            return true;
        }
    return false;
}

/* The only place in the C library's variables where KEY, which has the agent's destructor, can be. */
static Key *
find_marked(uintptr_t first, uintptr_t last, pthread_key_t key)
{
    Key *found = NULL;
    for (uintptr_t at = first; at + sizeof(Key) <= last; at += sizeof(uintptr_t)) {
        Key *candidate = (Key *)at;
        if (candidate->destructor != mark_key || candidate->number % 2 == 0)
            continue;
        if (found != NULL || at < first + key * sizeof(Key) || at + (KEYS - key) * sizeof(Key) > last)
            return NULL;
        found = candidate;
    }
    return found;
}

/* The C library's table of keys (__pthread_keys, which programs cannot name): found by a temporary key, whose sequence
 * number must change when it is deleted. */
static Key *
find_keys(void)
{
    uintptr_t begin;
    uintptr_t end;
    uintptr_t first;
    uintptr_t last;
    pthread_key_t key;
    /* Located by a function of the C library that hardly any program replaces or takes the address of. */
    if (!unwind_find_object((uintptr_t)&sigfillset, &begin, &end) || !find_writable(begin, &first, &last) ||
        last - first > VARIABLES_MAX || pthread_key_create(&key, mark_key) != 0)
        return NULL;
    Key *marked = find_marked(first, last, key);
    const uintptr_t number = marked != NULL ? marked->number : 0;
    pthread_key_delete(key);
    return marked != NULL && marked->number == number + 1 ? marked - key : NULL;
}

/* Whether jemalloc's data of this thread can be at VALUE. COUNTER, a part of it, is NULL if jemalloc was built
 * without. */
static bool
can_be_tsd(const void *value, const uint64_t *counter)
{
    return value != NULL && (counter == NULL || (uintptr_t)counter - (uintptr_t)value < TSD_MAX);
}

/* The key by which jemalloc is notified of the end of threads: its destructor is jemalloc's code. */
static pthread_key_t
find_key_of_jemalloc(const Key *keys, const Allocator *allocator)
{
    uintptr_t begin;
    uintptr_t end;
    const uint64_t *counter = NULL;
    pthread_key_t found = NOT_FOUND;
    if (!unwind_find_object((uintptr_t)allocator->mallctl, &begin, &end))
        return NOT_FOUND;
    allocator_read(allocator, "thread.allocatedp", (void *)&counter, sizeof(counter));
    for (pthread_key_t key = 0; key < KEYS; key++) {
        const uintptr_t destructor = (uintptr_t)keys[key].destructor;
        if (keys[key].number % 2 == 0 || destructor - begin >= end - begin ||
            !can_be_tsd(pthread_getspecific(key), counter))
            continue;
        if (found != NOT_FOUND)
            return NOT_FOUND;
        found = key;
    }
    return found;
}

bool
sampler_ends_guard(const Allocator *allocator)
{
    if (ends.own != NULL)
        return ends.mallctl == allocator->mallctl;
    Key *keys = find_keys();
    const pthread_key_t key = keys != NULL ? find_key_of_jemalloc(keys, allocator) : NOT_FOUND;
    if (key == NOT_FOUND)
        return false;
    Destructor *own = keys[key].destructor;
    ends.key = key;
    ends.distance = distance_from_thread(pthread_getspecific(key));
    ends.mallctl = allocator->mallctl;
    ends.own = own;
    if (!atomic_compare_exchange_strong(&keys[key].destructor, &own, end_thread))
        ends.own = NULL;
    return ends.own != NULL;
}
