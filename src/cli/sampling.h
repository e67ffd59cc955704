/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling period: the average number of allocated bytes per sample, a power of two. */
#ifndef JESCOPE_CLI_SAMPLING_H
#define JESCOPE_CLI_SAMPLING_H

#include "target/target.h"

#include <glib.h>

enum {
    SAMPLING_LG_CHEAPEST = 16, /* 64 KiB: shorter periods draw the warning */
};

/* The exponent for the value of --sample. Says on stderr when the size had to be rounded. CLI_ERROR_USAGE as
 * size_parse(). */
gboolean sampling_parse(const char *text, unsigned *lg, GError **error);

/* The values of the options about who samples; NULL: not given. */
typedef struct {
    char *sampler, *memory;
} SamplerArguments;

/* For a command's table of options; ARGUMENTS: a static SamplerArguments. */
#define SAMPLER_OPTIONS(arguments)                                                                                     \
    {.long_name = "sampler",                                                                                           \
     .arg = G_OPTION_ARG_STRING,                                                                                       \
     .arg_data = &(arguments).sampler,                                                                                 \
     .description = "who samples: jemalloc's profiler, jescope's own, or auto: jemalloc if it can",                    \
     .arg_description = "auto|jemalloc|jescope"},                                                                      \
    {                                                                                                                  \
        .long_name = "sampler-memory", .arg = G_OPTION_ARG_STRING, .arg_data = &(arguments).memory,                    \
        .description = "memory that jescope's own sampler uses at most (default 8MiB)", .arg_description = "SIZE"      \
    }

typedef struct {
    WireSampler sampler;
    guint64 memory; /* bytes of WIRE_SAMPLER_MEMORY_CONTROL; 0: as it is */
} SamplerChoice;

/* Says on stderr when the size had to be rounded. CLI_ERROR_USAGE. */
gboolean sampler_parse(const SamplerArguments *arguments, SamplerChoice *choice, GError **error);

/* Whether TARGET, as it is reached, can be asked to use CHOICE, else CLI_ERROR_FAILED; gives the sampler its memory. */
gboolean sampler_prepare(Target *target, const SamplerChoice *choice, GError **error);

/* The flags of a lease that asks for SAMPLER. */
guint32 sampler_lease_flags(WireSampler sampler);

/* Warns on stderr if a period of 2^LG bytes is expensive. */
void sampling_warn(unsigned lg);

#endif
