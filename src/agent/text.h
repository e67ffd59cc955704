/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded text without stdio, which may lock, allocate and depend on the host's locale. Async-signal-safe; errno
 * untouched. */
#ifndef JESCOPE_AGENT_TEXT_H
#define JESCOPE_AGENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_TEXT_MAX = 21 }; /* room for any number, with the NUL */

/* Text under construction in the caller's BYTES; always NUL-terminated. */
typedef struct {
    char *bytes;
    size_t size;
    size_t length;
    bool overflowed; /* something did not fit: the text is cut and must not be used as a name */
} Text;

void text_init(Text *text, char *bytes, size_t size);
void text_add(Text *text, const char *more);
void text_add_number(Text *text, uint64_t number);

/* Copies as much of the end of FROM as fits. */
void text_copy_tail(char *to, size_t size, const char *from);

#endif
