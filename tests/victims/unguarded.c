/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads whose small stacks have no guard, above memory with data. Prints "ready"; at the end of stdin "over" if the
 * data has not changed, else how many bytes have.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    STACK = 32 << 10,
    DATA = 256 << 10,
    MARK = 0xab,
};

static void *
wait_for_ever(void *unused)
{
    for (;;)
        poll(NULL, 0, -1);
    return unused;
}

int
main(void)
{
    char byte;
    pthread_t thread;
    pthread_attr_t attributes;
    unsigned char *data = mmap(NULL, DATA + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return 1;
    memset(data, MARK, DATA);
    free(malloc(100));
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, data + DATA, STACK) != 0 ||
        pthread_create(&thread, &attributes, wait_for_ever, NULL) != 0)
        return 1;
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) == 1)
        continue;
    size_t changed = 0;
    for (size_t i = 0; i < DATA; i++)
        changed += data[i] != MARK;
    printf(changed == 0 ? "over\n" : "%zu bytes have changed\n", changed);
    return 0;
}
