/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile: what a heap dump says, after reading. Stacks of locations with weights, and the objects they lie in.
 *
 * A Profile is built once (profile_read, profile_merge, profile_subtract, profile_filter) and immutable afterwards, so
 * any number of threads may read it. Arrays handed out are borrowed and live as long as the Profile.
 */
#ifndef JESCOPE_PROFILE_PROFILE_H
#define JESCOPE_PROFILE_PROFILE_H

#include <gio/gio.h>

typedef struct Profile Profile;

/* The four values of jemalloc's dumps, in pprof's order. The alloc_* pair is zero unless opt.prof_accum was on. */
typedef enum {
    PROFILE_ALLOC_OBJECTS,
    PROFILE_ALLOC_SPACE,
    PROFILE_INUSE_OBJECTS,
    PROFILE_INUSE_SPACE,
    PROFILE_N_VALUES
} ProfileValue;

/* Unbiased estimates with their variance (the square of the standard error): docs/formats.md, "Weights". */
typedef struct {
    gdouble estimate[PROFILE_N_VALUES];
    gdouble variance[PROFILE_N_VALUES];
} ProfileWeight;

#define PROFILE_NONE G_MAXUINT32 /* "no such index" */

typedef enum {
    PROFILE_OBJECT_DELETED = 1 << 0,   /* the file was gone (or replaced) when the dump was taken */
    PROFILE_OBJECT_VDSO = 1 << 1,      /* [vdso], [vsyscall] */
    PROFILE_OBJECT_ANONYMOUS = 1 << 2, /* no file: JIT code, [heap], [stack] */
} ProfileObjectFlags;

/* One file (or pseudo file) that locations lie in. */
typedef struct {
    const char *path;     /* as in the target's maps, without " (deleted)" */
    const char *build_id; /* lower-case hex, or NULL where nobody knew it when the dump was taken */
    guint64 device;       /* of the mapping, 0: unknown */
    guint64 inode;
    ProfileObjectFlags flags;
} ProfileObject;

/* One executable line of MAPPED_LIBRARIES. */
typedef struct {
    guint64 start, limit; /* [start, limit) */
    guint64 file_offset;
    guint32 object; /* index into profile_objects() */
} ProfileMapping;

/* One distinct program counter. */
typedef struct {
    guint64 address;     /* of the call: the return address minus one (a leaf is left as it is) */
    guint64 file_offset; /* of that address in its object's file; meaningless without mapping */
    guint32 mapping;     /* index into profile_mappings(), or PROFILE_NONE */
    guint32 object;      /* index into profile_objects(), or PROFILE_NONE */
} ProfileLocation;

/* One distinct stack (per thread, when the profile was read with threads). */
typedef struct {
    guint32 first;  /* into profile_frames(): `depth` location indexes, innermost first */
    guint32 depth;  /* may be 0 */
    guint32 thread; /* index into profile_threads(), or PROFILE_NONE for all threads together */
} ProfileStack;

/* A thread that the dump named. uid is jemalloc's own counter, not a tid. */
typedef struct {
    guint64 uid;
    const char *name; /* may be "" */
} ProfileThread;

typedef enum {
    PROFILE_FORMAT_JEMALLOC, /* heap_v2/N with t lines: jemalloc 4.0 to head */
    PROFILE_FORMAT_ONE_LINE, /* "heap profile:" of jemalloc 3.x and gperftools */
} ProfileFormat;

guint32 profile_n_stacks(const Profile *profile);
const ProfileStack *profile_stacks(const Profile *profile);
const ProfileWeight *profile_weights(const Profile *profile); /* one per stack, in the same order */
const guint32 *profile_frames(const Profile *profile);
guint32 profile_n_locations(const Profile *profile);
const ProfileLocation *profile_locations(const Profile *profile);
guint32 profile_n_mappings(const Profile *profile);
const ProfileMapping *profile_mappings(const Profile *profile);
guint32 profile_n_objects(const Profile *profile);
const ProfileObject *profile_objects(const Profile *profile);
guint32 profile_n_threads(const Profile *profile);
const ProfileThread *profile_threads(const Profile *profile);
guint64 profile_period(const Profile *profile); /* mean bytes between samples; 1: every allocation */
/* The sum over all stacks; sums of threads differ from it by rounding (docs/formats.md). */
const ProfileWeight *profile_total(const Profile *profile);
const char *profile_embedded_symbol(const Profile *profile, guint32 location); /* from a symbolized file, or NULL;
                                                                                  inlined callers joined with "--" */

