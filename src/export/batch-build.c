/* SPDX-License-Identifier: Apache-2.0 */
#include "export/batch-build.h"

#include "confine/keyed-hash.h"
#include "export/batch-circumstances.h"
#include "export/batch-form.h"
#include "profile/capture.h"
#include "report/units.h"
#include "text/printable.h"

#include <string.h>

typedef struct {
    const ReportInput *input;
    const BatchCircumstances *circumstances;
    GPtrArray *strings;        /* by index; owned */
    GHashTable *string_index;  /* string -> index + 1 */
    GArray *locations, *lines; /* as in Batch */
    GArray *stacks, *frames;
    guint64 *identities;     /* of each location of the profile: stable identity */
    gsize *sizes;            /* of each location of the profile: bytes of its names */
    gsize names_left;        /* remaining bytes of BATCH_MAX_NAMES */
    guint32 *rows;           /* of each stack of the profile: index in STACKS */
    GHashTable *row_of_hash; /* guint64 -> index + 1 */
    ProfileValue values[PROFILE_N_VALUES];
    gsize n_values;
    guint64 folded;
} Build;

/* ---- strings ---- */

static guint32
string_index(Build *build, const char *text)
{
    g_autofree char *clean = text_printable(text != NULL ? text : "");
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(build->string_index, clean));
    if (found == 0) {
        g_hash_table_insert(build->string_index, clean, GUINT_TO_POINTER(build->strings->len + 1));
        g_ptr_array_add(build->strings, g_steal_pointer(&clean));
        found = build->strings->len;
    }
    return found - 1;
}

/* ---- places in the code ---- */

static const char *
build_id_of(const ReportInput *input, guint32 object)
{
    const SymbolObject *symbols = symbols_object(input->symbols, object);
    return symbols->build_id != NULL ? symbols->build_id : "";
}

static guint64
first_bytes(GChecksum *checksum)
{
    guint8 digest[32];
    gsize size = sizeof(digest);
    guint64 number;
    g_checksum_get_digest(checksum, digest, &size);
    memcpy(&number, digest, sizeof(number));
    return GUINT64_FROM_BE(number);
}

/* A stable identity of the location, from the build id of its file, or the file's name if it has none. */
static guint64
identify_location(const ReportInput *input, const ProfileLocation *location)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    guint64 offset = GUINT64_TO_BE(location->object != PROFILE_NONE ? location->file_offset : location->address);
    if (location->object != PROFILE_NONE) {
        const char *build_id = build_id_of(input, location->object);
        g_autofree char *base = g_path_get_basename(profile_objects(input->profile)[location->object].path);
        const char *name = build_id[0] != '\0' ? build_id : base;
        g_checksum_update(checksum, (const guchar *)name, (gssize)strlen(name));
    }
    g_checksum_update(checksum, (const guchar *)&offset, sizeof(offset));
    return first_bytes(checksum);
}

/* Appends a line; returns the size of its names. */
static gsize
add_line(Build *build, const SymbolFrame *frame)
{
    const BatchLine line = {.function = string_index(build, frame->function),
                            .system_name = string_index(build, frame->system_name),
                            .file = string_index(build, frame->file),
                            .line = frame->line};
    g_array_append_val(build->lines, line);
    return batch_line_bytes(build->strings->pdata[line.function], build->strings->pdata[line.file]);
}

static gsize
object_bytes(const ReportInput *input, guint32 object)
{
    if (object == PROFILE_NONE)
        return batch_object_bytes(NULL);
    g_autofree char *path = text_printable(profile_objects(input->profile)[object].path);
    return batch_object_bytes(&(BatchObject){path, build_id_of(input, object)});
}

static void
add_locations(Build *build)
{
    const Profile *profile = build->input->profile;
    build->identities = g_new(guint64, profile_n_locations(profile) + 1);
    build->sizes = g_new(gsize, profile_n_locations(profile) + 1);
    for (guint32 i = 0; i < profile_n_locations(profile); i++) {
        const ProfileLocation *location = &profile_locations(profile)[i];
        const Symbol *symbol = symbols_location(build->input->symbols, i);
        gboolean in_file = location->object != PROFILE_NONE;
        const BatchLocation place = {.offset = in_file ? location->file_offset : location->address,
                                     .object = in_file ? location->object : BATCH_NONE,
                                     .first_line = build->lines->len,
                                     .n_lines = symbol->n_frames,
                                     .named = symbol->frames[0].known};
        build->sizes[i] = object_bytes(build->input, location->object);
        for (guint32 frame = 0; frame < symbol->n_frames; frame++)
            build->sizes[i] += add_line(build, &symbol->frames[frame]);
        g_array_append_val(build->locations, place);
        build->identities[i] = identify_location(build->input, location);
    }
}

