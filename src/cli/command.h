/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands. cmd-NAME.c defines `const Command cmd_NAME` with its option table, its examples and its function; a row of
 * commands.def registers it. Parsing, --help, the man pages, the completions and the list of sources are derived from
 * these. CONTRIBUTING.md shows how a command is added.
 *
 * Rules for option tables: arg_data points to static variables of cmd-NAME.c; description is one lower-case phrase
 * without a full stop; arg_description is the placeholder (FILE, SIZE, DURATION...) or the list of allowed words
 * separated by '|' ("text|folded"), which the completion offers; SERIES is a target in the history. Sizes and durations
 * are read as strings and parsed by size.h and duration.h.
 */
#ifndef JESCOPE_CLI_COMMAND_H
#define JESCOPE_CLI_COMMAND_H

#include <glib.h>

/* The exit status. A command that set its GError returns any of these except STATUS_DONE. */
typedef enum {
    STATUS_DONE = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
    STATUS_PARTIAL = 3, /* partial result; stderr says what is missing */
    STATUS_FOUND = 4,   /* doctor: there are findings */
} Status;

/* The kind of operands, for the completion. */
typedef enum {
    OPERAND_NONE,
    OPERAND_TARGET,
    OPERAND_FILE,
    OPERAND_SOURCE,  /* a file or a target */
    OPERAND_METRIC,  /* a metric in the history */
    OPERAND_PROGRAM, /* a program and its arguments: options end at the first operand */
} Operand;

enum {
    OPERANDS_ANY = -1, /* no upper limit */
};

/* An example command line. */
typedef struct {
    const char *line; /* shell words; the first two are "jescope" and the command */
    const char *what; /* summary: one phrase without a full stop */
} Example;

typedef struct {
    const char *name;
    const char *synopsis;    /* the operands as usage shows them: "TARGET" */
    const char *summary;     /* one lower-case phrase without a full stop */
    const char *description; /* for --help and the man page: paragraphs separated by blank lines */
    const Example *examples; /* at least one; a line of NULL ends them */
    /* Replaces other programs' spellings of options in ARGV before they are parsed, or NULL. */
    gboolean (*translate)(char ***argv, GError **error);
    const GOptionEntry *options; /* ends with {0}; NULL: none. --help is added automatically */
    Operand operand;
    gboolean stays;          /* runs until it is stopped: it is not supervised (supervisor.h) */
    char *const *stays_with; /* likewise if this text is set, of an option; NULL: no such option */
    const char *words;       /* the values of operands after the first, separated by '|'; NULL: like the first */
    int operands_min;
    int operands_max; /* or OPERANDS_ANY */
    /* Runs with a NULL-terminated list of operands, whose number is checked. Data goes to stdout; main() flushes it and
     * reports write errors, prefixes a GError with "jescope: " and prints it on stderr. The exit status of a failure is
     * the one returned, or STATUS_USAGE for any CLI_ERROR_USAGE. Other values are passed on unchanged (run). */
    int (*run)(char **operands, GError **error);
} Command;

#define CLI_ERROR (cli_error_quark())
GQuark cli_error_quark(void);

typedef enum {
    CLI_ERROR_FAILED,
    CLI_ERROR_USAGE, /* exits with STATUS_USAGE */
} CliError;

/* All commands in the order of --help, NULL at the end. */
extern const Command *const commands[];

/* NULL: no such command. */
const Command *command_find(const char *name);

/* The heading of the group that COMMAND begins, or NULL: it belongs to the preceding command's group. */
const char *command_begins_group(const Command *command);

/* Parses ARGV like command_main() and checks the operands, but does not run the command. */
gboolean command_parse(const Command *command, char **argv, GError **error);

/* Prints one or several lines on stderr, after "jescope: ". Terminal control characters, as in names from a target or
 * file, become "?". */
void command_say(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* For a program that is not a command: continues in a child if others decide where one of PATHS leads (supervisor.h).
 */
void command_supervise_files(char *const *paths);

/* Parses ARGV (argv[0] is the command's name; a NULL-terminated list, which it takes over), checks the operands, and
 * runs the command. Prints the error, returns the exit status. */
int command_main(const Command *command, char **argv);

#endif
