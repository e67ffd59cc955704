/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target with every file of the given directories, the corpus and all findings, as an ordinary test. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    size_t size = (size_t)ftell(file);
    rewind(file);
    /* Exactly sized, so that a sanitizer detects a read beyond the end. */
    uint8_t *data = malloc(size ? size : 1);
    int failed = data == NULL || fread(data, 1, size, file) != size;
    fclose(file);
    if (!failed)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    return failed;
}

static int
replay_directory(const char *path, int *n)
{
    DIR *directory = opendir(path);
    if (directory == NULL)
        return errno == ENOENT ? 0 : 1; /* a target without findings has no regression/ */
    int failed = 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char file[4096];
        if (entry->d_name[0] == '.' || snprintf(file, sizeof(file), "%s/%s", path, entry->d_name) >= (int)sizeof(file))
            continue;
        failed |= replay_file(file);
        ++*n;
    }
    closedir(directory);
    return failed;
}

int
main(int argc, char **argv)
{
    int n = 0;
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= replay_directory(argv[i], &n);
    printf("%d inputs replayed\n", n);
    return failed || n == 0;
}
