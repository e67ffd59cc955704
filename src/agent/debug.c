/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/debug.h"

#include "agent/text.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

enum { LINE_MAX_LENGTH = 512 };

static bool enabled;

void
debug_enable(void)
{
    enabled = true;
}

void
debug_log(const char *what, const char *detail, int error)
{
    if (!enabled)
        return;
    int saved = errno;
    char line[LINE_MAX_LENGTH];
    Text text;
    text_init(&text, line, sizeof(line) - 1); /* the line feed always has room */
    text_add(&text, "jescope-agent: ");
    text_add(&text, what);
    if (detail != NULL) {
        text_add(&text, ": ");
        text_add(&text, detail);
    }
    if (error != 0) {
        text_add(&text, " (errno ");
        text_add_number(&text, (uint64_t)error);
        text_add(&text, ")");
    }
    line[text.length] = '\n';
    /* An error of writing to stderr cannot be reported. */
    ssize_t ignored = write(STDERR_FILENO, line, text.length + 1);
    (void)ignored;
    errno = saved;
}
