/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/rows.h"

static json_t *
rows_of(const char *text, gsize columns, GError **error)
{
    g_autoptr(GString) answer = g_string_new(text);
    return fleet_rows_of_text(answer, columns, "tests", error);
}

static void
test_cells(void)
{
    json_t *rows = rows_of("{\"data\":[[\"18446744073709551615\", 1.5, \"a\", null, -3]], \"rows\": 1}", 5, NULL);
    const json_t *row = json_array_get(rows, 0);
    g_assert_cmpuint(fleet_unsigned(row, 0), ==, G_MAXUINT64);
    g_assert_cmpfloat(fleet_number(row, 1), ==, 1.5);
    g_assert_cmpstr(fleet_text(row, 2), ==, "a");
    g_assert_cmpstr(fleet_text(row, 3), ==, "");
    g_assert_cmpfloat(fleet_number(row, 3), ==, 0);
    g_assert_cmpuint(fleet_unsigned(row, 4), ==, 0);
    json_decref(rows);
}

/* A server that fails while it answers has begun with "200 OK". */
static void
test_other_answers(void)
{
    static const char *const answers[] = {
        "",   "Code: 241, Memory limit", "{\"data\":[[1,2],[1]]}", "{\"data\":{}}", "{\"data\":[[1,2]",
        "[]", "{\"data\":[3]}"};
    for (gsize i = 0; i < G_N_ELEMENTS(answers); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(rows_of(answers[i], 2, &error));
        g_assert_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rows/cells", test_cells);
    g_test_add_func("/rows/others", test_other_answers);
    return g_test_run();
}
