/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a query, and values of each kind. Input: a name, a line feed, the query. */
#include "routes/query.h"
#include "routes/mesos-duration.h"
#include "routes/values.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const QueryValue *value)
{
    size_t n = strnlen(value->text, sizeof(value->text));
    if (n == sizeof(value->text) || (value->state != QUERY_GIVEN && value->state != QUERY_LONG && n != 0))
        abort();
}

static void
read_values(const char *text)
{
    char readable[64], why[1024];
    double number;
    uint64_t u64;
    int64_t i64;
    bool boolean;
    value_duration(text, &number);
    value_size(text, &u64);
    value_unsigned(text, &u64);
    value_boolean(text, &boolean);
    if (value_signed(text, &i64) && i64 < 0 && text[0] != '-')
        abort();
    if (mesos_duration_parse(text, &u64, why, sizeof(why)))
        mesos_duration_format(u64, readable, sizeof(readable));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *line = size > 0 ? memchr(text, '\n', size) : NULL;
    size_t n = line != NULL ? (size_t)(line - text) : 0;
    QueryValue value, name;
    if (line == NULL || n >= QUERY_VALUE_MAX)
        return 0;
    char wanted[QUERY_VALUE_MAX];
    memcpy(wanted, text, n);
    wanted[n] = '\0';
    const char *query = line + 1;
    const size_t length = strnlen(query, size - n - 1);
    query_find_in(query, length, wanted, &value);
    check(&value);
    read_values(value.text);
    /* Every listed parameter must be found. */
    for (const char *at = query; query_next(&at, query + length, &name);) {
        check(&name);
        if (name.state == QUERY_GIVEN && query_find_in(query, length, name.text, &value) == QUERY_ABSENT)
            abort();
    }
    return 0;
}
