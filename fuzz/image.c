/* SPDX-License-Identifier: Apache-2.0 */
/* A stranger's shared object: what it exports, gives and needs. */
#include "target/image.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GBytes) bytes = g_bytes_new_static(data, size);
    Image image = {.read = image_read_file, .data = bytes};
    char soname[IMAGE_NAME_MAX];
    if (!image_open(&image))
        return 0;
    image_soname(&image, soname);
    if (memchr(soname, '\0', sizeof(soname)) == NULL)
        abort();
    image_function(&image, "jescope_agent_enter");
    image_gives(&image, "GLIBC_2.34");
    g_auto(GStrv) needs = image_needs(&image, "libc.so.6");
    return 0;
}
