/* SPDX-License-Identifier: Apache-2.0 */
/* A victim that links libjescope and calls all its functions. It starts it before its greeting, unless
 * VICTIM_EMBED=later. */
#include "victim.h"

#include <errno.h>
#include <fcntl.h>
#include <jescope.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ODD_ERRNO = 4242 };

static JescopeError failure;

/* Answers "ok 0" or "ok CODE ERROR SENTENCE"; errno must be unchanged. */
static void
report(int code)
{
    if (errno != ODD_ERRNO)
        fail("errno changed");
    else if (code == JESCOPE_OK)
        answer("0");
    else
        answer("%d %d %s", code == failure.code ? code : -1, failure.error, failure.message);
}

static void
run_start(char *argument)
{
    JescopeOptions options = {.size = sizeof(options), .program = getenv("VICTIM_PROGRAM")};

    options.flags = strcmp(argument, "silent") == 0 ? JESCOPE_START_NO_SOCKET : 0;
    if (argument[0] == '/')
        options.socket_directory = argument;
    errno = ODD_ERRNO;
    report(jescope_start(argument[0] != '\0' || options.program ? &options : NULL, &failure));
}

/* start-odd: starts with invalid options. */
static void
run_start_odd(char *argument)
{
    JescopeOptions options = {.size = sizeof(options)};

    if (strcmp(argument, "size") == 0)
        options.size--;
    if (strcmp(argument, "flags") == 0)
        options.flags = 1u << 30;
    if (strcmp(argument, "directory") == 0)
        options.socket_directory = "relative";
    if (strcmp(argument, "kept") == 0)
        options.dumps_kept = 65;
    errno = ODD_ERRNO;
    report(jescope_start(&options, &failure));
}

static void
run_stop(char *argument)
{
    (void)argument;
    errno = ODD_ERRNO;
    report(jescope_stop(&failure));
}

static void
run_status(char *argument)
{
    JescopeStatus status = {.size = sizeof(status)};
    int code;

    (void)argument;
    errno = ODD_ERRNO;
    code = jescope_status(&status, &failure);
    if (code != JESCOPE_OK)
        report(code);
    else
        answer("0 %u %u %llu %llu %llu '%s' %s %s %s", status.flags, status.clients,
               (unsigned long long)status.active_since_ns, (unsigned long long)status.reset_at_ns,
               (unsigned long long)status.lease_remaining_ms, status.jemalloc_prefix, status.jemalloc_version,
               status.jemalloc_found_in, status.socket);
}

static void
run_enable(char *argument)
{
    errno = ODD_ERRNO;
    report(jescope_enable(strtoull(argument, NULL, 10), &failure));
}

static void
run_disable(char *argument)
{
    (void)argument;
    errno = ODD_ERRNO;
    report(jescope_disable(&failure));
}

static void
run_reset(char *argument)
{
    errno = ODD_ERRNO;
    report(jescope_reset(strtoull(argument, NULL, 10), &failure));
}

