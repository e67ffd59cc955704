/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-elf.h"

#include <string.h>

FakeElf *
fake_elf_new(void)
{
    FakeElf *elf = g_new0(FakeElf, 1);
    elf->bytes = g_byte_array_new();
    g_byte_array_set_size(elf->bytes, sizeof(Elf64_Ehdr));
    memset(elf->bytes->data, 0, elf->bytes->len);
    elf->sections = g_array_new(FALSE, TRUE, sizeof(Elf64_Shdr));
    g_array_set_size(elf->sections, 1);
    return elf;
}

void
fake_elf_free(FakeElf *elf)
{
    g_byte_array_unref(elf->bytes);
    g_array_unref(elf->sections);
    g_free(elf);
}

static void
add_section(FakeElf *elf, Elf64_Shdr section, const void *bytes)
{
    section.sh_offset = elf->bytes->len;
    g_byte_array_append(elf->bytes, bytes, (guint)section.sh_size);
    g_array_append_val(elf->sections, section);
}

void
fake_elf_add_raw_table(FakeElf *elf, uint32_t type, GArray *symbols, const void *strings, size_t strings_size)
{
    Elf64_Shdr table = {
        .sh_type = type,
        .sh_size = symbols->len * sizeof(Elf64_Sym),
        .sh_entsize = sizeof(Elf64_Sym),
        .sh_link = elf->sections->len + 1,
    };
    add_section(elf, table, symbols->data);
    add_section(elf, (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = strings_size}, strings);
}

void
fake_elf_add_table(FakeElf *elf, uint32_t type, const FakeSymbol *symbols, size_t n)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, TRUE, sizeof(Elf64_Sym));
    g_autoptr(GString) strings = g_string_new_len("", 1);
    g_array_set_size(rows, 1);
    for (size_t i = 0; i < n; i++) {
        Elf64_Sym row = {
            .st_name = (Elf64_Word)strings->len,
            .st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, symbols[i].type),
            .st_shndx = symbols[i].section,
            .st_value = symbols[i].value,
        };
        g_array_append_val(rows, row);
        g_string_append_len(strings, symbols[i].name, (gssize)strlen(symbols[i].name) + 1);
    }
    fake_elf_add_raw_table(elf, type, rows, strings->str, strings->len);
}

GByteArray *
fake_elf_finish(FakeElf *elf)
{
    Elf64_Ehdr header = {
        .e_type = ET_DYN,
        .e_version = EV_CURRENT,
        .e_shoff = elf->bytes->len,
        .e_ehsize = sizeof(header),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (Elf64_Half)elf->sections->len,
    };
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    memcpy(elf->bytes->data, &header, sizeof(header));
    g_byte_array_append(elf->bytes, (const guint8 *)elf->sections->data,
                        elf->sections->len * (guint)sizeof(Elf64_Shdr));
    return elf->bytes;
}
