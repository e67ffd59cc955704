/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler-unwind.h"

#include "agent/sampler-cfi.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    BUSY = 1, /* UnwindCache: this entry is being written */
    PROBE_HOW = -1,
    PROBE_SIZE = 8,
    FRAME_MAX = 8 << 20, /* bytes between two words of a stack; each page of them is checked */
};

/* Lock-free; absent before glibc 2.35. */
#ifdef DLFO_STRUCT_HAS_EH_DBASE
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));
#define FIND_OBJECT _dl_find_object
#endif

bool
unwind_is_possible(void)
{
#if defined(FIND_OBJECT) && (defined(__x86_64__) || defined(__aarch64__))
    return FIND_OBJECT != NULL;
#else
    return false;
#endif
}

bool
unwind_find_object(uintptr_t address, uintptr_t *begin, uintptr_t *end)
{
#ifdef FIND_OBJECT
    struct dl_find_object found;
    if (FIND_OBJECT == NULL || FIND_OBJECT((void *)address, &found) != 0)
        return false;
    *begin = (uintptr_t)found.dlfo_map_start;
    *end = (uintptr_t)found.dlfo_map_end;
    return true;
#else
    return false;
#endif
}

/* The kernel reads the new mask before it rejects the call: EINVAL if the page can be read, else EFAULT. */
static bool
is_readable(uintptr_t address)
{
    return syscall(SYS_rt_sigprocmask, PROBE_HOW, address & ~(uintptr_t)(PROBE_SIZE - 1), NULL, PROBE_SIZE) < 0 &&
           errno == EINVAL;
}

/*
 * The part of a stack that is known to be readable, from the page of the stack pointer on. It grows page by page: a
 * damaged or wrong row may lead anywhere, and other memory may be unmapped by another thread between the check and the
 * read, which would end the program.
 */
typedef struct {
    uintptr_t begin;
    uintptr_t end;
    uintptr_t limit; /* of the stack, if known */
} Window;

/* The thread pointer is above the stack that the C library has chosen, in the same mapping. */
static Window
window_at(uintptr_t sp)
{
    const uintptr_t page = sp & ~(uintptr_t)(PAGE - 1);
    const uintptr_t pointer = unwind_thread_pointer();
    return (Window){.begin = page, .end = page, .limit = sp < pointer ? pointer : UINTPTR_MAX};
}

/* Separate from read_word(), which is in the fast path. */
__attribute__((noinline)) static bool
grow(Window *window, uintptr_t address)
{
    if (address < window->begin || address >= window->limit || address - window->end > FRAME_MAX)
        return false;
    for (; address >= window->end; window->end += PAGE)
        if (!is_readable(window->end))
            return false;
    return true;
}

static inline bool
read_word(Window *window, uintptr_t address, uintptr_t *value)
{
    if (address % sizeof(uintptr_t) != 0 ||
        ((address < window->begin || address >= window->end) && !grow(window, address)))
        return false;
    memcpy(value, (const void *)address, sizeof(*value));
    return true;
}

/* ---- rows ---- */

