/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug information without the ELF file around it: nine little-endian 32-bit sizes, then the sections in the order of
 * DwarfSection. Names the addresses from 0x1000 on, where the corpus has its code
 * (tests/data/symbolize/make-fuzz-corpus).
 */
#include "symbolize/dwarf-functions.h"

#include <fcntl.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N_ADDRESSES 512

static gboolean
cut_sections(const uint8_t *data, size_t size, ImageSection sections[DWARF_N_SECTIONS])
{
    DwarfCursor cursor = {.at = data, .end = data + size};
    guint32 sizes[DWARF_N_SECTIONS];
    for (guint i = 0; i < DWARF_N_SECTIONS; i++)
        sizes[i] = (guint32)dwarf_cursor_fixed(&cursor, 4);
    for (guint i = 0; i < DWARF_N_SECTIONS; i++) {
        sections[i] = (ImageSection){.data = cursor.at, .size = MIN(sizes[i], dwarf_cursor_left(&cursor))};
        dwarf_cursor_skip(&cursor, sections[i].size);
    }
    return sections[DWARF_INFO].size > 0;
}

static void
ask(const DwarfUnit *unit)
{
    g_autoptr(Names) names = names_new();
    g_autofree ObjectAsked *asked = g_new0(ObjectAsked, N_ADDRESSES);
    g_autofree ObjectAsked **pointers = g_new0(ObjectAsked *, N_ADDRESSES);
    for (guint i = 0; i < N_ADDRESSES; i++) {
        asked[i].address = 0x1000 + i;
        pointers[i] = &asked[i];
    }
    const DwarfQuestion question = {unit, unit, pointers, N_ADDRESSES, 0x1000, names};
    dwarf_functions_answer(&question);
    for (guint i = 0; i < N_ADDRESSES; i++) {
        for (guint32 k = 0; k < asked[i].symbol.n_frames; k++) {
            const SymbolFrame *frame = &asked[i].symbol.frames[k];
            g_assert_true(frame->function != NULL || k + 1 == asked[i].symbol.n_frames);
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Image *program; /* any image: the sections are not read from it */
    if (program == NULL) {
        int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        program = image_open_descriptor(NULL, self, "/proc/self/exe", NULL);
    }
    ImageSection sections[DWARF_N_SECTIONS];
    g_autoptr(DwarfFile) file = cut_sections(data, size, sections) ? dwarf_file_from_sections(program, sections) : NULL;
    for (guint i = 0; file != NULL && i < MIN(file->units->len, 16); i++)
        ask(&g_array_index(file->units, DwarfUnit, i));
    return 0;
}
