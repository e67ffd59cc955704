/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile ELF file through everything that reads one: sections and their compression, symbol tables, debug
 * information. */
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
    for (guint32 i = 0; i < 0x200; i++) {
        object_ask(work, i, 0x1000 + i);
    }
    work->dwarf = dwarf_job_new(work, image);
    for (guint i = 0; work->dwarf != NULL && i < dwarf_job_tasks(work->dwarf)->len; i++) {
        dwarf_task_run(dwarf_job_tasks(work->dwarf)->pdata[i]);
    }
    object_finish(work);
    object_work_free(work);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autoptr(Image) image = write(fd, data, size) == (ssize_t)size ? image_open(path, NULL) : NULL;
    if (image != NULL) {
        g_autoptr(Image) embedded = image_open_embedded(image);
        read_symbols(image);
        if (embedded != NULL) {
            read_symbols(embedded);
        }
        read_debug(image);
    }
    close(fd);
    return 0;
}
