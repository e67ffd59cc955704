/* SPDX-License-Identifier: Apache-2.0 */
#include "text/suggest.h"

#include <glib.h>
#include <string.h>

enum {
    LENGTH_MAX = 31, /* longer words are not misspelled options */
};

/* Optimal string alignment distance; both words are at most LENGTH_MAX long. */
static unsigned
distance(const char *a, const char *b)
{
    unsigned rows[LENGTH_MAX + 1][LENGTH_MAX + 1];
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);
    for (unsigned i = 0; i <= a_length; i++)
        rows[i][0] = i;
    for (unsigned j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        for (size_t j = 1; j <= b_length; j++) {
            unsigned best = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = MIN(best, MIN(rows[i - 1][j], rows[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN(best, rows[i - 2][j - 2] + 1);
            rows[i][j] = best;
        }
    }
    return rows[a_length][b_length];
}

const char *
suggest(const char *word, const char *const *candidates)
{
    size_t length = strlen(word);
    if (length > LENGTH_MAX)
        return NULL;
    const char *nearest = NULL;
    size_t least = MAX(length / 3, 1) + 1;
    for (; *candidates != NULL; candidates++) {
        if (strlen(*candidates) > LENGTH_MAX)
            continue;
        unsigned away = distance(word, *candidates);
        if (away < least) {
            least = away;
            nearest = *candidates;
        }
    }
    return nearest;
}
