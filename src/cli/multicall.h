/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of other systems' tools that jescope answers to when it is called by them (a link to the program). Their
 * arguments, output and exit status are theirs; where they end with a traceback, one line on stderr says what was
 * wrong.
 */
#ifndef JESCOPE_CLI_MULTICALL_H
#define JESCOPE_CLI_MULTICALL_H

typedef struct {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] as it was called; returns the exit status */
} Multicall;

/* The tool that PROGRAM (argv[0], with or without a directory) names, or NULL. */
const Multicall *multicall_find(const char *program);

int jemabs_main(int argc, char **argv);
int jemdel_main(int argc, char **argv);
int jemeff_main(int argc, char **argv);
int extract_jem_stats_main(int argc, char **argv);
int get_jem_stats_main(int argc, char **argv);

#endif
