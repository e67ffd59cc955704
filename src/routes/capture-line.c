/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/capture-line.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NS_PER_US = 1000 };

#define WORD(type, name)                                                                                               \
    {                                                                                                                  \
#name, offsetof(type, name)                                                                                    \
    }
const CaptureWord capture_words[CAPTURE_WORDS] = {
    WORD(CaptureLine, time),  WORD(CaptureLine, pid),      WORD(CaptureLine, start),     WORD(CaptureLine, since),
    WORD(CaptureLine, until), WORD(CaptureLine, flags),    WORD(CaptureLine, allocated), WORD(CaptureLine, unheld),
    WORD(CaptureLine, large), WORD(CaptureLine, resident), WORD(CaptureLine, outside),
};

const CaptureWord class_words[CLASS_WORDS] = {
    WORD(ClassLine, size),  WORD(ClassLine, regions), WORD(ClassLine, slab),
    WORD(ClassLine, slabs), WORD(ClassLine, live),    WORD(ClassLine, nonfull),
};

/* The prefix of a line, and its possible words. */
typedef struct {
    const char *prefix;
    const CaptureWord *words;
    size_t n_words;
} Kind;

static size_t
write_line(const Kind *kind, const void *values, char text[static CAPTURE_LINE_MAX])
{
    size_t used = (size_t)snprintf(text, CAPTURE_LINE_MAX, "%s", kind->prefix);
    for (size_t i = 0; i < kind->n_words; i++) {
        uint64_t value;
        memcpy(&value, (const char *)values + kind->words[i].offset, sizeof(value));
        if (value != 0) {
            used += (size_t)snprintf(text + used, CAPTURE_LINE_MAX - used, " %s=%llu", kind->words[i].name,
                                     (unsigned long long)value);
        }
    }
    text[used++] = '\n';
    text[used] = '\0';
    return used;
}

size_t
capture_line_write(const CaptureLine *capture, char text[static CAPTURE_LINE_MAX])
{
    static const Kind kind = {CAPTURE_PREFIX, capture_words, CAPTURE_WORDS};
    return write_line(&kind, capture, text);
}

size_t
class_line_write(const ClassLine *line, char text[static CAPTURE_LINE_MAX])
{
    static const Kind kind = {CLASS_PREFIX, class_words, CLASS_WORDS};
    return write_line(&kind, line, text);
}

void
capture_line_take_hello(CaptureLine *capture, const WireHelloReply *hello)
{
    bool active = (hello->flags & WIRE_FLAG_PROF_ACTIVE) != 0;
    uint64_t reset = hello->reset_at_ns / NS_PER_US;
    uint64_t began = hello->active_since_ns / NS_PER_US;
    capture->start = hello->start_time;
    capture->flags |= active ? CAPTURE_ACTIVE : 0;
    if (!active || capture->since != 0)
        return;
    if (hello->since == WIRE_SINCE_START && reset == 0)
        capture->flags |= CAPTURE_SINCE_START;
    else if (hello->since == WIRE_SINCE_START || began != 0)
        capture->since = began > reset ? began : reset;
}
