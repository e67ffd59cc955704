/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: one Command each, found through the table of commands.c. The table is the only place that knows them all;
 * parsing, --help, the man pages and the completions come from it.
 *
 * How a command is added:
 *   1. cmd_NAME.c defines `const Command cmd_NAME = {...};` with its GOptionEntry table and run function.
 *   2. Declare it below, add one row to commands.c (its place there is its place in --help) and the file to
 * meson.build.
 *   3. `ninja -C build update-docs` rewrites docs/man/ and completions/, and `ninja -C build
 * golden-update` the golden cases (help.case shows the list); read the diffs and commit them along.
 *   4. Golden cases of its errors go to tests/golden/cases/.
 *
 * Rules for option tables: arg_data points to static variables of cmd_NAME.c; description is one lower-case phrase
 * without a full stop; arg_description is the placeholder (FILE, SIZE, DURATION...) or the list of allowed words with
 * '|' between them ("text|folded"), which the completion offers. Sizes and durations are read as strings and go through
 * size.h and duration.h.
 */
#ifndef JESCOPE_CLI_COMMAND_H
#define JESCOPE_CLI_COMMAND_H

#include <glib.h>

/* What the process exits with. A command that set its GError returns any of these but STATUS_DONE. */
typedef enum {
    STATUS_DONE = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
    STATUS_PARTIAL = 3, /* part of the answer is there; stderr says what is missing */
} Status;

/* What the operands are, for the completion. */
typedef enum {
    OPERAND_NONE,
    OPERAND_TARGET,
    OPERAND_FILE,
    OPERAND_SOURCE,  /* a file or a target */
    OPERAND_PROGRAM, /* a program and its arguments: options end at the first operand */
} Operand;

enum {
    OPERANDS_ANY = -1, /* no upper limit */
};

typedef struct {
    const char *name;
    const char *synopsis;        /* the operands as usage shows them: "TARGET" */
    const char *summary;         /* one lower-case phrase without a full stop */
    const char *description;     /* for --help and the man page: paragraphs with a blank line between them */
    const GOptionEntry *options; /* ends with {0}; NULL: none. --help comes by itself */
    Operand operand;
    const char *words; /* what the operands after the first may be, with '|' between them; NULL: as the first */
    int operands_min;
    int operands_max; /* or OPERANDS_ANY */
    /* Runs with a NULL-terminated list of operands, their number checked. Data goes to stdout; main() flushes it and
     * reports a write that failed, prefixes a GError with "jescope: " and prints it on stderr. The exit status of a
     * failure is the one returned, but STATUS_USAGE for any CLI_ERROR_USAGE. Anything but a Status is passed on as it
     * is (run). */
    int (*run)(char **operands, GError **error);
} Command;

#define CLI_ERROR (cli_error_quark())
GQuark cli_error_quark(void);

typedef enum {
    CLI_ERROR_FAILED,
    CLI_ERROR_USAGE, /* exits with STATUS_USAGE */
} CliError;

extern const Command cmd_collect;
extern const Command cmd_abs;
extern const Command cmd_attach;
extern const Command cmd_del;
extern const Command cmd_detach;
extern const Command cmd_diff;
extern const Command cmd_disable;
extern const Command cmd_dump;
extern const Command cmd_eff;
extern const Command cmd_enable;
extern const Command cmd_growth;
extern const Command cmd_import;
extern const Command cmd_msg;
extern const Command cmd_ps;
extern const Command cmd_purge;
extern const Command cmd_record;
extern const Command cmd_report;
extern const Command cmd_reset;
extern const Command cmd_run;
extern const Command cmd_series;
extern const Command cmd_serve;
extern const Command cmd_stats;
extern const Command cmd_status;

/* All commands in the order of --help, NULL at the end. */
extern const Command *const commands[];

/* NULL: no such command. */
const Command *command_find(const char *name);

/* Parses ARGV (argv[0] is the command's name; a NULL-terminated list that this takes over), checks the operands, runs.
 * Prints the error, returns the exit status. */
int command_main(const Command *command, char **argv);

#endif
