/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/store.h"

#include "client/document.h"
#include "confine/keyed-hash.h"
#include "export/clickhouse-client.h"
#include "export/clickhouse-schema.h"
#include "export/sql.h"
#include "fleet/rows.h"
#include "text/printable.h"
#include "wire/transfer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PROCESS_COLUMNS = 10,
    LATEST_COLUMNS = 2,
    COUNT_COLUMNS = 5,
    FUNCTION_COLUMNS = 5,
};

struct FleetStore {
    Destination *destination;
    ClickhouseClient *client;
    guint64 most, bytes;         /* of all answers together, since what is made of them stays in memory */
    guint64 most_values, values; /* likewise: the memory of their values */
    guint64 holdings;            /* of all answers about a function */
    gint64 patience;             /* microseconds left to wait for answers */
    guint wait_ms;               /* what PATIENCE began with */
};

static Destination *
find_destination(const char *url, const ExportAccess *access, GError **error)
{
    g_autoptr(Destination) destination = destination_new(url, access, error);
    if (destination == NULL || g_str_equal(destination->sink->name, "clickhouse"))
        return g_steal_pointer(&destination);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION,
                "'%s' cannot be asked; the store is clickhouse://HOST:8123/DATABASE", url);
    return NULL;
}

gboolean
fleet_store_check(const char *url, GError **error)
{
    g_autoptr(Destination) destination = find_destination(url, &(ExportAccess){0}, error);
    return destination != NULL && clickhouse_client_check(destination, error);
}

FleetStore *
fleet_store_new(const char *url, const ExportAccess *access, GError **error)
{
    g_autoptr(Destination) destination = find_destination(url, access, error);
    if (destination == NULL)
        return NULL;
    ClickhouseClient *client = clickhouse_client_new(destination, error);
    if (client == NULL)
        return NULL;
    FleetStore *store = g_new(FleetStore, 1);
    *store = (FleetStore){.destination = g_steal_pointer(&destination),
                          .client = client,
                          .most = FLEET_ANSWERS_MAX,
                          .most_values = FLEET_VALUES_MAX};
    fleet_store_limit_time(store, FLEET_WAIT_MS);
    return store;
}

void
fleet_store_free(FleetStore *store)
{
    clickhouse_client_free(store->client);
    destination_free(store->destination);
    g_free(store);
}

void
fleet_store_limit(FleetStore *store, guint64 bytes)
{
    store->most = bytes;
}

void
fleet_store_limit_values(FleetStore *store, guint64 bytes)
{
    store->most_values = bytes;
}

void
fleet_store_limit_time(FleetStore *store, guint milliseconds)
{
    store->wait_ms = milliseconds;
    store->patience = (gint64)milliseconds * 1000;
}

const char *
fleet_store_database(const FleetStore *store)
{
    return clickhouse_client_database(store->client);
}

char *
fleet_store_version(FleetStore *store, GError **error)
{
    return clickhouse_client_version(store->client, error);
}

static gboolean
set_too_much(GError **error)
{
    g_set_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER,
                "the answers of the store are larger than 2 GiB together; ask about less time or fewer processes");
    return FALSE;
}

static gboolean
set_too_many(const char *what, GError **error)
{
    g_set_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER,
                "the answers of the store hold too many %s; ask about less time or fewer processes", what);
    return FALSE;
}

static GString *
set_too_slow(const FleetStore *store, GError **error)
{
    g_set_error(error, FLEET_ERROR, FLEET_ERROR_SLOW,
                "the answers of the store took more than %g s together; ask about less time or fewer processes, or ask "
                "again when it is less busy",
                store->wait_ms / 1000.0);
    return NULL;
}

/* Counts an answer where it arrives, so that whatever is made of it is bounded. */
static gboolean
count_answer(FleetStore *store, const GString *answer, GError **error)
{
    store->bytes += answer->len;
    if (store->bytes > store->most)
        return set_too_much(error);
    store->values += document_weight(answer->str, answer->len);
    return store->values <= store->most_values || set_too_many("values", error);
}

