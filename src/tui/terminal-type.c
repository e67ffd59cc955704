/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/terminal-type.h"

#include "tui/screen.h"

#include <ncurses.h>
/* <term.h> needs <curses.h> first. */
#include <term.h>

static gboolean
set_unfit(const char *type, const char *why, GError **error)
{
    g_set_error(error, SCREEN_ERROR, SCREEN_ERROR_TERMINAL,
                "terminal type '%s' %s; use --once for one frame as text or --json for one line per interval", type,
                why);
    return FALSE;
}

gboolean
terminal_type_check(const char *type, int descriptor, GError **error)
{
    int result;
    if (type[0] == '\0')
        return set_unfit(type, "is not set in TERM", error);
    if (setupterm(type, descriptor, &result) != OK)
        return set_unfit(type, "is not known", error);
    const char *move = tigetstr("cup");
    gboolean moves = move != NULL && move != (const char *)(intptr_t)-1;
    del_curterm(cur_term);
    return moves || set_unfit(type, "cannot position the cursor", error);
}
