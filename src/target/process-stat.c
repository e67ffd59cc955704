/* SPDX-License-Identifier: Apache-2.0 */
#include "target/process-stat.h"

#include <string.h>

/* The text from FIELD on; NULL if STAT ends before it. A name ends at the last ')'. */
static const char *
find_field(const char *stat, ProcessStatField field)
{
    const char *at = stat != NULL ? strrchr(stat, ')') : NULL;
    for (guint blanks = PROCESS_STAT_STATE - 1; at != NULL && blanks < (guint)field; blanks++) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    return at;
}

gboolean
process_stat_name(const char *stat, const char **name, gsize *length)
{
    const char *open = stat != NULL ? strchr(stat, '(') : NULL;
    const char *close = open != NULL ? strrchr(open, ')') : NULL;
    if (close == NULL)
        return FALSE;
    *name = open + 1;
    *length = (gsize)(close - *name);
    return TRUE;
}

char
process_stat_state(const char *stat)
{
    const char *state = find_field(stat, PROCESS_STAT_STATE);
    return state != NULL ? *state : '\0';
}

gboolean
process_stat_number(const char *stat, ProcessStatField field, guint64 *value)
{
    const char *begin = find_field(stat, field);
    char *end;
    const guint64 number = begin != NULL ? g_ascii_strtoull(begin, &end, 10) : 0;
    if (begin == NULL || end == begin)
        return FALSE;
    *value = number;
    return TRUE;
}
