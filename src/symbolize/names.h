/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of answers: frames, one copy of each string, and each mangled name demangled once. Thread-safe. */
#ifndef JESCOPE_SYMBOLIZE_NAMES_H
#define JESCOPE_SYMBOLIZE_NAMES_H

#include "symbolize/symbolize.h"

/*
 * What long names may take together. A program file can have a name of 64 KiB at each of a million addresses, as parts
 * of one string; of compilers' names few have more than NAME_COMMON bytes. What exceeds that is counted, and once the
 * sum is NAMES_MOST_OVER, further long names are cut.
 */
enum {
    NAME_COMMON = 1024,
    NAMES_MOST_OVER = 64 << 20,
};
typedef struct {
    gsize over; /* begins with 0 */
} NameBudget;

/* Counts the bytes of TEXT, in UTF-8; returns a new copy that is cut and ends with "…", for g_free(), or NULL if it
 * fits. Not thread-safe: the owner of BUDGET locks it. */
char *name_budget_cut(NameBudget *budget, const char *text);

typedef struct Names Names;

typedef struct {
    const char *function;    /* demangled: C++ (Itanium), Rust (legacy and v0), D */
    const char *system_name; /* as given; the same pointer if it was not mangled */
} Name;

gsize name_size(const Name *name); /* bytes of its texts */

Names *names_new(void);

/* The one copy of text[0, length), which may be cut (NameBudget); lives as long as names. */
const char *names_string(Names *names, const char *text, gsize length);

/* The same for the linkage name of a function. */
Name names_function(Names *names, const char *linkage, gsize length);

/* n frames, zeroed, that live as long as names. */
SymbolFrame *names_frames(Names *names, guint32 n);

/* The placeholder for an address without a name; object NULL: "[0xADDRESS]". */
Symbol names_unknown(Names *names, const ProfileObject *object, guint64 address);

/* Keeps a mapped file, which answers point into, as long as names; takes over the reference. */
void names_keep(Names *names, GMappedFile *file);

void names_free(Names *names);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Names, names_free)

#endif
