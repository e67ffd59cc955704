/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/transfer.h"

#include <errno.h>
#include <unistd.h>

enum { PIECE = 16 * 1024 };

bool
transfer_write(int to, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t written = write(to, (const char *)bytes + done, n - done);
        if (written < 0 && errno != EINTR)
            return false;
        done += written > 0 ? (size_t)written : 0;
    }
    return true;
}

bool
transfer_copy(int from, int to, uint64_t max)
{
    char piece[PIECE];
    for (uint64_t at = 0;;) {
        ssize_t n = pread(from, piece, sizeof(piece), (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        at += (uint64_t)n;
        if (at > max)
            errno = EFBIG;
        if (at > max || !transfer_write(to, piece, (size_t)n))
            return false;
    }
}
