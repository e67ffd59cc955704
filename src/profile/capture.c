/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/capture.h"

#include "profile/model.h"

#include <math.h>
#include <string.h>

char *
capture_format(const ProfileCapture *capture)
{
    char line[CAPTURE_LINE_MAX];

    capture_line_write(capture, line);
    return g_strdup(line);
}

/* The prefix of a line, its possible words, and where their values are stored. */
typedef struct {
    const char *prefix;
    const CaptureWord *words;
    gsize n_words;
    void *values;
} Kind;

static void
take_word(const Kind *kind, const char *word, gsize length)
{
    const char *equals = memchr(word, '=', length);

    for (gsize i = 0; equals != NULL && i < kind->n_words; i++) {
        gsize n = (gsize)(equals - word);
        if (strlen(kind->words[i].name) == n && memcmp(kind->words[i].name, word, n) == 0) {
            guint64 value = g_ascii_strtoull(equals + 1, NULL, 10);
            memcpy((char *)kind->values + kind->words[i].offset, &value, sizeof(value));
        }
    }
}

static gboolean
parse_line(const Kind *kind, const char *line)
{
    const char *at = line + strlen(kind->prefix);

    if (strncmp(line, kind->prefix, strlen(kind->prefix)) != 0 || (*at != ' ' && *at != '\n'))
        return FALSE;
    while (*at == ' ') {
        const char *word = at + 1;
        gsize length = strcspn(word, " \n");
        take_word(kind, word, length);
        at = word + length;
    }
    return TRUE;
}

gboolean
capture_parse(const char *line, ProfileCapture *capture)
{
    ProfileCapture parsed = {0};

    if (!parse_line(&(Kind){CAPTURE_PREFIX, capture_words, CAPTURE_WORDS, &parsed}, line))
        return FALSE;
    *capture = parsed;
    return TRUE;
}

gboolean
class_parse(const char *line, ProfileClass *class)
{
    ProfileClass parsed = {0};

    if (!parse_line(&(Kind){CLASS_PREFIX, class_words, CLASS_WORDS, &parsed}, line))
        return FALSE;
    *class = parsed;
    return TRUE;
}

const ProfileClass *
profile_classes(const Profile *profile, guint *n_classes)
{
    *n_classes = profile->n_classes;
    return profile->classes;
}

const ProfileCapture *
profile_capture(const Profile *profile)
{
    return profile->has_capture ? &profile->capture : NULL;
}

guint64
profile_sampling_overhead(const Profile *profile, guint64 large)
{
    gdouble sum = 0;

    for (guint32 i = 0; i < profile->n_stacks; i++) {
        gdouble objects = profile->weights[i].estimate[PROFILE_INUSE_OBJECTS];
        gdouble mean = objects > 0 ? profile->weights[i].estimate[PROFILE_INUSE_SPACE] / objects : (gdouble)large;
        gdouble p = profile->period > 1 ? -expm1(-mean / (gdouble)profile->period) : 1;
        sum += objects * p * MAX(0, (gdouble)large - mean);
    }
    return (guint64)CLAMP(sum, 0, 1e18);
}

gboolean
profile_held(const Profile *profile, guint64 *held)
{
    const ProfileCapture *capture = &profile->capture;

    if (!profile->has_capture || (capture->flags & CAPTURE_HAS_MEMORY) == 0)
        return FALSE;
    guint64 overhead = profile_sampling_overhead(profile, capture->large);
    guint64 rest = capture->allocated > capture->unheld ? capture->allocated - capture->unheld : 0;
    *held = rest > overhead ? rest - overhead : 0;
    return TRUE;
}

void
capture_join(Profile *whole, const GPtrArray *parts)
{
    whole->capture = (ProfileCapture){.flags = ~(guint64)0};
    whole->has_capture = TRUE;
    for (guint i = 0; i < parts->len; i++) {
        const Profile *part = parts->pdata[i];
        whole->has_capture = whole->has_capture && part->has_capture;
        whole->capture.time = MAX(whole->capture.time, part->capture.time);
        whole->capture.until = MAX(whole->capture.until, part->capture.until);
        whole->capture.since = MAX(whole->capture.since, part->capture.since);
        whole->capture.large = MAX(whole->capture.large, part->capture.large);
        whole->capture.flags &= part->capture.flags;
        whole->capture.allocated += part->capture.allocated;
        whole->capture.unheld += part->capture.unheld;
        whole->capture.resident += part->capture.resident;
        whole->capture.outside += part->capture.outside;
    }
}
