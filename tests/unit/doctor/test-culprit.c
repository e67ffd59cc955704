/* SPDX-License-Identifier: Apache-2.0 */
/* Which function is named in six dumps of a program whose stacks grow or do not. */
#include "../report/fixture.h"

#include "doctor/culprit.h"

#include <string.h>

enum { DUMPS = 6, STACKS = 8 };

/* One stack: functions from the innermost outwards, and MiB in each dump. */
typedef struct {
    const char *functions[6];
    guint first, step;
} Stack;

/* The names of a symbolized dump, each with an address of its own. */
static guint
address_of(GPtrArray *names, const char *name)
{
    guint found;

    if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, &found)) {
        g_ptr_array_add(names, (gpointer)(guintptr)name);
        found = names->len - 1;
    }
    return 0x1000 * (found + 1);
}

static char *
dump_text(const Stack *stacks, const guint *sizes, guint dump)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autoptr(GString) body = g_string_new(NULL), text = g_string_new("--- symbol\n");
    guint total = 0;

    for (const Stack *stack = stacks; stack->functions[0]; stack++) {
        guint bytes = (stack->first + stack->step * dump) << 20;
        guint object = sizes ? sizes[stack - stacks] : 4096;
        total += bytes;
        g_string_append_printf(body, "%u: %u [0: 0] @ 0x%x", bytes / object, bytes, address_of(names, "malloc"));
        for (guint i = 0; stack->functions[i]; i++)
            g_string_append_printf(body, " 0x%x", address_of(names, stack->functions[i]) + 1);
        g_string_append_c(body, '\n');
    }
    for (guint i = 0; i < names->len; i++)
        g_string_append_printf(text, "0x%x %s\n", 0x1000 * (i + 1), (const char *)names->pdata[i]);
    g_string_append_printf(text, "---\n--- heap\nheap profile: %u: %u [0: 0] @ heapprofile\n%s\nMAPPED_LIBRARIES:\n",
                           total / 4096, total, body->str);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
find_in(char *const *texts, guint n, const DoctorClasses *classes, DoctorEvidence *evidence)
{
    Fixture dumps[DUMPS];
    const Profile *profiles[DUMPS];
    gdouble times[DUMPS];
    g_autoptr(GError) error = NULL;
    ReportOptions options;

    for (guint i = 0; i < n; i++) {
        fixture_init(&dumps[i], texts[i], PROFILE_READ_DEFAULT);
        profiles[i] = dumps[i].profile;
        times[i] = 10 * i;
    }
    g_autoptr(Growth) growth = growth_new(profiles, times, n, PROFILE_INUSE_SPACE, &error);
    g_assert_no_error(error);
    g_autoptr(Growth) pinned =
        profile_has_value(profiles[0], PROFILE_PINNED) ? growth_new(profiles, times, n, PROFILE_PINNED, &error) : NULL;
    g_assert_no_error(error);
    g_autoptr(Symbols) names = symbolize(growth_profile(growth), NULL, &error);
    g_assert_no_error(error);
    report_options_init(&options);
    ReportInput input = {.profile = growth_profile(growth), .symbols = names, .name = "dumps"};
    g_autoptr(View) view = view_new(&input, NULL, &options, &error);
    g_autoptr(Growth) births = profile_total(profiles[0])->estimate[PROFILE_ALLOC_SPACE] > 0
                                   ? growth_new(profiles, times, n, PROFILE_ALLOC_SPACE, &error)
                                   : NULL;
    g_assert_no_error(error);
    const CulpritInput culprits = {.growth = growth,
                                   .births = births,
                                   .pinned = pinned,
                                   .view = view,
                                   .names = names,
                                   .classes = classes,
                                   .class_size = 4096};
    culprit_find(&culprits, evidence);
    for (guint i = 0; i < n; i++)
        fixture_clear(&dumps[i]);
}

