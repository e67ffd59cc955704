/* SPDX-License-Identifier: Apache-2.0 */
/* The word a user probably meant. */
#ifndef JESCOPE_TEXT_SUGGEST_H
#define JESCOPE_TEXT_SUGGEST_H

/* The nearest of CANDIDATES (ends with NULL) to WORD by insertions, deletions, replacements and swaps of neighbours, or
 * NULL if none is near enough (more than a third of the letters differ). The first of equals is returned. */
const char *suggest(const char *word, const char *const *candidates);

#endif
