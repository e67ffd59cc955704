/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts names given by the user into a profile with function names: a dump file, several of them, standard input or
 * a live target.
 *
 * In two steps, since untrusted data is read without privileges. source_begin_all() opens files and takes dumps, with
 * the caller's rights. source_finish() reads and symbolizes them: in the caller's own process, or in a child
 * (confine/confined.h), which then must keep source_descriptors(). Each step blocks; a Source belongs to one thread at
 * a time. Nothing here prints: notes for the reader are in Source.notes.
 */
#ifndef JESCOPE_SOURCE_SOURCE_H
#define JESCOPE_SOURCE_SOURCE_H

#include "report/report.h"
#include "target/candidates.h"
#include "target/target.h"

/* Reads other input than a dump from FD; NAME is for messages. */
typedef Profile *SourceRead(int fd, const char *name, GError **error);

typedef struct {
    char *name;
    int fd;           /* of the dump, until it is parsed */
    SourceRead *read; /* reads it if it is not a dump; or NULL */
    gboolean live;    /* from a process of this machine */
    pid_t pid;        /* of that process */
    Target *target;   /* that process; kept until the source is freed, or NULL */
    Profile *profile;
    Symbols *symbols;
    GBytes *text;       /* the original dump, or NULL from a pipe or several files */
    ReportInput input;  /* borrows all of the above */
    TargetFiles *files; /* opens the files that it names */
    char *root;         /* the target's "/": the prefix of the names of source files */
    uid_t owner;        /* of the file it was read from; of several, by rights_lesser() */
    GStrv notes;        /* notes: coverage, time of sampling, lost parts */
    gint64 taken;       /* when the oldest file was written, seconds since 1970; 0: unknown */
    gboolean partial;   /* a part of the dump could not be read */
} Source;

#define SOURCE_ERROR (source_error_quark())
GQuark source_error_quark(void);

typedef enum {
    SOURCE_ERROR_FAILED,
    SOURCE_ERROR_MIXED, /* files and processes cannot be added up */
    SOURCE_ERROR_NAME,  /* of a process, and of another user's file */
} SourceError;

typedef struct {
    Target *(*open)(const char *name, GError **error); /* opens a target */
    ProfileReadFlags read;
    SymbolizeOptions symbolize; /* taken is filled in by source_begin_all(), as is pid for a target; owner is an author
                                   of the dumps beside the owners of their files, 0: no author */
    const char *title;          /* title of the source; NULL: its name */
    gboolean keeps_text;        /* keep the dump in memory even from a pipe: input.text */
} SourceOptions;

/*
 * Opens the sources `names` (n >= 1), whose profiles are added: "-" is standard input, a name with source_kind() a
 * running process, which is dumped, any other name a dump file. Errors name the file or the target.
 */
GPtrArray *source_begin_all(char *const *names, guint n, const SourceOptions *options, GError **error);
/* Reads and symbolizes the result of source_begin_all(). */
Source *source_finish(GPtrArray *parts, const SourceOptions *options, GError **error);

/* Like source_begin_all(), for FD (taken over), a document with names from another machine, which READ reads. TIME is
 * when its data was taken, seconds since 1970. */
GPtrArray *source_begin_document(int fd, SourceRead *read, const char *name, gint64 time, const SourceOptions *options);

/* The user who chose what PARTS say: of the processes, or the owner of the files; of several, by rights_lesser(). */
uid_t source_author(const GPtrArray *parts);

/* The descriptors that source_finish() needs, of int. */
GArray *source_descriptors(const GPtrArray *parts);

/* The same for one source, without names. */
Source *source_begin(const char *name, const SourceOptions *options, GError **error);
gboolean source_parse(Source *source, const SourceOptions *options, GError **error);

/* The earlier of two Source.taken, ignoring an unknown one. */
gint64 source_older(gint64 a, gint64 b);

typedef enum {
    SOURCE_IS_FILE,
    SOURCE_IS_TARGET,
    SOURCE_IS_NEITHER, /* with an error */
} SourceKind;

/* What `name` is. A running process: unix:PATH, a URL, a name that is not a path or file, or a file of the wrong kind
 * (may_be_file() is FALSE), such as the program itself, while a process of that name or pid runs. Another user's file
 * in the working directory takes the place of no process: one with its pid comes first, one with its name is an error.
 */
SourceKind source_kind(const char *name, gboolean (*may_be_file)(const char *path), GError **error);

/* Operands (process_operand()) of all reachable processes of `names` (pids and names, NULL-terminated), as operands for
 * source_begin_all(). The reasons for skipping others are added to left_out (of char *), also on error. */
GStrv source_expand(char *const *names, CandidatesFlags flags, GPtrArray *left_out, GError **error);

/* Takes ownership of note, which may be NULL. */
void source_add_note(Source *source, char *note);
void source_free(Source *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Source, source_free)

#endif