/* SIZES are the object sizes of each stack; NULL: 4096. */
static void
find_sized(const Stack *stacks, const guint *sizes, const DoctorClasses *classes, DoctorEvidence *evidence)
{
    char *texts[DUMPS];

    for (guint i = 0; i < DUMPS; i++)
        texts[i] = dump_text(stacks, sizes, i);
    find_in(texts, DUMPS, classes, evidence);
    for (guint i = 0; i < DUMPS; i++)
        g_free(texts[i]);
}

static void
find(const Stack *stacks, const DoctorClasses *classes, DoctorEvidence *evidence)
{
    find_sized(stacks, NULL, classes, evidence);
}

static const char *
function_of(const DoctorStack *stack)
{
    return stack->functions->pdata[0];
}

static const struct {
    Stack stacks[STACKS];
    const char *blamed[3]; /* in order */
} cases[] = {
    /* A leak beside a heap that does not grow. */
    {{{{"session_store", "handle", "main"}, 5, 2}, {{"load_config", "main"}, 40, 0}}, {"session_store"}},
    /* The deepest function with four fifths of the growth: it calls two with a half each. */
    {{{{"copy_key", "session_store", "main"}, 5, 2},
      {{"copy_value", "session_store", "main"}, 5, 2},
      {{"load_config", "main"}, 40, 0}},
     {"session_store"}},
    /* A known wrapper, one that is recognised by its name, and one with other users. */
    {{{{"zmalloc", "session_store", "main"}, 5, 2}, {{"zmalloc", "load_config", "main"}, 40, 0}}, {"session_store"}},
    {{{{"my_safe_malloc", "session_store", "main"}, 5, 2}}, {"session_store"}},
    {{{{"__GI___strdup", "xdup", "session_store", "main"}, 5, 2}}, {"session_store"}},
    {{{{"node_of", "session_store", "main"}, 5, 2}, {{"node_of", "load_config", "main"}, 40, 0}}, {"session_store"}},
    /* Two leaks: the caller of both also holds memory that does not grow. */
    {{{{"session_store", "main"}, 5, 3}, {{"log_line", "main"}, 5, 2}, {{"load_config", "main"}, 80, 0}},
     {"session_store", "log_line"}},
    /* F2: callers of a cache that take over memory from each other: the cache does not grow. */
    {{{{"cache_put", "fill", "main"}, 60, (guint)-10},
      {{"cache_put", "serve", "main"}, 5, 10},
      {{"task_new", "serve", "main"}, 5, 2}},
     {"task_new"}},
    /* F12: each of three callers has a third of the growth. */
    {{{{"session_store", "login", "main"}, 5, 2},
      {{"session_store", "renew", "main"}, 5, 2},
      {{"session_store", "import", "main"}, 5, 2},
      {{"load_config", "main"}, 40, 0}},
     {"session_store"}},
    /* A helper that calls another helper. */
    {{{{"filled", "pool_take", "task_new", "serve", "main"}, 5, 2},
      {{"filled", "pool_take", "cache_put", "serve", "main"}, 50, 0},
      {{"filled", "load_config", "main"}, 20, 0}},
     {"task_new"}},
    /* Another caller's memory is freed. */
    {{{{"ticket_new", "refund", "serve", "main"}, 5, 4},
      {{"ticket_new", "query", "serve", "main"}, 12, (guint)-2},
      {{"load_config", "main"}, 40, 0}},
     {"refund"}},
    /* A function that fills memory at startup and continues in threads. */
    {{{{"span_store", "worker", "start_thread"}, 5, 2},
      {{"span_store", "main"}, 50, 0},
      {{"load_config", "main"}, 40, 0}},
     {"span_store"}},
    /* Nothing grows. */
    {{{{"session_store", "main"}, 50, 0}, {{"load_config", "main"}, 40, 0}}, {NULL}},
};

