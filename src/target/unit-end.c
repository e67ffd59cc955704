/* SPDX-License-Identifier: Apache-2.0 */
#include "target/unit.h"

#include <gio/gio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STEP_US = 20000,    /* between two queries, until the manager has noticed the end */
    WORKER_US = 200000, /* for a process other than the main one, whose end need not change the unit */
    CODE_EXITED = 1,    /* CLD_EXITED, CLD_KILLED and CLD_DUMPED of <signal.h>, as ExecMainCode has them */
    CODE_KILLED = 2,
    CODE_DUMPED = 3,
    CORE_FLAG = 0x80, /* of a wait status */
    STATUS_SHIFT = 8,
};

static const char bus_name[] = "org.freedesktop.systemd1";

/* A connection to a manager. Its calls are asynchronous on a separate context, so that the deadline can end each of
 * them. */
typedef struct {
    GMainContext *context;
    GSource *deadline;
    GCancellable *cancellable;
    GDBusConnection *connection; /* NULL: none */
    GAsyncResult *answer;        /* of the pending call */
} Talk;

static gboolean
give_up(gpointer cancellable)
{
    g_cancellable_cancel(cancellable);
    return G_SOURCE_REMOVE;
}

static void
talk_begin(Talk *talk, gint64 until_us)
{
    *talk = (Talk){.context = g_main_context_new(), .cancellable = g_cancellable_new()};
    talk->deadline = g_timeout_source_new(0);
    g_source_set_ready_time(talk->deadline, until_us);
    g_source_set_callback(talk->deadline, give_up, talk->cancellable, NULL);
    g_source_attach(talk->deadline, talk->context);
    g_main_context_push_thread_default(talk->context);
}

static void
talk_end(Talk *talk)
{
    g_clear_object(&talk->connection);
    g_main_context_pop_thread_default(talk->context);
    g_source_destroy(talk->deadline);
    g_source_unref(talk->deadline);
    g_object_unref(talk->cancellable);
    g_main_context_unref(talk->context);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Talk, talk_end)

static void
take_answer(GObject *source, GAsyncResult *answer, gpointer data)
{
    Talk *talk = data;
    talk->answer = g_object_ref(answer);
}

static GAsyncResult *
wait_for_answer(Talk *talk)
{
    while (talk->answer == NULL)
        g_main_context_iteration(talk->context, TRUE);
    return g_steal_pointer(&talk->answer);
}

/* The bus address of the manager, to be freed; NULL for another user's manager. No bus is started. */
static char *
bus_address(uid_t manager)
{
    if (manager == (uid_t)-1)
        return g_dbus_address_get_for_bus_sync(G_BUS_TYPE_SYSTEM, NULL, NULL);
    const char *own = g_getenv("DBUS_SESSION_BUS_ADDRESS");
    if (manager != geteuid())
        return NULL;
    return own != NULL && own[0] != '\0' ? g_strdup(own) : g_strdup_printf("unix:path=/run/user/%u/bus", manager);
}

static gboolean
talk_connect(Talk *talk, const Unit *unit)
{
    g_autofree char *address = bus_address(unit->manager);
    if (address == NULL)
        return FALSE;
    g_dbus_connection_new_for_address(
        address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL,
        talk->cancellable, take_answer, talk);
    g_autoptr(GAsyncResult) answer = wait_for_answer(talk);
    talk->connection = g_dbus_connection_new_for_address_finish(answer, NULL);
    return talk->connection != NULL;
}

typedef struct {
    const char *path, *interface, *method;
    const char *argument;
    const GVariantType *type; /* of the answer */
} Call;

/* NULL if the call failed or the deadline has passed. */
static GVariant *
talk_call(Talk *talk, const Call *call)
{
    g_dbus_connection_call(talk->connection, bus_name, call->path, call->interface, call->method,
                           g_variant_new("(s)", call->argument), call->type, G_DBUS_CALL_FLAGS_NO_AUTO_START, -1,
                           talk->cancellable, take_answer, talk);
    g_autoptr(GAsyncResult) answer = wait_for_answer(talk);
    return g_dbus_connection_call_finish(talk->connection, answer, NULL);
}

