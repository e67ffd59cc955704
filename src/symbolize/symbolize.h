/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for locations. A name is used only if the address is inside its symbol; otherwise [object+0xoffset] is shown.
 * Inlined calls are separate frames.
 */
#ifndef JESCOPE_SYMBOLIZE_SYMBOLIZE_H
#define JESCOPE_SYMBOLIZE_SYMBOLIZE_H

#include "confine/target-files.h"
#include "profile/profile.h"

/* The source of an object's names; determines pprof's has_* flags and the notes of a report. */
typedef enum {
    SYMBOLS_NONE,     /* file missing, unreadable, not ELF or without any symbol */
    SYMBOLS_DYNSYM,   /* exported names only */
    SYMBOLS_SYMTAB,   /* all functions, no lines */
    SYMBOLS_DWARF,    /* functions, files, lines, inlines */
    SYMBOLS_EMBEDDED, /* the dump contains its own */
    SYMBOLS_MISMATCH, /* the file is not the one that ran: not used */
} SymbolsSource;

typedef struct {
    const char *function;    /* demangled; never NULL: "[libfoo.so.1+0x1234]" where unknown */
    const char *system_name; /* as linked (mangled); equal to function for C and unknown */
    const char *file;        /* or NULL */
    guint32 line;            /* of the call or allocation; 0 unknown */
    guint32 start_line;      /* of the function; 0 unknown */
    gboolean known;          /* FALSE: function is the placeholder [object+0xoffset] */
} SymbolFrame;

/* The frames of one location: frames[0] is the innermost inlined function, the last one the physical function. At least
 * one. */
typedef struct {
    const SymbolFrame *frames;
    guint32 n_frames;
} Symbol;

typedef struct {
    SymbolsSource source;
    const char *debug_path; /* the file the symbols were read from, or NULL */
    const char *build_id;   /* of the file used, or NULL */
    const char *note;       /* the reason for missing or weaker names, one sentence, or NULL */
    gboolean absent;        /* no file was found: source is SYMBOLS_NONE */
} SymbolObject;

/* Names for every location of one Profile; immutable, strings live as long as it. */
typedef struct Symbols Symbols;

const Symbol *symbols_location(const Symbols *symbols, guint32 location); /* same index as profile_locations() */
const SymbolObject *symbols_object(const Symbols *symbols, guint32 object);
/* The options of symbolize(), for advice to users. */
pid_t symbols_pid(const Symbols *symbols);
gboolean symbols_asked_debuginfod(const Symbols *symbols);
void symbols_free(Symbols *symbols);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Symbols, symbols_free)

typedef struct {
    TargetFiles *files;             /* opens the files, see symbolize_files(); NULL: symbolize() creates its own */
    uid_t owner;                    /* of the dump, if pid is 0: the user who chose the file names in it */
    uid_t author;                   /* if there is a pid: as in TargetFilesOptions */
    const char *const *debug_paths; /* extra roots of debug files (--debug-path), NULL-terminated, or NULL */
    const char *sysroot;            /* prefix of every object's path (--sysroot), or NULL */
    pid_t pid;             /* live target: files are opened through /proc/PID/root and /proc/PID/map_files; 0: none */
    gint64 taken;          /* when the dump was taken, seconds since 1970; 0: unknown. Younger files are not used. */
    gboolean debuginfod;   /* query the network (only on explicit request) */
    gboolean no_cache;     /* neither read nor write $XDG_CACHE_HOME/jescope */
    gboolean no_inlines;   /* physical functions only */
    gboolean no_files;     /* only names in the dump itself: no file is opened, no cache read, no server queried */
    gboolean public_files; /* besides those that the process has mapped, only files that every user may read */
    void (*advance)(guint done, guint whole); /* called when an object is done, from any thread; or NULL */
} SymbolizeOptions;

/* Creates the TargetFiles for options: those of options.pid or options.owner, and the named directories. */
TargetFiles *symbolize_files(const SymbolizeOptions *options);

/*
 * Names all locations of profile. Missing files are not an error: symbols_object() reports them. Works per object in
 * parallel; options may be NULL for the defaults. Thread-safe.
 */
Symbols *symbolize(const Profile *profile, const SymbolizeOptions *options, GError **error);

#endif
