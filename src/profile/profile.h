/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile, read from a heap dump: stacks of locations with weights, and the objects that contain them.
 *
 * A Profile is built once (profile_read_fd, profile_merge) and immutable afterwards, so any number of threads may read
 * it. Arrays handed out are borrowed and live as long as the Profile.
 */
#ifndef JESCOPE_PROFILE_PROFILE_H
#define JESCOPE_PROFILE_PROFILE_H

#include <gio/gio.h>

typedef struct Profile Profile;

/*
 * The values of a stack; profile_has_value() says which ones a profile has. The first four are those of pprof, in its
 * order. Age and lifetime are sums, so that they can be added like the others: bytes times the seconds that their
 * objects have lived; profile_mean() computes the means.
 */
typedef enum {
    PROFILE_ALLOC_OBJECTS, /* allocated since counting began: births */
    PROFILE_ALLOC_SPACE,
    PROFILE_INUSE_OBJECTS,
    PROFILE_INUSE_SPACE,
    PROFILE_FREED_OBJECTS, /* freed, of those allocated: deaths */
    PROFILE_FREED_SPACE,
    PROFILE_CHURN,    /* bytes freed per second of the recording */
    PROFILE_AGE,      /* byte-seconds of the objects in use */
    PROFILE_LIFETIME, /* byte-seconds of the objects freed */
    PROFILE_PINNED,   /* these two are not in the weights: profile/holes.h computes them */
    PROFILE_WHATIF,
    PROFILE_N_VALUES,
    PROFILE_N_PPROF_VALUES = PROFILE_INUSE_SPACE + 1
} ProfileValue;

/*
 * Unbiased estimates with their variance (the square of the standard error): docs/formats.md, "Weights". Values that
 * the profile does not know are meaningless.
 */
typedef struct {
    gdouble estimate[PROFILE_N_VALUES];
    gdouble variance[PROFILE_N_VALUES];
    gdouble age_covariance;      /* of PROFILE_AGE and PROFILE_INUSE_SPACE */
    gdouble lifetime_covariance; /* of PROFILE_LIFETIME and PROFILE_FREED_SPACE */
    /*
     * Sampled objects allocated since counting began, and those of them that were freed: independent Poisson counts.
     * Exact with jescope's sampler and jemalloc up to 5.2; later dumps have larger numbers for stacks of several sizes.
     * Known if PROFILE_ALLOC_OBJECTS is, and comparable between profiles of one period.
     */
    gdouble births, deaths;
} ProfileWeight;

/* Limits of a profile: far above real programs, to bound memory and time for untrusted dumps. */
#define PROFILE_MAX_STACKS  (1 << 22)
#define PROFILE_MAX_FRAMES  (1 << 28)
#define PROFILE_MAX_DEPTH   4096
#define PROFILE_MAX_SAMPLES (1 << 24)
#define PROFILE_LIMITS      "at most 2^22 stacks, 2^28 frames in all and 4096 frames in one stack"

#define PROFILE_NONE G_MAXUINT32 /* "no such index" */

typedef enum {
    PROFILE_OBJECT_DELETED = 1 << 0,   /* the file was deleted or replaced when the dump was taken */
    PROFILE_OBJECT_VDSO = 1 << 1,      /* [vdso], [vsyscall] */
    PROFILE_OBJECT_ANONYMOUS = 1 << 2, /* no file: JIT code, [heap], [stack] */
} ProfileObjectFlags;

/* One file (or pseudo file) that contains locations. */
typedef struct {
    const char *path; /* as in the target's maps, without " (deleted)" */
    guint64 device;   /* of the mapping; 0: unknown */
    guint64 inode;
    ProfileObjectFlags flags;
} ProfileObject;

/* One executable mapping of MAPPED_LIBRARIES. */
typedef struct {
    guint64 start, limit; /* [start, limit) */
    guint64 file_offset;
    guint32 object; /* index into profile_objects() */
} ProfileMapping;

/* One distinct program counter. */
typedef struct {
    guint64 address;     /* of the call: the return address minus one (unchanged for a leaf) */
    guint64 file_offset; /* of that address in its object's file; meaningless without a mapping */
    guint32 mapping;     /* index into profile_mappings(), or PROFILE_NONE */
    guint32 object;      /* index into profile_objects(), or PROFILE_NONE */
} ProfileLocation;

/* One distinct stack (per thread or size class if the profile was read with these). */
typedef struct {
    guint32 first;      /* into profile_frames(): `depth` location indexes, innermost first */
    guint32 depth;      /* may be 0 */
    guint32 thread;     /* index into profile_threads(), or PROFILE_NONE for all threads together */
    guint32 size_class; /* of all its objects (profile/size-class.h), or PROFILE_NONE */
} ProfileStack;

/* A thread named by the dump. uid is jemalloc's own counter, not a tid. */
typedef struct {
    guint64 uid;
    const char *name; /* may be "" */
} ProfileThread;

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
/* Whether the profile carries VALUE. Without prof_accum:true, jemalloc's dumps carry PROFILE_INUSE_* only. */
gboolean profile_has_value(const Profile *profile, ProfileValue value);
/* The names that a symbolized file has for a location, or NULL: the function, then the functions inlined in it, joined
 * with "--", and, if the file has them, the places "FILE:LINE:START" of these frames in the same order, each after a
 * tab. */
