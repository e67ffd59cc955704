/* SPDX-License-Identifier: Apache-2.0 */
/* Spelling suggestions for mistyped words. */
#ifndef JESCOPE_TEXT_SUGGEST_H
#define JESCOPE_TEXT_SUGGEST_H

/* The candidate nearest to WORD in CANDIDATES (NULL-terminated) by insertions, deletions, replacements and swaps of
 * neighbours, or NULL if none is near enough (more than a third of the letters differ). Of equally near ones, the
 * first. */
const char *suggest(const char *word, const char *const *candidates);

#endif