/* Runs SQL; the answer is to be freed. */
static GString *
fetch(FleetStore *store, const char *sql, GError **error)
{
    const gint64 begun = g_get_monotonic_time();
    g_autoptr(GError) cause = NULL;
    if (store->patience <= 0)
        return set_too_slow(store, error);
    GString *answer = clickhouse_client_ask(store->client, sql, (guint)(store->patience / 1000) + 1, &cause);
    store->patience -= g_get_monotonic_time() - begun;
    if (answer == NULL && store->patience <= 0)
        return set_too_slow(store, error);
    if (answer == NULL) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return NULL;
    }
    if (count_answer(store, answer, error))
        return answer;
    g_string_free(answer, TRUE);
    return NULL;
}

/* Runs QUESTION, which it frees, and returns the rows of the answer. Texts of them take several times as much memory.
 */
static json_t *
ask(FleetStore *store, char *question, gsize columns, const char *what, GError **error)
{
    g_autofree char *sql = question;
    GString *answer = fetch(store, sql, error);
    json_t *rows = NULL;
    if (answer == NULL)
        return NULL;
    if (answer->len <= FLEET_TABLE_MAX)
        rows = fleet_rows_of_text(answer, columns, what, error);
    else
        g_set_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER,
                    "the store's answer about %s is larger than 64 MiB; ask about less time or fewer processes", what);
    g_string_free(answer, TRUE);
    return rows;
}

/* ---- times ---- */

/* "of service 'checkout', version '1.2'". */
static char *
describe_filter(const FleetFilter *filter)
{
    const char *const parts[][2] = {
        {"service", filter->service}, {"version", filter->version}, {"host", filter->host}, {"zone", filter->zone}};
    GString *text = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (parts[i][1] != NULL)
            g_string_append_printf(text, "%s %s '%s'", text->len > 0 ? "," : " of", parts[i][0], parts[i][1]);
    for (const char *const *label = filter->labels; label != NULL && *label != NULL; label++)
        g_string_append_printf(text, "%s label '%s'", text->len > 0 ? "," : " of", *label);
    return g_string_free(text, FALSE);
}

static gboolean
find_latest(FleetStore *store, const FleetFilter *filter, gint64 *time, GError **error)
{
    gint64 until = g_get_real_time() + FLEET_FUTURE_SECONDS * (gint64)G_USEC_PER_SEC;
    json_t *rows =
        ask(store, fleet_ask_latest(fleet_store_database(store), filter, until), LATEST_COLUMNS, "dumps", error);
    if (rows == NULL)
        return FALSE;
    *time = fleet_time(json_array_get(rows, 0), 0);
    json_decref(rows);
    if (*time > 0)
        return TRUE;
    g_autofree char *what = describe_filter(filter);
    g_set_error(error, FLEET_ERROR, FLEET_ERROR_EMPTY,
                "the store has no dump%s; 'jescope fleet services' lists the services that it has", what);
    return FALSE;
}

gboolean
fleet_part_moments(FleetStore *store, const FleetPart *part, gint64 times[FLEET_MOMENTS], guint *n, GError **error)
{
    if (part->to == 0) {
        *n = 1;
        times[0] = part->at;
        return part->at != 0 || find_latest(store, &part->filter, &times[0], error);
    }
    *n = FLEET_MOMENTS;
    gint64 step = (part->to - part->from) / FLEET_MOMENTS;
    for (guint i = 0; i < FLEET_MOMENTS; i++)
        times[i] = part->to - (FLEET_MOMENTS - 1 - i) * step;
    return TRUE;
}

/* ---- processes ---- */

void
fleet_census_clear(FleetCensus *census)
{
    g_clear_pointer(&census->processes, g_array_unref);
    json_decref(census->rows);
}

gboolean
fleet_census(FleetStore *store, const FleetPart *part, gint64 time, FleetCensus *census, GError **error)
{
    const FleetMoment moment = {time, part->window};
    json_t *rows = ask(store, fleet_ask_processes(fleet_store_database(store), &part->filter, &moment), PROCESS_COLUMNS,
                       "processes", error);
    if (rows == NULL)
        return FALSE;
    *census = (FleetCensus){time, g_array_new(FALSE, FALSE, sizeof(FleetProcess)), rows};
    for (gsize i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const FleetProcess process = {
            .service = fleet_text(row, 0),
            .host = fleet_text(row, 1),
            .version = fleet_text(row, 2),
            .zone = fleet_text(row, 3),
            .pid = fleet_unsigned(row, 4),
            .time = fleet_time(row, 5),
            .inuse = fleet_number(row, 6),
            .variance = fleet_number(row, 7),
            .allocated = fleet_number(row, 8),
            .resident = fleet_number(row, 9),
        };
        g_array_append_val(census->processes, process);
    }
    return TRUE;
}

