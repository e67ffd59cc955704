/* SPDX-License-Identifier: Apache-2.0 */
#include "report/groups.h"

#include "profile/size-class.h"

/* By size: classes that contain all objects of a stack, then those that are the upper bound of a mean of several sizes,
 * then one for stacks without objects. */
enum { MIXED = SIZE_CLASSES, SIZELESS = 2 * SIZE_CLASSES, SIZE_GROUPS };

static guint32
size_group(const Profile *profile, guint32 stack)
{
    const ProfileWeight *weight = &profile_weights(profile)[stack];
    guint32 size_class = profile_stacks(profile)[stack].size_class;
    gboolean in_use = weight->estimate[PROFILE_INUSE_OBJECTS] > 0;
    gdouble objects = weight->estimate[in_use ? PROFILE_INUSE_OBJECTS : PROFILE_ALLOC_OBJECTS];
    gdouble bytes = weight->estimate[in_use ? PROFILE_INUSE_SPACE : PROFILE_ALLOC_SPACE];

    if (size_class != PROFILE_NONE)
        return size_class;
    if (!(objects > 0) || !(bytes > 0))
        return SIZELESS;
    return size_class_of_mean(bytes / objects, &size_class) ? size_class : MIXED + size_class;
}

static guint32
size_limit(const Profile *profile)
{
    return SIZE_GROUPS;
}

static char *
size_name(const Profile *profile, guint32 group)
{
    if (group == SIZELESS)
        return g_strdup("[no size]");
    g_autofree char *size = size_class_text(group % SIZE_CLASSES);
    return g_strdup_printf(group < MIXED ? "size class %s" : "several sizes, mean up to %s", size);
}

static guint32
thread_group(const Profile *profile, guint32 stack)
{
    guint32 thread = profile_stacks(profile)[stack].thread;

    return thread == PROFILE_NONE ? profile_n_threads(profile) : thread;
}

static guint32
thread_limit(const Profile *profile)
{
    return profile_n_threads(profile) + 1;
}

static char *
thread_name(const Profile *profile, guint32 group)
{
    if (group == profile_n_threads(profile))
        return g_strdup("[no thread]");
    const ProfileThread *thread = &profile_threads(profile)[group];
    return g_strdup_printf("thread %" G_GUINT64_FORMAT "%s%s", thread->uid, *thread->name ? " " : "", thread->name);
}

static const struct {
    guint32 (*limit)(const Profile *profile); /* NULL: not a granularity with groups */
    guint32 (*of)(const Profile *profile, guint32 stack);
    char *(*name)(const Profile *profile, guint32 group);
} groups[] = {
    [REPORT_BY_SIZE] = {size_limit, size_group, size_name},
    [REPORT_BY_THREAD] = {thread_limit, thread_group, thread_name},
};

gboolean
groups_are(ReportGranularity by)
{
    return groups[by].limit != NULL;
}

guint32
groups_limit(const Profile *profile, ReportGranularity by)
{
    return groups[by].limit(profile);
}

guint32
groups_of(const Profile *profile, guint32 stack, ReportGranularity by)
{
    return groups[by].of(profile, stack);
}

char *
groups_name(const Profile *profile, guint32 group, ReportGranularity by)
{
    return groups[by].name(profile, group);
}

/* Unknown ones have the last number. */
gboolean
groups_is_known(const Profile *profile, guint32 group, ReportGranularity by)
{
    return group + 1 < groups_limit(profile, by);
}
