/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile ELF file, read by all readers: sections and their compression, symbol tables, debug information. */
#include "symbolize/debug-file.h"
#include "symbolize/dwarf-task.h"
#include "symbolize/symbol-table.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_symbols(const Image *image)
{
    g_autoptr(SymbolTable) table = symbol_table_new();
    symbol_table_add(table, image, SYMBOL_TABLE_ALL);
    symbol_table_add(table, image, SYMBOL_TABLE_EXPORTED);
    symbol_table_seal(table);
    gsize length = 0;
    for (guint64 address = 0x1000; address < 0x1200; address++) {
        const char *name = symbol_table_find(table, address, &length);
        g_assert_true(name == NULL || length > 0);
    }
}

static void
read_debug(Image *image)
{
    static const ProfileObject object = {.path = "/usr/bin/service"};
    static const SymbolizeOptions options = {.no_cache = TRUE};
    const LocateRequest request = {.object = &object, .options = &options};
    g_autoptr(Names) names = names_new();
    ObjectWork *work = object_work_new(&request, names);
    for (guint32 i = 0; i < 0x200; i++)
        object_ask(work, i, 0x1000 + i);
    work->dwarf = dwarf_job_new(work, image);
    for (guint i = 0; work->dwarf != NULL && i < dwarf_job_tasks(work->dwarf)->len; i++)
        dwarf_task_run(dwarf_job_tasks(work->dwarf)->pdata[i]);
    object_finish(work);
    object_work_free(work);
}

/* Searches for linked files in an empty directory. */
static void
follow_links(Image *image)
{
    static SymbolizeOptions options = {.sysroot = "/nonexistent", .owner = 65534, .no_cache = TRUE};
    ImageSection link;
    if (options.files == NULL)
        options.files = symbolize_files(&options);
    const DebugFileQuery query = {"/usr/bin/service", image_build_id(image), image};
    g_autoptr(Image) beside = image_section(image, ".gnu_debuglink", &link) ? debug_file_find(&query, &options) : NULL;
    g_autoptr(Image) supplement = debug_file_supplement(image, &options);
    g_assert_true(beside == NULL && supplement == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    gboolean written = write(fd, data, size) == (ssize_t)size;
    g_autoptr(Image) image = written ? image_open_descriptor(NULL, fd, "input", NULL) : NULL;
    if (image != NULL) {
        g_autoptr(Image) embedded = image_open_embedded(image);
        read_symbols(image);
        if (embedded != NULL)
            read_symbols(embedded);
        read_debug(image);
        follow_links(image);
    }
    close(fd);
    return 0;
}