/* ---- stacks ---- */

void
fleet_taken_clear(FleetTaken *taken)
{
    for (guint i = 0; taken->documents != NULL && i < taken->documents->len; i++)
        close(g_array_index(taken->documents, int, i));
    g_clear_pointer(&taken->documents, g_array_unref);
    g_clear_pointer(&taken->times, g_array_unref);
}

/* Adds BYTES to the total; FALSE with ERROR if it is too large. Names are in each document of a series. */
static gboolean
take_room(FleetTaken *taken, gsize bytes, GError **error)
{
    taken->bytes += bytes;
    return taken->bytes <= FLEET_ANSWERS_MAX || set_too_much(error);
}

static gboolean
add_document(FleetTaken *taken, GString *document, gint64 time, GError **error)
{
    int fd = memfd_create("jescope-fleet", MFD_CLOEXEC);
    if (fd < 0 || !transfer_write(fd, document->str, document->len) || lseek(fd, 0, SEEK_SET) != 0) {
        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(errno), "cannot keep the answer of the store: %s",
                    g_strerror(errno));
        if (fd >= 0)
            close(fd);
        return FALSE;
    }
    g_array_append_val(taken->documents, fd);
    g_array_append_val(taken->times, time);
    return TRUE;
}

/* The data that is queried once for all moments. */
typedef struct {
    gint64 times[FLEET_MOMENTS];
    guint n;
    FleetFacts facts;
    guint processes; /* total of all moments */
    GString *names;
} Asked;

static void
asked_clear(Asked *asked)
{
    if (asked->names != NULL)
        g_string_free(asked->names, TRUE);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Asked, asked_clear)

/* Counts processes and hosts; moments without dumps have no row. */
static gboolean
count_processes(FleetStore *store, const FleetPart *part, Asked *asked, FleetTaken *taken, GError **error)
{
    const FleetMoments moments = {asked->times, asked->n, part->window};
    json_t *rows = ask(store, fleet_ask_counts(fleet_store_database(store), &part->filter, &moments), COUNT_COLUMNS,
                       "dumps", error);
    if (rows == NULL)
        return FALSE;
    asked->facts.cumulative = TRUE;
    for (gsize i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        guint processes = (guint)MIN(fleet_unsigned(row, 1), G_MAXUINT / FLEET_MOMENTS);
        asked->processes += processes;
        asked->facts.period = MAX(asked->facts.period, fleet_unsigned(row, 3));
        asked->facts.cumulative = asked->facts.cumulative && fleet_unsigned(row, 4) != 0;
        if ((gint64)fleet_unsigned(row, 0) != asked->times[asked->n - 1])
            continue;
        taken->processes = processes;
        taken->hosts = (guint)MIN(fleet_unsigned(row, 2), G_MAXUINT);
    }
    json_decref(rows);
    return TRUE;
}

/* Reports that there is no dump, and the time of the latest one. */
static gboolean
set_empty(FleetStore *store, const FleetPart *part, GError **error)
{
    gint64 latest = 0;
    if (!find_latest(store, &part->filter, &latest, error))
        return FALSE;
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(latest / G_USEC_PER_SEC);
    g_autofree char *when = g_date_time_format(time, "%F %T");
    g_autofree char *what = describe_filter(&part->filter);
    g_set_error(error, FLEET_ERROR, FLEET_ERROR_EMPTY,
                "no process%s has a dump at that time; the latest is of %s: try --at, or a longer --window", what,
                when);
    return FALSE;
}