/* ---- stacks ---- */

/* The hash of a stack, always above BATCH_REST. */
static guint64
hash_stack(const Build *build, const ProfileStack *stack)
{
    const guint32 *frames = profile_frames(build->input->profile) + stack->first;
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    for (guint32 i = 0; i < stack->depth; i++) {
        guint64 identity = GUINT64_TO_BE(build->identities[frames[i]]);
        g_checksum_update(checksum, (const guchar *)&identity, sizeof(identity));
    }
    return MAX(first_bytes(checksum), BATCH_REST + 1);
}

/* The index of the stack with this hash; if it is new, the caller has to add its frames. */
static guint32
row_of(Build *build, guint64 hash, gboolean *is_new)
{
    guint row = GPOINTER_TO_UINT(g_hash_table_lookup(build->row_of_hash, &hash));
    *is_new = row == 0;
    if (row != 0)
        return row - 1;
    const BatchStack stack = {.hash = hash, .first = build->frames->len};
    g_array_append_val(build->stacks, stack);
    g_hash_table_insert(build->row_of_hash, g_memdup2(&hash, sizeof(hash)), GUINT_TO_POINTER(build->stacks->len));
    return build->stacks->len - 1;
}

static void
add_frames(Build *build, guint32 row, const guint32 *frames, guint32 n)
{
    g_array_append_vals(build->frames, frames, n);
    g_array_index(build->stacks, BatchStack, row).depth = n;
}

/* Adds a location without an address, for a stack without frames. */
static guint32
add_placeholder(Build *build, const char *name)
{
    const SymbolFrame frame = {.function = name, .system_name = name};
    const BatchLocation place = {.object = BATCH_NONE, .first_line = build->lines->len, .n_lines = 1};
    add_line(build, &frame);
    g_array_append_val(build->locations, place);
    return build->locations->len - 1;
}

/* Reserves space for the names of the stack's frames; FALSE if there is not enough. */
static gboolean
take_names(Build *build, const ProfileStack *stack)
{
    const guint32 *frames = profile_frames(build->input->profile) + stack->first;
    gsize bytes = 0;
    for (guint32 i = 0; i < stack->depth && bytes <= BATCH_MAX_STACK_NAMES; i++)
        bytes += build->sizes[frames[i]];
    if (bytes > BATCH_MAX_STACK_NAMES || bytes > build->names_left)
        return FALSE;
    build->names_left -= bytes;
    return TRUE;
}

static guint32
row_of_stack(Build *build, const ProfileStack *stack)
{
    gboolean is_new;
    guint32 row = row_of(build, hash_stack(build, stack), &is_new);
    if (is_new && stack->depth > 0) {
        add_frames(build, row, profile_frames(build->input->profile) + stack->first, stack->depth);
    } else if (is_new) {
        guint32 place = add_placeholder(build, "[no stack]");
        add_frames(build, row, &place, 1);
    }
    return row;
}

static guint32
row_of_rest(Build *build)
{
    gboolean is_new;
    guint32 row = row_of(build, BATCH_REST, &is_new);
    if (is_new) {
        guint32 place = add_placeholder(build, "[other stacks]");
        add_frames(build, row, &place, 1);
    }
    build->folded++;
    return row;
}

static guint32
row_of_profile(Build *build, const ProfileStack *stack)
{
    gboolean fits = build->stacks->len < BATCH_MAX_STACKS - 1 && take_names(build, stack);
    return fits ? row_of_stack(build, stack) : row_of_rest(build);
}

/* The weight by which stacks are ordered: bytes in use, and with a much smaller weight, bytes allocated. */
static gdouble
weight_of(const Profile *profile, guint32 stack)
{
    const ProfileWeight *weight = &profile_weights(profile)[stack];
    gdouble allocated = profile_has_value(profile, PROFILE_ALLOC_SPACE) ? weight->estimate[PROFILE_ALLOC_SPACE] : 0;
    return weight->estimate[PROFILE_INUSE_SPACE] + allocated / (gdouble)(1 << 20);
}

