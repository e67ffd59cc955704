/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/intern.h"

#include "confine/keyed-hash.h"
#include "text/printable.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

enum {
    LENGTH_MAX = 512,
};

typedef struct {
    guint references;
    char text[];
} Interned;

static GMutex lock;             /* for the table and all counts */
static GHashTable *all_by_text; /* set of Interned.text */

static Interned *
interned_of(const char *text)
{
    return (Interned *)(gpointer)((guintptr)text - offsetof(Interned, text));
}

static void
before_fork(void)
{
    g_mutex_lock(&lock);
}

static void
after_fork(void)
{
    g_mutex_unlock(&lock);
}

/* With the lock. A child that reads a log is a fork of a process whose other threads may intern strings. */
static void
set_up(void)
{
    if (all_by_text != NULL)
        return;
    all_by_text = g_hash_table_new(keyed_hash_string, g_str_equal);
    pthread_atfork(before_fork, after_fork, after_fork);
}

/* Without a reference. */
static const char *
add(const char *text)
{
    gsize size = strlen(text) + 1;
    Interned *interned = g_malloc(sizeof(*interned) + size);
    interned->references = 0;
    memcpy(interned->text, text, size);
    g_hash_table_add(all_by_text, interned->text);
    return interned->text;
}

const char *
stats_intern(const char *text, gsize length)
{
    char copy[LENGTH_MAX + 1];
    if (length > LENGTH_MAX)
        return NULL;
    const gsize used = strnlen(text, length);
    memcpy(copy, text, used);
    copy[used] = '\0';
    g_mutex_lock(&lock);
    set_up();
    const char *known = g_hash_table_lookup(all_by_text, copy);
    /* Known strings are already printable. */
    if (known == NULL) {
        text_clean_line(copy, used + 1);
        known = g_hash_table_lookup(all_by_text, copy);
    }
    if (known == NULL)
        known = add(copy);
    interned_of(known)->references++;
    g_mutex_unlock(&lock);
    return known;
}

const char *
stats_intern_ref(const char *interned)
{
    if (interned == NULL)
        return NULL;
    g_mutex_lock(&lock);
    interned_of(interned)->references++;
    g_mutex_unlock(&lock);
    return interned;
}

void
stats_intern_unref(const char *interned)
{
    if (interned == NULL)
        return;
    g_mutex_lock(&lock);
    gboolean last = --interned_of(interned)->references == 0;
    if (last)
        g_hash_table_remove(all_by_text, interned);
    g_mutex_unlock(&lock);
    if (last)
        g_free(interned_of(interned));
}

void
stats_intern_replace(const char **place, const char *text, gsize length)
{
    const char *former = *place;
    *place = stats_intern(text, length);
    stats_intern_unref(former);
}
