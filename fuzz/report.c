/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump that contains its names, in every format of report: byte 0 chooses the format, byte 1 the options. No file of
 * this machine is read.
 */
#include "report/report.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    ReportInput now;
    const ReportFormat *format;
    ReportOptions options;
    gboolean with_base;
} Task;

/* No files are found, so the names in the dump are used. */
static const SymbolizeOptions nowhere = {.sysroot = "/nonexistent", .no_cache = TRUE, .owner = 65534};

static const char *const notes[] = {"a note", NULL};

static gboolean
choose(Task *task, uint8_t format, uint8_t options)
{
    task->format = &report_formats[format % report_n_formats];
    /* Another program lays this format out; "callgraph" writes its input. */
    if (strcmp(task->format->name, "callgraph-svg") == 0)
        return FALSE;
    report_options_init(&task->options);
    task->options.flags =
        (ReportFlags)(options & (REPORT_KEEP_ALLOCATOR | REPORT_WRAPPERS | REPORT_CALLERS | REPORT_EXACT));
    task->options.by = (ReportGranularity)((options >> 6) % (REPORT_BY_ADDRESS + 1));
    task->options.notes = notes;
    task->options.page = (ReportPage){
        .width = REPORT_WIDTH_MIN + options,
        .depth = 1 + options % 64,
        .zoom = options % 3 == 0 ? options : 0,
        .function = options % 5 == 0 ? "main" : NULL,
        .part = (ReportPart)(options % (REPORT_PART_STACKS + 1)),
    };
    task->with_base = (options & 1) != 0 && (task->format->flags & REPORT_FORMAT_NO_BASE) == 0;
    return TRUE;
}

/* Checks that formats for other tools are valid. */
static void
check_output(const Task *task, GBytes *bytes)
{
    gsize size;
    const char *text = g_bytes_get_data(bytes, &size);
    if (strcmp(task->format->name, "json") == 0 || strcmp(task->format->name, "speedscope") == 0 ||
        strcmp(task->format->name, "page") == 0) {
        json_t *value = json_loadb(text, size, 0, NULL);
        g_assert_nonnull(value);
        json_decref(value);
    }
    if (strcmp(task->format->name, "flamegraph") == 0)
        g_assert_true(g_utf8_validate(text, (gssize)size, NULL));
}

static void
write_report(const Task *task)
{
    g_autoptr(GOutputStream) out = g_memory_output_stream_new_resizable();
    if (!report_write(task->format, &task->now, task->with_base ? &task->now : NULL, &task->options, out, NULL))
        return;
    g_output_stream_close(out, NULL, NULL);
    g_autoptr(GBytes) bytes = g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(out));
    check_output(task, bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Task task = {0};
    if (size < 2 || !choose(&task, data[0], data[1]))
        return 0;
    g_autoptr(GBytes) text = g_bytes_new(data + 2, size - 2);
    g_autoptr(Profile) profile = profile_read_bytes(text, "input", PROFILE_READ_PARTIAL | PROFILE_READ_THREADS, NULL);
    g_autoptr(Symbols) symbols = profile != NULL ? symbolize(profile, &nowhere, NULL) : NULL;
    if (symbols == NULL)
        return 0;
    task.now = (ReportInput){.profile = profile, .symbols = symbols, .name = "input", .text = text};
    write_report(&task);
    return 0;
}
