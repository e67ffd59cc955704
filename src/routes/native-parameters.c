/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native-parameters.h"

#include "routes/choice.h"
#include "routes/flat-json.h"
#include "routes/native-reply.h"
#include "routes/values.h"

#include "jemalloc/controls.h"

#include <string.h>

enum {
    SIMILAR_MAX = 2,     /* maximum edit distance of a misspelled name */
    PARAMETERS_MAX = 64, /* in a query or a form, with empty ones: each search for a parameter passes them all */
};

void
native_refuse(RouteReply *reply, const char *name, const char *value, const char *must)
{
    native_error(reply, 400, &(NativeError){"invalid_parameter", NATIVE_PARAMETERS_HINT},
                 "%s: invalid value '%s'; it must be %s", name, value, must);
}

QueryState
native_find(const RouteRequest *request, const char *name, QueryValue *value)
{
    if (query_find(request->query, name, value) != QUERY_ABSENT)
        return value->state;
    return flat_json_is_meant(request->body, request->body_size)
               ? flat_json_find(request->body, request->body_size, name, value)
               : query_find_in(request->body, request->body_size, name, value);
}

/* ---- unexpected parameters ---- */

static const RouteParameter *
find_row(const RouteParameter *parameters, const char *name)
{
    for (; parameters != NULL && parameters->name != NULL; parameters++)
        if (strcmp(parameters->name, name) == 0)
            return parameters;
    return NULL;
}

static const char *
list_names(const Route *route, char *known, size_t size)
{
    known[0] = '\0';
    for (const RouteParameter *row = route->parameters; row != NULL && row->name != NULL; row++) {
        size_t used = strlen(known);
        if (used + strlen(row->name) + strlen(", ") < size) {
            strcpy(known + used, used > 0 ? ", " : "");
            strcat(known, row->name);
        }
    }
    return known;
}

/* The parameter with a name similar to NAME; NULL: none. */
static const char *
find_similar(const Route *route, const char *name)
{
    const char *best = NULL;
    unsigned least = SIMILAR_MAX + 1;
    for (const RouteParameter *row = route->parameters; row != NULL && row->name != NULL; row++) {
        unsigned distance = value_distance(row->name, name);
        if (distance < least && distance < strlen(row->name)) {
            least = distance;
            best = row->name;
        }
    }
    return best;
}

static void
refuse_name(const Route *route, const char *name, RouteReply *reply)
{
    char known[FAILURE_WHY_MAX];
    const char *similar = find_similar(route, name);
    const NativeError error = {"unknown_parameter", NATIVE_PARAMETERS_HINT};
    if (list_names(route, known, sizeof(known))[0] == '\0')
        native_error(reply, 400, &error, "unknown parameter '%s'; this request takes none", name);
    else if (similar != NULL)
        native_error(reply, 400, &error, "unknown parameter '%s'; did you mean '%s'?", name, similar);
    else
        native_error(reply, 400, &error, "unknown parameter '%s'; known: %s", name, known);
}

static bool
check_length(const char *name, QueryState state, RouteReply *reply)
{
    if (state == QUERY_LONG) {
        native_error(reply, 400, &(NativeError){"invalid_parameter", "shorten it"}, "%s: longer than %d characters",
                     name, QUERY_VALUE_MAX - 1);
    }
    return state != QUERY_LONG;
}

static bool
check_count(const char *text, size_t size, RouteReply *reply)
{
    const char *end = text + size;
    size_t n = 1;
    for (const char *at = text; n <= PARAMETERS_MAX && (at = memchr(at, '&', (size_t)(end - at))) != NULL; at++)
        n++;
    if (n > PARAMETERS_MAX) {
        native_error(reply, 400, &(NativeError){"invalid_parameter", NATIVE_PARAMETERS_HINT},
                     "a query, or a form, has at most %d parameters", PARAMETERS_MAX);
    }
    return n <= PARAMETERS_MAX;
}

/* Checks the parameters in one text of REQUEST, its query or its body as a form. */
static bool
check_text(const Route *route, const RouteRequest *request, const char *text, RouteReply *reply)
{
    size_t size = text == request->query ? strlen(text) : request->body_size;

    if (!check_count(text, size, reply))
        return false;
    QueryValue name, value;
    for (const char *at = text; query_next(&at, text + size, &name);) {
        const RouteParameter *row = name.state == QUERY_LONG ? NULL : find_row(route->parameters, name.text);
        if (row == NULL) {
            refuse_name(route, name.text, reply);
            return false;
        }
        if (text == request->query && strcmp(row->kind, "secret") == 0) {
            native_error(reply, 400, &(NativeError){"invalid_parameter", "send it in the body"},
                         "%s: a URL is kept in logs and histories", name.text);
            return false;
        }
        if (!check_length(name.text, query_find_in(text, size, name.text, &value), reply))
            return false;
    }
    return true;
}

