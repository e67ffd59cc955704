/* SPDX-License-Identifier: Apache-2.0 */
#include "victim.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Command *const tables[] = {
    memory_commands, process_commands, thread_commands, descriptor_commands,
#ifdef VICTIM_EMBEDS
    embed_commands,
#endif
};

void
answer(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("ok ", stdout);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

void
fail(const char *what)
{
    printf("failed %s: %s\n", what, strerror(errno));
    fflush(stdout);
}

static const Command *
find(const char *name)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const Command *command = tables[i]; command->name; command++)
            if (strcmp(command->name, name) == 0)
                return command;
    }
    return NULL;
}

static void
obey(char *line)
{
    char *rest = line;
    const char *name = strsep(&rest, " ");
    const Command *command = find(name);

    if (!command) {
        errno = EINVAL;
        fail(name);
        return;
    }
    command->run(rest ? rest : line + strlen(line));
}

int
main(void)
{
    int errno_at_start = errno;
    static char line[4096];

#ifdef VICTIM_EMBEDS
    embed_start();
#endif
    /* Makes a first allocation through the allocator under test, as any program has at this point. */
    VICTIM_FREE(VICTIM_MALLOC(100));
    answer("%d errno %d", getpid(), errno_at_start);
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        obey(line);
    }
    return 0;
}
