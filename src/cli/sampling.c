/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sampling.h"

#include "cli/command.h"
#include "cli/size.h"
#include "cli/words.h"
#include "routes/values.h"

#include <stdio.h>

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

void
sampling_warn_of(Target *target, unsigned lg)
{
    WireHelloReply hello;
    if (!target_hello(target, &hello, NULL) || (hello.flags & WIRE_FLAG_SAMPLER_SERVES) == 0)
        sampling_warn(lg);
}

gboolean
sampler_parse_memory(const char *text, const char *option, guint64 *memory, GError **error)
{
    guint64 bytes;
    if (text == NULL)
        return TRUE;
    if (!size_parse(text, option, &bytes, error))
        return FALSE;
    if (bytes < WIRE_SAMPLER_MEMORY_MIN || bytes > WIRE_SAMPLER_MEMORY_MAX) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: invalid size '%s'; use 1MiB to 1GiB", option, text);
        return FALSE;
    }
    *memory = G_GUINT64_CONSTANT(1) << round_size(option, text, bytes, "the sizes are powers of two");
    return TRUE;
}

gboolean
sampler_parse(const SamplerArguments *arguments, SamplerChoice *choice, GError **error)
{
    guint index = WIRE_SAMPLER_AUTO;
    *choice = (SamplerChoice){0};
    if ((arguments->sampler != NULL &&
         !words_find(sampler_choice_words, "--sampler", arguments->sampler, &index, error)) ||
        !sampler_parse_memory(arguments->memory, "--sampler-memory", &choice->memory, error))
        return FALSE;
    choice->sampler = (WireSampler)index;
    if (choice->sampler == WIRE_SAMPLER_JEMALLOC && choice->memory != 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--sampler-memory is for jescope's own sampler, not for --sampler=jemalloc");
        return FALSE;
    }
    return TRUE;
}

static gboolean
set_refused(const Target *target, const SamplerChoice *choice, const char *why, GError **error)
{
    if (choice->sampler == WIRE_SAMPLER_AUTO)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "--sampler-memory: %s: %s", target_label(target), why);
    else
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "--sampler=%s: %s: %s", sampler_choice_words[choice->sampler],
                    target_label(target), why);
    return FALSE;
}

static gboolean
check(Target *target, const SamplerChoice *choice, GError **error)
{
    WireHelloReply hello;
    Failure failure;
    if (!target_hello(target, &hello, error))
        return FALSE;
    return sampler_choice_check(choice, &hello, &failure) == OUTCOME_DONE ||
           set_refused(target, choice, failure.why, error);
}

gboolean
sampler_prepare(Target *target, const SamplerChoice *choice, GError **error)
{
    const TargetVia via = target_via(target);
    if ((choice->sampler == WIRE_SAMPLER_AUTO && choice->memory == 0) ||
        (choice->sampler == WIRE_SAMPLER_JEMALLOC && via == TARGET_VIA_ATTACH))
        return TRUE;
    /* A server checks it, and reports if this target does not support it. */
    return (via == TARGET_VIA_SERVER || check(target, choice, error)) &&
           (choice->memory == 0 ||
            target_write(target, WIRE_SAMPLER_MEMORY_CONTROL, WIRE_TYPE_SIZE, choice->memory, error));
}
