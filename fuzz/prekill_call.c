/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of systemd-oomd to the black box: the result is a group or an answer, never both. */
#include "blackbox/prekill.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autofree char *answer = NULL;
    g_autofree char *group = prekill_parse(text, &answer);
    g_assert_true(group == NULL || answer == NULL);
    if (group != NULL)
        g_assert_true(group[0] == '/' && prekill_concerns(group, group));
    return 0;
}
