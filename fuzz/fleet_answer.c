/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a compromised store that become profiles, and names from other machines as text in SQL. */
#include "export/sql.h"
#include "fleet/state.h"
#include "symbolize/symbolize.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The answers of DATA: the names, then those about stacks, with a NUL between them. */
static GString *
write_document(const uint8_t *data, size_t size)
{
    static const FleetFacts facts = {.period = 512, .moments = 2, .scale = 0.5, .cumulative = TRUE};
    g_autofree char *text = g_malloc0(size + 1);
    memcpy(text, data, size);
    g_autoptr(GString) names = g_string_new(text);
    GString *document = fleet_document_new(&facts, names);
    for (size_t at = names->len + 1; at < size; at += strlen(text + at) + 1) {
        g_autoptr(GString) stacks = g_string_new(text + at);
        fleet_document_add(document, stacks);
    }
    return document;
}

static void
read_document(const uint8_t *data, size_t size)
{
    g_autoptr(GString) document = write_document(data, size);
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (write(fd, document->str, document->len) == (ssize_t)document->len) {
        g_autoptr(Profile) profile = fleet_document_read(fd, "fuzz", NULL);
        g_autoptr(Symbols) symbols = profile != NULL ? symbolize(profile, NULL, NULL) : NULL;
        g_assert((profile != NULL) == (symbols != NULL));
    }
    close(fd);
}

/* Parses a literal like ClickHouse: it must end with the last byte and have the original value. */
static void
write_text(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GString) sql = g_string_new(NULL);
    g_autoptr(GString) read = g_string_new(NULL);
    sql_append_text(sql, text);
    g_assert(sql->str[0] == '\'');
    const char *at = sql->str + 1;
    for (; *at != '\''; at++) {
        if (*at != '\\') {
            g_string_append_c(read, *at);
            continue;
        }
        g_assert(at[1] == 'x' && g_ascii_isxdigit(at[2]) && g_ascii_isxdigit(at[3]));
        g_string_append_c(read, (char)(g_ascii_xdigit_value(at[2]) << 4 | g_ascii_xdigit_value(at[3])));
        at += 3;
    }
    g_assert(at == sql->str + sql->len - 1);
    g_assert(strcmp(read->str, text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    write_text(data, size);
    read_document(data, size);
    return 0;
}
