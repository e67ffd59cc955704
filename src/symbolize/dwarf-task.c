/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf-task.h"

#include "symbolize/debug-file.h"
#include "symbolize/dwarf-functions.h"
#include "symbolize/dwarf-split.h"
#include "symbolize/patience.h"

#include <dwarf.h>

struct DwarfJob {
    ObjectWork *work; /* borrowed */
    DwarfFile *file;
    DwarfPackage *package; /* or NULL */
    guint64 lowest;
    GPtrArray *tasks;
    gint missing; /* atomic */
    gint foreign; /* atomic: files of other users that were read */
};

struct DwarfTask {
    DwarfJob *job;
    GPtrArray *units; /* const DwarfUnit */
    GPtrArray *asked; /* ObjectAsked, ascending */
};

static DwarfTask *
task_new(DwarfJob *job)
{
    DwarfTask *task = g_new0(DwarfTask, 1);
    task->job = job;
    task->units = g_ptr_array_new();
    task->asked = g_ptr_array_new();
    return task;
}

static void
task_free(gpointer data)
{
    DwarfTask *task = data;
    g_ptr_array_unref(task->units);
    g_ptr_array_unref(task->asked);
    g_free(task);
}

static ObjectAsked *
asked_at(const DwarfJob *job, guint i)
{
    return &g_array_index(job->work->asked, ObjectAsked, i);
}

