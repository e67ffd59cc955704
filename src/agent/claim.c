/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/claim.h"

#include "agent/listing.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { CLAIM_NOTE_TYPE = 16 };

#define CLAIM_NOTE_OWNER "jescope"

/* The claim that the note refers to. Its layout is an interface between all versions of jescope. 1: claimed. */
__attribute__((used)) uint32_t jescope_claim_word;

__asm__(".pushsection .note.jescope, \"a\", %note\n"
        ".balign 4\n"
        ".long 8, 4, 16\n" /* sizes of owner and content, type */
        ".asciz \"jescope\"\n"
        ".long jescope_claim_word - .\n"
        ".popsection\n");

/* Reads the note at AT; returns the next one, or NULL at the end. Sets CLAIM if the note is jescope's. */
static const uint8_t *
read_note(const uint8_t *at, const uint8_t *end, uint32_t **claim)
{
    const size_t align = 4;
    ElfW(Nhdr) note;
    if ((size_t)(end - at) < sizeof(note))
        return NULL;
    memcpy(&note, at, sizeof(note));
    at += sizeof(note);
    uint64_t owner_size = (note.n_namesz + (uint64_t)align - 1) & ~(uint64_t)(align - 1);
    uint64_t content_size = (note.n_descsz + (uint64_t)align - 1) & ~(uint64_t)(align - 1);
    if (owner_size + content_size > (uint64_t)(end - at))
        return NULL;
    int32_t distance;
    if (note.n_type == CLAIM_NOTE_TYPE && note.n_namesz == sizeof(CLAIM_NOTE_OWNER) &&
        note.n_descsz == sizeof(distance) && memcmp(at, CLAIM_NOTE_OWNER, sizeof(CLAIM_NOTE_OWNER)) == 0) {
        memcpy(&distance, at + owner_size, sizeof(distance));
        *claim = (uint32_t *)((uintptr_t)at + owner_size + (uintptr_t)(intptr_t)distance);
    }
    return at + owner_size + content_size;
}

/* Notes outside of loaded segments are not in memory. */
static bool
is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * note)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t offset = note->p_vaddr - segment->p_vaddr;
        if (segment->p_type == PT_LOAD && offset <= segment->p_filesz && note->p_memsz <= segment->p_filesz - offset)
            return true;
    }
    return false;
}

static int
find_claim(struct dl_phdr_info *info, size_t size, void *data)
{
    bool *taken = data;
    for (size_t i = 0; i < info->dlpi_phnum && !*taken; i++) {
        const ElfW(Phdr) *note = &info->dlpi_phdr[i];
        if (note->p_type != PT_NOTE || !is_loaded(info, note))
            continue;
        const uint8_t *at = (const uint8_t *)(info->dlpi_addr + note->p_vaddr);
        const uint8_t *end = at + note->p_memsz;
        while (at != NULL) {
            uint32_t *claim = NULL;
            at = read_note(at, end, &claim);
            if (claim != NULL && claim != &jescope_claim_word && __atomic_load_n(claim, __ATOMIC_SEQ_CST) != 0)
                *taken = true;
        }
    }
    return *taken;
}

bool
claim_take(void)
{
    bool taken = false;
    __atomic_store_n(&jescope_claim_word, 1, __ATOMIC_SEQ_CST);
    taken = !listing_iterate(find_claim, &taken) || taken;
    if (taken)
        claim_give();
    return !taken;
}

void
claim_give(void)
{
    __atomic_store_n(&jescope_claim_word, 0, __ATOMIC_SEQ_CST);
}
