/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a Profile: everything is interned and identified by its index. Used for reading as well as for merging.
 */
#ifndef JESCOPE_PROFILE_BUILDER_H
#define JESCOPE_PROFILE_BUILDER_H

#include "profile/index-table.h"
#include "profile/model.h"
#include "profile/weight.h"

typedef struct ProfileBuilder ProfileBuilder;

ProfileBuilder *builder_new(void);
void builder_free(ProfileBuilder *builder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProfileBuilder, builder_free)

void builder_set_period(ProfileBuilder *builder, guint64 period);
guint64 builder_period(const ProfileBuilder *builder);
void builder_set_capture(ProfileBuilder *builder, const ProfileCapture *capture);
void builder_add_class(ProfileBuilder *builder, const ProfileClass *class);
void builder_set_known(ProfileBuilder *builder, guint32 known); /* PROFILE_BIT() */
/* Takes ownership of the arrays, of ProfileSample and ProfileDeaths. */
void builder_set_lives(ProfileBuilder *builder, const ProfileSampler *sampler, GArray *samples, GArray *deaths);
void builder_add_loss(ProfileBuilder *builder, const ProfileLoss *loss); /* the first reason is kept */

/* Strings passed to the following functions are copied. */
guint32 builder_object(ProfileBuilder *builder, const ProfileObject *object);
guint32 builder_mapping(ProfileBuilder *builder, const ProfileMapping *mapping);
/* Within one dump the uid identifies a thread; threads of several processes are the same if name and uid are. */
guint32 builder_thread(ProfileBuilder *builder, guint64 uid, const char *name);
guint32 builder_named_thread(ProfileBuilder *builder, const ProfileThread *thread);

/*
 * The location of an address whose mapping is not known yet; builder_resolve() resolves all of them once the mappings
 * are known. A builder uses either these two functions or builder_location().
 */
guint32 builder_address(ProfileBuilder *builder, guint64 address);
void builder_resolve(ProfileBuilder *builder);

/* The location with this object and offset (or address, without an object); for equal ones, the first one's fields are
 * kept. */
guint32 builder_location(ProfileBuilder *builder, const ProfileLocation *location);

/* Sets the name of the location at address, which need not exist yet. */
void builder_symbol(ProfileBuilder *builder, guint64 address, const char *name);
void builder_location_symbol(ProfileBuilder *builder, guint32 location, const char *name);

/* The frames of a stack to be added. */
typedef struct {
    const guint32 *frames;
    guint32 depth;
    guint32 hash;
} BuilderFrames;

/*
 * Prepares frames (borrowed) for builder_stack(). It prefetches the table of stacks, so the caller should do other work
 * in between.
 */
BuilderFrames builder_frames(const ProfileBuilder *builder, const guint32 *frames, guint32 depth);

/* The part that a stack belongs to; PROFILE_NONE: all threads, or objects of any size. */
typedef struct {
    guint32 thread, size_class;
} BuilderPart;

#define BUILDER_WHOLE ((BuilderPart){PROFILE_NONE, PROFILE_NONE})

/* The index of the stack with these frames; PROFILE_NONE if the model's 32-bit indexes are used up. */
guint32 builder_stack(ProfileBuilder *builder, const BuilderFrames *frames, BuilderPart part);
gboolean builder_full(GError **error); /* sets the error for that case; returns FALSE */

void builder_add_weight(ProfileBuilder *builder, guint32 stack, const ProfileWeight *weight);

/* The finished profile; the builder is then empty and can only be freed. */
Profile *builder_finish(ProfileBuilder *builder);

#endif
