/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a compromised server to the process that stays root. Input: the number of descriptors, and the bytes of a
 * request. Accepted requests are well-formed: texts and lists are terminated. */
#include "broker/protocol.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* LIST is format, title and options up to an empty string; the rest is not examined. */
static gboolean
writes_a_file(const char *list)
{
    const char *option = list + strlen(list) + 1;
    for (option += strlen(option) + 1; *option != '\0'; option += strlen(option) + 1)
        if (g_str_has_prefix(option, "-o") || g_str_has_prefix(option, "--output"))
            return TRUE;
    return FALSE;
}

static void
check(const BrokerRequest *request)
{
    if (request->kind >= BROKER_N_KINDS || strnlen(request->text, sizeof(request->text)) == sizeof(request->text))
        abort();
    if (request->kind != BROKER_RENDER)
        return;
    gboolean without = broker_check_rendering(request->text, FALSE);
    if (without && !broker_check_rendering(request->text, TRUE))
        abort();
    if (without && (strcmp(request->text, "source") == 0 || writes_a_file(request->text)))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    /* The input is tried padded with zeroes to a whole request, so that short inputs pass the check of the size, and as
     * it is. */
    g_autofree BrokerRequest *request = g_new0(BrokerRequest, 1);
    gsize given = MIN(size - 1, sizeof(*request));
    memcpy(request, data + 1, given);
    broker_check_request(request, given, data[0] & 7);
    if (broker_check_request(request, sizeof(*request), data[0] & 7) == 0)
        check(request);
    return 0;
}