static void
test_who_grows(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(DoctorEvidence) evidence = {0};
        guint n = 0;
        doctor_evidence_init(&evidence);
        find(cases[i].stacks, NULL, &evidence);
        while (n < G_N_ELEMENTS(cases[i].blamed) && cases[i].blamed[n])
            n++;
        g_test_message("case %u", (guint)i);
        g_assert_cmpuint(evidence.growing->len, ==, n);
        for (guint j = 0; j < n; j++) {
            const DoctorStack *stack = evidence.growing->pdata[j];
            g_assert_cmpstr(function_of(stack), ==, cases[i].blamed[j]);
            const char *outermost = stack->functions->pdata[stack->functions->len - 1];
            g_assert_cmpfloat(stack->p, <, 0.01);
            g_assert_true(g_str_equal(outermost, "main") || g_str_equal(outermost, "start_thread"));
        }
    }
}

/* The memory of a function is summed over all of its callers. */
static void
test_callers_are_summed(void)
{
    g_auto(DoctorEvidence) evidence = {0};

    doctor_evidence_init(&evidence);
    find((const Stack[]){{{"cache_put", "fill", "main"}, 40, 0},
                         {{"cache_put", "serve", "main"}, 35, 0},
                         {{"cache_put", "import", "main"}, 30, 0},
                         {{"load_config", "main"}, 20, 0},
                         {{NULL}, 0, 0}},
         NULL, &evidence);
    g_assert_cmpstr(function_of(evidence.holder), ==, "cache_put");
    g_assert_cmpfloat_with_epsilon(evidence.holder->bytes, 105 << 20, 1);
}

/* A cache that is filled by one caller and renewed by another: with few samples, sizes differ by chance, and not every
 * caller's memory has changed. */
static void
test_callers_of_a_cache(void)
{
    g_auto(DoctorEvidence) evidence = {0};

    doctor_evidence_init(&evidence);
    find_sized((const Stack[]){{{"page_store", "fill", "main"}, 60, (guint)-1},
                               {{"page_store", "turn", "main"}, 3, 1},
                               {{"page_store", "import", "main"}, 4, 0},
                               {{"load_config", "main"}, 30, 0},
                               {{NULL}, 0, 0}},
               (const guint[]){1 << 20, 1300000, 700000, 4096}, NULL, &evidence);
    g_assert_cmpstr(function_of(evidence.holder), ==, "page_store");
    g_assert_cmpfloat_with_epsilon(evidence.holder->bytes, 67 << 20, 4 << 20);
}

static void
test_who_holds(void)
{
    g_auto(DoctorEvidence) evidence = {0};

    doctor_evidence_init(&evidence);
    find((const Stack[]){{{"my_malloc", "load_tables", "main"}, 100, 0},
                         {{"session_store", "main"}, 20, 0},
                         {{NULL}, 0, 0}},
         NULL, &evidence);
    g_assert_cmpstr(function_of(evidence.holder), ==, "load_tables");
    g_assert_cmpfloat_with_epsilon(evidence.holder->bytes, 100 << 20, 1);
    g_assert_cmpfloat_with_epsilon(evidence.profiled, 120 << 20, 1);
    g_assert_cmpstr(function_of(evidence.class_holder), ==, "load_tables");
    g_assert_cmpuint(evidence.holder->block, ==, 4096);
    g_assert_null(evidence.mover);
}

/* Code without names, called by a library: the caller is named for a part of itself only. */
static void
test_code_without_names(void)
{
    static const struct {
        const char *inner, *named;
    } calls[] = {{"0x400100", "[server+0x100]"}, {"0x7f0000005001", "loop_run"}};

    for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
        g_auto(DoctorEvidence) evidence = {0};
        g_autofree char *text =
            g_strdup_printf("--- symbol\n0x7f0000001000 loop_run\n0x7f0000002000 start_thread\n---\n--- heap\n"
                            "heap profile: 1: 104857600 [0: 0] @ heapprofile\n"
                            "1: 104857600 [0: 0] @ %s 0x7f0000001001 0x7f0000002001\n\nMAPPED_LIBRARIES:\n"
                            "00400000-00500000 r-xp 00000000 08:01 1 /opt/server\n"
                            "7f0000000000-7f0000010000 r-xp 00000000 08:01 2 /opt/libloop.so\n",
                            calls[i].inner);
        doctor_evidence_init(&evidence);
        find_in((char *[]){text, text, text}, 3, NULL, &evidence);
        g_assert_nonnull(evidence.holder);
        g_assert_cmpstr(function_of(evidence.holder), ==, calls[i].named);
    }
}

