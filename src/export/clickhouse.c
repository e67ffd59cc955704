/* SPDX-License-Identifier: Apache-2.0 */
/* ClickHouse, over its HTTP interface: the rows of clickhouse-rows.h, several dumps per request. */
#include "export/clickhouse-client.h"
#include "export/clickhouse-rows.h"
#include "export/clickhouse-schema.h"

enum {
    MAX_BATCHES = 64,
    KNOWN_MAX = 1 << 20,
    INSERT_BYTES = 32 << 20, /* size of stacks at which the statements are sent and new ones begun */
};

typedef struct {
    ClickhouseClient *client;
    ClickhouseRows *rows;
    gboolean creates; /* whether to create missing tables */
    gboolean ready;   /* the tables exist */
} State;

static void
state_free(gpointer data)
{
    State *state = data;
    clickhouse_client_free(state->client);
    clickhouse_rows_free(state->rows);
    g_free(state);
}

static gpointer
state_new(const Destination *destination, GError **error)
{
    static const char *const known[] = {"create", NULL};
    const char *create = destination_setting(destination, "create", "yes");
    if (!destination_check_settings(destination, known, error))
        return NULL;
    if (!g_str_equal(create, "yes") && !g_str_equal(create, "no")) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION, "cannot push to '%s': create is yes or no",
                    destination->text);
        return NULL;
    }
    ClickhouseClient *client = clickhouse_client_new(destination, error);
    if (client == NULL)
        return NULL;
    State *state = g_new0(State, 1);
    state->client = client;
    state->rows = clickhouse_rows_new(KNOWN_MAX);
    state->creates = g_str_equal(create, "yes");
    return state;
}

static gboolean
prepare(State *state, GError **error)
{
    if (!state->ready)
        state->ready = !state->creates || clickhouse_client_create(state->client, error);
    return state->ready;
}

static gboolean
has_times(const Batch *const *batches, guint n, GError **error)
{
    for (guint i = 0; i < n; i++)
        if (batches[i]->dump.time <= 0) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_ANSWER,
                        "a dump of %s does not say when it was taken; ClickHouse needs the time",
                        batches[i]->dump.service);
            return FALSE;
        }
    return TRUE;
}

static gboolean
insert(State *state, const ClickhouseBodies *bodies, ExportReply *reply, GError **error)
{
    const struct {
        const char *into;
        const GString *body;
    } parts[] = {
        {"stack FORMAT JSONEachRow", bodies->stack},
        {"whole (" CLICKHOUSE_WHOLE_COLUMNS ") FORMAT RowBinary", bodies->whole},
        {"sample (" CLICKHOUSE_SAMPLE_COLUMNS ") FORMAT RowBinary", bodies->sample},
        {"ledger FORMAT JSONEachRow", bodies->ledger},
        {"dump FORMAT JSONEachRow", bodies->dump},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (parts[i].body->len > 0 &&
            !clickhouse_client_insert(state->client, parts[i].into, parts[i].body, reply, error))
            return FALSE;
    return TRUE;
}

/* Inserts in several statements of bounded size, since each stack of each batch is written with its names. */
static gboolean
insert_all(State *state, const Batch *const *batches, guint n, ExportReply *reply, GError **error)
{
    for (guint i = 0; i < n;) {
        g_auto(ClickhouseBodies) bodies;
        clickhouse_bodies_init(&bodies);
        do
            clickhouse_rows_add(state->rows, batches[i++], &bodies);
        while (i < n && bodies.stack->len < INSERT_BYTES);
        if (!insert(state, &bodies, reply, error))
            return FALSE;
    }
    return TRUE;
}

/* A batch cannot violate the schema: if ClickHouse refuses it, its operator has to correct the cause. */
static ExportOutcome
state_send(gpointer data, const Batch *const *batches, guint n, ExportReply *reply, GError **error)
{
    State *state = data;
    if (!has_times(batches, n, error))
        return EXPORT_REFUSED;
    if (!prepare(state, error))
        return EXPORT_LATER;
    if (insert_all(state, batches, n, reply, error))
        return EXPORT_SENT;
    clickhouse_rows_forget(state->rows);
    state->ready = FALSE;
    return EXPORT_LATER;
}

const ExportSink clickhouse_sink = {
    .name = "clickhouse",
    .summary = "tables of ClickHouse, which jescope fleet asks",
    .form = "clickhouse://HOST[:PORT]/DATABASE",
    .transport = EXPORT_CLEAR,
    .max_batches = MAX_BATCHES,
    .new = state_new,
    .free = state_free,
    .send = state_send,
};