/* The JSON types allowed for a parameter; string if it has no row. */
static const struct {
    const char *kind;
    unsigned kinds; /* 1 << FlatKind */
    const char *must;
} json_kinds[] = {
    {"boolean", 1u << FLAT_BOOLEAN, "true or false"},
    {"integer", 1u << FLAT_INTEGER, "an integer"},
    {"fraction", 1u << FLAT_INTEGER | 1u << FLAT_NUMBER, "a number"},
    {"size", 1u << FLAT_STRING | 1u << FLAT_INTEGER, "a string like \"512KiB\" or an integer"},
    {"id", 1u << FLAT_STRING | 1u << FLAT_INTEGER, "a string or an integer"},
    {"scalar", 1u << FLAT_STRING | 1u << FLAT_INTEGER | 1u << FLAT_NUMBER | 1u << FLAT_BOOLEAN,
     "a string, a number, true or false"},
    {"", 1u << FLAT_STRING, "a string"},
};

static bool
check_json_kind(const RouteParameter *row, FlatKind kind, RouteReply *reply)
{
    size_t i = 0;
    while (json_kinds[i].kind[0] != '\0' && strcmp(json_kinds[i].kind, row->kind) != 0)
        i++;
    bool possible = (json_kinds[i].kinds & 1u << kind) != 0;
    if (!possible) {
        native_error(reply, 400, &(NativeError){"invalid_parameter", NATIVE_PARAMETERS_HINT},
                     "%s: in JSON it must be %s", row->name, json_kinds[i].must);
    }
    return possible;
}

static bool
check_json_member(const Route *route, const RouteRequest *request, const FlatMember *member, uint64_t *seen,
                  RouteReply *reply)
{
    const RouteParameter *row =
        member->name.state != QUERY_LONG ? find_row(route->parameters, member->name.text) : NULL;
    if (row == NULL) {
        refuse_name(route, member->name.text, reply);
        return false;
    }
    uint64_t bit = UINT64_C(1) << (row - route->parameters);
    if ((*seen & bit) != 0) {
        native_error(reply, 400, &(NativeError){"invalid_parameter", "give each once"}, "%s: given twice", row->name);
        return false;
    }
    *seen |= bit;
    return check_json_kind(row, member->kind, reply) && check_length(row->name, member->value.state, reply);
}

static bool
check_json(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    FlatJson json;
    FlatMember member;
    FlatStep step;
    uint64_t seen = 0;
    flat_json_begin(&json, request->body, request->body_size);
    while ((step = flat_json_next(&json, &member)) == FLAT_MEMBER)
        if (!check_json_member(route, request, &member, &seen, reply))
            return false;
    if (step == FLAT_BROKEN) {
        native_error(reply, 400, &(NativeError){"invalid_body", "send an object of scalars, such as {\"for\":\"30s\"}"},
                     "the body is not a JSON object: byte %zu is unexpected", (size_t)(json.at - request->body));
    }
    return step == FLAT_END;
}

bool
native_check(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    if (!check_text(route, request, request->query, reply))
        return false;
    if (flat_json_is_meant(request->body, request->body_size))
        return check_json(route, request, reply);
    if (memchr(request->body, '\0', request->body_size) != NULL) {
        native_error(reply, 400, &(NativeError){"invalid_body", "leave it out"}, "the form has a NUL in it");
        return false;
    }
    return check_text(route, request, request->body, reply);
}

/* ---- values ---- */

static bool
parse_duration(const char *text, uint64_t *ms)
{
    double parsed;
    if (!value_duration(text, &parsed) || parsed > (double)WIRE_LEASE_MAX_MS)
        return false;
    *ms = (uint64_t)parsed;
    return true;
}

static bool
parse_signed(const char *text, uint64_t *number)
{
    int64_t parsed;
    if (!value_signed(text, &parsed))
        return false;
    *number = (uint64_t)parsed;
    return true;
}

static bool
parse_boolean(const char *text, uint64_t *flag)
{
    bool parsed;
    if (!value_boolean(text, &parsed))
        return false;
    *flag = parsed;
    return true;
}

static const struct {
    bool (*parse)(const char *text, uint64_t *value);
    uint64_t least, most;
    const char *must;
} kinds[] = {
    [NATIVE_DURATION] = {parse_duration, 1, WIRE_LEASE_MAX_MS,
                         "a duration like 90s, 5m or 1h30m, of " WIRE_LEASE_MAX_TEXT " at most"},
    [NATIVE_WATCH] = {parse_duration, 1, NATIVE_WATCH_MAX_MS, "a duration like 30s, of 5m at most"},
    [NATIVE_PERIOD] = {value_size, 1, UINT64_C(1) << 62, "a size like 512KiB, greater than 0"},
    [NATIVE_SAMPLER_MEMORY] = {value_size, WIRE_SAMPLER_MEMORY_MIN, WIRE_SAMPLER_MEMORY_MAX,
                               "a size from 1MiB to 1GiB"},
    [NATIVE_OUTPUT] = {value_size, UINT64_C(4) << 10, UINT64_C(64) << 30, "a size from 4KiB to 64GiB"},
    [NATIVE_NUMBER] = {value_unsigned, 0, UINT64_MAX, "an integer from 0 on"},
    [NATIVE_COUNT] = {value_unsigned, 0, INT32_MAX, "a number; 0 shows all"},
    [NATIVE_THREADS] = {value_unsigned, 1, UINT64_MAX, "at least 1; enabled=false ends all threads"},
    [NATIVE_ARENA] = {value_unsigned, 0, CONTROL_ALL_ARENAS, "the number of an arena, or omitted for all"},
    [NATIVE_SIGNED] = {parse_signed, 0, UINT64_MAX, "an integer"},
    [NATIVE_BOOLEAN] = {parse_boolean, 0, 1, "true or false"},
};

