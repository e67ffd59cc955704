/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/process-file.h"

#include "embed/failure.h"
#include "embed/memory-file.h"
#include "wire/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static Outcome
fail(Failure *failure, const char *path)
{
    return failure_set_error(failure, OUTCOME_SYSTEM, errno, "cannot read %s", path);
}

/* Like read(), but restarted after interruptions. */
static ssize_t
read_some(int descriptor, char *bytes, size_t size)
{
    ssize_t n;
    do {
        n = read(descriptor, bytes, size);
    } while (n < 0 && errno == EINTR);
    return n;
}

Outcome
process_file_read(const char *path, char *bytes, size_t size, size_t *n, Failure *failure)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return fail(failure, path);
    size_t done = 0;
    ssize_t got = 1;
    while (got > 0 && done < size) {
        got = read_some(descriptor, bytes + done, size - done);
        done += got > 0 ? (size_t)got : 0;
    }
    Outcome result = got < 0 ? fail(failure, path) : OUTCOME_DONE;
    close(descriptor);
    if (result == OUTCOME_DONE)
        *n = done;
    return result;
}

Outcome
process_file_copy(const char *path, int *descriptor, Failure *failure)
{
    int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return fail(failure, path);
    int to = memory_file_make();
    bool copied = to >= 0 && transfer_copy(from, to, UINT64_MAX) && lseek(to, 0, SEEK_SET) == 0;
    Outcome result = copied ? OUTCOME_DONE : fail(failure, path);
    close(from);
    if (result == OUTCOME_DONE)
        *descriptor = to;
    else if (to >= 0)
        close(to);
    return result;
}

/* The value of the variable, of *length bytes; NULL if it is not in ENVIRONMENT. */
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

Outcome
process_file_variable(const char *name, char *text, size_t size, Failure *failure)
{
    int descriptor;
    Mapped environment;
    Outcome result = process_file_copy("/proc/self/environ", &descriptor, failure);
    if (result != OUTCOME_DONE)
        return result;
    if (!memory_file_keep(descriptor, &environment))
        return failure_set_error(failure, OUTCOME_SYSTEM, errno, "cannot keep the environment");
    size_t length = 0;
    const char *value = find_variable(&environment, name, &length);
    length = length < size ? length : size - 1;
    memcpy(text, value == NULL ? "" : value, length);
    text[length] = '\0';
    memory_file_drop(&environment);
    return OUTCOME_DONE;
}
