/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/push-every.h"

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/notify.h"
#include "cli/supervisor.h"

#include "confine/account.h"
#include "confine/death-signal.h"
#include "confine/keyed-hash.h"
#include "confine/rights.h"
#include "target/candidates.h"
#include "target/open.h"
#include "wire/transfer.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_MS = 1000,       /* interval of checking an empty queue */
    SENDER_END_MS = 5000, /* time for the sender to finish its current request */
    END_STEP_MS = 20,
    EVERY_MIN_US = 1000000,
    MESSAGE_MAX = 4096,
    BATCH_S = 120, /* for a batch */
};

/* ---- settings ---- */

char *
push_queue_default(void)
{
    g_autofree char *state = rights_state_directory();
    return g_build_filename(state, "jescope", "push", NULL);
}

gboolean
push_schedule_check(const Schedule *schedule, GError **error)
{
    if (schedule->dump_share < 1 || schedule->dump_share > 100) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "dump-share: %d is not a number from 1 to 100",
                    (int)schedule->dump_share);
        return FALSE;
    }
    if (schedule->every_us < EVERY_MIN_US) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "every: it must be at least 1 s");
        return FALSE;
    }
    return TRUE;
}

/* ---- the sender ---- */

/* Waits for the sender of another process to end. NULL: a signal was received, or the queue cannot be read. */
static Queue *
become_sender(const PushEvery *every, const Interrupt *interrupt)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Queue) queue = queue_open(every->queue_root, every->destination->text, every->queue_bytes, &error);
    while (queue != NULL && !queue_begin_sending(queue, &error) && error == NULL)
        if (interrupt_wait(interrupt, LOOK_MS))
            return NULL;
    if (error != NULL)
        command_say("push: %s", error->message);
    return error == NULL ? g_steal_pointer(&queue) : NULL;
}

static guint64
wait_ms(Delivery *delivery, DeliveryState state)
{
    gint64 due_ms = (delivery_due_us(delivery) - g_get_monotonic_time()) / 1000;
    return state == DELIVERY_GOES ? 0 : state == DELIVERY_WAITS ? (guint64)MAX(due_ms + 1, 1) : LOOK_MS;
}

static void
send_until_signal(const PushEvery *every, const Interrupt *interrupt)
{
    g_autoptr(Queue) queue = become_sender(every, interrupt);
    g_autoptr(GError) cause = NULL;
    g_autoptr(Delivery) delivery = queue != NULL ? delivery_new(queue, every->destination, &cause) : NULL;
    if (cause != NULL)
        command_say("push: %s", cause->message);
    for (gboolean ends = delivery == NULL; !ends;) {
        g_autoptr(GError) error = NULL;
        DeliveryState state = delivery_step(delivery, &error);
        if (error != NULL)
            command_say("push: %s", error->message);
        ends = interrupt_wait(interrupt, wait_ms(delivery, state));
    }
}

/* The child's pid, or -1. */
static pid_t
begin_sender(const PushEvery *every, const Interrupt *interrupt, GError **error)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        death_signal_bind(parent);
        send_until_signal(every, interrupt);
        _exit(STATUS_DONE);
    }
    if (pid < 0)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "cannot start the sender: %s", g_strerror(errno));
    return pid;
}

