/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger from another jescope: a ledger that was read, written and read again must be the same. */
#include "stats/ledger-read.h"
#include "stats/ledger-write.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static GString *
write_json(const LedgerTaken *taken)
{
    GString *text = g_string_new("{");
    ledger_append_json(text, taken);
    return g_string_append_c(text, '}');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_auto(LedgerTaken) taken = {0}, again = {0};
    json_t *document = json_loadb((const char *)data, size, 0, NULL), *copy;
    gboolean sound = ledger_read_json(document, &taken);
    json_decref(document);
    if (!sound)
        return 0;
    g_autoptr(GString) text = write_json(&taken), table = g_string_new(NULL);
    ledger_append_text(table, &taken, LEDGER_WRITE_ALL);
    g_assert_true(g_utf8_validate(table->str, (gssize)table->len, NULL));
    copy = json_loads(text->str, 0, NULL);
    g_assert_true(ledger_read_json(copy, &again));
    json_decref(copy);
    g_autoptr(GString) second = write_json(&again);
    g_assert_cmpstr(text->str, ==, second->str);
    return 0;
}
