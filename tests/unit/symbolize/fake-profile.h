/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Profile of this very process, or of any ELF file, made without a dump. Defines the accessors of profile/profile.h
 * that symbolize/ calls, so that these tests do not hang on the reader.
 */
#ifndef JESCOPE_TESTS_FAKE_PROFILE_H
#define JESCOPE_TESTS_FAKE_PROFILE_H

#include "profile/profile.h"

Profile *fake_profile_new(void);

/* Adds one object with one executable mapping of [file_offset, file_offset + size); the index of the object. */
guint32 fake_profile_object(Profile *profile, const ProfileObject *object, guint64 start, guint64 file_offset,
                            guint64 size);

/*
 * Adds object, mapped as the loader would map the ELF file at path, which may be another than the object's; start:
 * where its code is mapped, 0: anywhere.
 */
guint32 fake_profile_mapped(Profile *profile, const char *path, const ProfileObject *object, guint64 start);

/* Adds a location by its offset in the file; its index. */
guint32 fake_profile_offset(Profile *profile, guint32 object, guint64 file_offset);

/* Adds a location by its link-time address in an ELF file added before. */
guint32 fake_profile_address(Profile *profile, guint32 object, guint64 address);

/* Adds a location that lies in no object; embedded: a name that came with it, or NULL. */
guint32 fake_profile_lost(Profile *profile, guint64 address, const char *embedded);

#endif