static guint
first_at_or_after(const DwarfJob *job, guint64 address)
{
    guint low = 0;
    for (guint high = job->work->asked->len; low < high;) {
        guint middle = low + (high - low) / 2;
        if (asked_at(job, middle)->address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Assigns each address to the first unit that covers it. */
typedef struct {
    DwarfJob *job;
    guint32 *owners; /* per question: unit + 1, or 0 */
    guint32 unit;
} Claim;

static void
claim(guint64 start, guint64 limit, gpointer data)
{
    Claim *by = data;
    if (start < by->job->lowest)
        return;
    for (guint i = first_at_or_after(by->job, start); i < by->job->work->asked->len; i++) {
        const ObjectAsked *asked = asked_at(by->job, i);
        if (asked->address >= limit || !patience_spend(8))
            return;
        if (by->owners[i] == 0 && asked->symbol.n_frames == 0)
            by->owners[i] = by->unit + 1;
    }
}

/* One table of .debug_aranges [DWARF 5, 6.1.2]: the unit it describes, then pairs of start and length. */
static void
claim_aranges(Claim *by, DwarfCursor table, guint8 offset_size, const guint8 *start)
{
    dwarf_cursor_skip(&table, 2); /* version */
    const DwarfUnit *unit = dwarf_file_unit(by->job->file, dwarf_cursor_fixed(&table, offset_size));
    guint size = (guint)dwarf_cursor_fixed(&table, 1);
    dwarf_cursor_skip(&table, 1); /* segment selector */
    if (unit == NULL || table.overrun || (size != 4 && size != 8))
        return;
    guint64 used = (guint64)(table.at - start);
    dwarf_cursor_skip(&table, (2 * size - used % (2 * size)) % (2 * size)); /* pairs are aligned to their size */
    by->unit = (guint32)(unit - (const DwarfUnit *)(gconstpointer)by->job->file->units->data);
    while (dwarf_cursor_left(&table) >= 2 * size && patience_spend(16)) {
        guint64 address = dwarf_cursor_fixed(&table, size);
        guint64 length = dwarf_cursor_fixed(&table, size);
        claim(address, address + length, by);
    }
}

/*
 * For addresses that no root entry covers: strict DWARF 2 cannot express several ranges of a unit, but .debug_aranges
 * can. It is used last, since it may be missing or wrong; a wrong claim only costs time, since names come from entries.
 */
static void
claim_rest(DwarfJob *job, guint32 *owners)
{
    ImageSection section;
    if (!image_section(job->file->image, ".debug_aranges", &section))
        return;
    DwarfCursor cursor = {.at = section.data, .end = section.data + section.size};
    while (cursor.at < cursor.end && patience_spend(16)) {
        const guint8 *start = cursor.at;
        guint8 offset_size;
        guint64 length = dwarf_cursor_unit_length(&cursor, &offset_size);
        DwarfCursor table = cursor;
        dwarf_cursor_skip(&cursor, length);
        table.end = cursor.at;
        Claim by = {.job = job, .owners = owners};
        claim_aranges(&by, table, offset_size, start);
    }
}

/* Lets every unit claim its addresses; returns units without code ranges. */
static GPtrArray *
claim_all(DwarfJob *job, guint32 *owners)
{
    GPtrArray *silent = g_ptr_array_new();
    for (guint32 i = 0; i < job->file->units->len && patience_spend(64); i++) {
        const DwarfUnit *unit = &g_array_index(job->file->units, DwarfUnit, i);
        DwarfPlace place;
        Claim by = {job, owners, i};
        if (dwarf_unit_place(unit, &place))
            dwarf_place_each(&place, unit, claim, &by);
        else if (unit->tag == DW_TAG_compile_unit && unit->line != DWARF_NO_OFFSET)
            g_ptr_array_add(silent, (gpointer)(guintptr)unit);
    }
    return silent;
}

static void
cut_tasks(DwarfJob *job)
{
    guint n = job->work->asked->len;
    g_autofree guint32 *owners = g_new0(guint32, n);
    g_autofree DwarfTask **by_unit = g_new0(DwarfTask *, job->file->units->len);
    g_autoptr(GPtrArray) silent = claim_all(job, owners);
    claim_rest(job, owners);
    DwarfTask *rest = task_new(job);
    for (guint i = 0; i < n; i++) {
        ObjectAsked *asked = asked_at(job, i);
        if (owners[i] == 0) {
            if (asked->symbol.n_frames == 0)
                g_ptr_array_add(rest->asked, asked);
            continue;
        }
        DwarfTask **task = &by_unit[owners[i] - 1];
        if (*task == NULL) {
            *task = task_new(job);
            g_ptr_array_add((*task)->units, &g_array_index(job->file->units, DwarfUnit, owners[i] - 1));
            g_ptr_array_add(job->tasks, *task);
        }
        g_ptr_array_add((*task)->asked, asked);
    }
    /* Units that may answer the same question run one after the other in one task. */
    g_ptr_array_extend(rest->units, silent, NULL, NULL);
    g_ptr_array_add(job->tasks, rest);
}

/* PATH.dwp beside the debug file, beside the program, or in a --debug-path. */
static DwarfPackage *
open_package(const ObjectWork *work, const Image *image)
{
    const SymbolizeOptions *options = work->request.options;
    const char *path = work->request.object->path;
    g_autofree char *root = debug_file_root(options);
    g_autofree char *name = g_path_get_basename(path);
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(paths, g_strconcat(image_path(image), ".dwp", NULL));
    g_ptr_array_add(paths, g_strconcat(root, path, ".dwp", NULL));
    for (guint i = 0; options->debug_paths != NULL && options->debug_paths[i] != NULL; i++)
        g_ptr_array_add(paths, g_strdup_printf("%s/%s.dwp", options->debug_paths[i], name));
    DwarfPackage *package = NULL;
    for (guint i = 0; i < paths->len && package == NULL; i++)
        package = dwarf_package_open(options->files, paths->pdata[i]);
    return package;
}

DwarfJob *
dwarf_job_new(ObjectWork *work, Image *image)
{
    DwarfFile *file = dwarf_file_open(image, "");
    if (file == NULL)
        return NULL;
    g_autoptr(Image) supplement = debug_file_supplement(image, work->request.options);
    file->supplement = supplement != NULL ? dwarf_file_open(supplement, "") : NULL;
    DwarfJob *job = g_new0(DwarfJob, 1);
    job->work = work;
    job->file = file;
    job->foreign = supplement != NULL && !image_is_trusted(supplement);
    job->package = open_package(work, image);
    ImageSection link;
    job->missing = file->supplement == NULL && image_section(image, ".gnu_debugaltlink", &link);
    job->lowest = image_code_start(image);
    job->tasks = g_ptr_array_new_with_free_func(task_free);
    cut_tasks(job);
    return job;
}

void
dwarf_job_free(DwarfJob *job)
{
    if (job == NULL)
        return;
    g_ptr_array_unref(job->tasks);
    dwarf_file_free(job->file);
    dwarf_package_free(job->package);
    g_free(job);
}

const GPtrArray *
dwarf_job_tasks(const DwarfJob *job)
{
    return job->tasks;
}

guint
dwarf_job_missing(const DwarfJob *job)
{
    return (guint)job->missing; /* no task is running any more */
}

gboolean
dwarf_job_is_trusted(const DwarfJob *job)
{
    return job->foreign == 0;
}

static gboolean
is_trusted(const DwarfJob *job)
{
    return image_is_trusted(job->file->image) && dwarf_job_is_trusted(job);
}

static void
ask_unit(const DwarfTask *task, const DwarfUnit *unit, const GPtrArray *asked)
{
    DwarfJob *job = task->job;
    g_autoptr(DwarfFile) split = NULL;
    const DwarfUnit *entries = unit;
    if (unit->dwo_name != NULL) {
        split = dwarf_split_open(unit, job->package, job->work->request.options, &entries);
        g_atomic_int_add(&job->missing, split == NULL);
        g_atomic_int_add(&job->foreign, split != NULL && !image_is_trusted(split->image));
        if (is_trusted(job)) /* another user's file that turned out to be no part of it may have joined */
            patience_end();
    }
    const DwarfQuestion question = {
        .unit = entries,
        .lines = unit,
        .asked = (ObjectAsked **)asked->pdata,
        .n_asked = asked->len,
        .lowest = job->lowest,
        .names = job->work->names,
    };
    dwarf_functions_answer(&question);
    image_release(&entries->file->sections[DWARF_INFO], entries->offset, entries->end);
}

static GPtrArray *
still_open(const GPtrArray *asked)
{
    GPtrArray *open = g_ptr_array_new();
    for (guint i = 0; i < asked->len; i++)
        if (((const ObjectAsked *)asked->pdata[i])->symbol.n_frames == 0)
            g_ptr_array_add(open, asked->pdata[i]);
    return open;
}

void
dwarf_task_run(DwarfTask *task)
{
    const DwarfJob *job = task->job;
    gboolean trusted = is_trusted(job);
    for (guint i = 0; i < task->units->len; i++) {
        patience_begin(trusted ? NULL : job->work->request.options->files);
        g_autoptr(GPtrArray) asked = still_open(task->asked);
        if (asked->len > 0 && patience_spend(asked->len))
            ask_unit(task, task->units->pdata[i], asked);
        patience_end();
    }
}
