/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile-proto.h"

#include "confine/keyed-hash.h"
#include "report/proto.h"

struct ProtoStrings {
    GHashTable *indexes; /* text -> index + 1 */
    GPtrArray *texts;    /* owned */
};

ProtoStrings *
proto_strings_new(void)
{
    ProtoStrings *strings = g_new(ProtoStrings, 1);
    strings->indexes = g_hash_table_new(keyed_hash_string, g_str_equal);
    strings->texts = g_ptr_array_new_with_free_func(g_free);
    proto_strings_index(strings, "");
    return strings;
}

void
proto_strings_free(ProtoStrings *strings)
{
    g_hash_table_unref(strings->indexes);
    g_ptr_array_unref(strings->texts);
    g_free(strings);
}

guint64
proto_strings_index(ProtoStrings *strings, const char *text)
{
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(strings->indexes, text != NULL ? text : ""));
    if (found == 0) {
        char *kept = g_strdup(text != NULL ? text : "");
        g_ptr_array_add(strings->texts, kept);
        found = strings->texts->len;
        g_hash_table_insert(strings->indexes, kept, GUINT_TO_POINTER(found));
    }
    return found - 1;
}

const GPtrArray *
proto_strings_all(const ProtoStrings *strings)
{
    return strings->texts;
}

void
proto_value_type(GByteArray *message, ProtoStrings *strings, const char *type, const char *unit)
{
    proto_uint(message, 1, proto_strings_index(strings, type));
    proto_uint(message, 2, proto_strings_index(strings, unit));
}
