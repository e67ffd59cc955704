/* SPDX-License-Identifier: Apache-2.0 */
#include "report/options.h"

static const char *const value_names[PROFILE_N_VALUES] = {
    [PROFILE_ALLOC_OBJECTS] = "alloc_objects",
    [PROFILE_ALLOC_SPACE] = "alloc_space",
    [PROFILE_INUSE_OBJECTS] = "inuse_objects",
    [PROFILE_INUSE_SPACE] = "inuse_space",
    [PROFILE_FREED_OBJECTS] = "freed_objects",
    [PROFILE_FREED_SPACE] = "freed_space",
    [PROFILE_CHURN] = "churn",
    [PROFILE_AGE] = "age",
    [PROFILE_LIFETIME] = "lifetime",
    [PROFILE_PINNED] = "pinned",
    [PROFILE_WHATIF] = "whatif",
};

/* A word without a unit is the space. */
static const struct {
    const char *name;
    ProfileValue value;
} short_names[] = {{"inuse", PROFILE_INUSE_SPACE}, {"alloc", PROFILE_ALLOC_SPACE}, {"freed", PROFILE_FREED_SPACE}};

static const char *const granularity_names[] = {
    [REPORT_BY_FUNCTION] = "function", [REPORT_BY_LINE] = "line",       [REPORT_BY_FILE] = "file",
    [REPORT_BY_OBJECT] = "object",     [REPORT_BY_ADDRESS] = "address", [REPORT_BY_SIZE] = "size",
    [REPORT_BY_THREAD] = "thread",
};

static const char *const sort_names[] = {
    [REPORT_SORT_FLAT] = "flat",
    [REPORT_SORT_CUMULATIVE] = "cum",
    [REPORT_SORT_CHANGE] = "change",
    [REPORT_SORT_NAME] = "name",
};

static const char *const part_names[] = {
    [REPORT_PART_ALL] = "all",       [REPORT_PART_GRAPH] = "graph", [REPORT_PART_TABLE] = "table",
    [REPORT_PART_STACKS] = "stacks", [REPORT_PART_WHOLE] = "whole",
};

void
report_options_init(ReportOptions *options)
{
    *options = (ReportOptions){.value = PROFILE_INUSE_SPACE,
                               .min_fraction = -1,
                               .edge_fraction = -1,
                               .page = {.width = REPORT_WIDTH_DEFAULT, .depth = REPORT_DEPTH_DEFAULT}};
}

static gboolean
find_name(const char *const *names, guint n, const char *name, guint *index)
{
    for (guint i = 0; i < n; i++) {
        if (g_str_equal(names[i], name)) {
            *index = i;
            return TRUE;
        }
    }
    return FALSE;
}

const char *
report_value_name(ProfileValue value)
{
    return value_names[value];
}

gboolean
report_value_by_name(const char *name, ProfileValue *value)
{
    guint index;

    for (gsize i = 0; i < G_N_ELEMENTS(short_names); i++) {
        if (g_str_equal(short_names[i].name, name)) {
            *value = short_names[i].value;
            return TRUE;
        }
    }
    if (!find_name(value_names, G_N_ELEMENTS(value_names), name, &index))
        return FALSE;
    *value = index;
    return TRUE;
}

const char *
report_granularity_name(ReportGranularity by)
{
    return granularity_names[by];
}

gboolean
report_granularity_by_name(const char *name, ReportGranularity *by)
{
    guint index;

    if (!find_name(granularity_names, G_N_ELEMENTS(granularity_names), name, &index))
        return FALSE;
    *by = index;
    return TRUE;
}

gboolean
report_sort_by_name(const char *name, ReportSort *sort)
{
    guint index;

    if (!find_name(sort_names, G_N_ELEMENTS(sort_names), name, &index))
        return FALSE;
    *sort = index;
    return TRUE;
}

gboolean
report_part_by_name(const char *name, ReportPart *part)
{
    guint index;

    if (!find_name(part_names, G_N_ELEMENTS(part_names), name, &index))
        return FALSE;
    *part = index;
    return TRUE;
}