ProfileFormat profile_format(const Profile *profile);

/* What a partial reading could not use. */
typedef struct {
    guint64 bytes; /* of dump text; what a cut compressed stream would still have held is not known, and not in here */
    guint64 lines;
    const char *reason; /* the first fault, as the error of a reading that is not partial */
} ProfileLoss;

const ProfileLoss *profile_lost(const Profile *profile); /* NULL: the profile is whole */

/*
 * Dumps hold no build ids: whoever can see the files that ran (a live capture) attaches them, before the profile is
 * shared; it is the one change a Profile allows. build_id returns lower-case hex to be freed, or NULL to leave the
 * object as it is.
 */
typedef char *(*ProfileBuildIdFunc)(const ProfileObject *object, gpointer user_data);
void profile_set_build_ids(Profile *profile, ProfileBuildIdFunc build_id, gpointer user_data);

void profile_free(Profile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Profile, profile_free)

typedef enum {
    PROFILE_ERROR_NOT_A_PROFILE, /* the content is nothing we know */
    PROFILE_ERROR_MALFORMED,     /* message has NAME:LINE:COLUMN */
    PROFILE_ERROR_TRUNCATED,
    PROFILE_ERROR_TOO_LARGE,
} ProfileError;
#define PROFILE_ERROR (profile_error_quark())
GQuark profile_error_quark(void);

typedef enum {
    PROFILE_READ_DEFAULT = 0,
    PROFILE_READ_THREADS = 1 << 0, /* one stack per (stack, thread) instead of all threads together */
    PROFILE_READ_PARTIAL = 1 << 1, /* keep what is whole; see profile_lost() */
} ProfileReadFlags;

/*
 * Reads one dump from fd (a file, a memfd, a pipe; not closed) to its end; gzip and zstd are recognised from content.
 * name stands in messages. Memory is proportional to distinct stacks. Never returns half a profile unless asked
 * (PARTIAL).
 */
Profile *profile_read_fd(int fd, const char *name, ProfileReadFlags flags, GError **error);
Profile *profile_read_file(const char *path, ProfileReadFlags flags, GError **error);
Profile *profile_read_bytes(GBytes *bytes, const char *name, ProfileReadFlags flags, GError **error);

/*
 * The sum of several profiles, and profile minus base (where variances still add). Each keeps its own mappings.
 * Locations are the same where object and file offset are: objects by build id where both have one, else by path and,
 * where known, inode; never by address. Two locations of the result may therefore have one address. The period is the
 * largest of all.
 */
Profile *profile_merge(const Profile *const *profiles, gsize n_profiles, GError **error);
Profile *profile_subtract(const Profile *profile, const Profile *base, GError **error);

/*
 * What to keep, as one byte per location (0: no match), or NULL where that rule is not wanted. The rules apply in this
 * order; names exist only above this room, so the caller matches them.
 */
typedef struct {
    const guint8 *trim; /* leading frames that match go: the allocator's own */
    const guint8 *cut;  /* jeprof's way to the same end: everything from the leaf to the last frame that matches goes */
    const guint8 *retain;  /* only frames that match stay; a stack without any goes */
    const guint8 *exclude; /* frames that match go; a stack that loses all goes */
    const guint8 *focus;   /* stacks without a matching frame go */
    const guint8 *ignore;  /* stacks with a matching frame go */
    guint32 thread;        /* stacks of other threads go; PROFILE_NONE: not wanted */
} ProfileFilter;

/* Locations, mappings, objects and threads keep their indexes: names of profile are names of the result. */
Profile *profile_filter(const Profile *profile, const ProfileFilter *filter, GError **error);

/*
 * The interval that holds the true value with the confidence of z standard deviations (1.96: 95 %), for a weight that
 * is not a difference: wider above than below, and never below zero; docs/formats.md, "Intervals". For a difference
 * (and for any negative estimate here) it is the estimate and z standard errors to either side.
 */
typedef struct {
    gdouble low, high;
} ProfileInterval;

ProfileInterval profile_interval(gdouble estimate, gdouble variance, gdouble z);

#endif
