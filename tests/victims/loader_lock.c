/* SPDX-License-Identifier: Apache-2.0 */
/* A library to preload: ends the program when the agent's thread lists the loader's objects, which takes a lock that a
 * child forked meanwhile would find locked forever. */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

typedef int (*Iterate)(int (*look)(struct dl_phdr_info *info, size_t size, void *data), void *data);

__attribute__((visibility("default"))) int
dl_iterate_phdr(int (*look)(struct dl_phdr_info *info, size_t size, void *data), void *data)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    if (strncmp(name, "jescope", strlen("jescope")) == 0)
        abort();
    return ((Iterate)dlsym(RTLD_NEXT, "dl_iterate_phdr"))(look, data);
}
