/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/thread-time.h"
#include "fleet/rows.h"
#include "fleet/state.h"
#include "symbolize/symbolize.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Two builds of one file, at the same offset, and a stack without names. */
static const char names[] =
    "{\"data\":[[\"1\",[\"outer--inner\\t\\ta.c:7:0\"],[\"/bin/"
    "p\"],[\"aa\"],[\"4096\"]],[\"18446744073709551615\",[\"other\"],[\"/bin/p\"],[\"bb\"],[\"4096\"]]]}";
static const char first[] =
    "{\"data\":[[\"1\",0,0,0,0,2,4,100,400,0,0],[\"18446744073709551615\",0,0,0,0,1,1,50,100,0,0]]}";
static const char second[] =
    "{\"data\":[[\"1\",0,0,0,0,4,4,300,400,0,0],[\"3\",0,0,0,0,1,1,10,0,0,0],[\"4\",0,0,0,0,0,0,0,0,0,0]]}";

static const FleetFacts one_moment = {.time = 1, .period = 512, .moments = 1, .scale = 1};
static const FleetFacts two_moments = {.time = 1, .period = 512, .moments = 2, .scale = 0.5};

static Profile *
read_bytes(const GString *document, gsize length, GError **error)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, document->str, length), ==, length);
    Profile *profile = fleet_document_read(fd, "test", error);
    close(fd);
    return profile;
}

static Profile *
read_named(const GString *known, const FleetFacts *facts, const char *const *answers, GError **error)
{
    g_autoptr(GString) document = fleet_document_new(facts, known);
    for (; *answers != NULL; answers++) {
        g_autoptr(GString) stacks = g_string_new(*answers);
        fleet_document_add(document, stacks);
    }
    return read_bytes(document, document->len, error);
}

static Profile *
read_document(const FleetFacts *facts, const char *const *answers, GError **error)
{
    g_autoptr(GString) known = g_string_new(names);
    return read_named(known, facts, answers, error);
}

static void
test_a_moment(void)
{
    g_autoptr(Profile) profile = read_document(&one_moment, (const char *const[]){first, NULL}, NULL);
    g_autoptr(Symbols) symbols = symbolize(profile, NULL, NULL);
    g_assert_cmpuint(profile_n_stacks(profile), ==, 2);
    g_assert_cmpuint(profile_n_objects(profile), ==, 2);
    g_assert_cmpuint(profile_period(profile), ==, 512);
    g_assert_cmpfloat(profile_total(profile)->estimate[PROFILE_INUSE_SPACE], ==, 150);
    g_assert_cmpfloat(profile_total(profile)->variance[PROFILE_INUSE_SPACE], ==, 500);
    g_assert_false(profile_has_value(profile, PROFILE_ALLOC_SPACE));
    const Symbol *symbol = symbols_location(symbols, 0);
    g_assert_cmpuint(symbol->n_frames, ==, 2);
    g_assert_cmpstr(symbol->frames[0].function, ==, "inner");
    g_assert_cmpstr(symbol->frames[0].file, ==, "a.c");
    g_assert_cmpuint(symbol->frames[0].line, ==, 7);
    g_assert_cmpstr(symbol->frames[1].function, ==, "outer");
}

static void
test_a_mean(void)
{
    g_autoptr(Profile) profile = read_document(&two_moments, (const char *const[]){first, second, NULL}, NULL);
    g_autoptr(Symbols) symbols = symbolize(profile, NULL, NULL);
    g_assert_cmpuint(profile_n_stacks(profile), ==, 3);
    g_assert_cmpfloat(profile_total(profile)->estimate[PROFILE_INUSE_SPACE], ==, (150 + 310) / 2.0 / 2);
    g_assert_cmpfloat(profile_total(profile)->variance[PROFILE_INUSE_SPACE], ==, (500 + 400) / 2.0 / 4);
    g_assert_cmpstr(symbols_location(symbols, 2)->frames[0].function, ==, "[stacks without names]");
}

/* Another user's copy of a file has other names, in the same place of the same build: neither has those of the other,
 * also if the documents of two moments, each with stacks of one, are added up. */
static void
test_names_of_users(void)
{
    static const char *const parts[] = {
        "{\"data\":[[\"2\",0,0,0,0,1,1,20,1,0,0]]}",
        "{\"data\":[[\"1\",0,0,0,0,1,1,10,1,0,0],[\"3\",0,0,0,0,1,1,30,1,0,0]]}",
    };
    static const char *const wanted[] = {"EVIL", "hold", "hold"};
    static const gdouble bytes[] = {20, 10, 30};
    g_autoptr(GString) known = g_string_new("{\"data\":[");
    for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
        g_string_append_printf(known,
                               "%s[\"%u\",[\"%s\",\"main\"],[\"/bin/p\",\"/bin/p\"],[\"aa\",\"aa\"],[\"4096\",\"%u\"]]",
                               i > 0 ? "," : "", i + 1, i == 1 ? "EVIL" : "hold", 8192 + i / 2);
    g_string_append(known, "]}");
    g_autoptr(Profile) one = read_named(known, &one_moment, (const char *const[]){parts[0], NULL}, NULL);
    g_autoptr(Profile) other = read_named(known, &one_moment, (const char *const[]){parts[1], NULL}, NULL);
    g_autoptr(Profile) both = read_named(known, &one_moment, (const char *const[]){parts[0], parts[1], NULL}, NULL);
    g_autoptr(Profile) merged = profile_merge((const Profile *const[]){one, other}, 2, NULL);
    const Profile *const profiles[] = {both, merged};
    for (gsize p = 0; p < G_N_ELEMENTS(profiles); p++) {
        g_autoptr(Symbols) symbols = symbolize(profiles[p], NULL, NULL);
        g_assert_cmpuint(profile_n_stacks(profiles[p]), ==, G_N_ELEMENTS(wanted));
        for (guint32 i = 0; i < G_N_ELEMENTS(wanted); i++) {
            const guint32 *frames = profile_frames(profiles[p]) + profile_stacks(profiles[p])[i].first;
            g_assert_cmpstr(symbols_location(symbols, frames[0])->frames[0].function, ==, wanted[i]);
            g_assert_cmpfloat(profile_weights(profiles[p])[i].estimate[PROFILE_INUSE_SPACE], ==, bytes[i]);
        }
    }
}