/* The holder of the wanted size class is found, even if another function holds more of a similar size. */
static void
test_who_holds_a_class(void)
{
    g_auto(DoctorEvidence) evidence = {0};

    doctor_evidence_init(&evidence);
    find_sized((const Stack[]){{{"load_tables", "main"}, 100, 0}, {{"session_store", "main"}, 20, 0}, {{NULL}, 0, 0}},
               (const guint[]){4250, 4096}, NULL, &evidence);
    g_assert_cmpstr(function_of(evidence.class_holder), ==, "session_store");
}

/* A helper that allocates rows of one size for one caller, and of several sizes with a similar mean for another. */
static void
test_sizes_tell_callers_apart(void)
{
    g_auto(DoctorEvidence) evidence = {0};
    g_auto(DoctorClasses) classes = {.classes = g_array_new(FALSE, FALSE, sizeof(DoctorClass)), .seconds = 50};
    const DoctorClass sizes[] = {{.size = 3584}, {.size = 4096}, {.size = 5120}};

    g_array_append_vals(classes.classes, sizes, G_N_ELEMENTS(sizes));
    doctor_evidence_init(&evidence);
    find_sized((const Stack[]){{{"filled", "row_insert", "main"}, 20, 0},
                               {{"filled", "load_config", "main"}, 12, 0},
                               {{NULL}, 0, 0}},
               (const guint[]){4096, 3900}, &classes, &evidence);
    g_assert_cmpstr(function_of(evidence.class_holder), ==, "row_insert");
}

/* The bytes of objects of many sizes: their share of what the program holds, unless the samples contradict that. */
static void
test_share_of_what_is_held(void)
{
    static const struct {
        gdouble held, said; /* relative to the estimate from samples; 0: unknown */
    } heaps[] = {{0, 1}, {0.9, 0.9}, {1.1, 1.1}, {3, 1}};
    const char *text =
        "--- symbol\n0x1000 parse_tree\n0x2000 load_config\n0x3000 main\n---\n--- heap\n"
        "heap_v2/524288\n  t*: 200: 600000 [0: 0]\n"
        "@ 0x1000 0x3001\n  t*: 120: 360000 [0: 0]\n@ 0x2000 0x3001\n  t*: 80: 240000 [0: 0]\n\nMAPPED_LIBRARIES:\n";
    char *texts[DUMPS];
    gdouble all = 0, own = 0;

    for (guint i = 0; i < DUMPS; i++)
        texts[i] = (char *)(guintptr)text;
    for (gsize i = 0; i < G_N_ELEMENTS(heaps); i++) {
        g_auto(DoctorEvidence) evidence = {0};
        g_auto(DoctorClasses) classes = {.classes = g_array_new(FALSE, FALSE, sizeof(DoctorClass)), .seconds = 50};
        const DoctorClass sizes[] = {{.size = 2560, .bytes = 1}, {.size = 3072, .bytes = 1 << 20}};
        g_array_append_vals(classes.classes, sizes, G_N_ELEMENTS(sizes));
        classes.held.last = heaps[i].held * all;
        doctor_evidence_init(&evidence);
        find_in(texts, DUMPS, &classes, &evidence);
        g_assert_cmpstr(function_of(evidence.holder), ==, "parse_tree");
        all = i == 0 ? evidence.profiled : all;
        own = i == 0 ? evidence.holder->bytes : own;
        g_assert_cmpfloat_with_epsilon(evidence.holder->bytes, heaps[i].said * own, 1);
        g_assert_cmpfloat(own, >, 0.5 * all);
    }
}

