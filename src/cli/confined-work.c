/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/confined-work.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "text/printable.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void
print_words(char *words)
{
    text_clean(words, strlen(words) + 1);
    fputs(words, stderr);
    if (strlen(words) >= CONFINED_MAX_WORDS)
        fputs("\njescope: more messages were left out\n", stderr);
}

int
confined_work_run(const Confined *confined, const char *doing, int *output, GError **error)
{
    ConfinedResult result;
    g_autoptr(GDateTime) now G_GNUC_UNUSED = g_date_time_new_now_local(); /* loads the time zone */
    tzset();
    g_autoptr(Progress) progress = progress_begin("%s", doing);
    progress_follow_phases(progress);
    int status = confined_run(confined, &result, error);
    progress_end(g_steal_pointer(&progress));
    print_words(result.words);
    if (status < 0 && error != NULL && *error != NULL)
        text_clean((*error)->message, strlen((*error)->message) + 1);
    g_free(result.words);
    *output = result.output;
    return status;
}

int
confined_work_print(const Confined *confined, const char *doing, GError **error)
{
    int result = -1;
    terminal_remember();
    int status = confined_work_run(confined, doing, &result, error);
    if (result < 0)
        return STATUS_FAILED;
    g_autoptr(Output) output = output_open("-", OUTPUT_SHARED, NULL);
    gboolean copied = output_copy(output, result, status < 0 ? NULL : error);
    close(result);
    return copied && status >= 0 ? status : STATUS_FAILED;
}