/* The batch it was sending is still in the queue. */
static void
end_sender(pid_t pid)
{
    kill(pid, SIGTERM);
    for (guint ms = 0; ms < SENDER_END_MS; ms += END_STEP_MS) {
        if (waitpid(pid, NULL, WNOHANG) != 0)
            return;
        g_usleep(END_STEP_MS * 1000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* ---- the processes ---- */

/* The data kept about a process between rounds. */
typedef struct {
    guint64 start;
    guint idle;
    char *said; /* the latest reported failure */
} Past;

static void
past_free(gpointer data)
{
    g_free(((Past *)data)->said);
    g_free(data);
}

static Past *
past_of(GHashTable *pasts, const ScheduleProcess *process)
{
    Past *past = g_hash_table_lookup(pasts, GINT_TO_POINTER(process->pid));
    if (past != NULL && past->start == process->start)
        return past;
    past = g_new0(Past, 1);
    past->start = process->start;
    g_hash_table_insert(pasts, GINT_TO_POINTER(process->pid), past);
    return past;
}

/* One round. */
typedef struct {
    const PushEvery *every;
    const Interrupt *interrupt;
    GHashTable *pasts; /* pid -> Past */
    GHashTable *spent; /* of the users, schedule.h */
    GHashTable *seen;  /* pids of this round */
    GArray *processes; /* of ScheduleProcess */
    GPtrArray *names;  /* of services; owned */
} Round;

static void
add_candidate(Round *round, const Candidate *candidate)
{
    const Process *process = &candidate->process;
    if ((candidate->reach != REACH_AGENT && candidate->reach != REACH_ATTACH) ||
        !g_hash_table_add(round->seen, GINT_TO_POINTER(process->pid)))
        return;
    g_ptr_array_add(round->names, g_strdup(process->name));
    ScheduleProcess one = {.pid = process->pid,
                           .start = process->start_time,
                           .service = round->names->pdata[round->names->len - 1],
                           .user = process_user(process),
                           .account = account_of(process->uids[0])};
    Past *past = past_of(round->pasts, &one);
    one.idle = past->idle;
    past->idle -= past->idle > 0;
    g_array_append_val(round->processes, one);
}

/* A name without a process may have one in the next round. */
static void
find_processes(Round *round)
{
    for (char *const *name = round->every->names; *name != NULL; name++) {
        g_autoptr(GPtrArray) candidates = candidates_find(*name, CANDIDATES_JEMALLOC, NULL);
        for (guint i = 0; candidates != NULL && i < candidates->len; i++)
            add_candidate(round, candidates->pdata[i]);
    }
}

static gboolean
is_gone(gpointer pid, gpointer past, gpointer seen)
{
    return !g_hash_table_contains(seen, pid);
}

/* Reports each failure only once. */
static void
note_failure(Past *past, const ScheduleProcess *process, const GError *error)
{
    if (error != NULL && g_strcmp0(past->said, error->message) != 0)
        command_say("push: %s (%d): %s", process->service, (int)process->pid, error->message);
    g_free(past->said);
    past->said = error != NULL ? g_strdup(error->message) : NULL;
}

/* What the child that makes a batch leaves, in shared memory. */
typedef struct {
    PushBatchFacts facts;
    gboolean made;
    char message[MESSAGE_MAX]; /* if it failed */
} Made;

typedef struct {
    const PushBatchOptions *options;
    Process process; /* only its pid and start time */
    int batch;       /* a memory file */
    Made *made;
} Making;

static void
make_batch(gpointer data)
{
    const Making *making = data;
    g_autoptr(GError) error = NULL;
    g_autofree char *name = process_operand(&making->process);
    g_autoptr(GBytes) batch = push_batch_make(name, making->options, &making->made->facts, &error);
    gsize size = 0;
    const char *bytes = batch != NULL ? g_bytes_get_data(batch, &size) : NULL;
    making->made->made = bytes != NULL && transfer_write(making->batch, bytes, size);
    if (!making->made->made)
        g_strlcpy(making->made->message, error != NULL ? error->message : g_strerror(errno), MESSAGE_MAX);
}

/* Its user, or a debuginfod server, can delay the reading of its files, but not the push of others. */
static GBytes *
make_supervised(Making *making, const Interrupt *interrupt, GError **error)
{
    const gint64 begun_us = g_get_monotonic_time();
    const SupervisorWork work = {.pid = making->process.pid,
                                 .run = make_batch,
                                 .data = making,
                                 .seconds = BATCH_S,
                                 .signals = interrupt->descriptor};
    g_autofree char *why = supervisor_run(&work);
    if (why != NULL) {
        making->made->facts.took_us = g_get_monotonic_time() - begun_us;
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "%s; another user or a debuginfod server may have delayed it",
                    why);
        return NULL;
    }
    making->made->message[MESSAGE_MAX - 1] = '\0';
    if (!making->made->made) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "%s", making->made->message);
        return NULL;
    }
    g_autoptr(GMappedFile) mapped = g_mapped_file_new_from_fd(making->batch, FALSE, error);
    return mapped != NULL ? g_mapped_file_get_bytes(mapped) : NULL;
}