/* The array of a hash table, and its entries. */
static void
test_buckets(void)
{
    for (guint entries = 0; entries <= 60; entries += 60) {
        g_auto(DoctorEvidence) evidence = {0};
        doctor_evidence_init(&evidence);
        find_sized(
            (const Stack[]){{{"std::__detail::_Hashtable_alloc<int>::_M_allocate_buckets", "count", "main"}, 50, 0},
                            {{"node_new", "count", "main"}, entries, 0},
                            {{NULL}, 0, 0}},
            (const guint[]){1 << 20, 32}, NULL, &evidence);
        g_assert_cmpint(evidence.holder->buckets, ==, entries == 0);
    }
}

/* The cache has more objects of the class, in full slabs; the sessions cause the holes. */
static void
test_who_pins(void)
{
    g_auto(DoctorEvidence) evidence = {0};
    g_autoptr(GString) text =
        g_string_new("--- symbol\n0x1000 session_store\n0x2000 cache_insert\n0x3000 main\n---\n--- heap\n"
                     "heap_v2/1\n#sampler jescope 1 window=10000000\n@ 0x1000 0x3001\n  t*: 1: 4096 [1: 4096]\n");
    for (guint i = 0; i < 30; i++)
        g_string_append_printf(text, "#live %x 4096 1000000 7 3 4\n", 0x100000 + 0x10000 * i);
    g_string_append(text, "@ 0x2000 0x3001\n  t*: 1: 4096 [1: 4096]\n");
    for (guint i = 0; i < 80; i++)
        g_string_append_printf(text, "#live %x 4096 1000000 7 0 4\n", 0x900000 + 0x10000 * i);
    g_string_append(
        text, "\nMAPPED_LIBRARIES:\njescope_class=1 size=4096 regions=4 slab=16384 slabs=50 live=110 nonfull=30\n");

    doctor_evidence_init(&evidence);
    find_in((char *[]){text->str, text->str, text->str}, 3, NULL, &evidence);
    g_assert_cmpstr(function_of(evidence.class_holder), ==, "session_store");
    g_assert_cmpfloat_with_epsilon(evidence.pinned, 90 * 4096, 1);
}

/* Memory that is freed at once is in no dump; births show which function allocates it. */
static void
test_who_allocates(void)
{
    enum { N = 3 };
    g_auto(DoctorEvidence) evidence = {0};
    char *texts[N];

    for (guint i = 0; i < N; i++)
        texts[i] =
            g_strdup_printf("--- symbol\n0x1000 render_page\n0x2000 cache_insert\n0x3000 main\n---\n--- heap\n"
                            "heap_v2/1\n  t*: 60: 245760 [%u: %u]\n@ 0x1000 0x3001\n"
                            "  t*: 0: 0 [%u: %u]\n@ 0x2000 0x3001\n  t*: %u: %u [%u: %u]\n\nMAPPED_LIBRARIES:\n",
                            60 + 1010 * (i + 1), (60 + 1010 * (i + 1)) * 4096, 1000 * (i + 1), 1000 * (i + 1) * 4096,
                            60 + 5 * (i % 2), (60 + 5 * (i % 2)) * 4096, 60 + 10 * (i + 1), (60 + 10 * (i + 1)) * 4096);
    doctor_evidence_init(&evidence);
    find_in(texts, N, NULL, &evidence);
    for (guint i = 0; i < N; i++)
        g_free(texts[i]);
    g_assert_cmpstr(function_of(evidence.mover), ==, "render_page");
}

/* A function that is found by samples of a short time is not named if the profile of the whole run shows that it serves
 * other callers, with objects of another size. */
static void
test_mover_of_other_samples(void)
{
    static const struct {
        guint64 block;
        const char *named;
    } movers[] = {{100, "handle_request"}, {4096, "filled"}};

    for (gsize i = 0; i < G_N_ELEMENTS(movers); i++) {
        g_auto(DoctorEvidence) evidence = {0};
        doctor_evidence_init(&evidence);
        evidence.mover = g_new0(DoctorStack, 1);
        evidence.mover->functions = g_ptr_array_new_with_free_func(g_free);
        evidence.mover->block = movers[i].block;
        g_ptr_array_add(evidence.mover->functions, g_strdup("filled"));
        g_ptr_array_add(evidence.mover->functions, g_strdup("handle_request"));
        find((const Stack[]){{{"filled", "load_tables", "main"}, 100, 0}, {{NULL}, 0, 0}}, NULL, &evidence);
        g_assert_cmpstr(function_of(evidence.mover), ==, movers[i].named);
    }
}

