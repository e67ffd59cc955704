/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `jescope report` that choose and shape what is shown. One list is the command line's option table, the
 * query parameters of the API and their documentation. None of them names a file or makes anybody talk to a network.
 *
 * ROW(name, letter, KIND, member, about, argument): KIND is TEXT, WORDS, REGEX, FRACTION, FLAG or COUNT; MEMBER is
 * of cli/'s ReportArguments; ARGUMENT is what a reader puts in, for WORDS these with '|' between them, NULL for a FLAG.
 */
#ifndef JESCOPE_ROUTES_REPORT_OPTIONS_H
#define JESCOPE_ROUTES_REPORT_OPTIONS_H

#define REPORT_FORMAT_WORDS                                                                                            \
    "text|tree|folded|flamegraph|callgraph|callgraph-svg|speedscope|pprof|symbolized|source|json"

#define REPORT_SHAPE_OPTIONS(ROW)                                                                                      \
    ROW("sort", 0, WORDS, sort, "order of rows", "flat|cum|change|name")                                               \
    ROW("cum", 0, FLAG, cumulative, "same as --sort=cum", NULL)                                                        \
    ROW("count", 'n', COUNT, count, "rows or graph nodes shown at most; 0: all", "N")                                  \
    ROW("by", 0, WORDS, by, "what one row stands for", "function|line|file|object|address")                            \
    ROW("min-fraction", 0, FRACTION, min_fraction, "fold away what holds less of the total", "FRACTION")               \
    ROW("edge-fraction", 0, FRACTION, edge_fraction, "callgraph: leave out edges that hold less of the total",         \
        "FRACTION")                                                                                                    \
    ROW("callers", 0, FLAG, callers, "tree, flamegraph: from allocations up to callers", NULL)                         \
    ROW("error", 0, FLAG, error, "text: show the standard error of every value", NULL)                                 \
    ROW("bytes", 0, FLAG, bytes, "text, tree: exact bytes", NULL)                                                      \
    ROW("jeprof", 0, FLAG, jeprof, "text: jeprof's layout", NULL)

#define REPORT_SELECT_OPTIONS(ROW)                                                                                     \
    ROW("value", 0, WORDS, value, "what to count", "inuse_space|inuse_objects|alloc_space|alloc_objects")              \
    ROW("focus", 0, REGEX, focus, "only stacks with a frame that matches", "REGEX")                                    \
    ROW("ignore", 0, REGEX, ignore, "no stacks with a frame that matches", "REGEX")                                    \
    ROW("exclude", 0, REGEX, exclude, "drop frames that match", "REGEX")                                               \
    ROW("retain", 0, REGEX, retain, "drop frames that do not match", "REGEX")                                          \
    ROW("keep-allocator", 0, FLAG, keep_allocator, "keep the allocator's own frames", NULL)                            \
    ROW("thread", 0, TEXT, thread, "only what this thread allocated", "NUMBER|NAME")

#define REPORT_READ_OPTIONS(ROW)                                                                                       \
    ROW("no-inlines", 0, FLAG, no_inlines, "physical functions only", NULL)                                            \
    ROW("partial", 0, FLAG, partial, "use what is whole of a damaged dump", NULL)

#endif
