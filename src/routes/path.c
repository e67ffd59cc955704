/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/path.h"

#include <string.h>

enum { NUMBER_DIGITS_MAX = 19 };

bool
path_matches(const char *pattern, const char *path)
{
    while (*pattern != '\0') {
        if (strcmp(pattern, "/*") == 0) {
            return *path == '\0' || *path == '/';
        }
        if (*pattern == '{') {
            size_t n = strcspn(path, "/");
            if (n == 0) {
                return false;
            }
            path += n;
            pattern += strcspn(pattern, "}") + 1;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *path == '\0';
}

bool
path_component(const char *path, unsigned index, char *text, size_t size)
{
    for (; *path == '/'; index--) {
        size_t n = strcspn(++path, "/");
        if (index == 0) {
            if (n == 0 || n >= size) {
                return false;
            }
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
    if (!path_component(path, index, text, sizeof text) || text[strspn(text, "0123456789")] != '\0') {
        return false;
    }
    uint64_t value = 0;
    for (const char *digit = text; *digit != '\0'; digit++) {
        value = value * 10 + (uint64_t)(*digit - '0');
    }
    *number = value;
    return true;
}
