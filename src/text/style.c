/* SPDX-License-Identifier: Apache-2.0 */
#include "text/style.h"

const char *
text_style(Style style)
{
    static const char *const sequences[STYLES] = {
        [STYLE_PLAIN] = "\x1b[0m",  [STYLE_HEADING] = "\x1b[1m", [STYLE_STRONG] = "\x1b[1m",  [STYLE_FAINT] = "\x1b[2m",
        [STYLE_GROWN] = "\x1b[31m", [STYLE_SHRUNK] = "\x1b[32m", [STYLE_TROUBLE] = "\x1b[33m"};
    return sequences[style];
}
