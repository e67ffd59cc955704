/* SPDX-License-Identifier: Apache-2.0 */
#include "export/batch.h"

#include "export/batch-form.h"
#include "text/printable.h"

#include <math.h>
#include <string.h>

G_DEFINE_QUARK(batch - error - quark, batch_error)

/* A Batch and the memory that it points into. */
typedef struct {
    Batch batch;
    GVariant *children[BATCH_CHILDREN];
    const gdouble *estimates, *variances, *lives;
} Reading;

/* ---- arrays of fixed-size elements, used in place ---- */

static const void *
fixed(const Reading *reading, guint child, gsize size, gsize *n)
{
    return g_variant_get_fixed_array(reading->children[child], n, size);
}

static gboolean
take_numbers(Reading *reading)
{
    Batch *batch = &reading->batch;
    gsize estimates, variances, lives, total;
    batch->locations = fixed(reading, BATCH_CHILD_LOCATIONS, sizeof(BatchLocation), &batch->n_locations);
    batch->lines = fixed(reading, BATCH_CHILD_LINES, sizeof(BatchLine), &batch->n_lines);
    batch->stacks = fixed(reading, BATCH_CHILD_STACKS, sizeof(BatchStack), &batch->n_stacks);
    batch->frames = fixed(reading, BATCH_CHILD_FRAMES, sizeof(guint32), &batch->n_frames);
    reading->estimates = fixed(reading, BATCH_CHILD_ESTIMATES, sizeof(gdouble), &estimates);
    reading->variances = fixed(reading, BATCH_CHILD_VARIANCES, sizeof(gdouble), &variances);
    reading->lives = fixed(reading, BATCH_CHILD_LIVES, sizeof(gdouble), &lives);
    batch->total = fixed(reading, BATCH_CHILD_TOTAL, sizeof(gdouble), &total);
    batch->heap = fixed(reading, BATCH_CHILD_HEAP, 1, &batch->heap_size);
    return batch->n_stacks <= BATCH_MAX_STACKS && estimates == batch->n_stacks * batch->n_values &&
           variances == estimates && lives == 2 * batch->n_stacks && total == 2 * batch->n_values;
}

/* ---- arrays with strings ---- */

static gboolean
are_printable(const char *const *texts, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (!text_is_printable(texts[i]))
            return FALSE;
    return TRUE;
}

/* Reads a(ss) into an array of structs, each of which begins with two strings. */
static const void *
take_pairs(const Reading *reading, guint child, gsize *n)
{
    GVariant *array = reading->children[child];
    *n = g_variant_n_children(array);
    const char **pairs = g_new(const char *, 2 * *n);
    for (gsize i = 0; i < *n; i++)
        g_variant_get_child(array, i, "(&s&s)", &pairs[2 * i], &pairs[2 * i + 1]);
    return pairs;
}

G_STATIC_ASSERT(sizeof(BatchLabel) == 2 * sizeof(char *));
G_STATIC_ASSERT(sizeof(BatchObject) == 2 * sizeof(char *));
G_STATIC_ASSERT(sizeof(BatchValue) == 2 * sizeof(char *));

static gboolean
take_ledger(Reading *reading)
{
    GVariant *array = reading->children[BATCH_CHILD_LEDGER];
    Batch *batch = &reading->batch;
    batch->n_ledger = g_variant_n_children(array);
    BatchLedgerLine *lines = g_new(BatchLedgerLine, batch->n_ledger);
    batch->ledger = lines;
    for (gsize i = 0; i < batch->n_ledger; i++) {
        g_variant_get_child(array, i, "(&sxxx)", &lines[i].name, &lines[i].bytes, &lines[i].low, &lines[i].high);
        if (!text_is_printable(lines[i].name))
            return FALSE;
    }
    return TRUE;
}

static gboolean
take_metrics(Reading *reading)
{
    GVariant *array = reading->children[BATCH_CHILD_METRICS];
    Batch *batch = &reading->batch;
    batch->n_metrics = g_variant_n_children(array);
    BatchMetric *metrics = g_new(BatchMetric, batch->n_metrics);
    batch->metrics = metrics;
    for (gsize i = 0; i < batch->n_metrics; i++) {
        g_variant_get_child(array, i, "(&sbd)", &metrics[i].name, &metrics[i].counter, &metrics[i].value);
        if (!text_is_printable(metrics[i].name) || !isfinite(metrics[i].value))
            return FALSE;
    }
    return TRUE;
}

