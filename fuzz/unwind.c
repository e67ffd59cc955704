/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile program's unwind tables: the input is its memory, code, tables and stack. */
#include "target/unwind.h"

#include <string.h>

enum { BASE = 0x400000, STEPS_MAX = 64 };

typedef struct {
    const guint8 *bytes;
    gsize size;
} Memory;

static gboolean
read_memory(gpointer data, guint64 address, void *bytes, gsize n)
{
    const Memory *memory = data;
    if (address < BASE || address - BASE > memory->size || n > memory->size - (address - BASE))
        return FALSE;
    memcpy(bytes, memory->bytes + (address - BASE), n);
    return TRUE;
}

int LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size);

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
    static const char maps[] = "400000-500000 r-xp 00000000 08:01 7 /bin/hostile\n";
    Memory memory = {bytes, size};
    g_autoptr(AddressSpace) space = address_space_parse(1, maps);
    Unwind unwind = {.memory = {.space = space, .read = read_memory, .data = &memory}};
    GeneralRegisters general;
    gboolean signal_frame;
    memset(&general, 0, sizeof(general));
    memcpy(&general, bytes + (size - MIN(size, sizeof(general))), MIN(size, sizeof(general)));
    unwind_begin(&unwind, &general);
    for (int i = 0; i < STEPS_MAX && unwind_step(&unwind, BASE + size, &signal_frame) == UNWIND_FRAME; i++)
        ;
    return 0;
}
