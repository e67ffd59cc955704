/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the black box, below one directory: NAME/PID.STARTTICKS for each life of a target, which contains
 *   NUMBER.heap, NUMBER.snapshot   a heap dump, and its key file: when and why it was taken, and the memory then
 *   end                            a key file: when and how the process ended
 *   lock                           locked while the life is watched
 * A file gets its name when it is complete and on disk, the dump before its key file; files that it replaces are
 * removed after that. docs/formats.md has the keys.
 */
#ifndef JESCOPE_BLACKBOX_LIFE_H
#define JESCOPE_BLACKBOX_LIFE_H

#include "target/unit.h"

#include <glib.h>
#include <sys/types.h>

#define BLACKBOX_ERROR (blackbox_error_quark())
GQuark blackbox_error_quark(void);

typedef enum {
    BLACKBOX_ERROR_FILE,   /* a file cannot be read or written */
    BLACKBOX_ERROR_FORMAT, /* not a file of the black box, or damaged */
    BLACKBOX_ERROR_BUSY,   /* another jescope watches this life */
} BlackboxError;

/* The value of an unknown number of bytes. */
#define BLACKBOX_UNKNOWN G_MAXUINT64

/* Bytes at one moment. */
typedef struct {
    guint64 used;  /* as CgroupReading.used; without a group, resident */
    guint64 limit; /* BLACKBOX_UNKNOWN: none */
    guint64 rss;
    guint64 resident, active, allocated, held; /* jemalloc's, docs/metrics.md */
} BlackboxMemory;

typedef struct {
    guint number;   /* 1, 2, ... in its life */
    gint64 time_us; /* start of the dump, CLOCK_REALTIME */
    gint64 took_us;
    char *reason; /* pacer_reason_name() */
    BlackboxMemory memory;
    char *dump;         /* its path; NULL: no dump */
    guint64 dump_bytes; /* size of the dump */
    char *missing;      /* why no dump exists */
    uid_t sole_user;    /* process_user() so far; (uid_t)-1: several, or unknown */
    uid_t owner;        /* as target_files_user_of(): files that the dump names are read with this user's rights */
} BlackboxSnapshot;

void blackbox_snapshot_free(BlackboxSnapshot *snapshot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlackboxSnapshot, blackbox_snapshot_free)

typedef enum {
    BLACKBOX_CAUSE_UNKNOWN,
    BLACKBOX_CAUSE_OOM,        /* SIGKILL, and oom_kill of its group has risen, or its unit's result is oom-kill */
    BLACKBOX_CAUSE_OOM_LIKELY, /* SIGKILL with less than 5 % of the limit left; the group's counter could not be read */
    BLACKBOX_CAUSE_SIGNAL,
    BLACKBOX_CAUSE_EXIT,
    BLACKBOX_CAUSES,
} BlackboxCause;

/* "oom-kill" and so on. */
const char *blackbox_cause_name(BlackboxCause cause);

typedef struct {
    gint64 time_us; /* CLOCK_REALTIME */
    BlackboxCause cause;
    gint number; /* signal number or exit status */
    guint64 used, limit;
    gint64 read_us;                     /* when these were read */
    guint64 kills_before, kills_after;  /* CgroupReading.oom_kills, or BLACKBOX_UNKNOWN */
    char unit[UNIT_NAME_SIZE];          /* of systemd; "": none, or the manager did not say how it ended */
    char unit_result[UNIT_RESULT_SIZE]; /* UnitEnd.result */
} BlackboxEnd;

/* A life as read from disk. */
typedef struct {
    char *directory;
    char *name; /* of the process */
    pid_t pid;
    guint64 start_time; /* as Process.start_time */
    char *boot;
    uid_t user;           /* the real one of the process; (uid_t)-1: unknown */
    GPtrArray *snapshots; /* of BlackboxSnapshot, oldest first; empty only for a life that has just begun */
    gboolean has_end;
    BlackboxEnd end;
    gboolean watched; /* currently */
    gboolean alive;   /* the process runs */
    gint64 latest_us; /* of the end, or of the last snapshot */
} BlackboxLife;

/* "4711.8812033", unique among the processes since boot. To be freed. */
char *blackbox_life_id(const BlackboxLife *life);

void blackbox_life_free(BlackboxLife *life);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlackboxLife, blackbox_life_free)

/* $JESCOPE_BLACKBOX, else jescope/blackbox in $XDG_STATE_HOME, else in ~/.local/state. To be freed. */
char *blackbox_default_directory(void);

/* The directory of `jescope serve`: $JESCOPE_BLACKBOX, else /var/lib/jescope-serve/blackbox for root, else as above. To
 * be freed. */
char *blackbox_server_directory(void);

/* The directories that `jescope last` searches: blackbox_default_directory(), and without $JESCOPE_BLACKBOX that of
 * root's server if it is readable. NULL-terminated, to be freed with g_strfreev(). */
char **blackbox_directories(void);

/* Returns the lives below DIRECTORY, the latest first; those of NAME (a process's name, or a pid) unless it is NULL. A
 * damaged file is skipped, and in a directory of another user what follows the first 128 MiB of records, with a
 * sentence in LEFT_OUT (of char *, may be NULL). The array is empty if DIRECTORY does not exist. */
GPtrArray *blackbox_lives(const char *directory, const char *name, GPtrArray *left_out, GError **error);

/* The same for several DIRECTORIES, NULL-terminated. */
GPtrArray *blackbox_all_lives(const char *const *directories, const char *name, GPtrArray *left_out, GError **error);

#endif