/* The properties of UNIT, "a{sv}". */
static GVariant *
read_properties(Talk *talk, const Unit *unit)
{
    const Call find = {"/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "GetUnit", unit->name,
                       G_VARIANT_TYPE("(o)")};
    g_autoptr(GVariant) found = talk_call(talk, &find);
    if (found == NULL)
        return NULL;
    const char *path;
    g_variant_get(found, "(&o)", &path);
    const Call all = {path, "org.freedesktop.DBus.Properties", "GetAll",
                      g_str_has_suffix(unit->name, ".scope") ? "org.freedesktop.systemd1.Scope"
                                                             : "org.freedesktop.systemd1.Service",
                      G_VARIANT_TYPE("(a{sv})")};
    g_autoptr(GVariant) answer = talk_call(talk, &all);
    return answer != NULL ? g_variant_get_child_value(answer, 0) : NULL;
}

/* Sets the status from ExecMainCode and ExecMainStatus. FALSE if they are invalid. */
static gboolean
take_status(UnitEnd *end, gint32 code, gint32 number)
{
    if (number < 0 || number > G_MAXUINT8 || (code != CODE_EXITED && (number == 0 || number >= CORE_FLAG)))
        return FALSE;
    end->status = code == CODE_EXITED ? number << STATUS_SHIFT : code == CODE_DUMPED ? number | CORE_FLAG : number;
    end->has_status = code == CODE_EXITED || code == CODE_KILLED || code == CODE_DUMPED;
    return end->has_status;
}

typedef enum {
    UNIT_KNOWS_NOT_YET, /* this was its main process, whose end it has not noticed yet */
    UNIT_KNOWS_NOTHING, /* this was not its main process, and its result is "success" */
    UNIT_KNOWS,
} UnitKnowledge;

static UnitKnowledge
judge(GVariant *properties, pid_t pid, UnitEnd *end)
{
    const char *result = "";
    guint32 main_pid = 0;
    guint64 ended_us = 0;
    gint32 code = 0, number = 0;
    g_variant_lookup(properties, "Result", "&s", &result);
    g_variant_lookup(properties, "ExecMainPID", "u", &main_pid);
    g_variant_lookup(properties, "ExecMainExitTimestampMonotonic", "t", &ended_us);
    g_variant_lookup(properties, "ExecMainCode", "i", &code);
    g_variant_lookup(properties, "ExecMainStatus", "i", &number);
    if (main_pid == (guint32)pid && ended_us == 0)
        return UNIT_KNOWS_NOT_YET;
    if (main_pid != (guint32)pid && strcmp(result, "success") == 0)
        return UNIT_KNOWS_NOTHING;
    if (strspn(result, "abcdefghijklmnopqrstuvwxyz-") != strlen(result) || strlen(result) >= sizeof(end->result))
        return UNIT_KNOWS_NOTHING;
    g_strlcpy(end->result, result, sizeof(end->result));
    if (main_pid == (guint32)pid)
        take_status(end, code, number);
    return UNIT_KNOWS;
}

gboolean
unit_end_read(const Unit *unit, pid_t pid, gint64 until_us, UnitEnd *end)
{
    g_auto(Talk) talk;
    gint64 worker_until_us = g_get_monotonic_time() + WORKER_US;
    *end = (UnitEnd){0};
    talk_begin(&talk, until_us);
    if (!talk_connect(&talk, unit))
        return FALSE;
    for (;;) {
        g_autoptr(GVariant) properties = read_properties(&talk, unit);
        const UnitKnowledge knowledge = properties != NULL ? judge(properties, pid, end) : UNIT_KNOWS_NOTHING;
        if (knowledge == UNIT_KNOWS)
            return end->result[0] != '\0';
        const gint64 now_us = g_get_monotonic_time();
        if (properties == NULL || now_us + STEP_US >= (knowledge == UNIT_KNOWS_NOTHING ? worker_until_us : until_us))
            return FALSE;
        g_usleep(STEP_US);
    }
}
