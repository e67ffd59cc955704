/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose memory map has hundreds of megabytes of text: as many mappings as the kernel permits, of a file with
 * the longest possible path and the agent's name. Run it in an empty directory. Prints "mappings N", then waits for the
 * end of stdin.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COMPONENT = 200,
    DEPTH = 18,
    MAPPINGS = 65400, /* vm.max_map_count is 65530 by default */
    PAGE = 4096,
};

static int
make_file(void)
{
    char component[COMPONENT + 1];
    memset(component, 'j', COMPONENT);
    component[COMPONENT] = '\0';
    for (int i = 0; i < DEPTH; i++)
        if (mkdir(component, 0700) != 0 || chdir(component) != 0)
            break;
    return open("libjescope-agent.so", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

int
main(void)
{
    int file = make_file();
    int mappings = 0;
    char byte;
    if (file < 0 || ftruncate(file, PAGE) != 0)
        return 1;
    /* Adjacent mappings that differ are not merged. */
    for (; mappings < MAPPINGS; mappings++)
        if (mmap(NULL, PAGE, PROT_READ | (mappings % 2 != 0 ? PROT_WRITE : 0), MAP_SHARED, file, 0) == MAP_FAILED)
            break;
    printf("mappings %d\n", mappings);
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return 0;
}
