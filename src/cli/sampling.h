/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling period: the average number of allocated bytes per sample, a power of two. */
#ifndef JESCOPE_CLI_SAMPLING_H
#define JESCOPE_CLI_SAMPLING_H

#include "target/target.h"
#include "wire/sampler-choice.h"

#include <glib.h>

enum {
    SAMPLING_LG_CHEAPEST = 16, /* 64 KiB: shorter periods cause the warning */
};

/* Parses the value of --sample into the exponent. Prints a note on stderr if the size had to be rounded.
 * CLI_ERROR_USAGE as size_parse(). */
gboolean sampling_parse(const char *text, unsigned *lg, GError **error);

/* The values of the sampler options; NULL: not given. */
typedef struct {
    char *sampler, *memory;
} SamplerArguments;

/* For a command's table of options; ARGUMENTS: a static SamplerArguments. */
#define SAMPLER_OPTIONS(arguments)                                                                                     \
    {.long_name = "sampler",                                                                                           \
     .arg = G_OPTION_ARG_STRING,                                                                                       \
     .arg_data = &(arguments).sampler,                                                                                 \
     .description = "sampler: jemalloc's profiler, jescope's own, or auto: jemalloc's if possible",                    \
     .arg_description = "auto|jemalloc|jescope"},                                                                      \
    {                                                                                                                  \
        .long_name = "sampler-memory", .arg = G_OPTION_ARG_STRING, .arg_data = &(arguments).memory,                    \
        .description = "memory that jescope's own sampler uses at most (default 8MiB)", .arg_description = "SIZE"      \
    }

/* Prints a note on stderr if the size had to be rounded. CLI_ERROR_USAGE. */
gboolean sampler_parse(const SamplerArguments *arguments, SamplerChoice *choice, GError **error);

/* Parses the value of OPTION, a power of two from 1MiB to 1GiB; if TEXT is NULL, *MEMORY is unchanged. CLI_ERROR_USAGE,
 * rounding as above. */
gboolean sampler_parse_memory(const char *text, const char *option, guint64 *memory, GError **error);

/* Whether TARGET supports CHOICE, by the way it is reached, else CLI_ERROR_FAILED; sets the memory of the sampler. */
gboolean sampler_prepare(Target *target, const SamplerChoice *choice, GError **error);

/* Warns on stderr if a period of 2^LG bytes is expensive for jemalloc's profiler. */
void sampling_warn(unsigned lg);

/* The same for TARGET, if jemalloc's profiler samples it. */
void sampling_warn_of(Target *target, unsigned lg);

#endif
