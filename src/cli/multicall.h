/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imitates other systems' tools if jescope is called by their names (a link to the program), with their arguments,
 * output and exit status; where they would print a traceback, one line on stderr has the error.
 */
#ifndef JESCOPE_CLI_MULTICALL_H
#define JESCOPE_CLI_MULTICALL_H

typedef struct {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
} Multicall;

/* The tool named by PROGRAM (argv[0], with or without a directory), or NULL. */
const Multicall *multicall_find(const char *program);

int jemabs_main(int argc, char **argv);
int jemdel_main(int argc, char **argv);
int jemeff_main(int argc, char **argv);
int extract_jem_stats_main(int argc, char **argv);
int get_jem_stats_main(int argc, char **argv);

#endif
