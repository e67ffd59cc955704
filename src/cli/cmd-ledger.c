/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/document.h"
#include "cli/via.h"

#include "client/client.h"
#include "stats/ledger-read.h"
#include "stats/ledger-write.h"
#include "target/open.h"

#include <stdio.h>
#include <string.h>

enum {
    SERVER_MS = 30000, /* for the server's three attempts, each with its own limit */
};

static gboolean as_json, all_lines;

static const GOptionEntry options[] = {
    {.long_name = "all", .arg_data = &all_lines, .description = "also print empty lines (0 bytes)"},
    {.long_name = "json", .arg_data = &as_json, .description = "print JSON"},
    VIA_OPTION,
    {0},
};

/* A process whose jemalloc cannot be queried still has its mappings. */
static gboolean
take_of_process(const char *name, GError *cause, LedgerTaken *taken, GError **error)
{
    Process process;
    g_autoptr(GError) failure = cause;
    if (client_is_url(name) || failure->domain != TARGET_ERROR || !open_find_process(name, &process, NULL)) {
        g_propagate_error(error, g_steal_pointer(&failure));
        return FALSE;
    }
    if (!ledger_take(&process, NULL, taken, error))
        return FALSE;
    taken->notice = g_strdup_printf("no statistics: %s", failure->message);
    return TRUE;
}

static gboolean
take_of_server(Target *target, LedgerTaken *taken, GError **error)
{
    json_t *document = client_document(target, "/ledger", SERVER_MS, error);
    if (document == NULL)
        return FALSE;
    gboolean sound = ledger_read_json(document, taken);
    json_decref(document);
    if (!sound) {
        g_set_error(error, TARGET_ERROR, OUTCOME_PROTOCOL,
                    "%s: the server's ledger is malformed; is it another version of jescope?", target_label(target));
        return FALSE;
    }
    g_free(taken->label);
    taken->label = g_strdup(target_label(target));
    return TRUE;
}

static gboolean
take(const char *name, LedgerTaken *taken, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(Target) target = via_open(name, &cause);
    if (target == NULL)
        return take_of_process(name, g_steal_pointer(&cause), taken, error);
    if (target_via(target) == TARGET_VIA_SERVER)
        return take_of_server(target, taken, error);
    if (target_pid(target) != 0)
        return ledger_take(target_process(target), target, taken, error);
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                "the mappings of %s cannot be seen from here; run jescope ledger on its machine", target_label(target));
    return FALSE;
}

static void
print_json(const LedgerTaken *taken)
{
    g_autoptr(GString) text = g_string_new("{");
    ledger_append_json(text, taken);
    g_string_append_c(text, '}');
    document_print("jescope-ledger", json_loads(text->str, 0, NULL));
}

static int
run(char **operands, GError **error)
{
    g_auto(LedgerTaken) taken = {0};
    if (!take(operands[0], &taken, error))
        return STATUS_FAILED;
    if (as_json) {
        print_json(&taken);
    } else {
        g_autoptr(GString) text = g_string_new(NULL);
        ledger_append_text(text, &taken, all_lines ? LEDGER_WRITE_ALL : LEDGER_WRITE_PLAIN);
        fputs(text->str, stdout);
    }
    return taken.cut ? STATUS_PARTIAL : STATUS_DONE;
}

static const Example examples[] = {
    {"jescope ledger redis-server", "show where every page of redis-server's memory is"},
    {"jescope ledger 4711 --json", "the same for a program"},
    {"jescope ledger http://web7:9110", "show the memory of the program that a server on web7 serves"},
    {0},
};

const Command cmd_ledger = {
    .name = "ledger",
    .synopsis = "TARGET",
    .summary = "account for all memory of a process, line by line",
    .description = "Divides the resident set of TARGET into lines that add up to it: live allocations, thread caches, "
                   "holes in slabs, unused pages and metadata of jemalloc, from its statistics; other anonymous "
                   "mappings, other allocators, stacks, data, program text, files and shared memory, from the kernel's "
                   "list of mappings. The last line is the unexplained rest. A negative line is memory that jemalloc "
                   "counts but that is not resident. The range of an estimate follows in parentheses.\n"
                   "\n"
                   "Further sections show memory of the process outside of its resident set (tmpfs files and socket "
                   "buffers that it has open, kernel stacks, page tables, swap), what its memory control group is "
                   "charged for, and how much of the resident set is shared. docs/ledger.md has every line.\n"
                   "\n"
                   "Without a reachable jemalloc, only the kernel's lines are shown. For a URL, the jescope at that "
                   "address reads the mappings on its machine.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
