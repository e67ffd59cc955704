/* SPDX-License-Identifier: Apache-2.0 */
#include "victim.h"

#include "wire/enter.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* A value to which no system call sets errno. */
enum { ODD_ERRNO = 4242 };

static int leash = -1;
static pid_t child;
static void *library;

/* The child runs until the parent closes the leash (or ends), and exits with 1 if fork changed its errno. */
static void
live_on_leash(int end)
{
    int status = errno == ODD_ERRNO ? 0 : 1;
    char byte;

    while (read(end, &byte, 1) < 0 && errno == EINTR)
        continue;
    _exit(status);
}

static void
run_fork(char *argument)
{
    int ends[2];

    (void)argument;
    if (pipe(ends) < 0) {
        fail("pipe");
        return;
    }
    errno = ODD_ERRNO;
    child = fork();
    if (child == 0) {
        int errno_after = errno;
        close(ends[1]);
        errno = errno_after;
        live_on_leash(ends[0]);
    }
    if (errno != ODD_ERRNO) {
        fail("errno after fork");
        return;
    }
    close(ends[0]);
    leash = ends[1];
    answer("%d", child);
}

static void
run_reap(char *argument)
{
    int status = 0;

    (void)argument;
    close(leash);
    if (waitpid(child, &status, 0) != child)
        fail("waitpid");
    else
        answer("%d", status);
}

/* fork-many COUNT: forks children, one after the other, that exit at once. */
static void
run_fork_many(char *argument)
{
    int count = atoi(argument), failed = 0;

    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        int status = 1;
        if (pid == 0)
            _exit(0);
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            failed++;
    }
    answer("%d", failed);
}

static void
run_exec(char *argument)
{
    char *const arguments[] = {program_invocation_name, NULL};

    (void)argument;
    execv("/proc/self/exe", arguments);
    fail("execv");
}

/* fork-exec: the child becomes a fresh victim that keeps stdin and stdout; the parent waits for it and exits with its
 * status. */
static void
run_fork_exec(char *argument)
{
    int status = 0;

    child = fork();
    if (child == 0) {
        run_exec(argument);
        _exit(127);
    }
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void
run_daemonise(char *argument)
{
    (void)argument;
    if (fork() > 0)
        _exit(0);
    setsid();
    if (fork() > 0)
        _exit(0);
    answer("%d", getpid());
}

static void
run_exit(char *argument)
{
    exit(atoi(argument));
}

static void
run_quick_exit(char *argument)
{
    _exit(atoi(argument));
}

static void
run_chdir(char *argument)
{
    if (chdir(argument) < 0)
        fail(argument);
    else
        answer("%s", argument);
}

static void
run_chroot(char *argument)
{
    if (chroot(argument) < 0 || chdir("/") < 0)
        fail(argument);
    else
        answer("%s", argument);
}

static void
run_setuid(char *argument)
{
    uid_t uid = (uid_t)atoi(argument);

    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
        fail(argument);
    else
        answer("%d", (int)geteuid());
}

/* A temporary change: the process can return to its previous user. */
static void
run_seteuid(char *argument)
{
    if (seteuid((uid_t)atoi(argument)) < 0)
        fail(argument);
    else
        answer("%d", (int)geteuid());
}

/* Answers with errno after dlopen, which was ODD_ERRNO before. */
static void
run_dlopen(char *argument)
{
    int errno_after;

    errno = ODD_ERRNO;
    library = dlopen(argument, RTLD_NOW | RTLD_LOCAL);
    errno_after = errno;
    if (library)
        answer("%s", errno_after == ODD_ERRNO ? "errno kept" : strerror(errno_after));
    else
        fail(dlerror());
}

static void
run_dlclose(char *argument)
{
    (void)argument;
    if (!library || dlclose(library) != 0)
        fail("dlclose");
    else
        answer("closed");
}

/* dlopen-copy FILE: loads a copy from a memory file, which is then closed, as jescope loads the agent into a running
 * process. */
static void
run_dlopen_copy(char *argument)
{
    char path[64];
    struct stat status;
    int file = open(argument, O_RDONLY | O_CLOEXEC);
    int copy = memfd_create("libjescope-agent.so", MFD_CLOEXEC);

    if (file < 0 || copy < 0 || fstat(file, &status) < 0 ||
        sendfile(copy, file, NULL, (size_t)status.st_size) != status.st_size) {
        fail(argument);
        return;
    }
    snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", copy);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    close(file);
    close(copy);
    if (library)
        answer("loaded");
    else
        fail(dlerror());
}

/* enter DIRECTORY: calls the agent's entry function in the library opened last, otherwise in the preloaded one. Answers
 * with its result and errno. */
static void
run_enter(char *argument)
{
    union {
        void *pointer;
        WireEnter call;
    } enter = {.pointer = dlsym(library ? library : RTLD_DEFAULT, WIRE_ENTER_SYMBOL)};
    int entered;

    if (!enter.pointer) {
        fail(dlerror());
        return;
    }
    errno = ODD_ERRNO;
    entered = enter.call(argument, NULL);
    answer("%d %s", entered, errno == ODD_ERRNO ? "errno kept" : strerror(errno));
}

const Command process_commands[] = {
    {"fork", run_fork},
    {"reap", run_reap},
    {"fork-many", run_fork_many},
    {"exec", run_exec},
    {"fork-exec", run_fork_exec},
    {"daemonise", run_daemonise},
    {"exit", run_exit},
    {"_exit", run_quick_exit},
    {"chdir", run_chdir},
    {"chroot", run_chroot},
    {"setuid", run_setuid},
    {"dlopen", run_dlopen},
    {"seteuid", run_seteuid},
    {"dlclose", run_dlclose},
    {"dlopen-copy", run_dlopen_copy},
    {"enter", run_enter},
    {NULL, NULL},
};
