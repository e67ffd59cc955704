/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a Profile: everything is interned once and named by its index. Both ways to a Profile (reading, merging)
 * go through here.
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
/* Takes the arrays, of ProfileSample and ProfileDeaths. */
void builder_set_lives(ProfileBuilder *builder, const ProfileSampler *sampler, GArray *samples, GArray *deaths);
void builder_add_loss(ProfileBuilder *builder, const ProfileLoss *loss); /* the first reason stays */

/* Strings in the following are copied. */
guint32 builder_object(ProfileBuilder *builder, const ProfileObject *object);
guint32 builder_mapping(ProfileBuilder *builder, const ProfileMapping *mapping);
/* Within one dump a uid is enough; threads of several processes are the same where name and uid are. */
guint32 builder_thread(ProfileBuilder *builder, guint64 uid, const char *name);
guint32 builder_named_thread(ProfileBuilder *builder, const ProfileThread *thread);

/*
 * The location of an address whose mapping is not known yet; builder_resolve() resolves them all when the mappings are
 * known. A builder uses either these two or builder_location().
 */
guint32 builder_address(ProfileBuilder *builder, guint64 address);
void builder_resolve(ProfileBuilder *builder);

/* The location with this object and offset (or address, without an object); the first one's fields stay. */
guint32 builder_location(ProfileBuilder *builder, const ProfileLocation *location);

/* name belongs to the location at address, before or after that location is known. */
void builder_symbol(ProfileBuilder *builder, guint64 address, const char *name);
void builder_location_symbol(ProfileBuilder *builder, guint32 location, const char *name);

/* Frames on their way in. */
typedef struct {
    const guint32 *frames;
    guint32 depth;
    guint32 hash;
} BuilderFrames;

/*
 * Prepares frames (borrowed) for builder_stack(). In between, the caller had better do something else: the table of
 * stacks is being fetched from memory.
 */
BuilderFrames builder_frames(const ProfileBuilder *builder, const guint32 *frames, guint32 depth);

/* What a stack is of: PROFILE_NONE for all threads, for objects of any size. */
typedef struct {
    guint32 thread, size_class;
} BuilderPart;

#define BUILDER_WHOLE ((BuilderPart){PROFILE_NONE, PROFILE_NONE})

/* The stack with these frames; PROFILE_NONE when the model's 32-bit indexes are used up. */
guint32 builder_stack(ProfileBuilder *builder, const BuilderFrames *frames, BuilderPart part);
gboolean builder_full(GError **error); /* sets the error for that case; returns FALSE */

void builder_add_weight(ProfileBuilder *builder, guint32 stack, const ProfileWeight *weight);

/* The finished profile; the builder is empty afterwards and only good for builder_free(). */
Profile *builder_finish(ProfileBuilder *builder);

#endif
