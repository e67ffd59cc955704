/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends dumps of simulated processes to ClickHouse through the sink of `jescope push`:
 * fill-fleet URL DUMP PROCESSES MINUTES CHANGED BEGIN.
 *
 * Each process of the service "bench" begins with the stacks of the file DUMP and similar values, and sends a dump per
 * minute from BEGIN (seconds since 1970) on. From one dump to the next, CHANGED per cent of its stacks gain or lose one
 * sampled object. Each host has ten processes; the second half of the hosts runs version 2. Prints the number of dumps
 * sent and the seconds taken.
 */
#include "export/batch-build.h"
#include "export/sink.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    A_HOST = 10,
    HOST_NAME = 16,
    PER_CENT = 100,
    DIFFERENT = 32, /* changes of each stack before the first dump, so that all processes differ */
};

static guint64 state = 88172645463325252u;

static guint64
random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static GBytes *
read_dump(const char *path, GError **error)
{
    const BatchCircumstances circumstances = {.service = "bench", .host = "host"};
    g_autoptr(Profile) profile = profile_read_file(path, PROFILE_READ_DEFAULT, error);
    g_autoptr(Symbols) symbols = profile != NULL ? symbolize(profile, NULL, error) : NULL;
    const ReportInput input = {.profile = profile, .symbols = symbols, .name = path, .time = 1};
    return symbols != NULL ? batch_build(&input, &circumstances, error) : NULL;
}

typedef struct {
    Batch *batch;
    gdouble *objects; /* sampled objects of each stack */
    char host[HOST_NAME];
    BatchLabel version;
} Sender;

static void
sender_init(Sender *process, guint number, GBytes *bytes, gboolean second)
{
    gsize length;
    gconstpointer data = g_bytes_get_data(bytes, &length);
    g_autoptr(GBytes) own = g_bytes_new(data, length);
    Batch *batch = batch_read(own, NULL);
    int space = batch_value(batch, "inuse_space");
    process->batch = batch;
    process->objects = g_new(gdouble, batch->n_stacks);
    for (gsize i = 0; i < batch->n_stacks; i++) {
        BatchSample sample = batch_sample(batch, i);
        gdouble variance = sample.variance[space];
        process->objects[i] = variance > 0 ? MAX(round(pow(sample.estimate[space], 2) / variance), 1) : 1;
    }
    g_snprintf(process->host, sizeof(process->host), "host%04u", number / A_HOST);
    process->version = (BatchLabel){"version", second ? "2" : "1"};
    batch->dump.host = process->host;
    batch->dump.pid = 1000 + number;
    batch->dump.start = number;
    batch->labels = &process->version;
    batch->n_labels = 1;
}

/* Adds or removes one object, but keeps at least one. */
static void
change_stack(Sender *process, gsize stack)
{
    BatchSample sample = batch_sample(process->batch, stack);
    gdouble *objects = &process->objects[stack];
    gdouble after = *objects + (random_bits() % 2 == 0 || *objects < 2 ? 1 : -1);
    for (gsize i = 0; i < process->batch->n_values; i++) {
        ((gdouble *)(gsize)sample.estimate)[i] *= after / *objects;
        ((gdouble *)(gsize)sample.variance)[i] *= after / *objects;
    }
    *objects = after;
}

static void
advance(Sender *process, guint changed)
{
    Batch *batch = process->batch;
    gdouble *total = (gdouble *)(gsize)batch->total;
    for (gsize i = 0; i < batch->n_stacks; i++)
        if (random_bits() % PER_CENT < changed)
            change_stack(process, i);
    memset(total, 0, 2 * batch->n_values * sizeof(*total));
    for (gsize i = 0; i < batch->n_stacks; i++) {
        BatchSample sample = batch_sample(batch, i);
        for (gsize v = 0; v < batch->n_values; v++) {
            total[v] += sample.estimate[v];
            total[batch->n_values + v] += sample.variance[v];
        }
    }
}

static gboolean
send_all(const Destination *destination, gpointer sink, Sender *processes, guint n, GError **error)
{
    g_autofree const Batch **batches = g_new(const Batch *, n);
    ExportReply reply = {0};
    for (guint i = 0; i < n; i++)
        batches[i] = processes[i].batch;
    for (guint i = 0; i < n; i += destination->sink->max_batches)
        if (destination->sink->send(sink, batches + i, MIN(destination->sink->max_batches, n - i), &reply, error) !=
            EXPORT_SENT)
            return FALSE;
    return TRUE;
}

static gboolean
fill(const char *url, Sender *processes, guint n, char **words, GError **error)
{
    const ExportAccess access = {0};
    g_autoptr(Destination) destination = destination_new(url, &access, error);
    gpointer sink = destination != NULL ? destination->sink->new (destination, error) : NULL;
    guint minutes = (guint)atoi(words[0]), changed = (guint)atoi(words[1]);
    gint64 begin = g_ascii_strtoll(words[2], NULL, 10) * G_USEC_PER_SEC, spent = 0;
    gboolean sound = sink != NULL;
    for (guint minute = 0; sound && minute < minutes; minute++) {
        for (guint i = 0; i < n; i++) {
            for (guint step = 0; step < (minute > 0 ? 1u : DIFFERENT); step++)
                advance(&processes[i], minute > 0 ? changed : PER_CENT);
            processes[i].batch->dump.time = begin + (60 * (gint64)minute + i % 60) * G_USEC_PER_SEC;
        }
        gint64 from = g_get_monotonic_time();
        sound = send_all(destination, sink, processes, n, error);
        spent += g_get_monotonic_time() - from;
    }
    if (sink != NULL)
        destination->sink->free(sink);
    printf("%u %.3f\n", n * minutes, (gdouble)spent / G_USEC_PER_SEC);
    return sound;
}

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    if (argc != 7) {
        fprintf(stderr, "usage: fill-fleet URL DUMP PROCESSES MINUTES CHANGED BEGIN\n");
        return 2;
    }
    guint n = (guint)atoi(argv[3]);
    g_autoptr(GBytes) bytes = read_dump(argv[2], &error);
    g_autofree Sender *processes = g_new0(Sender, n);
    for (guint i = 0; bytes != NULL && i < n; i++)
        sender_init(&processes[i], i, bytes, i >= n / 2);
    if (bytes != NULL && fill(argv[1], processes, n, argv + 4, &error))
        return 0;
    fprintf(stderr, "fill-fleet: %s\n", error->message);
    return 1;
}