static GBytes *
make(const Round *round, const ScheduleProcess *process, PushBatchFacts *facts, GError **error)
{
    Making making = {.options = &round->every->batch,
                     .process = {.pid = process->pid, .start_time = process->start},
                     .batch = memfd_create("jescope-batch", MFD_CLOEXEC),
                     .made = mmap(NULL, sizeof(Made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    GBytes *batch = NULL;
    if (making.batch >= 0 && making.made != MAP_FAILED) {
        batch = make_supervised(&making, round->interrupt, error);
        *facts = making.made->facts;
    } else {
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "no memory for a batch: %s", g_strerror(errno));
    }
    if (making.batch >= 0)
        close(making.batch);
    if (making.made != MAP_FAILED)
        munmap(making.made, sizeof(Made));
    return batch;
}

static void
push_process(const Round *round, Queue *queue, const ScheduleProcess *process)
{
    g_autoptr(GError) error = NULL;
    PushBatchFacts facts = {0};
    Past *past = past_of(round->pasts, process);
    g_autoptr(GBytes) batch = make(round, process, &facts, &error);
    if (batch != NULL)
        queue_add(queue, batch, process->account, &error);
    past->idle = schedule_idle_rounds(&round->every->schedule, facts.took_us);
    note_failure(past, process, error);
}

/* Any user's processes may have the names. FALSE: a signal was received. */
static gboolean
push_chosen(const Round *round, Queue *queue, gboolean *chosen)
{
    const ScheduleProcess *processes = (const ScheduleProcess *)(gconstpointer)round->processes->data;
    const guint n = round->processes->len;
    const Schedule *schedule = &round->every->schedule;
    guint next;
    schedule_begin_round(schedule, round->spent);
    while ((next = schedule_next(schedule, processes, n, chosen, round->spent)) < n) {
        const gint64 begun_us = g_get_monotonic_time();
        push_process(round, queue, &processes[next]);
        schedule_spend(schedule, round->spent, processes[next].account, g_get_monotonic_time() - begun_us);
        chosen[next] = FALSE;
        if (interrupt_wait(round->interrupt, 0))
            return FALSE;
    }
    return TRUE;
}

/* FALSE: a signal was received. */
static gboolean
push_round(const PushEvery *every, Queue *queue, const Interrupt *interrupt, GHashTable *pasts, GHashTable *spent)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(keyed_hash_pointer, NULL);
    g_autoptr(GArray) processes = g_array_new(FALSE, FALSE, sizeof(ScheduleProcess));
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    Round round = {every, interrupt, pasts, spent, seen, processes, names};
    find_processes(&round);
    g_autofree gboolean *chosen = g_new0(gboolean, processes->len + 1);
    schedule_choose(&every->schedule, schedule_round(&every->schedule, g_get_real_time()),
                    (const ScheduleProcess *)(gconstpointer)processes->data, processes->len, chosen);
    const gboolean goes_on = push_chosen(&round, queue, chosen);
    g_hash_table_foreach_remove(pasts, is_gone, seen);
    return goes_on;
}

/* ---- rounds ---- */

static gboolean
wait_for_round(const PushEvery *every, const Interrupt *interrupt)
{
    gint64 next = schedule_next_us(&every->schedule, g_get_real_time());
    for (gint64 left; (left = next - g_get_real_time()) > 0;)
        /* In steps: the clock may be set. */
        if (interrupt_wait(interrupt, (guint64)CLAMP(left / 1000, 1, 60 * LOOK_MS)))
            return FALSE;
    return TRUE;
}

static void
tell_unknown(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) candidates = candidates_find(name, CANDIDATES_JEMALLOC, &error);
    if (candidates == NULL)
        command_say("push: %s; it is looked for in each round", error->message);
}

/* The names to look for in each round. A pid means the process that has it now: another one may have it later. NULL
 * with an error: no process has such a pid. */
static GStrv
bind_names(const PushEvery *every, GError **error)
{
    g_autoptr(GStrvBuilder) bound = g_strv_builder_new();
    for (char *const *name = every->names; *name != NULL; name++) {
        Process process;
        if (!process_operand_is_number(*name)) {
            tell_unknown(*name);
            g_strv_builder_add(bound, *name);
            continue;
        }
        if (!open_find_process(*name, &process, error))
            return NULL;
        g_autofree char *operand = process_operand(&process);
        g_strv_builder_add(bound, operand);
    }
    return g_strv_builder_end(bound);
}

static int
push_rounds(const PushEvery *every, Queue *queue, const Interrupt *interrupt, pid_t sender, GError **error)
{
    g_autoptr(GHashTable) pasts = g_hash_table_new_full(keyed_hash_pointer, NULL, NULL, past_free);
    g_autoptr(GHashTable) spent = schedule_spent_new();
    notify_send("READY=1");
    gboolean goes_on = TRUE;
    while (goes_on && wait_for_round(every, interrupt)) {
        if (waitpid(sender, NULL, WNOHANG) != 0) {
            g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "push: the process that sends has ended");
            return STATUS_FAILED;
        }
        goes_on = push_round(every, queue, interrupt, pasts, spent);
    }
    end_sender(sender);
    return STATUS_DONE;
}

int
push_every(const PushEvery *wanted, GError **error)
{
    Interrupt interrupt;
    PushEvery every = *wanted;
    g_auto(GStrv) names = bind_names(wanted, error);
    g_autoptr(Queue) queue =
        names != NULL ? queue_open(every.queue_root, every.destination->text, every.queue_bytes, error) : NULL;
    if (queue == NULL || !interrupt_catch(&interrupt, error))
        return STATUS_FAILED;
    every.names = names;
    pid_t sender = begin_sender(&every, &interrupt, error);
    int status = sender > 0 ? push_rounds(&every, queue, &interrupt, sender, error) : STATUS_FAILED;
    interrupt_release(&interrupt);
    return status;
}