static gboolean
take_texts(Reading *reading)
{
    Batch *batch = &reading->batch;
    batch->strings = g_variant_get_strv(reading->children[BATCH_CHILD_STRINGS], &batch->n_strings);
    batch->labels = take_pairs(reading, BATCH_CHILD_LABELS, &batch->n_labels);
    batch->objects = take_pairs(reading, BATCH_CHILD_OBJECTS, &batch->n_objects);
    batch->values = take_pairs(reading, BATCH_CHILD_VALUES, &batch->n_values);
    return batch->n_values <= BATCH_MAX_VALUES && are_printable(batch->strings, batch->n_strings) &&
           are_printable((const char *const *)(gconstpointer)batch->labels, 2 * batch->n_labels) &&
           are_printable((const char *const *)(gconstpointer)batch->objects, 2 * batch->n_objects) &&
           are_printable((const char *const *)(gconstpointer)batch->values, 2 * batch->n_values) &&
           take_ledger(reading) && take_metrics(reading);
}

static gboolean
take_dump(Reading *reading)
{
    BatchDump *dump = &reading->batch.dump;
    g_variant_get(reading->children[BATCH_CHILD_DUMP], "(&s&s&s&s&sxxtttt)", &dump->id, &dump->service, &dump->host,
                  &dump->program, &dump->build_id, &dump->time, &dump->since, &dump->pid, &dump->start, &dump->period,
                  &dump->folded);
    const char *const texts[] = {dump->service, dump->host, dump->program, dump->build_id};
    return strlen(dump->id) == BATCH_ID && strspn(dump->id, "0123456789abcdef") == BATCH_ID && dump->time >= 0 &&
           dump->time <= BATCH_TIME_MAX && dump->since >= 0 && are_printable(texts, G_N_ELEMENTS(texts));
}

/* ---- consistency checks ---- */

static gboolean
is_label(const char *name)
{
    return name[0] != '\0' && !g_ascii_isdigit(name[0]) &&
           strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_") == strlen(name);
}

static gboolean
check_labels(const Batch *batch)
{
    for (gsize i = 0; i < batch->n_labels; i++)
        if (!is_label(batch->labels[i].name) || batch->labels[i].value[0] == '\0')
            return FALSE;
    return TRUE;
}

gsize
batch_object_bytes(const BatchObject *object)
{
    enum { NUMBERS = 48 };
    return NUMBERS + (object != NULL ? strlen(object->path) + strlen(object->build_id) : 0);
}

/* The function is written twice: alone, and with its location. */
gsize
batch_line_bytes(const char *function, const char *file)
{
    enum { PUNCTUATION = 16 };
    return PUNCTUATION + 2 * strlen(function) + strlen(file);
}

static gboolean
check_locations(const Batch *batch)
{
    for (gsize i = 0; i < batch->n_lines; i++)
        if (MAX(MAX(batch->lines[i].function, batch->lines[i].system_name), batch->lines[i].file) >= batch->n_strings)
            return FALSE;
    for (gsize i = 0; i < batch->n_locations; i++) {
        const BatchLocation *location = &batch->locations[i];
        if ((location->object >= batch->n_objects && location->object != BATCH_NONE) || location->n_lines == 0 ||
            location->first_line > batch->n_lines || location->n_lines > batch->n_lines - location->first_line)
            return FALSE;
    }
    return TRUE;
}

static gsize
location_bytes(const Batch *batch, const BatchLocation *location)
{
    gsize bytes = batch_object_bytes(location->object != BATCH_NONE ? &batch->objects[location->object] : NULL);
    for (guint32 i = 0; i < location->n_lines && bytes <= BATCH_MAX_STACK_NAMES; i++) {
        const BatchLine *line = &batch->lines[location->first_line + i];
        bytes += batch_line_bytes(batch->strings[line->function], batch->strings[line->file]);
    }
    return bytes;
}

/* Checks the stack, and that the names of its frames fit into *LEFT, which it reduces. SIZES has the bytes per
 * location. */
