/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sampling.h"

#include "cli/command.h"
#include "cli/size.h"
#include "cli/words.h"
#include "routes/values.h"

#include <stdio.h>

enum { PROFILER = WIRE_FLAG_CONFIG_PROF | WIRE_FLAG_OPT_PROF };

static unsigned
round_size(const char *option, const char *text, guint64 bytes, const char *why)
{
    const unsigned rounded = value_log2_rounded(bytes);
    if (bytes != G_GUINT64_CONSTANT(1) << rounded) {
        g_autofree char *used = size_format(G_GUINT64_CONSTANT(1) << rounded);
        command_say("%s %s: %s, so it will be %s", option, text, why, used);
    }
    return rounded;
}

gboolean
sampling_parse(const char *text, unsigned *lg, GError **error)
{
    guint64 bytes;
    if (!size_parse(text, "--sample", &bytes, error))
        return FALSE;
    if (bytes == 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--sample: invalid sampling period '%s'; use for example 512KiB",
                    text);
        return FALSE;
    }
    *lg = round_size("--sample", text, bytes, "jemalloc samples by powers of two");
    return TRUE;
}

void
sampling_warn(unsigned lg)
{
    if (lg >= SAMPLING_LG_CHEAPEST || lg >= 64)
        return;
    g_autofree char *period = size_format(G_GUINT64_CONSTANT(1) << lg);
    /* Measured on jemalloc 5.3.0 with 64-byte objects. */
    command_say("warning: a sampling period of %s is expensive: each sampled small object takes a page (at 4 KiB, 100 "
                "MB of live data occupied 614 MB) and allocating slows down (14 times at 4 KiB)",
                period);
}

static gboolean
memory_parse(const char *text, guint64 *memory, GError **error)
{
    guint64 bytes;
    if (!size_parse(text, "--sampler-memory", &bytes, error))
        return FALSE;
    if (bytes < WIRE_SAMPLER_MEMORY_MIN || bytes > WIRE_SAMPLER_MEMORY_MAX) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--sampler-memory: invalid size '%s'; use 1MiB to 1GiB", text);
        return FALSE;
    }
    *memory = G_GUINT64_CONSTANT(1) << round_size("--sampler-memory", text, bytes, "the sizes are powers of two");
    return TRUE;
}

gboolean
sampler_parse(const SamplerArguments *arguments, SamplerChoice *choice, GError **error)
{
    static const char *const words[] = {
        [WIRE_SAMPLER_AUTO] = "auto", [WIRE_SAMPLER_JEMALLOC] = "jemalloc", [WIRE_SAMPLER_JESCOPE] = "jescope", NULL};
    guint index = WIRE_SAMPLER_AUTO;
    *choice = (SamplerChoice){0};
    if ((arguments->sampler != NULL && !words_find(words, "--sampler", arguments->sampler, &index, error)) ||
        (arguments->memory != NULL && !memory_parse(arguments->memory, &choice->memory, error)))
        return FALSE;
    choice->sampler = (WireSampler)index;
    if (choice->sampler == WIRE_SAMPLER_JEMALLOC && choice->memory != 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--sampler-memory is for jescope's own sampler, not for --sampler=jemalloc");
        return FALSE;
    }
    return TRUE;
}

/* Before it is switched on: the sampler takes another size only then. */
static gboolean
give_memory(Target *target, const SamplerChoice *choice, const WireHelloReply *hello, GError **error)
{
    const gboolean serves = (hello->flags & WIRE_FLAG_SAMPLER_SERVES) != 0;
    if (choice->sampler == WIRE_SAMPLER_AUTO && !serves)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "--sampler-memory: jescope's own sampler does not sample %s; add --sampler=jescope",
                    target_label(target));
    else if (serves && (hello->flags & WIRE_FLAG_PROF_ACTIVE) != 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "--sampler-memory: jescope's own sampler is on in %s already; 'jescope disable %s' switches it off",
                    target_label(target), target_operand(target));
    else
        return target_write(target, WIRE_SAMPLER_MEMORY_CONTROL, WIRE_TYPE_SIZE, choice->memory, error);
    return FALSE;
}

static gboolean
check_sampler(Target *target, WireSampler sampler, const WireHelloReply *hello, GError **error)
{
    if (sampler == WIRE_SAMPLER_JESCOPE && (hello->flags & WIRE_FLAG_SAMPLER_READY) == 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "--sampler=jescope: %s has jemalloc %s; jescope's own sampler needs jemalloc 5.2.0 to 5.3.1 and "
                    "glibc 2.35 or later",
                    target_label(target), hello->jemalloc_version);
    else if (sampler == WIRE_SAMPLER_JEMALLOC && (hello->flags & PROFILER) != PROFILER)
        g_set_error(
            error, CLI_ERROR, CLI_ERROR_FAILED,
            "--sampler=jemalloc: jemalloc in %s cannot profile; restart it under 'jescope run', or leave --sampler out",
            target_label(target));
    else
        return TRUE;
    return FALSE;
}

gboolean
sampler_prepare(Target *target, const SamplerChoice *choice, GError **error)
{
    const TargetVia via = target_via(target);
    const gboolean server_can = via == TARGET_VIA_SERVER && choice->memory == 0; /* it says if this target cannot */
    const char *option = choice->sampler == WIRE_SAMPLER_AUTO ? "--sampler-memory" : "--sampler";
    WireHelloReply hello;
    if ((choice->sampler == WIRE_SAMPLER_AUTO && choice->memory == 0) ||
        (choice->sampler == WIRE_SAMPLER_JEMALLOC && via == TARGET_VIA_ATTACH) || server_can)
        return TRUE;
    if (via == TARGET_VIA_SERVER)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "--sampler-memory: the server of %s chooses the memory of the sampler of its targets",
                    target_label(target));
    else if (via == TARGET_VIA_ATTACH)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "%s: jescope's own sampler must be inside %s; bring it in with 'jescope attach %s'",
                    choice->sampler == WIRE_SAMPLER_AUTO ? option : "--sampler=jescope", target_label(target),
                    target_operand(target));
    else
        return target_hello(target, &hello, error) && check_sampler(target, choice->sampler, &hello, error) &&
               (choice->memory == 0 || give_memory(target, choice, &hello, error));
    return FALSE;
}

guint32
sampler_lease_flags(WireSampler sampler)
{
    if (sampler == WIRE_SAMPLER_AUTO)
        return 0;
    return sampler == WIRE_SAMPLER_JEMALLOC ? WIRE_LEASE_JEMALLOC : WIRE_LEASE_JESCOPE;
}