static gboolean
begin(FleetStore *store, const FleetPart *part, Asked *asked, FleetTaken *taken, GError **error)
{
    *taken = (FleetTaken){.documents = g_array_new(FALSE, FALSE, sizeof(int)),
                          .times = g_array_new(FALSE, FALSE, sizeof(gint64))};
    if (!fleet_filter_check(&part->filter, error) || !fleet_part_moments(store, part, asked->times, &asked->n, error) ||
        !count_processes(store, part, asked, taken, error))
        return FALSE;
    if (asked->processes == 0)
        return set_empty(store, part, error);
    taken->moments = asked->n;
    asked->facts.time = asked->times[asked->n - 1];
    asked->facts.scale = 1;
    g_autofree char *sql = fleet_ask_names(fleet_store_database(store), &part->filter, asked->times[0] - part->window,
                                           asked->times[asked->n - 1]);
    asked->names = fetch(store, sql, error);
    return asked->names != NULL;
}

/* Whether the moments of PART are far enough apart to use the latest full dumps, which are at most an hour old. */
static gboolean
is_wide(const FleetPart *part)
{
    return part->to - part->from >= FLEET_MOMENTS * CLICKHOUSE_FULL_SECONDS * (gint64)G_USEC_PER_SEC;
}

/* Adds the stacks at MOMENTS; there may be several only if is_wide(). */
static gboolean
add_moments(FleetStore *store, const FleetPart *part, const Asked *asked, const FleetMoments *moments,
            GString *document, GError **error)
{
    const char *database = fleet_store_database(store);
    FleetValues values = asked->facts.cumulative ? FLEET_ALL_VALUES : FLEET_INUSE_VALUES;
    const FleetMoment moment = {moments->times[0], moments->window};
    g_autofree char *sql = is_wide(part) ? fleet_ask_whole(database, &part->filter, moments, values)
                                         : fleet_ask_stacks(database, &part->filter, &moment, values);
    GString *answer = fetch(store, sql, error);
    if (answer == NULL)
        return FALSE;
    fleet_document_add(document, answer);
    g_string_free(answer, TRUE);
    return TRUE;
}

gboolean
fleet_take(FleetStore *store, const FleetPart *part, FleetScale scale, FleetTaken *taken, GError **error)
{
    g_auto(Asked) asked = {0};
    if (!begin(store, part, &asked, taken, error))
        return FALSE;
    asked.facts.moments = asked.n;
    if (scale == FLEET_PER_PROCESS)
        asked.facts.scale = (gdouble)asked.n / asked.processes;
    g_autoptr(GString) document = fleet_document_new(&asked.facts, asked.names);
    guint step = is_wide(part) ? asked.n : 1;
    for (guint i = 0; i < asked.n; i += step) {
        const FleetMoments moments = {asked.times + i, step, part->window};
        gsize before = document->len;
        if (!add_moments(store, part, &asked, &moments, document, error) ||
            !take_room(taken, document->len - before, error))
            return FALSE;
    }
    return add_document(taken, document, asked.facts.time, error);
}

gboolean
fleet_take_series(FleetStore *store, const FleetPart *part, FleetTaken *taken, GError **error)
{
    g_auto(Asked) asked = {0};
    if (!begin(store, part, &asked, taken, error))
        return FALSE;
    asked.facts.moments = 1;
    for (guint i = 0; i < asked.n; i++) {
        const FleetMoments moments = {asked.times + i, 1, part->window};
        asked.facts.time = asked.times[i];
        g_autoptr(GString) document = fleet_document_new(&asked.facts, asked.names);
        if (!add_moments(store, part, &asked, &moments, document, error) || !take_room(taken, document->len, error) ||
            !add_document(taken, document, asked.times[i], error))
            return FALSE;
    }
    return TRUE;
}

/* ---- one function ---- */

static gboolean
count_holdings(FleetStore *store, gsize n, GError **error)
{
    store->holdings += n;
    return store->holdings <= FLEET_HOLDINGS_MAX || set_too_many("hosts", error);
}

static void
holding_free(gpointer data)
{
    FleetHolding *holding = data;
    g_free(holding->host);
    g_free(holding);
}