static gint
heavier(gconstpointer a, gconstpointer b, gpointer profile)
{
    guint32 one = *(const guint32 *)a, other = *(const guint32 *)b;
    gdouble difference = weight_of(profile, other) - weight_of(profile, one);
    return difference > 0 ? 1 : difference < 0 ? -1 : one < other ? -1 : one > other;
}

static void
add_stacks(Build *build)
{
    const Profile *profile = build->input->profile;
    guint32 n = profile_n_stacks(profile);
    g_autofree guint32 *order = g_new(guint32, n + 1);
    build->rows = g_new(guint32, n + 1);
    for (guint32 i = 0; i < n; i++)
        order[i] = i;
    g_qsort_with_data(order, (gint)n, sizeof(*order), heavier, (gpointer)(gsize)profile);
    for (guint32 i = 0; i < n; i++)
        build->rows[order[i]] = row_of_profile(build, &profile_stacks(profile)[order[i]]);
}

/* ---- numbers ---- */

static GVariant *
fixed(const char *type, gconstpointer elements, gsize n, gsize size)
{
    return g_variant_new_fixed_array(G_VARIANT_TYPE(type), elements, n, size);
}

static GVariant *
of_array(const char *type, const GArray *array)
{
    return fixed(type, array->data, array->len, g_array_get_element_size((GArray *)(gsize)array));
}

/* WHICH is ProfileWeight.estimate or .variance. */
static void
add_numbers(const Build *build, const gdouble *which, gdouble *to)
{
    for (gsize i = 0; i < build->n_values; i++)
        to[i] += which[build->values[i]];
}

static void
add_samples(const Build *build, GVariantBuilder *root)
{
    const Profile *profile = build->input->profile;
    gsize n = build->stacks->len, cells = n * build->n_values;
    g_autofree gdouble *estimates = g_new0(gdouble, cells + 1), *variances = g_new0(gdouble, cells + 1);
    g_autofree gdouble *lives = g_new0(gdouble, 2 * n + 1);
    gboolean has_lives = profile_has_value(profile, PROFILE_ALLOC_OBJECTS);
    for (guint32 i = 0; i < profile_n_stacks(profile); i++) {
        const ProfileWeight *weight = &profile_weights(profile)[i];
        gsize row = build->rows[i];
        add_numbers(build, weight->estimate, estimates + row * build->n_values);
        add_numbers(build, weight->variance, variances + row * build->n_values);
        lives[2 * row] += has_lives ? weight->births : 0;
        lives[2 * row + 1] += has_lives ? weight->deaths : 0;
    }
    g_variant_builder_add_value(root, fixed("d", estimates, cells, sizeof(gdouble)));
    g_variant_builder_add_value(root, fixed("d", variances, cells, sizeof(gdouble)));
    g_variant_builder_add_value(root, fixed("d", lives, 2 * n, sizeof(gdouble)));
}

static void
add_total(const Build *build, GVariantBuilder *root)
{
    const ProfileWeight *weight = profile_total(build->input->profile);
    gdouble total[2 * PROFILE_N_VALUES] = {0};
    add_numbers(build, weight->estimate, total);
    add_numbers(build, weight->variance, total + build->n_values);
    g_variant_builder_add_value(root, fixed("d", total, 2 * build->n_values, sizeof(gdouble)));
}

/* ---- objects and metrics ---- */

static void
add_objects(const Build *build, GVariantBuilder *root)
{
    const Profile *profile = build->input->profile;
    g_variant_builder_open(root, G_VARIANT_TYPE("a(ss)"));
    for (guint32 i = 0; i < profile_n_objects(profile); i++)
        circumstances_add_pair(root, profile_objects(profile)[i].path, build_id_of(build->input, i));
    g_variant_builder_close(root);
}

static void
add_values(const Build *build, GVariantBuilder *root)
{
    g_variant_builder_open(root, G_VARIANT_TYPE("a(ss)"));
    for (gsize i = 0; i < build->n_values; i++)
        circumstances_add_pair(root, report_value_name(build->values[i]), value_unit(build->values[i]));
    g_variant_builder_close(root);
}

