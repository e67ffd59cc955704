/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/size.h"

#include "cli/command.h"
#include "routes/values.h"

gboolean
size_parse(const char *text, const char *option, guint64 *bytes, GError **error)
{
    uint64_t value;
    if (!value_size(text, &value)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: '%s' is not a size; write one like 512KiB or 64K", option,
                    text);
        return FALSE;
    }
    *bytes = value;
    return TRUE;
}
