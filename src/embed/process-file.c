/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/process-file.h"

#include "embed/failure.h"
#include "embed/memory-file.h"
#include "routes/reply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 16 * 1024 };

static int
fail(JescopeError *error, const char *path)
{
    int why = errno;
    return failure_set(error, JESCOPE_SYSTEM, why, "cannot read %s: %s", path, reply_error_name(why));
}

/* As read(), but for interruptions. */
static ssize_t
read_some(int descriptor, char *bytes, size_t size)
{
    ssize_t n;
    do {
        n = read(descriptor, bytes, size);
    } while (n < 0 && errno == EINTR);
    return n;
}

int
process_file_read(const char *path, char *bytes, size_t size, size_t *n, JescopeError *error)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return fail(error, path);
    }
    size_t done = 0;
    ssize_t got = 1;
    while (got > 0 && done < size) {
        got = read_some(descriptor, bytes + done, size - done);
        done += got > 0 ? (size_t)got : 0;
    }
    int code = got < 0 ? fail(error, path) : JESCOPE_OK;
    close(descriptor);
    if (code == JESCOPE_OK) {
        *n = done;
    }
    return code;
}

/* False with errno. */
static bool
copy_all(int from, int to)
{
    char bytes[PIECE];
    ssize_t n;
    off_t at = 0;
    while ((n = read_some(from, bytes, sizeof bytes)) > 0) {
        if (pwrite(to, bytes, (size_t)n, at) != n) {
            return false;
        }
        at += n;
    }
    return n == 0;
}

int
process_file_copy(const char *path, int *descriptor, JescopeError *error)
{
    int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0) {
        return fail(error, path);
    }
    int to = memory_file_make();
    int code = to >= 0 && copy_all(from, to) ? JESCOPE_OK : fail(error, path);
    close(from);
    if (code == JESCOPE_OK) {
        *descriptor = to;
    } else if (to >= 0) {
        close(to);
    }
    return code;
}

/* Its value, of *length bytes; NULL if it is not among @environment. */
static const char *
find_variable(const Mapped *environment, const char *name, size_t *length)
{
    size_t n = strlen(name);
    const char *at = environment->bytes;
    for (size_t left = environment->size; left > 0;) {
        size_t entry = strnlen(at, left);
        if (entry > n && memcmp(at, name, n) == 0 && at[n] == '=') {
            *length = entry - n - 1;
            return at + n + 1;
        }
        size_t step = entry < left ? entry + 1 : left;
        at += step;
        left -= step;
    }
    return NULL;
}

int
process_file_variable(const char *name, char *text, size_t size, JescopeError *error)
{
    int descriptor;
    Mapped environment;
    int code = process_file_copy("/proc/self/environ", &descriptor, error);
    if (code != JESCOPE_OK) {
        return code;
    }
    if (!memory_file_keep(descriptor, &environment)) {
        return failure_set_system(error, "keep the environment");
    }
    size_t length = 0;
    const char *value = find_variable(&environment, name, &length);
    length = length < size ? length : size - 1;
    memcpy(text, value == NULL ? "" : value, length);
    text[length] = '\0';
    memory_file_drop(&environment);
    return JESCOPE_OK;
}