/* Adds the metrics that jescope has recorded in the dump. */
static void
add_captured(const Profile *profile, GVariantBuilder *root)
{
    const ProfileCapture *capture = profile_capture(profile);
    guint64 held;
    if (profile_held(profile, &held))
        g_variant_builder_add(root, "(sbd)", "held", FALSE, (gdouble)held);
    if (capture == NULL || (capture->flags & CAPTURE_HAS_MEMORY) == 0)
        return;
    g_variant_builder_add(root, "(sbd)", "allocated", FALSE, (gdouble)capture->allocated);
    if (capture->resident != 0)
        g_variant_builder_add(root, "(sbd)", "resident", FALSE, (gdouble)capture->resident);
}

static void
add_metrics(const Build *build, GVariantBuilder *root)
{
    const StatsSample *sample = build->circumstances->sample;
    g_variant_builder_open(root, G_VARIANT_TYPE("a(sbd)"));
    if (sample != NULL)
        circumstances_add_sample(sample, root);
    else
        add_captured(build->input->profile, root);
    g_variant_builder_close(root);
}

/* ---- the dump ---- */

/* The executable's object: the first file that is not a shared library, or PROFILE_NONE. */
static guint32
program_object(const Build *build)
{
    const Profile *profile = build->input->profile;
    const char *program = build->circumstances->program;
    for (guint32 i = 0; i < profile_n_objects(profile); i++) {
        const ProfileObject *object = &profile_objects(profile)[i];
        gboolean is_file = (object->flags & (PROFILE_OBJECT_ANONYMOUS | PROFILE_OBJECT_VDSO)) == 0;
        if (program != NULL ? g_str_equal(object->path, program) : is_file && strstr(object->path, ".so") == NULL)
            return i;
    }
    return PROFILE_NONE;
}

/* The batch's id: a hash of the dump's bytes, if present, and of the facts that distinguish processes with equal
 * dumps. */
static char *
identify(const Build *build, const BatchDump *dump)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree char *process =
        g_strdup_printf("%s %" G_GINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n%s", dump->host,
                        dump->time, dump->pid, dump->start, dump->service);
    gsize size = 0;
    gconstpointer text = build->input->text != NULL ? g_bytes_get_data(build->input->text, &size) : NULL;
    g_checksum_update(checksum, (const guchar *)process, (gssize)strlen(process) + 1);
    g_checksum_update(checksum, text, (gssize)size);
    return g_strndup(g_checksum_get_string(checksum), BATCH_ID);
}

/* The time of the dump; 0 (unknown) if invalid, since the dumped process controls its text. */
static gint64
time_of(const ReportInput *input)
{
    const ProfileCapture *capture = profile_capture(input->profile);
    if (capture != NULL && capture->time > 0)
        return capture->time <= (guint64)BATCH_TIME_MAX ? (gint64)capture->time : 0;
    return input->time > 0 && input->time <= BATCH_TIME_MAX / G_USEC_PER_SEC ? input->time * G_USEC_PER_SEC : 0;
}

static void
add_dump(const Build *build, GVariantBuilder *root)
{
    const BatchCircumstances *given = build->circumstances;
    const Profile *profile = build->input->profile;
    const ProfileCapture *capture = profile_capture(profile);
    guint32 object = program_object(build);
    const char *path = given->program != NULL   ? given->program
                       : object != PROFILE_NONE ? profile_objects(profile)[object].path
                                                : "";
    g_autofree char *program = text_printable(path), *base = g_path_get_basename(program);
    g_autofree char *service = text_printable(given->service != NULL ? given->service
                                              : program[0] != '\0'   ? base
                                                                     : "unknown");
    g_autofree char *host = text_printable(given->host);
    BatchDump dump = {.service = service,
                      .host = host,
                      .time = time_of(build->input),
                      .period = profile_period(profile),
                      .folded = build->folded};
    if (capture != NULL) {
        dump.since = (gint64)MIN(capture->since, (guint64)BATCH_TIME_MAX);
        dump.pid = capture->pid;
        dump.start = capture->start;
    }
    circumstances_correct(given, &dump);
    dump.since = MIN(dump.since, dump.time);
    g_autofree char *id = identify(build, &dump);
    g_variant_builder_add(root, BATCH_FORM_DUMP, id, service, host, program,
                          object != PROFILE_NONE ? build_id_of(build->input, object) : "", dump.time, dump.since,
                          dump.pid, dump.start, dump.period, dump.folded);
}

