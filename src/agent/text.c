/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/text.h"

#include <string.h>

void
text_init(Text *text, char *bytes, size_t size)
{
    *text = (Text){.bytes = bytes, .size = size};
    bytes[0] = '\0';
}

void
text_add(Text *text, const char *more)
{
    size_t room = text->size - 1 - text->length;
    size_t n = strlen(more);
    if (n > room) {
        n = room;
        text->overflowed = true;
    }
    memcpy(text->bytes + text->length, more, n);
    text->length += n;
    text->bytes[text->length] = '\0';
}

void
text_add_number(Text *text, uint64_t number)
{
    char digits[NUMBER_TEXT_MAX];
    char *at = digits + sizeof(digits) - 1;
    *at = '\0';
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    text_add(text, at);
}

void
text_copy_tail(char *to, size_t size, const char *from)
{
    size_t n = strlen(from);
    if (n >= size) {
        from += n - (size - 1);
        n = size - 1;
    }
    memcpy(to, from, n);
    to[n] = '\0';
}
