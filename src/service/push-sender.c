/* SPDX-License-Identifier: Apache-2.0 */
#include "service/push-sender.h"

#include "export/labels.h"
#include "target/reach.h"
#include "wire/transfer.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOOK_US = 1000000,   /* interval of checking an empty queue, to which other processes may add */
    RETRY_US = 60000000, /* pause before setup is retried */
    FILES = 4,           /* number of files in ExportAccess */
    SETTING_MAX = 1 << 20,
};

typedef enum { FILE_OPEN, FILE_SECRET } FileSecrecy;

/* A destination, whose files may be readable only by the process that stays root. */
typedef struct {
    Destination *destination;
    int copies[FILES]; /* -1: none */
} Place;

struct PushSender {
    Service *service; /* borrowed: it outlives this */
    const ServicePush *push;
    Place place;
    Queue *queue;
    GThread *thread;
    gint ends; /* atomic */

    GMutex lock; /* guards the following */
    GCond wake;
    gboolean added; /* batches were added since the thread last looked */
    DeliveryFigures delivery;
    QueueFigures queued;
};

/* ---- the destination ---- */

static void
clear_place(Place *place)
{
    g_clear_pointer(&place->destination, destination_free);
    for (guint i = 0; i < FILES; i++)
        if (place->copies[i] >= 0)
            close(place->copies[i]);
}

/* FALSE if others can access the file. This must be the original: a copy has a mode of its own. */
static gboolean
is_private(int fd)
{
    struct stat facts;
    return fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || (facts.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

static gboolean
copy_setting(const char *path, FileSecrecy secrecy, int *copy, GError **error)
{
    int fd = reach_open_setting(path);
    const gboolean bare = fd >= 0 && secrecy == FILE_SECRET && !is_private(fd);
    *copy = fd >= 0 && !bare ? memfd_create("jescope-push", MFD_CLOEXEC) : -1;
    const gboolean copied = *copy >= 0 && fchmod(*copy, S_IRUSR) == 0 && transfer_copy(fd, *copy, SETTING_MAX);
    const int code = errno;
    if (fd >= 0)
        close(fd);
    if (!copied)
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "cannot read %s: %s", path,
                    bare ? "other users can read or change it; chmod 600 it" : g_strerror(code));
    return copied;
}

/* Returns a name under which this process can open the file PATH, or a copy of it. */
static char *
find_readable(const char *path, FileSecrecy secrecy, int *copy, GError **error)
{
    if (reach_elsewhere() == NULL)
        return g_strdup(path);
    return copy_setting(path, secrecy, copy, error) ? g_strdup_printf("/proc/self/fd/%d", *copy) : NULL;
}

static gboolean
open_place(const ServicePush *push, Place *place, GError **error)
{
    const char *const files[FILES] = {push->token_file, push->ca_file, push->cert_file, push->key_file};
    const FileSecrecy secrecies[FILES] = {FILE_SECRET, FILE_OPEN, FILE_OPEN, FILE_OPEN};
    char *names[FILES] = {NULL};
    gboolean fine = TRUE;
    *place = (Place){.copies = {-1, -1, -1, -1}};
    for (guint i = 0; i < FILES && fine; i++) {
        names[i] = files[i] != NULL ? find_readable(files[i], secrecies[i], &place->copies[i], error) : NULL;
        fine = files[i] == NULL || names[i] != NULL;
    }
    const ExportAccess access = {
        .token_file = names[0], .ca_file = names[1], .cert_file = names[2], .key_file = names[3]};
    place->destination = fine ? destination_new(push->to, &access, error) : NULL;
    for (guint i = 0; i < FILES; i++)
        g_free(names[i]);
    if (place->destination == NULL)
        clear_place(place);
    return place->destination != NULL;
}

static gboolean
check_labels(const ServicePush *push, GError **error)
{
    g_autoptr(GArray) labels = labels_new();
    for (char *const *label = push->labels; label != NULL && *label != NULL; label++)
        if (!labels_add_text(labels, *label, error))
            return FALSE;
    return labels_add_variables(labels, getpid(), (const char *const *)push->variables, error);
}

static gboolean
check(const ServicePush *push, GError **error)
{
    Place place;
    if (!check_labels(push, error) || !open_place(push, &place, error))
        return FALSE;
    gpointer state = place.destination->sink->new (place.destination, error);
    if (state != NULL)
        place.destination->sink->free(state);
    clear_place(&place);
    g_autoptr(Queue) queue = state != NULL ? queue_open(push->queue, push->to, push->queue_size, error) : NULL;
    return queue != NULL;
}

gboolean
push_sender_check(const ServicePush *push, GError **error)
{
    if (check(push, error))
        return TRUE;
    g_prefix_error(error, "[%s]: ", push->section);
    return FALSE;
}

/* ---- the thread ---- */

static gboolean
is_ending(gpointer data)
{
    PushSender *sender = data;
    return g_atomic_int_get(&sender->ends) != 0;
}

static void
wait_until(PushSender *sender, gint64 until_us)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sender->lock);
    while (!is_ending(sender) && !sender->added && g_cond_wait_until(&sender->wake, &sender->lock, until_us))
        continue;
    sender->added = FALSE;
}

