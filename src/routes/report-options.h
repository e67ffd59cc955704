/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `jescope report` for content and layout. One list defines the command line's option table, the query
 * parameters of the API and their documentation. None of them names a file or causes network access.
 *
 * ROW(name, letter, KIND, member, about, argument): KIND is TEXT, WORDS, REGEX, FRACTION, FLAG or COUNT; MEMBER is of
 * cli/'s ReportArguments; ARGUMENT is the placeholder, for WORDS the values separated by '|', NULL for a FLAG.
 */
#ifndef JESCOPE_ROUTES_REPORT_OPTIONS_H
#define JESCOPE_ROUTES_REPORT_OPTIONS_H

/* Without a unit: the space. */
#define REPORT_VALUES                                                                                                  \
    "inuse_space|inuse_objects|alloc_space|alloc_objects|freed_space|freed_objects|churn|age|lifetime|pinned|whatif|"  \
    "inuse|alloc|freed"

#define REPORT_GRANULARITIES "function|line|file|object|address|size|thread"

#define REPORT_SHAPE_OPTIONS(ROW)                                                                                      \
    ROW("sort", 0, WORDS, sort, "order of rows", "flat|cum|change|name")                                               \
    ROW("cum", 0, FLAG, cumulative, "same as --sort=cum", NULL)                                                        \
    ROW("count", 'n', COUNT, count, "maximum number of rows or nodes; 0: no limit", "N")                               \
    ROW("by", 0, WORDS, by, "aggregate by", REPORT_GRANULARITIES)                                                      \
    ROW("min-fraction", 0, FRACTION, min_fraction, "omit rows and nodes below this share of the total", "FRACTION")    \
    ROW("edge-fraction", 0, FRACTION, edge_fraction, "callgraph: omit edges below this share of the total",            \
        "FRACTION")                                                                                                    \
    ROW("callers", 0, FLAG, callers, "tree, flamegraph: begin at the allocations", NULL)                               \
    ROW("error", 0, FLAG, error, "text: show the standard error of every value", NULL)                                 \
    ROW("bytes", 0, FLAG, bytes, "text, tree: exact bytes", NULL)                                                      \
    ROW("jeprof", 0, FLAG, jeprof, "text: jeprof's layout", NULL)                                                      \
    ROW("part", 0, WORDS, part, "page: all: graph and table; whole: also stacks", "all|graph|table|stacks|whole")      \
    ROW("width", 0, COUNT, width, "page: width of the graph; frames narrower than a pixel are hidden (default 1200)",  \
        "PIXELS")                                                                                                      \
    ROW("depth", 0, COUNT, depth, "page: levels of the graph (default 256)", "N")                                      \
    ROW("zoom", 0, TEXT, zoom, "page: key of the frame that the graph begins at", "KEY")                               \
    ROW("function", 0, TEXT, function, "page: callers and callees of this function", "NAME")

#define REPORT_SELECT_OPTIONS(ROW)                                                                                     \
    ROW("value", 0, WORDS, value,                                                                                      \
        "what to count: bytes or objects in use, allocated or freed; churn; mean age or lifetime; pinned: holes in "   \
        "slabs that objects keep; whatif: slabs that would be freed without them",                                     \
        REPORT_VALUES)                                                                                                 \
    ROW("focus", 0, REGEX, focus, "only stacks with a frame that matches", "REGEX")                                    \
    ROW("ignore", 0, REGEX, ignore, "no stacks with a frame that matches", "REGEX")                                    \
    ROW("exclude", 0, REGEX, exclude, "drop frames that match", "REGEX")                                               \
    ROW("retain", 0, REGEX, retain, "drop frames that do not match", "REGEX")                                          \
    ROW("show-from", 0, REGEX, show_from,                                                                              \
        "begin each stack at its outermost frame that matches; no stacks without one", "REGEX")                        \
    ROW("wrappers", 0, FLAG, wrappers, "show allocator wrappers and std:: frames instead of their callers", NULL)      \
    ROW("fold", 0, REGEX, fold, "further wrappers: charge their allocations to their callers", "REGEX")                \
    ROW("keep-allocator", 0, FLAG, keep_allocator, "keep the allocator's own frames; implies wrappers", NULL)          \
    ROW("thread", 0, TEXT, thread, "only what this thread allocated", "NUMBER|NAME")

#define REPORT_READ_OPTIONS(ROW)                                                                                       \
    ROW("no-inlines", 0, FLAG, no_inlines, "do not expand inlined functions", NULL)                                    \
    ROW("partial", 0, FLAG, partial, "read the intact part of a damaged dump", NULL)

#endif