/* A helper with other users is not the holder; memory that comes and goes is distinguished from memory that stays. */
static void
test_helpers(void)
{
    g_auto(DoctorEvidence) evidence = {0};

    doctor_evidence_init(&evidence);
    find((const Stack[]){{{"filled", "load_tables", "main"}, 100, 0},
                         {{"filled", "(anonymous namespace)::render", "main"}, 5, 1},
                         {{NULL}, 0, 0}},
         NULL, &evidence);
    g_assert_cmpstr(function_of(evidence.holder), ==, "load_tables");
    g_assert_cmpfloat(evidence.holder->moved, ==, 0);
    g_assert_cmpstr(function_of(evidence.mover), ==, "render");
    g_assert_cmpfloat_with_epsilon(evidence.mover->moved, (DUMPS - 1) << 20, 1);
}

/* A profile that fills: by the exact counters, the class of its objects does not grow, and that of the leak does. */
static void
test_exact_counters_decide(void)
{
    g_auto(DoctorEvidence) evidence = {0};
    g_auto(DoctorClasses)
        classes = {.classes = g_array_new(FALSE, FALSE, sizeof(DoctorClass)), .seconds = 50, .rate = 1 << 20};
    const DoctorClass class = {.size = 4096, .grown = 50 << 20};

    g_array_append_val(classes.classes, class);
    doctor_evidence_init(&evidence);
    find((const Stack[]){{{"session_store", "main"}, 0, 3},
                         {{"log_line", "main"}, 0, 2},
                         {{"load_config", "main"}, 90, 0},
                         {{NULL}, 0, 0}},
         &classes, &evidence);
    g_assert_cmpuint(evidence.growing->len, ==, 2);
    g_assert_cmpfloat_with_epsilon(((DoctorStack *)evidence.growing->pdata[0])->grown, 30 << 20, 1);
    g_assert_cmpfloat_with_epsilon(((DoctorStack *)evidence.growing->pdata[1])->grown, 20 << 20, 1);
}

/* Without a sample of the growth during the watch, the function that holds most of the class is named. */
static void
test_growth_without_samples(void)
{
    g_auto(DoctorEvidence) evidence = {0};
    g_auto(DoctorClasses) classes = {
        .classes = g_array_new(FALSE, FALSE, sizeof(DoctorClass)), .seconds = 5, .rate = 1 << 18, .grows = TRUE};
    const DoctorClass class = {.size = 4096, .grown = 5 << 18};

    g_array_append_val(classes.classes, class);
    doctor_evidence_init(&evidence);
    find((const Stack[]){{{"session_store", "main"}, 3, 0}, {{NULL}, 0, 0}}, &classes, &evidence);
    g_assert_cmpuint(evidence.growing->len, ==, 1);
    g_assert_cmpstr(function_of(evidence.growing->pdata[0]), ==, "session_store");
}