static gboolean
check_stack(const Batch *batch, const BatchStack *stack, const gsize *sizes, gsize *left)
{
    gsize bytes = 0;
    if (stack->depth == 0 || stack->first > batch->n_frames || stack->depth > batch->n_frames - stack->first)
        return FALSE;
    for (guint32 i = 0; i < stack->depth && bytes <= BATCH_MAX_STACK_NAMES; i++)
        bytes += sizes[batch->frames[stack->first + i]];
    if (bytes > BATCH_MAX_STACK_NAMES || bytes > *left)
        return FALSE;
    *left -= bytes;
    return TRUE;
}

static gboolean
check_stacks(const Batch *batch)
{
    gsize left = BATCH_MAX_NAMES, all = 0;
    g_autofree gsize *sizes = g_new(gsize, batch->n_locations + 1);
    for (gsize i = 0; i < batch->n_frames; i++)
        if (batch->frames[i] >= batch->n_locations)
            return FALSE;
    for (gsize i = 0; i < batch->n_locations && all <= BATCH_MAX_NAMES; i++)
        all += sizes[i] = location_bytes(batch, &batch->locations[i]);
    if (all > BATCH_MAX_NAMES)
        return FALSE;
    for (gsize i = 0; i < batch->n_stacks; i++)
        if (!check_stack(batch, &batch->stacks[i], sizes, &left))
            return FALSE;
    return TRUE;
}

static gboolean
are_finite(const gdouble *numbers, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (!isfinite(numbers[i]))
            return FALSE;
    return TRUE;
}

static gboolean
check_samples(const Reading *reading)
{
    const Batch *batch = &reading->batch;
    return are_finite(reading->estimates, batch->n_stacks * batch->n_values) &&
           are_finite(reading->variances, batch->n_stacks * batch->n_values) &&
           are_finite(reading->lives, 2 * batch->n_stacks) && are_finite(batch->total, 2 * batch->n_values);
}

static gboolean
take_all(Reading *reading, GVariant *root)
{
    guint32 version;
    for (guint i = 0; i < BATCH_CHILDREN; i++)
        reading->children[i] = g_variant_get_child_value(root, i);
    version = g_variant_get_uint32(reading->children[BATCH_CHILD_VERSION]);
    return version == BATCH_VERSION && take_dump(reading) && take_texts(reading) && take_numbers(reading) &&
           check_labels(&reading->batch) && check_locations(&reading->batch) && check_stacks(&reading->batch) &&
           check_samples(reading);
}

Batch *
batch_read(GBytes *bytes, GError **error)
{
    g_autoptr(GVariant) root = NULL;
    if (g_bytes_get_size(bytes) <= BATCH_MAX_BYTES) {
        root = g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(BATCH_FORM), bytes, FALSE));
        Reading *reading = g_new0(Reading, 1);
        if (g_variant_is_normal_form(root) && take_all(reading, root))
            return &reading->batch;
        batch_free(&reading->batch);
    }
    g_set_error(error, BATCH_ERROR, BATCH_ERROR_FORMAT, "it is not a batch of this version of jescope, or damaged");
    return NULL;
}

void
batch_free(Batch *batch)
{
    Reading *reading = (Reading *)batch;
    for (guint i = 0; i < BATCH_CHILDREN; i++)
        g_clear_pointer(&reading->children[i], g_variant_unref);
    gconstpointer const arrays[] = {batch->strings, batch->labels, batch->objects,
                                    batch->values,  batch->ledger, batch->metrics};
    for (gsize i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_free((gpointer)(gsize)arrays[i]);
    g_free(reading);
}

BatchSample
batch_sample(const Batch *batch, gsize stack)
{
    const Reading *reading = (const Reading *)batch;
    return (BatchSample){.estimate = reading->estimates + stack * batch->n_values,
                         .variance = reading->variances + stack * batch->n_values,
                         .births = reading->lives[2 * stack],
                         .deaths = reading->lives[2 * stack + 1]};
}

int
batch_value(const Batch *batch, const char *name)
{
    for (gsize i = 0; i < batch->n_values; i++)
        if (g_str_equal(batch->values[i].name, name))
            return (int)i;
    return -1;
}