GPtrArray *
fleet_trace(FleetStore *store, const FleetPart *part, gint64 time, const char *function, GError **error)
{
    const FleetMoment moment = {time, part->window};
    FleetDetail detail = is_wide(part) ? FLEET_WHOLE : FLEET_EXACT;
    json_t *rows = ask(store, fleet_ask_function(fleet_store_database(store), &part->filter, &moment, detail, function),
                       FUNCTION_COLUMNS, "functions", error);
    if (rows == NULL || !count_holdings(store, json_array_size(rows), error)) {
        json_decref(rows);
        return NULL;
    }
    GPtrArray *found = g_ptr_array_new_with_free_func(holding_free);
    for (gsize i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        FleetHolding *holding = g_new(FleetHolding, 1);
        *holding = (FleetHolding){g_strdup(fleet_text(row, 0)), fleet_number(row, 1), fleet_number(row, 2)};
        g_ptr_array_add(found, holding);
    }
    json_decref(rows);
    return found;
}

/* ---- retention ---- */

/* The query for all tables with data, and their days before DAY. */
static char *
ask_partitions(const FleetStore *store, const char *day)
{
    GString *sql = g_string_new("SELECT table, partition FROM system.parts WHERE active AND database = ");
    sql_append_text(sql, fleet_store_database(store));
    g_string_append(sql, " AND match(partition, '^[0-9]{4}-[0-9]{2}-[0-9]{2}$') AND partition < ");
    sql_append_text(sql, day);
    g_autofree char *tables = clickhouse_schema_tables();
    g_string_append_printf(
        sql, " AND table IN (%s) GROUP BY table, partition ORDER BY partition, table FORMAT JSONCompact", tables);
    return g_string_free(sql, FALSE);
}

static gboolean
is_day(const char *text)
{
    static const char form[] = "dddd-dd-dd";
    for (gsize i = 0; i < strlen(form); i++)
        if (form[i] == 'd' ? !g_ascii_isdigit(text[i]) : text[i] != form[i])
            return FALSE;
    return text[strlen(form)] == '\0';
}

/* The store decides how many rows there are and what they say; each row causes a request that drops data. */
static gboolean
check_partitions(const json_t *rows, const char *day, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    if (json_array_size(rows) > FLEET_PARTITIONS_MAX) {
        g_set_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER,
                    "the store lists more than %d partitions before %s; drop the oldest first, with a longer --keep",
                    FLEET_PARTITIONS_MAX, day);
        return FALSE;
    }
    for (gsize i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *table = fleet_text(row, 0), *partition = fleet_text(row, 1);
        if (clickhouse_schema_has_table(table) && is_day(partition) && strcmp(partition, day) < 0 &&
            g_hash_table_add(seen, g_strconcat(table, " ", partition, NULL)))
            continue;
        g_autofree char *what = g_strdup_printf("%.40s of %.40s", partition, table);
        text_clean_line(what, strlen(what) + 1);
        g_set_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER,
                    "the store's list of partitions before %s has '%s', which is not a day of a table of jescope's, or "
                    "is repeated; is it "
                    "ClickHouse with the tables of jescope?",
                    day, what);
        return FALSE;
    }
    return TRUE;
}

static gboolean
drop(FleetStore *store, const json_t *row, GError **error)
{
    g_autoptr(GString) sql = g_string_new(NULL);
    g_string_append_printf(sql, "ALTER TABLE %s.%s DROP PARTITION ", fleet_store_database(store), fleet_text(row, 0));
    sql_append_text(sql, fleet_text(row, 1));
    GString *answer = fetch(store, sql->str, error);
    if (answer != NULL)
        g_string_free(answer, TRUE);
    return answer != NULL;
}

int
fleet_expire(FleetStore *store, const char *day, GError **error)
{
    json_t *rows = ask(store, ask_partitions(store, day), 2, "partitions", error);
    g_autoptr(GHashTable) days = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    gboolean sound = rows != NULL && check_partitions(rows, day, error);
    for (gsize i = 0; sound && i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        g_hash_table_add(days, g_strdup(fleet_text(row, 1)));
        sound = drop(store, row, error);
        if (!sound)
            g_prefix_error(error, "%" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " partitions are dropped; ", i,
                           json_array_size(rows));
    }
    json_decref(rows);
    return sound ? (int)g_hash_table_size(days) : -1;
}