/* Waits until UNTIL_US; added batches do not wake it. */
static void
rest_until(PushSender *sender, gint64 until_us)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sender->lock);
    while (!is_ending(sender) && g_cond_wait_until(&sender->wake, &sender->lock, until_us))
        continue;
}

/* Reports ERROR, unless it equals the last reported one. */
static void
tell(const PushSender *sender, char **told, const GError *error)
{
    if (error != NULL && g_strcmp0(*told, error->message) != 0)
        service_say(sender->service, "%s: %s", sender->push->section, error->message);
    g_free(*told);
    *told = error != NULL ? g_strdup(error->message) : NULL;
}

static void
note_figures(PushSender *sender, Delivery *delivery)
{
    QueueFigures queued = {0};
    DeliveryFigures figures = {0};
    gboolean known = queue_figures(sender->queue, &queued, NULL);
    if (delivery != NULL)
        delivery_figures(delivery, &figures);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sender->lock);
    sender->delivery = figures;
    if (known)
        sender->queued = queued;
}

/* If another process is the queue's sender, it also sends the batches added here. */
static gboolean
become_sender(PushSender *sender, char **told)
{
    g_autoptr(GError) error = NULL;
    while (!is_ending(sender) && !queue_begin_sending(sender->queue, &error)) {
        if (error != NULL)
            tell(sender, told, error);
        g_clear_error(&error);
        note_figures(sender, NULL);
        rest_until(sender, g_get_monotonic_time() + LOOK_US);
    }
    return !is_ending(sender);
}

static Delivery *
begin_delivery(PushSender *sender, char **told)
{
    Delivery *delivery = NULL;
    while (delivery == NULL && !is_ending(sender)) {
        g_autoptr(GError) error = NULL;
        delivery = delivery_new(sender->queue, sender->place.destination, &error);
        if (delivery != NULL)
            break;
        tell(sender, told, error);
        rest_until(sender, g_get_monotonic_time() + RETRY_US);
    }
    return delivery;
}

static void
send_until_end(PushSender *sender, Delivery *delivery, char **told)
{
    while (!is_ending(sender)) {
        g_autoptr(GError) error = NULL;
        DeliveryState state = delivery_step(delivery, &error);
        if (is_ending(sender))
            break;
        /* An empty queue does not mean that an earlier failure is over. */
        if (error != NULL || state == DELIVERY_GOES)
            tell(sender, told, error);
        note_figures(sender, delivery);
        if (state == DELIVERY_WAITS)
            rest_until(sender, delivery_due_us(delivery));
        else if (state != DELIVERY_GOES)
            wait_until(sender, g_get_monotonic_time() + LOOK_US);
    }
}

static gpointer
run(gpointer data)
{
    PushSender *sender = data;
    g_autofree char *told = NULL;
    note_figures(sender, NULL);
    g_autoptr(Delivery) delivery = become_sender(sender, &told) ? begin_delivery(sender, &told) : NULL;
    if (delivery != NULL)
        send_until_end(sender, delivery, &told);
    return NULL;
}

/* ---- for the rounds ---- */

PushSender *
push_sender_new(Service *service, const ServicePush *push)
{
    g_autoptr(GError) error = NULL;
    PushSender *sender = g_new0(PushSender, 1);
    sender->service = service;
    sender->push = push;
    g_mutex_init(&sender->lock);
    g_cond_init(&sender->wake);
    if (open_place(push, &sender->place, &error)) {
        sender->place.destination->is_over = is_ending;
        sender->place.destination->is_over_data = sender;
        sender->queue = queue_open(push->queue, push->to, push->queue_size, &error);
    }
    if (sender->queue != NULL)
        sender->thread = g_thread_new("push", run, sender);
    else
        service_say(service, "%s: %s", push->section, error->message);
    return sender;
}

void
push_sender_stop(PushSender *sender)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sender->lock);
    g_atomic_int_set(&sender->ends, 1);
    g_cond_broadcast(&sender->wake);
}

void
push_sender_end(PushSender *sender)
{
    push_sender_stop(sender);
    if (sender->thread != NULL)
        g_thread_join(g_steal_pointer(&sender->thread));
}

void
push_sender_free(PushSender *sender)
{
    push_sender_end(sender);
    g_clear_pointer(&sender->queue, queue_close);
    if (sender->place.destination != NULL)
        clear_place(&sender->place);
    g_cond_clear(&sender->wake);
    g_mutex_clear(&sender->lock);
    g_free(sender);
}

ExportSinkFlags
push_sender_flags(const PushSender *sender)
{
    return sender->place.destination != NULL ? sender->place.destination->sink->flags : EXPORT_PLAIN;
}

gboolean
push_sender_add(PushSender *sender, GBytes *batch, uid_t account, GError **error)
{
    if (sender->queue == NULL) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "there is no queue");
        return FALSE;
    }
    if (!queue_add(sender->queue, batch, account, error))
        return FALSE;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sender->lock);
    sender->added = TRUE;
    g_cond_broadcast(&sender->wake);
    return TRUE;
}

void
push_sender_figures(PushSender *sender, ServicePushFigures *figures)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sender->lock);
    figures->delivery = sender->delivery;
    figures->queue = sender->queued;
}
