/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/memory-file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int
memory_file_make(void)
{
    return memfd_create("jescope", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* The seals prevent truncation, which would make reading the mapping unsafe. */
static bool
map(int descriptor, Mapped *mapped)
{
    struct stat status;
    const int needed = F_SEAL_SHRINK | F_SEAL_GROW;
    const int seals = fcntl(descriptor, F_GET_SEALS);
    if (seals < 0 || ((seals & needed) != needed && fcntl(descriptor, F_ADD_SEALS, needed) != 0) ||
        fstat(descriptor, &status) != 0)
        return false;
    *mapped = (Mapped){0};
    if (status.st_size == 0)
        return true;
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (bytes == MAP_FAILED)
        return false;
    madvise(bytes, (size_t)status.st_size, MADV_DONTFORK);
    *mapped = (Mapped){bytes, (size_t)status.st_size};
    return true;
}

bool
memory_file_keep(int descriptor, Mapped *mapped)
{
    bool kept = map(descriptor, mapped);
    int saved = errno;
    close(descriptor);
    errno = saved;
    return kept;
}

void
memory_file_drop(Mapped *mapped)
{
    if (mapped->bytes != NULL) {
        union {
            const void *in;
            void *out;
        } pointer = {.in = mapped->bytes};
        munmap(pointer.out, mapped->size);
    }
    *mapped = (Mapped){0};
}

int
memory_file_copy(const Mapped *mapped)
{
    int descriptor = memory_file_make();
    for (size_t done = 0; descriptor >= 0 && done < mapped->size;) {
        ssize_t n = pwrite(descriptor, mapped->bytes + done, mapped->size - done, (off_t)done);
        if (n < 0 && errno != EINTR) {
            int saved = errno;
            close(descriptor);
            errno = saved;
            return -1;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return descriptor;
}
