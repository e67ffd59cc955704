/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/route.h"

#include "routes/native-parameters.h"
#include "routes/native-reply.h"
#include "routes/path.h"
#include "routes/reply.h"
#include "routes/table.h"

#include <errno.h>
#include <string.h>

static const char native_prefix[] = "/api/v1/targets/";

enum {
    TARGET_COMPONENT = 3,
    METHODS_MAX = 128,
};

static bool
has_method(const char *methods, const char *method)
{
    size_t n = strlen(method);
    if (strcmp(methods, "*") == 0)
        return true;
    if (strchr(method, '|') != NULL)
        return false;
    for (const char *at = methods; n > 0 && (at = strstr(at, method)) != NULL; at += n) {
        bool begins = at == methods || at[-1] == '|';
        if (begins && (at[n] == '\0' || at[n] == '|'))
            return true;
    }
    return false;
}

/* The native API ignores a trailing slash; other dialects may not. */
static bool
row_matches(const Route *row, const char *path)
{
    return row->dialect == ROUTE_DIALECT_NATIVE ? path_matches_open(row->pattern, path)
                                                : path_matches(row->pattern, path);
}

/* Continues in TABLE with a search for a row that has the method as well. */
static void
find_in(const RouteTable *table, const RouteRequest *request, RouteMatch *match)
{
    for (const Route *row = table->rows; row < table->rows + table->n; row++) {
        if ((row->dialect & match->dialects) == 0 || !row_matches(row, request->path))
            continue;
        if (has_method(row->methods, request->method)) {
            match->state = ROUTE_MATCHED;
            match->route = row;
            match->flags = row->is_quick != NULL && row->is_quick(request) ? 0 : row->flags;
            match->role = row->role_of != NULL ? row->role_of(request) : row->role;
            return;
        }
        if (match->route == NULL) {
            match->state = ROUTE_WRONG_METHOD;
            match->route = row;
        }
    }
}

RouteMatch
routes_find(const RouteTable *const *tables, unsigned dialects, const RouteRequest *request)
{
    RouteMatch match = {.state = ROUTE_UNKNOWN_PATH, .dialects = dialects, .tables = tables};
    for (; *tables != NULL && match.state != ROUTE_MATCHED; tables++)
        find_in(*tables, request, &match);
    return match;
}

/* Switched off, the other systems answer as without these handlers; pprof's own message would name paths that do not
 * exist. */
static void
answer_unknown(unsigned dialects, const RouteRequest *request, RouteReply *reply)
{
    const Dialect *owner = dialect_of(NULL, request);
    if (owner->dialect == ROUTE_DIALECT_PPROF && (dialects & ROUTE_DIALECT_PPROF) == 0) {
        native_error(
            reply, 404,
            &(NativeError){.code = "not_found", .hint = "pprof is missing in the list of dialects, --dialects"},
            "no such path: %s", request->path);
    } else {
        owner->unknown(NULL, request, reply);
    }
}

/* Whether METHODS has the first N characters of METHOD as a word. */
static bool
has_word(const char *methods, const char *method, size_t n)
{
    for (const char *at = methods; (at = strstr(at, ", ")) != NULL;) {
        at += strlen(", ");
        if (strncmp(at, method, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

/* LIST has ", " before every word. */
static void
add_methods(char *list, size_t size, const char *methods)
{
    for (const char *at = methods; *at != '\0';) {
        size_t n = strcspn(at, "|");
        size_t used = strlen(list);
        if (!has_word(list, at, n) && used + n + strlen(", ") < size) {
            memcpy(list + used, ", ", strlen(", "));
            memcpy(list + used + strlen(", "), at, n);
            list[used + strlen(", ") + n] = '\0';
        }
        at += n + (at[n] == '|');
    }
}

/* The header Allow of the native API has the methods of all rows with the path. */
static void
refuse_method(const RouteMatch *match, const RouteRequest *request, RouteReply *reply)
{
    char list[METHODS_MAX] = "";
    dialect_of(match->route, request)->wrong_method(match->route, request, reply);
    if (match->route->dialect != ROUTE_DIALECT_NATIVE)
        return;
    for (const RouteTable *const *table = match->tables; *table != NULL; table++)
        for (const Route *row = (*table)->rows; row < (*table)->rows + (*table)->n; row++)
            if (strcmp(row->pattern, match->route->pattern) == 0)
                add_methods(list, sizeof(list), row->methods);
    reply_header(reply, "Allow", "%s", list + (list[0] != '\0' ? strlen(", ") : 0));
}

void
routes_answer(const RouteHost *host, const RouteMatch *match, const RouteRequest *request, RouteReply *reply)
{
    int saved = errno;
    reply->descriptor = -1;
    if (match->state == ROUTE_UNKNOWN_PATH)
        answer_unknown(match->dialects, request, reply);
    else if (match->state == ROUTE_WRONG_METHOD)
        refuse_method(match, request, reply);
    else if (match->route->dialect != ROUTE_DIALECT_NATIVE || native_check(match->route, request, reply))
        match->route->answer(host, request, reply);
    errno = saved;
}

bool
routes_path_target(const char *path, char *target, size_t size)
{
    return strncmp(path, native_prefix, strlen(native_prefix)) == 0 &&
           path_component(path, TARGET_COMPONENT, target, size);
}

/* The set for one word of --dialects; 0: unknown word. */
static unsigned
find_dialect(const char *word, size_t length)
{
    if (length == strlen("all") && strncmp(word, "all", length) == 0)
        return ROUTE_DIALECT_ALL;
    if (length == strlen("none") && strncmp(word, "none", length) == 0)
        return ROUTE_DIALECT_NATIVE;
    for (size_t i = 0; i < ROUTE_N_DIALECTS; i++)
        if (strlen(routes_dialects[i]->name) == length && strncmp(routes_dialects[i]->name, word, length) == 0)
            return routes_dialects[i]->dialect;
    return 0;
}

bool
routes_parse_dialects(const char *words, unsigned *dialects)
{
    unsigned found = ROUTE_DIALECT_NATIVE;
    for (const char *at = words;;) {
        size_t n = strcspn(at, ",");
        unsigned one = find_dialect(at, n);
        if (one == 0)
            return false;
        found |= one;
        if (at[n] == '\0')
            break;
        at += n + 1;
    }
    *dialects = found;
    return true;
}
