/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler-size.h"

#include "agent/text.h"
#include "jemalloc/version.h"

#include <stdint.h>

enum {
    LG_LEAST_QUANTUM = 3,
    LG_MOST_QUANTUM = 4,
    CHECKED = 48, /* of the large classes: up to 64 MiB */
    NAME_SIZE = 64,
    FLAGS_LG_ALIGN = 0x3f, /* of mallocx(): MALLOCX_LG_ALIGN() */
};

size_t
sampler_size_aligned(const SamplerSizes *sizes, size_t size, size_t alignment)
{
    if (alignment == 0)
        return sampler_size_class(sizes, size);
    const bool fits = alignment < sizes->page || (alignment == sizes->page && sizes->aligned_page);
    if (size <= sizes->small_max && fits) {
        const size_t usable = sampler_size_class(sizes, (size + alignment - 1) & ~(alignment - 1));
        if (usable < sizes->large_min)
            return usable;
    }
    return size <= sizes->large_min ? sizes->large_min : sampler_size_class(sizes, size);
}

static size_t
size_with_flags(const SamplerSizes *sizes, size_t size, uintptr_t flags)
{
    const unsigned lg = (unsigned)flags & FLAGS_LG_ALIGN;
    return sampler_size_aligned(sizes, size, lg == 0 ? 0 : (size_t)1 << lg);
}

size_t
sampler_size_of_call(const SamplerSizes *sizes, int call, const uintptr_t arguments[3])
{
    switch (call) {
    case SAMPLER_POSIX_MEMALIGN:
        return sampler_size_aligned(sizes, arguments[2], arguments[1]);
    case SAMPLER_ALIGNED_ALLOC:
    case SAMPLER_MEMALIGN:
        return sampler_size_aligned(sizes, arguments[1], arguments[0]);
    case SAMPLER_CALLOC:
        return sampler_size_class(sizes, arguments[0] * arguments[1]);
    case SAMPLER_VALLOC:
        return sampler_size_aligned(sizes, arguments[0], sizes->page);
    case SAMPLER_MALLOCX:
        return size_with_flags(sizes, arguments[0], arguments[1]);
    case SAMPLER_REALLOC:
        return sampler_size_class(sizes, arguments[1]);
    case SAMPLER_RALLOCX:
        return size_with_flags(sizes, arguments[1], arguments[2]);
    default:
        return sampler_size_class(sizes, arguments[0]);
    }
}

static size_t
read_class(const Allocator *allocator, const char *kind, unsigned index)
{
    char name[NAME_SIZE];
    Text text;
    size_t size = 0;
    text_init(&text, name, sizeof(name));
    text_add(&text, kind);
    text_add_number(&text, index);
    text_add(&text, ".size");
    return allocator_read(allocator, name, &size, sizeof(size)) == 0 ? size : 0;
}

typedef struct {
    const char *count;
    const char *name;
    unsigned checked;
} Kind;

/* Whether the classes of KIND after *LAST follow the formula. */
static bool
agrees(const SamplerSizes *sizes, const Allocator *allocator, const Kind *kind, size_t *last)
{
    unsigned n = 0;
    if (allocator_read(allocator, kind->count, &n, sizeof(n)) != 0)
        return false;
    for (unsigned i = 0; i < n && i < kind->checked; i++) {
        const size_t size = read_class(allocator, kind->name, i);
        if (size == 0 || size != sampler_size_class(sizes, *last + 1))
            return false;
        *last = size;
    }
    return true;
}

static bool
learn_quantum(SamplerSizes *sizes, const Allocator *allocator)
{
    size_t quantum = 0;
    if (allocator_read(allocator, "arenas.quantum", &quantum, sizeof(quantum)) != 0)
        return false;
    for (sizes->lg_quantum = LG_LEAST_QUANTUM; sizes->lg_quantum <= LG_MOST_QUANTUM; sizes->lg_quantum++)
        if (quantum == (size_t)1 << sizes->lg_quantum)
            return true;
    return false;
}

bool
sampler_sizes_learn(SamplerSizes *sizes, const Allocator *allocator)
{
    static const Kind small = {"arenas.nbins", "arenas.bin.", UINT32_MAX};
    static const Kind large = {"arenas.nlextents", "arenas.lextent.", CHECKED};
    JemallocVersion version;
    size_t last = 0;
    *sizes = (SamplerSizes){0};
    if (allocator_read(allocator, "arenas.page", &sizes->page, sizeof(sizes->page)) != 0 ||
        !learn_quantum(sizes, allocator) || !agrees(sizes, allocator, &small, &last))
        return false;
    sizes->small_max = last;
    if (!agrees(sizes, allocator, &large, &last))
        return false;
    sizes->large_min = sampler_size_class(sizes, sizes->small_max + 1);
    sizes->aligned_page =
        jemalloc_version_parse(allocator->version, &version) && (version.major > 5 || version.minor >= 3);
    return true;
}
