/* SPDX-License-Identifier: Apache-2.0 */
#include "target/program-file.h"

#include "confine/worker.h"
#include "target/function-ranges.h"

#include <string.h>

enum {
    SCRATCH_BYTES = 256 * 1024,
    RANGES_MAX = 2048, /* after adjacent ones are merged; 47 in the largest program seen */
};

static const guint64 searched_max = G_GUINT64_CONSTANT(256) << 20;

/* The beginning of jemalloc's messages, in every build, with any prefix. */
static const char jemalloc_mark[] = "<jemalloc>";

static gboolean
begin(ElfFile *file, int fd, gpointer scratch)
{
    return elf_file_init(file, fd, scratch, SCRATCH_BYTES);
}

/* The answers, in the worker --------------------------------------------------------------------------------------- */

static gsize
answer_jemallocs(int fd, gconstpointer question, gpointer answer)
{
    ProgramJemallocs *jemallocs = answer;
    ElfFile file;
    ElfJemalloc found[ELF_FOUND_MAX];
    g_autofree gpointer scratch = g_malloc(SCRATCH_BYTES);
    *jemallocs = (ProgramJemallocs){0};
    if (begin(&file, fd, scratch))
        jemallocs->n = (guint)elf_find_jemalloc(&file, found);
    for (guint i = 0; i < jemallocs->n; i++) {
        ProgramJemalloc *jemalloc = &jemallocs->found[i];
        jemalloc->symbols = found[i];
        jemalloc->has_code = elf_read_address(&file, found[i].mallctl, jemalloc->code, PROGRAM_FILE_CODE);
    }
    return sizeof(*jemallocs);
}

static gsize
answer_traits(int fd, gconstpointer question, gpointer answer)
{
    ProgramTraits *traits = answer;
    ElfFile file;
    ElfJemalloc found[ELF_FOUND_MAX];
    g_autofree gpointer scratch = g_malloc(SCRATCH_BYTES);
    *traits = (ProgramTraits){0};
    if (begin(&file, fd, scratch)) {
        traits->exports_malloc = elf_exports(&file, "malloc");
        traits->has_mark = elf_find_jemalloc(&file, found) == 0 && elf_holds_text(&file, jemalloc_mark, searched_max);
    }
    return sizeof(*traits);
}

typedef struct {
    guint n;
    Elf64_Phdr headers[PROGRAM_FILE_HEADERS_MAX];
} Loaded;

static gsize
answer_is_loaded(int fd, gconstpointer question, gpointer answer)
{
    const Loaded *loaded = question;
    ElfFile file;
    g_autofree gpointer scratch = g_malloc(SCRATCH_BYTES);
    *(gboolean *)answer = begin(&file, fd, scratch) && elf_has_program_headers(&file, loaded->headers, loaded->n);
    return sizeof(gboolean);
}

static gsize
answer_ranges(int fd, gconstpointer question, gpointer answer)
{
    ElfFile file;
    guint jemalloc = 0;
    g_autofree gpointer scratch = g_malloc(SCRATCH_BYTES);
    g_autoptr(GArray) ranges = begin(&file, fd, scratch) ? function_ranges_read(&file, question, &jemalloc) : NULL;
    if (ranges == NULL || jemalloc == 0 || ranges->len > RANGES_MAX)
        return 0;
    memcpy(answer, ranges->data, ranges->len * sizeof(FunctionRange));
    return ranges->len * sizeof(FunctionRange);
}

/* Requests and the validation of their answers ---------------------------------------------------------------- */

/* Asks the worker. FALSE unless the answer has SIZE bytes. */
static gboolean
ask(const WorkerQuestion *question, gpointer answer, gsize size)
{
    g_autoptr(GError) error = NULL;
    gssize length = worker_ask(question, answer, size, &error);
    if (error != NULL)
        g_debug("%s", error->message);
    return length == (gssize)size;
}

/* Symbols may have any characters; prefixes of real jemallocs are part of a C identifier. */
static gboolean
is_prefix(const char *prefix)
{
    gsize length = strnlen(prefix, ELF_PREFIX_MAX);
    for (gsize i = 0; i < length; i++)
        if (!g_ascii_isalnum(prefix[i]) && strchr("_.$", prefix[i]) == NULL)
            return FALSE;
    return length < ELF_PREFIX_MAX;
}

void
program_file_jemallocs(int fd, ProgramJemallocs *jemallocs)
{
    ProgramJemallocs answer;
    const WorkerQuestion question = {.answers = answer_jemallocs, .fd = fd};
    *jemallocs = (ProgramJemallocs){0};
    if (!ask(&question, &answer, sizeof(answer)) || answer.n > ELF_FOUND_MAX) {
        jemallocs->unread = TRUE;
        return;
    }
    for (guint i = 0; i < answer.n; i++)
        if (is_prefix(answer.found[i].symbols.prefix))
            jemallocs->found[jemallocs->n++] = answer.found[i];
}

void
program_file_traits(int fd, ProgramTraits *traits)
{
    const WorkerQuestion question = {.answers = answer_traits, .fd = fd};
    if (!ask(&question, traits, sizeof(*traits)))
        *traits = (ProgramTraits){.unread = TRUE};
}

gboolean
program_file_is_loaded(int fd, const Elf64_Phdr *headers, guint n)
{
    Loaded loaded = {.n = n};
    gboolean answer;
    if (n > PROGRAM_FILE_HEADERS_MAX)
        return FALSE;
    memcpy(loaded.headers, headers, n * sizeof(*headers));
    const WorkerQuestion question = {.answers = answer_is_loaded, .fd = fd, .data = &loaded, .length = sizeof(loaded)};
    return ask(&question, &answer, sizeof(answer)) && answer;
}

static gboolean
are_ranges(const FunctionRange *ranges, guint n)
{
    for (guint i = 0; i < n; i++)
        if (ranges[i].start > ranges[i].end || (i > 0 && ranges[i].start < ranges[i - 1].start))
            return FALSE;
    return n > 0;
}

GArray *
program_file_ranges(int fd, const char *prefix)
{
    char text[ELF_PREFIX_MAX] = "";
    g_autofree FunctionRange *ranges = g_new(FunctionRange, RANGES_MAX);
    const WorkerQuestion question = {.answers = answer_ranges, .fd = fd, .data = text, .length = sizeof(text)};
    g_strlcpy(text, prefix, sizeof(text));
    gssize length = worker_ask(&question, ranges, RANGES_MAX * sizeof(*ranges), NULL);
    guint n = length > 0 && (gsize)length % sizeof(*ranges) == 0 ? (guint)((gsize)length / sizeof(*ranges)) : 0;
    if (!are_ranges(ranges, n))
        return NULL;
    GArray *array = g_array_sized_new(FALSE, FALSE, sizeof(*ranges), n);
    return g_array_append_vals(array, ranges, n);
}