/* What the store has added up already. */
static void
test_a_mean_of_a_sum(void)
{
    g_autoptr(Profile) profile = read_document(&two_moments, (const char *const[]){first, NULL}, NULL);
    g_assert_cmpfloat(profile_total(profile)->estimate[PROFILE_INUSE_SPACE], ==, 150 / 2.0 / 2);
    g_assert_cmpfloat(profile_total(profile)->variance[PROFILE_INUSE_SPACE], ==, 500 / 2.0 / 4);
}

static void
test_damaged(void)
{
    static const char *const wrong[] = {"{\"data\":[[\"1\",0]]}", "{}", "3", "{\"data\":[[\"1\""};
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(read_document(&one_moment, (const char *const[]){wrong[i], NULL}, &error));
        g_assert_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER);
    }
}

/* Text behind an answer, or an end that is missing, is no part of what comes next: neither jescope's own facts nor
 * another answer. */
static void
test_text_behind_an_answer(void)
{
    static const char *const behind[] = {
        ",\"scale\":1e308,\"moments\":1", ",\"answers\":[]", "]}", "{}", "3", ",", "x"};
    for (gsize i = 0; i < G_N_ELEMENTS(behind); i++) {
        g_autoptr(GString) known = g_string_new(names);
        g_autofree char *more = g_strconcat(first, behind[i], NULL);
        g_autoptr(GError) of_names = NULL;
        g_autoptr(GError) of_answer = NULL;
        g_string_append(known, behind[i]);
        g_assert_null(read_named(known, &one_moment, (const char *const[]){first, NULL}, &of_names));
        g_assert_error(of_names, FLEET_ERROR, FLEET_ERROR_ANSWER);
        g_assert_null(read_document(&one_moment, (const char *const[]){more, second, NULL}, &of_answer));
        g_assert_error(of_answer, FLEET_ERROR, FLEET_ERROR_ANSWER);
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(read_document(&one_moment, (const char *const[]){"{\"data\":[]", ",\"more\":3}", NULL}, &error));
    g_assert_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER);
}

static void
test_cut_off(void)
{
    g_autoptr(GString) known = g_string_new("{\"data\":[]}");
    g_autoptr(GString) stacks = g_string_new("{\"data\":[]}");
    g_autoptr(GString) document = fleet_document_new(&one_moment, known);
    const gsize complete = document->len;
    fleet_document_add(document, stacks);
    for (gsize length = 1; length <= document->len; length++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Profile) profile = read_bytes(document, length, &error);
        g_assert_cmpint(profile != NULL, ==, length == complete || length == document->len);
        g_assert_cmpint(g_error_matches(error, FLEET_ERROR, FLEET_ERROR_ANSWER), ==, profile == NULL);
    }
}

/* A row costs what its values do, however deep its stack is: built again for each, these would take half a minute. */
static void
test_stack_of_many_rows(void)
{
    enum { DEPTH = 4096, ROWS = 20000, SECONDS_MAX = 10 };
    g_autoptr(GString) known = g_string_new("{\"data\":[[\"7\"");
    g_autoptr(GString) stacks = g_string_new("{\"data\":[[\"8\",0,0,0,0,1,1,1,1,0,0]");
    g_autoptr(GError) error = NULL;
    static const char *const parts[] = {"\"f\"", "\"/bin/p\"", "\"ab\"", "\"4096\""};
    for (gsize part = 0; part < G_N_ELEMENTS(parts); part++)
        for (guint i = 0; i < DEPTH; i++)
            g_string_append_printf(known, "%s%s%s", i == 0 ? ",[" : ",", parts[part], i == DEPTH - 1 ? "]" : "");
    g_string_append(known, "]]}");
    for (guint i = 0; i < ROWS; i++)
        g_string_append(stacks, ",[\"7\",0,0,0,0,1,1,1,1,0,0]");
    g_string_append(stacks, "]}");
    const gint64 begun = thread_time_us();
    g_autoptr(Profile) profile = read_named(known, &one_moment, (const char *const[]){stacks->str, NULL}, &error);
    g_assert_no_error(error);
    g_assert_cmpint(thread_time_us() - begun, <, SECONDS_MAX * G_USEC_PER_SEC);
    g_assert_cmpuint(profile_n_stacks(profile), ==, 2);
    g_assert_cmpfloat(profile_total(profile)->estimate[PROFILE_INUSE_SPACE], ==, ROWS + 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/state/names-of-users", test_names_of_users);
    g_test_add_func("/state/moment", test_a_moment);
    g_test_add_func("/state/mean", test_a_mean);
    g_test_add_func("/state/sum", test_a_mean_of_a_sum);
    g_test_add_func("/state/damaged", test_damaged);
    g_test_add_func("/state/text-behind-an-answer", test_text_behind_an_answer);
    g_test_add_func("/state/cut-off", test_cut_off);
    g_test_add_func("/state/stack-of-many-rows", test_stack_of_many_rows);
    return g_test_run();
}
