/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of an ELF symbol table, sorted for look-up by address.
 *
 * Symbols used: functions (STT_FUNC, STT_GNU_IFUNC) and untyped labels in executable sections; never data, TLS,
 * sections or files. A symbol covers its size, up to the end of its section. A symbol without size (hand-written
 * assembly) extends to the next symbol or the end of its section, but only if the table is complete (.symtab): .dynsym
 * omits local functions between exported ones.
 */
#ifndef JESCOPE_SYMBOLIZE_SYMBOL_TABLE_H
#define JESCOPE_SYMBOLIZE_SYMBOL_TABLE_H

#include "symbolize/image.h"

typedef struct SymbolTable SymbolTable;

typedef enum {
    SYMBOL_TABLE_EXPORTED, /* .dynsym */
    SYMBOL_TABLE_ALL,      /* .symtab */
} SymbolTableKind;

SymbolTable *symbol_table_new(void);

/* Adds the symbols of one table of image; FALSE if it has none. The image must outlive the table. */
gboolean symbol_table_add(SymbolTable *table, const Image *image, SymbolTableKind kind);

/* Sorts; call once, after the last add and before the first look-up. Look-ups are thread-safe. */
void symbol_table_seal(SymbolTable *table);

/*
 * The name of the innermost function that contains address (link-time), as linked but without "@VERSION", or NULL. Of
 * several names for one function: global before weak before local, typed before untyped, then fewer leading
 * underscores, then the shorter. The name is not terminated: *length is its length.
 */
const char *symbol_table_find(const SymbolTable *table, guint64 address, gsize *length);

/* The same for a function that starts exactly at address. */
const char *symbol_table_find_start(const SymbolTable *table, guint64 address, gsize *length);

void symbol_table_free(SymbolTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SymbolTable, symbol_table_free)

#endif