static size_t
place_of(uintptr_t pc)
{
    return (size_t)((pc * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % UNWIND_CACHED;
}

static bool
recall(UnwindCache *cache, uintptr_t pc, UnwindRow *row, UnwindOrigin *origin)
{
    const size_t i = place_of(pc);
    if (atomic_load_explicit(&cache->entries[i].pc, memory_order_acquire) != pc)
        return false;
    *row = cache->entries[i].row;
    *origin = cache->entries[i].origin;
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&cache->entries[i].pc, memory_order_relaxed) == pc;
}

static void
keep(UnwindCache *cache, uintptr_t pc, const UnwindRow *row, const UnwindOrigin *origin)
{
    const size_t i = place_of(pc);
    uintptr_t old = atomic_load_explicit(&cache->entries[i].pc, memory_order_relaxed);
    if (old == BUSY || !atomic_compare_exchange_strong_explicit(&cache->entries[i].pc, &old, BUSY, memory_order_acq_rel,
                                                                memory_order_relaxed))
        return;
    atomic_thread_fence(memory_order_release);
    cache->entries[i].row = *row;
    cache->entries[i].origin = *origin;
    atomic_store_explicit(&cache->entries[i].pc, pc, memory_order_release);
}

#ifdef FIND_OBJECT
/* Whether OBJECT was loaded with the program, and so is never unloaded: the loader's list begins with such objects, up
 * to the loader at least. Those after it come and go; the links between these do not change. */
static bool
is_lasting(const struct link_map *object)
{
    struct dl_find_object loader;
    if (FIND_OBJECT((void *)(uintptr_t)FIND_OBJECT, &loader) != 0)
        return false;
    for (const struct link_map *at = loader.dlfo_link_map; at != NULL; at = at->l_prev)
        if (at == object)
            return true;
    return false;
}

static bool
find_row(UnwindCache *cache, CfiMemory *tables, uintptr_t pc, UnwindRow *row)
{
    UnwindOrigin origin;
    struct dl_find_object found;
    const bool is_known = recall(cache, pc, row, &origin);
    if (is_known && origin.entry == UNWIND_LASTING)
        return true;
    if (FIND_OBJECT((void *)pc, &found) != 0 || found.dlfo_eh_frame == NULL)
        return false;
    const uintptr_t header = (uintptr_t)found.dlfo_eh_frame;
    if (is_known && cfi_has_origin(header, tables, &origin))
        return true;
    if (!cfi_find_row(header, pc, tables, row))
        return false;
    if (is_lasting(found.dlfo_link_map))
        keep(cache, pc, row, &(UnwindOrigin){.entry = UNWIND_LASTING});
    else if (cfi_find_origin(header, pc, tables, &origin))
        keep(cache, pc, row, &origin);
    return true;
}
#else
static bool
find_row(UnwindCache *cache, CfiMemory *tables, uintptr_t pc, UnwindRow *row)
{
    return false;
}
#endif

/* ---- one step ---- */

#if defined(__x86_64__)
/* struct rt_sigframe without its return address: a ucontext_t (arch/x86/include/uapi/asm/ucontext.h). */
static bool
leave_signal(Window *window, UnwindRegisters *registers)
{
    enum { R12 = 72, R13 = 80, R14 = 88, R15 = 96, RBP = 120, RBX = 128, RSP = 160, RIP = 168 };
    static const int places[UNWIND_SAVED] = {RBX, RBP, R12, R13, R14, R15};
    const uintptr_t frame = registers->sp;
    UnwindRegisters outer;
    for (size_t i = 0; i < UNWIND_SAVED; i++)
        if (!read_word(window, frame + (uintptr_t)places[i], &outer.saved[i]))
            return false;
    if (!read_word(window, frame + RSP, &outer.sp) || !read_word(window, frame + RIP, &outer.pc))
        return false;
    *registers = outer;
    *window = window_at(outer.sp);
    return true;
}
#else
/* struct rt_sigframe: a siginfo_t of 128 bytes, then a ucontext_t whose registers begin at 184. */
static bool
leave_signal(Window *window, UnwindRegisters *registers)
{
    enum { X0 = 128 + 184, X19 = X0 + 19 * 8, SP = X0 + 31 * 8, PC = X0 + 32 * 8 };
    const uintptr_t frame = registers->sp;
    UnwindRegisters outer;
    for (size_t i = 0; i < UNWIND_SAVED; i++)
        if (!read_word(window, frame + X19 + i * sizeof(uintptr_t), &outer.saved[i]))
            return false;
    if (!read_word(window, frame + SP, &outer.sp) || !read_word(window, frame + PC, &outer.pc))
        return false;
    *registers = outer;
    *window = window_at(outer.sp);
    return true;
}
#endif

static bool
find_cfa(Window *window, const UnwindRow *row, const UnwindRegisters *registers, uintptr_t *cfa)
{
    if (row->cfa_kind == UNWIND_PLT) {
        *cfa = registers->sp + 8 + ((registers->pc & 15) >= row->cfa_register ? 8 : 0);
        return true;
    }
    const uintptr_t base = row->cfa_register < UNWIND_SAVED ? registers->saved[row->cfa_register] : registers->sp;
    *cfa = base + (uintptr_t)(intptr_t)row->cfa_offset;
    return row->cfa_kind == UNWIND_REGISTER || (row->cfa_kind == UNWIND_DEREF && read_word(window, *cfa, cfa));
}

static uintptr_t
without_signature(uintptr_t pc)
{
#if defined(__aarch64__)
    return pc & ((UINT64_C(1) << 48) - 1);
#else
    return pc;
#endif
}

static bool
step(Window *window, const UnwindRow *row, UnwindRegisters *registers)
{
    UnwindRegisters outer = *registers;
    uintptr_t cfa;
    if (!find_cfa(window, row, registers, &cfa) || cfa < registers->sp)
        return false;
    for (size_t i = 0; i < UNWIND_SAVED; i++) {
        const int16_t offset = row->offsets[i];
        const uintptr_t base = (row->by_register >> i & 1) != 0 ? registers->saved[UNWIND_SAVED > 6 ? 10 : 1] : cfa;
        if (offset == UNWIND_LOST)
            outer.saved[i] = 0;
        else if (offset != UNWIND_SAME && !read_word(window, base + (uintptr_t)(intptr_t)offset, &outer.saved[i]))
            return false;
    }
    outer.sp = cfa;
#if defined(__aarch64__)
    /* x30, which a function that calls has saved. */
    if (row->offsets[UNWIND_SAVED - 1] == UNWIND_SAME || row->return_offset == UNWIND_LOST)
        return false;
    outer.pc = without_signature(outer.saved[UNWIND_SAVED - 1]);
#else
    if (row->return_offset == UNWIND_LOST ||
        !read_word(window, cfa + (uintptr_t)(intptr_t)row->return_offset, &outer.pc))
        return false;
    outer.pc = without_signature(outer.pc);
#endif
    /* A frame of size zero would repeat forever. */
    if (outer.pc == registers->pc && outer.sp == registers->sp)
        return false;
    *registers = outer;
    return true;
}

size_t
unwind_stack(UnwindCache *cache, UnwindRegisters *registers, uintptr_t from, uintptr_t *frames, size_t max)
{
    CfiMemory tables = {.is_readable = is_readable};
    Window window = window_at(registers->sp);
    window.end += PAGE; /* this thread runs on it */
    bool exact = true;  /* the pc is that of an executed instruction, not the return address of a call */
    size_t n = 0;
    for (size_t steps = 0; n < max && steps < 2 * max; steps++) {
        UnwindRow row;
        if (!find_row(cache, &tables, registers->pc - !exact, &row))
            break;
        const bool is_signal = row.cfa_kind == UNWIND_SIGNAL;
        if (is_signal ? !leave_signal(&window, registers) : !step(&window, &row, registers))
            break;
        if (registers->pc == 0)
            break;
        exact = is_signal;
        if (registers->pc == from)
            n = 0;
        frames[n++] = registers->pc;
    }
    return n;
}
