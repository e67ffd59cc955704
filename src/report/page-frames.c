/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page-frames.h"

#include "confine/keyed-hash.h"
#include "text/printable.h"

#include <string.h>

#define HASH_BASIS G_GUINT64_CONSTANT(0xcbf29ce484222325) /* FNV-1a */
#define HASH_PRIME G_GUINT64_CONSTANT(0x100000001b3)

enum {
    FULL_NAME_COLUMNS = 4096,    /* of a complete name; more is cut */
    FULL_NAMES_BYTES = 16 << 20, /* of all complete names; the others only have their short name */
};

/* ---- names ---- */

guint64
page_name_hash(const char *name)
{
    guint64 hash = HASH_BASIS;

    for (; *name != '\0'; name++)
        hash = (hash ^ (guchar)*name) * HASH_PRIME;
    return hash;
}

typedef struct {
    GString *texts;
    GHashTable *offsets; /* of texts shared by several nodes */
} Texts;

static guint32
add_text(Texts *texts, const char *text)
{
    guint32 offset = (guint32)texts->texts->len;

    g_string_append_len(texts->texts, text, (gssize)strlen(text) + 1);
    return offset;
}

static guint32
add_shared(Texts *texts, const char *text)
{
    gpointer found = text ? g_hash_table_lookup(texts->offsets, text) : NULL;

    if (!text || found)
        return GPOINTER_TO_UINT(found);
    guint32 offset = add_text(texts, text);
    g_hash_table_insert(texts->offsets, (gpointer)(guintptr)text, GUINT_TO_POINTER(offset));
    return offset;
}

/* The complete name if it differs from the short one, and there is ROOM for it. */
static guint32
add_full(Texts *texts, const ViewNode *node, gsize *room)
{
    g_autofree char *full = g_str_equal(node->name, node->display) ? NULL : text_cut(node->name, FULL_NAME_COLUMNS);
    gsize size = full ? strlen(full) : 0;
    guint32 offset = full && size <= *room ? add_text(texts, full) : 0;

    *room -= MIN(size, *room);
    return offset;
}

PageNames *
page_names_new(const View *view)
{
    guint32 n = view_n_nodes(view);
    PageNames *names = g_new0(PageNames, 1);
    PageName *rows = g_new0(PageName, (gsize)n + 1);
    Texts texts = {g_string_new_len("", 1), g_hash_table_new(keyed_hash_string, g_str_equal)};
    gsize room = FULL_NAMES_BYTES;

    for (guint32 i = 0; i < n; i++) {
        const ViewNode *node = view_node(view, i);
        rows[i] = (PageName){.hash = page_name_hash(node->display),
                             .name = add_text(&texts, node->display),
                             .full = add_full(&texts, node, &room),
                             .module = add_shared(&texts, node->object),
                             .file = add_shared(&texts, node->file),
                             .line = node->line ? node->line : node->start_line,
                             .origin = node->origin};
    }
    g_hash_table_unref(texts.offsets);
    names->names = rows;
    names->n_names = n;
    names->n_texts = (guint32)texts.texts->len;
    names->texts = g_string_free(texts.texts, FALSE);
    return names;
}

void
page_names_free(PageNames *names)
{
    g_free((gpointer)(guintptr)names->names);
    g_free((gpointer)(guintptr)names->texts);
    g_free(names);
}

static gboolean
are_texts_sound(const PageNames *names)
{
    const char *limit = names->texts + names->n_texts;

    if (names->n_texts == 0 || names->texts[0] != '\0' || limit[-1] != '\0')
        return FALSE;
    for (const char *text = names->texts; text < limit; text += strlen(text) + 1)
        if (!g_utf8_validate(text, -1, NULL))
            return FALSE;
    return TRUE;
}

/* The end of a text is a valid text, too. */
static gboolean
is_text(const PageNames *names, guint32 offset)
{
    return offset < names->n_texts && (names->texts[offset] & 0xc0) != 0x80;
}

gboolean
page_names_are_sound(const PageNames *names)
{
    if (!are_texts_sound(names))
        return FALSE;
    for (guint32 i = 0; i < names->n_names; i++) {
        const PageName *name = &names->names[i];
        if (!is_text(names, name->name) || !is_text(names, name->full) || !is_text(names, name->module) ||
            !is_text(names, name->file))
            return FALSE;
    }
    return TRUE;
}

const char *
page_names_display(const PageNames *names, guint32 node)
{
    return names->texts + names->names[node].name;
}

/* ---- frames ---- */

struct PageFrames {
    const PageNames *names;
    guint32 *numbers; /* per name: its number plus one; 0: not used */
    GArray *nodes;    /* guint32, by number */
};

PageFrames *
page_frames_new(const PageNames *names)
{
    PageFrames *frames = g_new0(PageFrames, 1);

    frames->names = names;
    frames->numbers = g_new0(guint32, (gsize)names->n_names + 1);
    frames->nodes = g_array_new(FALSE, FALSE, sizeof(guint32));
    return frames;
}

void
page_frames_free(PageFrames *frames)
{
    g_array_unref(frames->nodes);
    g_free(frames->numbers);
    g_free(frames);
}

guint32
page_frames_number(PageFrames *frames, guint32 node)
{
    if (frames->numbers[node] == 0) {
        g_array_append_val(frames->nodes, node);
        frames->numbers[node] = frames->nodes->len;
    }
    return frames->numbers[node] - 1;
}

static void
write_column_text(const PageFrames *frames, guint32 offset, Writer *writer)
{
    if (offset != 0)
        writer_json(writer, frames->names->texts + offset);
    else
        writer_text(writer, "null");
}

static void
write_name(const PageFrames *frames, const PageName *name, Writer *writer)
{
    writer_json(writer, frames->names->texts + name->name);
}

static void
write_full(const PageFrames *frames, const PageName *name, Writer *writer)
{
    write_column_text(frames, name->full, writer);
}

static void
write_module(const PageFrames *frames, const PageName *name, Writer *writer)
{
    write_column_text(frames, name->module, writer);
}

static void
write_file(const PageFrames *frames, const PageName *name, Writer *writer)
{
    write_column_text(frames, name->file, writer);
}

static void
write_line(const PageFrames *frames, const PageName *name, Writer *writer)
{
    writer_integer(writer, name->line);
}

static void
write_origin(const PageFrames *frames, const PageName *name, Writer *writer)
{
    writer_integer(writer, name->origin);
}

static const struct {
    const char *name;
    void (*write)(const PageFrames *frames, const PageName *name, Writer *writer);
} columns[] = {
    {"name", write_name}, {"full", write_full}, {"module", write_module},
    {"file", write_file}, {"line", write_line}, {"origin", write_origin},
};

void
page_frames_write(const PageFrames *frames, Writer *writer)
{
    writer_text(writer, "\"frames\":{");
    for (guint column = 0; column < G_N_ELEMENTS(columns); column++) {
        writer_format(writer, "%s\"%s\":[", column ? ",\n" : "", columns[column].name);
        for (guint i = 0; i < frames->nodes->len; i++) {
            writer_text(writer, i ? "," : "");
            columns[column].write(frames, &frames->names->names[g_array_index(frames->nodes, guint32, i)], writer);
        }
        writer_text(writer, "]");
    }
    writer_text(writer, "}");
}
