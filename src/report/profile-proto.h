/* SPDX-License-Identifier: Apache-2.0 */
/* Shared parts of the writers of profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto): field
 * numbers, and the string table, which other profile formats have as well. */
#ifndef JESCOPE_REPORT_PROFILE_PROTO_H
#define JESCOPE_REPORT_PROFILE_PROTO_H

#include <glib.h>

enum { /* field numbers of message Profile */
       PROFILE_SAMPLE_TYPE = 1,
       PROFILE_SAMPLE = 2,
       PROFILE_MAPPING = 3,
       PROFILE_LOCATION = 4,
       PROFILE_FUNCTION = 5,
       PROFILE_STRING_TABLE = 6,
       PROFILE_TIME_NANOS = 9,
       PROFILE_PERIOD_TYPE = 11,
       PROFILE_PERIOD = 12,
       PROFILE_COMMENT = 13,
       PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

/* Distinct strings in the order of their first use. Index 0 is "", as the formats require. */
typedef struct ProtoStrings ProtoStrings;

ProtoStrings *proto_strings_new(void);
void proto_strings_free(ProtoStrings *strings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProtoStrings, proto_strings_free)

/* TEXT is copied; NULL means "". */
guint64 proto_strings_index(ProtoStrings *strings, const char *text);

/* Of char *. Valid until the next call of proto_strings_index(). */
const GPtrArray *proto_strings_all(const ProtoStrings *strings);

/* Appends the fields of a ValueType to MESSAGE. */
void proto_value_type(GByteArray *message, ProtoStrings *strings, const char *type, const char *unit);

#endif
