/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/keys.h"

#include <string.h>

enum {
    KEYS_SLOTS = 512, /* a power of two, well over twice the number of keys */
};

typedef struct {
    const char *text; /* NULL: free */
    guint8 length;
    guint8 scope;
    gint16 metric;
} Key;

static Key tables[2][KEYS_SLOTS];

/* FNV-1a. */
static guint
hash(StatsScope scope, const char *text, gsize length)
{
    guint32 sum = 2166136261u ^ (guint32)scope;
    for (gsize i = 0; i < length; i++)
        sum = (sum ^ (guchar)text[i]) * 16777619u;
    return (sum ^ (sum >> 15)) & (KEYS_SLOTS - 1);
}

static void
add_key(Key *table, guint metric, const char *text, gsize length)
{
    guint slot = hash(stats_metrics[metric].scope, text, length);
    while (table[slot].text != NULL)
        slot = (slot + 1) & (KEYS_SLOTS - 1);
    table[slot] = (Key){text, (guint8)length, (guint8)stats_metrics[metric].scope, (gint16)metric};
}

static void
add_keys(Key *table, guint metric, const char *list)
{
    while (*list != '\0') {
        gsize length = strcspn(list, " ");
        add_key(table, metric, list, length);
        list += length + strspn(list + length, " ");
    }
}

static const Key *
table_of(KeysOf of)
{
    static gsize ready = 0;
    if (g_once_init_enter(&ready)) {
        for (guint i = 0; i < STATS_METRIC_COUNT; i++) {
            add_keys(tables[KEYS_TEXT], i, stats_metrics[i].text);
            add_keys(tables[KEYS_JSON], i, stats_metrics[i].json);
        }
        g_once_init_leave(&ready, 1);
    }
    return tables[of];
}

int
keys_find(KeysOf of, StatsScope scope, const char *key, gsize length)
{
    const Key *table = table_of(of);
    for (guint slot = hash(scope, key, length); table[slot].text != NULL; slot = (slot + 1) & (KEYS_SLOTS - 1)) {
        const Key *at = &table[slot];
        if (at->length == length && at->scope == scope && memcmp(at->text, key, length) == 0)
            return at->metric;
    }
    return -1;
}