/* Opens the rest of ARGUMENT after its first word: the number of a descriptor, or a file. */
static int
open_output(const char *argument)
{
    char *end;
    long number = strtol(argument, &end, 10);

    return *end == '\0' && end != argument ? (int)number
                                           : open(argument, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void
close_output(int descriptor)
{
    if (descriptor > STDERR_FILENO)
        close(descriptor);
}

static void
run_dump(char *argument)
{
    int descriptor = open_output(argument);

    errno = ODD_ERRNO;
    report(jescope_dump(descriptor, &failure));
    close_output(descriptor);
}

/* jescope-dump-flags FLAGS FILE */
static void
run_dump_flags(char *argument)
{
    unsigned flags = (unsigned)atoi(strsep(&argument, " "));
    int descriptor = open_output(argument);

    errno = ODD_ERRNO;
    report(jescope_dump_flags(descriptor, flags, &failure));
    close_output(descriptor);
}

static void
run_stats(char *argument)
{
    const char *letters = strsep(&argument, " ");
    int descriptor = open_output(argument);

    errno = ODD_ERRNO;
    report(jescope_stats(strcmp(letters, "-") == 0 ? NULL : letters, descriptor, &failure));
    close_output(descriptor);
}

typedef struct {
    size_t size;
    int inner;
} Seen;

/* Calls the library again from its callback, which must not deadlock. */
static void
look(void *opaque, const char *text, size_t size)
{
    Seen *seen = opaque;
    JescopeStatus status = {.size = sizeof(status)};

    seen->size += size;
    seen->inner = jescope_status(&status, NULL);
    if (size == 0 || text[0] == '\0')
        seen->inner = -1;
}

static void
run_stats_write(char *argument)
{
    Seen seen = {0};
    int code = jescope_stats_write(argument, look, &seen, &failure);

    if (code != JESCOPE_OK) {
        errno = ODD_ERRNO;
        report(code);
    } else {
        answer("%d %zu", seen.inner, seen.size);
    }
}

/* jescope-http FILE METHOD TARGET [FLAGS [BODY]]: writes the body to FILE; answers with the status, the type and the
 * further headers. */
static void
run_http(char *argument)
{
    const char *path = strsep(&argument, " ");
    JescopeRequest request = {.size = sizeof(request)};
    JescopeReply reply = {.size = sizeof(reply)};
    char headers[sizeof(reply.headers)];
    int code, file;

    request.method = strsep(&argument, " ");
    request.path = strsep(&argument, " ");
    if (argument)
        request.flags = (unsigned)atoi(strsep(&argument, " "));
    request.body = argument;
    request.body_size = argument ? strlen(argument) : 0;
    errno = ODD_ERRNO;
    code = jescope_http(&request, &reply, &failure);
    if (code != JESCOPE_OK || errno != ODD_ERRNO) {
        report(code);
        return;
    }
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (size_t done = 0; done < reply.body_size;) {
        char bytes[4096];
        ssize_t n = reply.descriptor < 0
                        ? write(file, reply.body + done, reply.body_size - done)
                        : write(file, bytes, (size_t)pread(reply.descriptor, bytes, sizeof(bytes), (off_t)done));
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (reply.descriptor >= 0)
        close(reply.descriptor);
    close(file);
    strcpy(headers, reply.headers);
    for (char *c = headers; *c; c++)
        if (*c == '\r' || *c == '\n')
            *c = '|';
    answer("%u\t%s\t%s", reply.status, reply.content_type ? reply.content_type : "-", headers);
}

/* Threads that make all calls concurrently, while another one starts and stops the library. */
static atomic_bool ending;
static atomic_int unexpected;

static void *
work(void *unused)
{
    (void)unused;
    while (!ending) {
        JescopeStatus status = {.size = sizeof(status)};
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        int codes[] = {
            jescope_status(&status, NULL), jescope_dump(null, NULL), jescope_stats("Jgmdablxeh", null, NULL),
            jescope_enable(60000, NULL),   jescope_reset(0, NULL),
        };
        close(null);
        for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
            if (codes[i] != JESCOPE_OK && codes[i] != JESCOPE_BUSY && codes[i] != JESCOPE_NOT_STARTED)
                unexpected = codes[i];
    }
    return NULL;
}

static void
run_crowd(char *argument)
{
    pthread_t threads[8];
    int rounds = atoi(argument);

    ending = false;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < rounds; i++) {
        int stopped = jescope_stop(NULL), started = jescope_start(NULL, NULL);
        if (stopped != JESCOPE_OK || started != JESCOPE_OK)
            unexpected = 100 + stopped + started;
    }
    ending = true;
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    answer("%d", unexpected);
}

static void *
ask_for_report(void *statuses)
{
    JescopeRequest request = {
        .size = sizeof(request), .method = "GET", .path = "/api/v1/targets/self/dumps/now?format=text"};
    JescopeReply reply = {.size = sizeof(reply)};

    if (jescope_http(&request, &reply, NULL) == JESCOPE_OK && reply.status == 429)
        ++*(atomic_int *)statuses;
    if (reply.descriptor >= 0)
        close(reply.descriptor);
    return NULL;
}

/* jescope-reports COUNT: COUNT threads request a report; answers with the number that were refused as too many. */
static void
run_reports(char *argument)
{
    pthread_t threads[16];
    int count = atoi(argument);
    atomic_int crowded = 0;

    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, ask_for_report, &crowded);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    answer("%d", crowded);
}

static void *
call_on(void *unused)
{
    (void)unused;
    while (!ending)
        jescope_stats_write("J", look, &(Seen){0}, NULL);
    return NULL;
}

static int
call_in_child(void)
{
    JescopeStatus status = {.size = sizeof(status)};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    return jescope_status(&status, NULL) == JESCOPE_OK && jescope_dump(null, NULL) == JESCOPE_OK ? 0 : 1;
}

/* jescope-fork COUNT: forks children while other threads make or wait for calls; each child makes a call at once. */
static void
run_fork(char *argument)
{
    pthread_t threads[4];
    int count = atoi(argument), failed = 0;

    ending = false;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, call_on, NULL);
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        int status = 1;
        if (pid == 0)
            _exit(call_in_child());
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            failed++;
    }
    ending = true;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    answer("%d", failed);
}

void
embed_start(void)
{
    const char *when = getenv("VICTIM_EMBED");

    if (!when || strcmp(when, "later") != 0)
        jescope_start(NULL, NULL);
}

const Command embed_commands[] = {
    {"jescope-start", run_start},
    {"jescope-start-odd", run_start_odd},
    {"jescope-stop", run_stop},
    {"jescope-status", run_status},
    {"jescope-enable", run_enable},
    {"jescope-disable", run_disable},
    {"jescope-reset", run_reset},
    {"jescope-dump", run_dump},
    {"jescope-dump-flags", run_dump_flags},
    {"jescope-stats", run_stats},
    {"jescope-stats-write", run_stats_write},
    {"jescope-http", run_http},
    {"jescope-crowd", run_crowd},
    {"jescope-fork", run_fork},
    {"jescope-reports", run_reports},
    {NULL, NULL},
};