const char *profile_embedded_symbol(const Profile *profile, guint32 location);

/* Whether its file was a concatenation of several dumps, each with its own addresses and names. */
gboolean profile_is_joined(const Profile *profile);

/* What a dump of jescope's own sampler contains beside the weights: docs/formats.md, "Dumps of jescope's sampler". */
typedef struct {
    guint64 since;         /* start of the recording, microseconds since 1970 */
    guint64 window;        /* microseconds from the start to the dump */
    guint64 dropped;       /* samples lost */
    guint64 dropped_bytes; /* the sum of their sizes */
    guint64 thinned;       /* how often the period was doubled because memory was full */
} ProfileSampler;

/* A sampled object that was in use. */
typedef struct {
    guint64 address;
    guint64 size;    /* usable size, bytes */
    guint64 born;    /* microseconds after the start of the recording */
    guint32 thread;  /* the kernel's thread id */
    guint32 stack;   /* index into profile_stacks() */
    guint32 unused;  /* free regions of its slab when the dump was taken */
    guint32 regions; /* of its slab; 0: unknown, or the object is large */
} ProfileSample;

/* Sampled objects of one size and stack that were allocated and freed during the recording. */
typedef struct {
    guint64 size;
    guint64 n;
    gdouble lifetimes; /* their sum, in seconds */
    gdouble squares;   /* the sum of the squares of the lifetimes, in square seconds */
    guint32 stack;     /* index into profile_stacks() */
} ProfileDeaths;

/* NULL: the dump is not from jescope's sampler, or the profile was merged from several. Then there are no samples. */
const ProfileSampler *profile_sampler(const Profile *profile);
/* In the order of the dump. Deaths are not known by thread: in a profile read with threads their stacks are those of
 * all threads together. */
const ProfileSample *profile_samples(const Profile *profile, guint32 *n_samples);
const ProfileDeaths *profile_deaths(const Profile *profile, guint32 *n_deaths);

/* The parts that a partial read has dropped. */
typedef struct {
    guint64 bytes; /* of dump text; without the unknown missing part of a truncated compressed stream */
    guint64 lines;
    const char *reason; /* the first error, with the message that a strict read would fail with */
} ProfileLoss;

const ProfileLoss *profile_lost(const Profile *profile); /* NULL: the profile is complete */

void profile_free(Profile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Profile, profile_free)

typedef enum {
    PROFILE_ERROR_NOT_A_PROFILE, /* unknown content */
    PROFILE_ERROR_MALFORMED,     /* message has NAME:LINE:COLUMN */
    PROFILE_ERROR_TRUNCATED,
    PROFILE_ERROR_TOO_LARGE,
} ProfileError;
#define PROFILE_ERROR (profile_error_quark())
GQuark profile_error_quark(void);

typedef enum {
    PROFILE_READ_DEFAULT = 0,
    PROFILE_READ_THREADS = 1 << 0, /* one stack per (stack, thread) instead of all threads together */
    PROFILE_READ_PARTIAL = 1 << 1, /* keep the intact part; see profile_lost() */
    PROFILE_READ_SIZES = 1 << 2,   /* one stack per (stack, size class) if the dump has the sizes of objects */
} ProfileReadFlags;

/*
 * Reads one dump from fd (a file, a memfd, a pipe; not closed) to its end; gzip and zstd are detected. name is used in
 * messages. Memory is proportional to distinct stacks. Returns an incomplete profile only with PARTIAL.
 */
Profile *profile_read_fd(int fd, const char *name, ProfileReadFlags flags, GError **error);
Profile *profile_read_file(const char *path, ProfileReadFlags flags, GError **error);
Profile *profile_read_bytes(GBytes *bytes, const char *name, ProfileReadFlags flags, GError **error);

/*
 * The sum of several profiles. Each keeps its own mappings. Locations are equal if object and file offset are: objects
 * by path and, where known, inode; never by address. Two locations of the result may therefore have the same address.
 * The period is the largest one.
 */
Profile *profile_merge(const Profile *const *profiles, gsize n_profiles, GError **error);

/*
 * The interval that contains the true value with the confidence of z standard deviations (1.96: 95 %), for a weight
 * that is not a difference: wider above than below, and never below zero; docs/formats.md, "Intervals". For a
 * difference (and for any negative estimate) it is the estimate plus and minus z standard errors.
 */
typedef struct {
    gdouble low, high;
} ProfileInterval;

ProfileInterval profile_interval(gdouble estimate, gdouble variance, gdouble z);

/* For PROFILE_AGE or PROFILE_LIFETIME as VALUE: the mean over the bytes of WEIGHT, in seconds. FALSE: there are no
 * bytes. */
gboolean profile_mean(const ProfileWeight *weight, ProfileValue value, gdouble *mean, gdouble *variance);

#endif
