/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON into the body of a reply: compact, members in the order of the calls. */
#ifndef JESCOPE_ROUTES_JSON_H
#define JESCOPE_ROUTES_JSON_H

#include "routes/routes.h"

enum { JSON_DEPTH_MAX = 8, JSON_PIECE_MAX = 1024 };

typedef struct Json {
    RouteReply *reply;
    unsigned depth;
    char ends[JSON_DEPTH_MAX];  /* the closing character of each open value */
    bool first;                 /* the innermost value is still empty */
    size_t used;                /* of piece */
    char piece[JSON_PIECE_MAX]; /* what is not in the reply yet, which is complete once the outermost value is closed */
} Json;

/* NAME is the name of a member, or NULL in an array and at the top. */
void json_begin(Json *json, RouteReply *reply);
void json_begin_object(Json *json, const char *name);
void json_begin_array(Json *json, const char *name);
void json_end(Json *json); /* closes the innermost open value */

/* Invalid UTF-8 becomes U+FFFD. */
void json_text(Json *json, const char *name, const char *text);
void json_number(Json *json, const char *name, uint64_t number); /* INT64_MAX at most: readers refuse larger ones */
void json_signed(Json *json, const char *name, int64_t number);
void json_seconds(Json *json, const char *name, uint64_t ms); /* 1500 is written as 1.500 */
void json_boolean(Json *json, const char *name, bool value);
void json_put_null(Json *json, const char *name);

#endif