/* The same for a leak that jemalloc's profiler misses: its own samples decide if it has any. */
static void
test_growth_of_other_samples(void)
{
    static const char *const found[] = {"filled", "job_result", "main"};
    static const Stack unseen[] = {{{"filled", "load_config", "main"}, 40, 0}, {{NULL}, 0, 0}};
    static const Stack seen[] = {
        {{"session_store", "main"}, 5, 2}, {{"filled", "load_config", "main"}, 40, 0}, {{NULL}, 0, 0}};
    const struct {
        const Stack *stacks;
        const char *blamed;
    } profiles[] = {{unseen, "job_result"}, {seen, "session_store"}};

    for (gsize i = 0; i < G_N_ELEMENTS(profiles); i++) {
        g_auto(DoctorEvidence) evidence = {0};
        DoctorStack *other = g_new0(DoctorStack, 1);
        doctor_evidence_init(&evidence);
        other->functions = g_ptr_array_new_with_free_func(g_free);
        for (gsize j = 0; j < G_N_ELEMENTS(found); j++)
            g_ptr_array_add(other->functions, g_strdup(found[j]));
        other->block = 100;
        other->samples = 20;
        other->recent = TRUE;
        g_ptr_array_add(evidence.growing, other);
        find(profiles[i].stacks, NULL, &evidence);
        g_assert_cmpuint(evidence.growing->len, ==, 1);
        g_assert_cmpstr(function_of(evidence.growing->pdata[0]), ==, profiles[i].blamed);
    }
}

/* One stack for each path of LEVELS calls to one of two functions, each with as many objects as there are dumps. */
static char *
ways_text(guint levels, guint objects)
{
    g_autoptr(GString) text = g_string_new("--- symbol\n0x1000 malloc\n0x2000 left\n0x3000 right\n0x4000 main\n---\n");
    guint ways = 1U << levels;

    g_string_append_printf(text, "--- heap\nheap profile: %u: %u [0: 0] @ heapprofile\n", ways * objects,
                           ways * objects * 4096);
    for (guint way = 0; way < ways; way++) {
        g_string_append_printf(text, "%u: %u [0: 0] @ 0x1000", objects, objects * 4096);
        for (guint level = 0; level < levels; level++)
            g_string_append(text, way >> level & 1 ? " 0x2001" : " 0x3001");
        g_string_append(text, " 0x4001\n");
    }
    g_string_append(text, "\nMAPPED_LIBRARIES:\n");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Paths of many calls to few functions: it takes minutes with a hash table in which the paths of a function collide. */
static void
test_many_paths(void)
{
    enum { FEW = 3, LEVELS = 15 };
    g_auto(DoctorEvidence) evidence = {0};
    char *texts[FEW];

    doctor_evidence_init(&evidence);
    for (guint i = 0; i < FEW; i++)
        texts[i] = ways_text(LEVELS, i + 1);
    find_in(texts, FEW, NULL, &evidence);
    for (guint i = 0; i < FEW; i++)
        g_free(texts[i]);
    g_assert_nonnull(evidence.holder);
    g_assert_cmpfloat_with_epsilon(evidence.profiled, (FEW * 4096.0) * (1 << LEVELS), 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/doctor/culprit/grows", test_who_grows);
    g_test_add_func("/doctor/culprit/holds", test_who_holds);
    g_test_add_func("/doctor/culprit/callers", test_callers_are_summed);
    g_test_add_func("/doctor/culprit/holds-class", test_who_holds_a_class);
    g_test_add_func("/doctor/culprit/code-without-names", test_code_without_names);
    g_test_add_func("/doctor/culprit/sizes", test_sizes_tell_callers_apart);
    g_test_add_func("/doctor/culprit/share-of-what-is-held", test_share_of_what_is_held);
    g_test_add_func("/doctor/culprit/buckets", test_buckets);
    g_test_add_func("/doctor/culprit/callers-of-a-cache", test_callers_of_a_cache);
    g_test_add_func("/doctor/culprit/pins", test_who_pins);
    g_test_add_func("/doctor/culprit/helpers", test_helpers);
    g_test_add_func("/doctor/culprit/allocates", test_who_allocates);
    g_test_add_func("/doctor/culprit/mover-of-other-samples", test_mover_of_other_samples);
    g_test_add_func("/doctor/culprit/growth-without-samples", test_growth_without_samples);
    g_test_add_func("/doctor/culprit/exact-counters", test_exact_counters_decide);
    g_test_add_func("/doctor/culprit/growth-of-other-samples", test_growth_of_other_samples);
    g_test_add_func("/doctor/culprit/many-paths", test_many_paths);
    return g_test_run();
}