bool
native_read(const RouteRequest *request, unsigned wanted, const char *name, uint64_t *value, RouteReply *reply)
{
    unsigned kind = wanted & ~(unsigned)NATIVE_NEEDED;
    QueryValue given;
    uint64_t parsed;
    if (native_find(request, name, &given) == QUERY_ABSENT) {
        if ((wanted & NATIVE_NEEDED) != 0)
            native_error(reply, 400, &(NativeError){"missing_parameter", NATIVE_PARAMETERS_HINT},
                         "the parameter '%s' is missing", name);
        return (wanted & NATIVE_NEEDED) == 0;
    }
    const char *text = given.state == QUERY_BARE && kind == NATIVE_BOOLEAN ? "true" : given.text;
    if (!kinds[kind].parse(text, &parsed) || parsed < kinds[kind].least || parsed > kinds[kind].most) {
        native_refuse(reply, name, given.text, kinds[kind].must);
        return false;
    }
    *value = parsed;
    return true;
}

bool
native_for(const RouteRequest *request, unsigned needed, uint64_t *ms, RouteReply *reply)
{
    static const char name[] = "for";
    static const char alias[] = "duration";
    QueryValue value;
    bool aliased = native_find(request, alias, &value) != QUERY_ABSENT;
    if (aliased && native_find(request, name, &value) != QUERY_ABSENT) {
        native_error(reply, 400, &(NativeError){"invalid_parameter", "give one of them"},
                     "'for' and 'duration' are the same parameter");
        return false;
    }
    return native_read(request, NATIVE_DURATION | needed, aliased ? alias : name, ms, reply);
}

bool
native_period(const RouteRequest *request, uint32_t *period, RouteReply *reply)
{
    uint64_t bytes = 0;
    bool good = native_read(request, NATIVE_PERIOD, "sample", &bytes, reply);
    *period = bytes != 0 ? value_log2_rounded(bytes) + 1 : 0;
    return good;
}

/* A power of two, within the limit of the host. */
static bool
read_memory(const RouteHost *host, const RouteRequest *request, uint64_t *memory, RouteReply *reply)
{
    const uint64_t most = host->sampler_memory_max != 0 ? host->sampler_memory_max : WIRE_SAMPLER_MEMORY_DEFAULT;
    QueryValue given;
    if (native_find(request, "sampler-memory", &given) == QUERY_ABSENT)
        return true;
    if (!native_read(request, NATIVE_SAMPLER_MEMORY, "sampler-memory", memory, reply))
        return false;
    *memory = UINT64_C(1) << value_log2_rounded(*memory);
    if (*memory <= most)
        return true;
    native_error(reply, 403, &(NativeError){"not_allowed", "the server's option --max-sampler-memory allows more"},
                 "sampler-memory: '%s' is more than the %llu MiB that a client may give here", given.text,
                 (unsigned long long)(most >> 20));
    return false;
}

bool
native_choice(const RouteHost *host, const RouteRequest *request, SamplerChoice *choice, RouteReply *reply)
{
    QueryValue given;
    *choice = (SamplerChoice){0};
    native_find(request, "sampler", &given);
    if (!choice_parse(&given, &choice->sampler)) {
        native_refuse(reply, "sampler", given.text, choice_sampler_must);
        return false;
    }
    if (!read_memory(host, request, &choice->memory, reply))
        return false;
    if (choice->sampler == WIRE_SAMPLER_JEMALLOC && choice->memory != 0)
        native_error(reply, 400, &(NativeError){"invalid_parameter", NATIVE_PARAMETERS_HINT},
                     "sampler-memory is for jescope's own sampler, not for sampler=jemalloc");
    return choice->sampler != WIRE_SAMPLER_JEMALLOC || choice->memory == 0;
}

bool
native_capture(const RouteRequest *request, RouteCapture *capture, RouteReply *reply)
{
    uint64_t symbolized = 0;
    uint64_t forced = 0;
    *capture = (RouteCapture){0};
    bool good = native_read(request, NATIVE_BOOLEAN, "symbolize", &symbolized, reply) &&
                native_read(request, NATIVE_BOOLEAN, "force", &forced, reply) &&
                native_read(request, NATIVE_OUTPUT, "max-output", &capture->output_max, reply);
    capture->symbolized = symbolized != 0;
    capture->forced = forced != 0;
    return good;
}
