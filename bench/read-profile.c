/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the given dumps and prints their contents, the duration of reading and the peak memory. Run by bench/read. */
#include "profile/profile.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

static gboolean
read_one(const char *path)
{
    g_autoptr(GError) error = NULL;
    struct stat status = {0};
    gint64 start = g_get_monotonic_time();
    g_autoptr(Profile) profile = profile_read_file(path, PROFILE_READ_DEFAULT, &error);
    gdouble seconds = (gdouble)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;

    if (profile == NULL) {
        fprintf(stderr, "%s\n", error->message);
        return FALSE;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    stat(path, &status);
    const ProfileWeight *total = profile_total(profile);
    printf("%s: %u stacks, %u locations, %.0f bytes live, %.3f s, %.0f MB/s, peak %ld MB\n", path,
           profile_n_stacks(profile), profile_n_locations(profile), total->estimate[PROFILE_INUSE_SPACE], seconds,
           (gdouble)status.st_size / 1e6 / seconds, usage.ru_maxrss / 1024);
    return TRUE;
}

int
main(int argc, char **argv)
{
    gboolean good = argc > 1;

    for (int i = 1; i < argc; i++)
        good &= read_one(argv[i]);
    return good ? 0 : 1;
}