static gboolean
add_heap(const Build *build, GVariantBuilder *root, GError **error)
{
    g_autoptr(GOutputStream) memory = g_memory_output_stream_new_resizable();
    g_autoptr(GConverter) gzip = G_CONVERTER(g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, -1));
    g_autoptr(GOutputStream) out = g_converter_output_stream_new(memory, gzip);
    ReportOptions options;
    report_options_init(&options);
    if (build->circumstances->with_heap &&
        !report_write(report_format_find("symbolized"), build->input, NULL, &options, out, error))
        return FALSE;
    if (build->circumstances->with_heap && !g_output_stream_close(out, NULL, error))
        return FALSE;
    GMemoryOutputStream *written = G_MEMORY_OUTPUT_STREAM(memory);
    gsize size = build->circumstances->with_heap ? g_memory_output_stream_get_data_size(written) : 0;
    g_variant_builder_add_value(root, fixed("y", g_memory_output_stream_get_data(written), size, 1));
    return TRUE;
}

/* ---- the batch ---- */

static void
build_begin(Build *build)
{
    build->strings = g_ptr_array_new_with_free_func(g_free);
    build->string_index = g_hash_table_new(keyed_hash_string, g_str_equal);
    build->locations = g_array_new(FALSE, TRUE, sizeof(BatchLocation));
    build->lines = g_array_new(FALSE, FALSE, sizeof(BatchLine));
    build->stacks = g_array_new(FALSE, FALSE, sizeof(BatchStack));
    build->frames = g_array_new(FALSE, FALSE, sizeof(guint32));
    build->row_of_hash = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, g_free, NULL);
    for (ProfileValue value = 0; value < PROFILE_N_VALUES; value++)
        if (profile_has_value(build->input->profile, value))
            build->values[build->n_values++] = value;
}

static void
build_end(Build *build)
{
    g_hash_table_unref(build->string_index);
    g_ptr_array_unref(build->strings);
    g_array_unref(build->locations);
    g_array_unref(build->lines);
    g_array_unref(build->stacks);
    g_array_unref(build->frames);
    g_hash_table_unref(build->row_of_hash);
    g_free(build->identities);
    g_free(build->sizes);
    g_free(build->rows);
}

G_STATIC_ASSERT((int)PROFILE_N_VALUES <= (int)BATCH_MAX_VALUES);

GBytes *
batch_build(const ReportInput *input, const BatchCircumstances *circumstances, GError **error)
{
    Build build = {
        .input = input, .circumstances = circumstances, .names_left = BATCH_MAX_NAMES - BATCH_MAX_STACK_NAMES};
    g_auto(GVariantBuilder) root = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE(BATCH_FORM));
    build_begin(&build);
    add_locations(&build);
    add_stacks(&build);
    g_variant_builder_add(&root, "u", (guint32)BATCH_VERSION);
    add_dump(&build, &root);
    circumstances_add_labels(circumstances, &root);
    g_variant_builder_add_value(
        &root, g_variant_new_strv((const char *const *)(gpointer)build.strings->pdata, (gssize)build.strings->len));
    add_objects(&build, &root);
    g_variant_builder_add_value(&root, of_array(BATCH_FORM_PLACES, build.locations));
    g_variant_builder_add_value(&root, of_array(BATCH_FORM_LINES, build.lines));
    g_variant_builder_add_value(&root, of_array(BATCH_FORM_STACKS, build.stacks));
    g_variant_builder_add_value(&root, of_array("u", build.frames));
    add_values(&build, &root);
    add_total(&build, &root);
    add_samples(&build, &root);
    circumstances_add_ledger(circumstances, &root);
    add_metrics(&build, &root);
    g_autoptr(GVariant) batch =
        add_heap(&build, &root, error) ? g_variant_ref_sink(g_variant_builder_end(&root)) : NULL;
    build_end(&build);
    if (batch == NULL || g_variant_get_size(batch) <= BATCH_MAX_BYTES)
        return batch != NULL ? g_variant_get_data_as_bytes(batch) : NULL;
    g_set_error(error, BATCH_ERROR, BATCH_ERROR_FORMAT, "%s: its batch would be larger than %d MiB", input->name,
                BATCH_MAX_BYTES >> 20);
    return NULL;
}
