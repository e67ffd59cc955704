/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/path.h"

#include <stdio.h>
#include <string.h>

enum {
    NUMBER_DIGITS_MAX = 19,
    PATH_OPEN_MAX = 1024, /* no path of a pattern is longer */
};

bool
path_matches(const char *pattern, const char *path)
{
    while (*pattern != '\0') {
        if (strcmp(pattern, "/*") == 0)
            return *path == '\0' || *path == '/';
        if (*pattern == '{') {
            size_t n = strcspn(path, "/");
            if (n == 0)
                return false;
            path += n;
            pattern += strcspn(pattern, "}") + 1;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *path == '\0';
}

bool
path_matches_open(const char *pattern, const char *path)
{
    char shorter[PATH_OPEN_MAX];
    size_t n = strlen(path);
    if (path_matches(pattern, path))
        return true;
    if (n < 2 || path[n - 1] != '/' || n > sizeof(shorter))
        return false;
    memcpy(shorter, path, n - 1);
    shorter[n - 1] = '\0';
    return path_matches(pattern, shorter);
}

bool
path_component(const char *path, unsigned index, char *text, size_t size)
{
    for (; *path == '/'; index--) {
        size_t n = strcspn(++path, "/");
        if (index == 0) {
            if (n == 0 || n >= size)
                return false;
            memcpy(text, path, n);
            text[n] = '\0';
            return true;
        }
        path += n;
    }
    return false;
}

bool
path_number(const char *path, unsigned index, uint64_t *number)
{
    char text[NUMBER_DIGITS_MAX + 1];
    if (!path_component(path, index, text, sizeof(text)) || text[strspn(text, "0123456789")] != '\0')
        return false;
    uint64_t value = 0;
    for (const char *digit = text; *digit != '\0'; digit++)
        value = value * 10 + (uint64_t)(*digit - '0');
    *number = value;
    return true;
}

void
path_encode(const char *path, char *text, size_t size)
{
    static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    size_t used = 0;
    for (; *path != '\0' && used + 3 < size; path++)
        if (strchr(kept, *path) != NULL)
            text[used++] = *path;
        else
            used += (size_t)snprintf(text + used, size - used, "%%%02X", (unsigned)(unsigned char)*path);
    text[used] = '\0';
}
