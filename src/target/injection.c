/* SPDX-License-Identifier: Apache-2.0 */
#include "target/injection.h"

#include "target/address-space.h"
#include "target/dynamic.h"
#include "target/foreign-file.h"
#include "target/loaded.h"
#include "target/loan-files.h"
#include "target/obstacle.h"
#include "target/remote-control.h"
#include "target/tracee.h"
#include "wire/enter.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

enum {
    AGENT_BYTES_MAX = 16 << 20,
    DLERROR_MAX = 512,
    DIRECTORY_ROOM = 4096, /* bytes of the scratch memory for each of two directories */
    LEAVING_MS = 2000,     /* for an agent that is ending to have ended */
    LEAVING_PAUSE_US = 10000,
};

static const char agent_name[] = "libjescope-agent.so";
static const char libc_name[] = "libc.so.6";
static const char instead[] = "; other commands, such as 'status' and 'dump', need no agent";

typedef struct {
    const Process *process;
    GBytes *agent; /* the loaded part */
    RemoteJemalloc jemalloc;
    guint64 dlopen;
    guint64 dlerror;
    guint64 enter; /* 0: the agent is not loaded yet */
    char *socket_directory;
    char *runtime_directory;
    gboolean under_filter; /* it may be loaded by a thread with a seccomp filter, which its own thread inherits */
} Injection;

static void
injection_clear(Injection *injection)
{
    g_clear_pointer(&injection->agent, g_bytes_unref);
    remote_jemalloc_clear(&injection->jemalloc);
    g_clear_pointer(&injection->socket_directory, g_free);
    g_clear_pointer(&injection->runtime_directory, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Injection, injection_clear)

G_GNUC_PRINTF(3, 4)
static gboolean
refuse(const Process *process, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *why = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_AGENT, "cannot load the agent into %s (%d): %s", process->name,
                (int)process->pid, why);
    return FALSE;
}

/* The object that MATCHES accepts by its name, of those among which the program itself looks up symbols: dlmopen() may
 * have loaded copies. */
static gboolean
find_image(const AddressSpace *space, gboolean (*matches)(const char *name), Dynamic *image)
{
    g_autoptr(GArray) objects = loaded_objects(space);
    for (guint i = 0; i < objects->len; i++) {
        const LoadedObject *object = &g_array_index(objects, LoadedObject, i);
        g_autofree char *name = mapping_name(object->first);
        if (matches(name) && loaded_dynamic(space, object, image))
            return TRUE;
    }
    return FALSE;
}

static gboolean
is_libc(const char *name)
{
    return strcmp(name, libc_name) == 0 || (g_str_has_prefix(name, "libc-2.") && g_str_has_suffix(name, ".so"));
}

static gboolean
is_libdl(const char *name)
{
    return strcmp(name, "libdl.so.2") == 0 || (g_str_has_prefix(name, "libdl-2.") && g_str_has_suffix(name, ".so"));
}

static gboolean
is_musl(const char *name)
{
    return g_str_has_prefix(name, "ld-musl-") || g_str_has_prefix(name, "libc.musl-") || strcmp(name, "libc.so") == 0;
}

/* An injected copy is named "memfd:libjescope-agent.so". */
static gboolean
is_agent(const char *name)
{
    return g_str_has_suffix(name, agent_name);
}

static gboolean
has_mapping(const AddressSpace *space, gboolean (*matches)(const char *name))
{
    for (guint i = 0; i < space->mappings->len; i++) {
        g_autofree char *name = mapping_name(&g_array_index(space->mappings, Mapping, i));
        if (matches(name))
            return TRUE;
    }
    return FALSE;
}

static gboolean
find_loader(Injection *injection, const AddressSpace *space, Dynamic *libc, GError **error)
{
    const Process *process = injection->process;
    Dynamic libdl;
    if (!find_image(space, is_libc, libc)) {
        if (has_mapping(space, is_musl))
            return refuse(process, error, "its C library is musl, but this agent needs glibc%s", instead);
        return refuse(process, error, "it is statically linked and cannot load libraries%s", instead);
    }
    injection->dlopen = dynamic_function(libc, "dlopen");
    injection->dlerror = dynamic_function(libc, "dlerror");
    /* Before glibc 2.34, dlopen() was in libdl. */
    if (injection->dlopen == 0 && find_image(space, is_libdl, &libdl)) {
        injection->dlopen = dynamic_function(&libdl, "dlopen");
        injection->dlerror = dynamic_function(&libdl, "dlerror");
    }
    return TRUE;
}

static gboolean
check_versions(const Injection *injection, const Dynamic *libc, GError **error)
{
    Dynamic agent = {.read = dynamic_read_file, .data = injection->agent};
    if (!dynamic_open(&agent))
        return refuse(injection->process, error, "its architecture or file format differs from the agent's%s", instead);
    g_auto(GStrv) needs = dynamic_needs(&agent, libc_name);
    for (char **need = needs; *need != NULL; need++)
        if (!dynamic_gives(libc, *need))
            return refuse(
                injection->process, error,
                "its C library is older than this agent: it lacks %s; use an agent built for it (JESCOPE_AGENT)",
                *need);
    if (injection->dlopen == 0 || injection->dlerror == 0)
        return refuse(injection->process, error, "its C library has no dlopen()%s", instead);
    return TRUE;
}

/* Only the part that the loader maps is needed; other sections may be ten times as large. */
static GBytes *
loaded_part(const char *bytes, gsize size)
{
    Elf64_Ehdr header;
    gsize end = 0;
    memcpy(&header, bytes, MIN(size, sizeof(header)));
    if (size < sizeof(header) || header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > size ||
        (size - header.e_phoff) / sizeof(Elf64_Phdr) < header.e_phnum)
        return g_bytes_new(bytes, size);
    for (guint i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, bytes + header.e_phoff + i * sizeof(segment), sizeof(segment));
        if (segment.p_type == PT_LOAD && segment.p_offset < size)
            end = MAX(end, segment.p_offset + MIN(segment.p_filesz, size - segment.p_offset));
    }
    header.e_shoff = 0;
    header.e_shnum = header.e_shstrndx = 0;
    char *part = g_memdup2(bytes, MAX(end, sizeof(header)));
    memcpy(part, &header, sizeof(header));
    return g_bytes_new_take(part, MAX(end, sizeof(header)));
}

static gboolean
read_agent(Injection *injection, const char *file, GError **error)
{
    g_autofree char *bytes = NULL;
    gsize size;
    if (!g_file_get_contents(file, &bytes, &size, error))
        return FALSE;
    if (size > AGENT_BYTES_MAX)
        return refuse(injection->process, error, "'%s' is too large for an agent", file);
    injection->agent = loaded_part(bytes, size);
    return TRUE;
}

/* Reads the socket directory that the process would use; jescope's own if its environment has none. */
static gboolean
read_environment(Injection *injection, GError **error)
{
    const Process *process = injection->process;
    g_autofree char *state = process_variable(process->pid, "JESCOPE");
    if (g_strcmp0(state, "off") == 0)
        return refuse(process, error, "it was started with JESCOPE=off, which forbids the agent%s", instead);
    injection->socket_directory = process_variable(process->pid, "JESCOPE_SOCKET_DIR");
    injection->runtime_directory = process_variable(process->pid, "XDG_RUNTIME_DIR");
    if (injection->socket_directory == NULL)
        injection->socket_directory = g_strdup(g_getenv("JESCOPE_SOCKET_DIR"));
    if (injection->socket_directory != NULL && strlen(injection->socket_directory) >= DIRECTORY_ROOM)
        return refuse(process, error, "its JESCOPE_SOCKET_DIR is too long");
    if (injection->runtime_directory != NULL && strlen(injection->runtime_directory) >= DIRECTORY_ROOM)
        g_clear_pointer(&injection->runtime_directory, g_free);
    return TRUE;
}

static gboolean
refuse_filter(const Process *process, GError **error)
{
    return refuse(process, error,
                  "it runs under a seccomp filter, which may kill it for a system call of the agent's "
                  "(sched_getscheduler, unshare, "
                  "close_range, socket, bind, listen, connect, getdents64); the filters of Docker, Podman and "
                  "Kubernetes do not, and "
                  "--under-seccomp attaches anyway; 'status', 'dump' and other commands need no agent");
}

static gboolean
check_filter(Injection *injection, TargetAttachFlags flags, GError **error)
{
    injection->under_filter = (flags & TARGET_ATTACH_UNDER_SECCOMP) != 0;
    return injection->under_filter || !obstacle_seccomp(injection->process) || refuse_filter(injection->process, error);
}

/* Finds the agent's entry function, if the agent is loaded. */
static gboolean
find_enter(Injection *injection, const AddressSpace *space, GError **error)
{
    Dynamic image;
    if (!find_image(space, is_agent, &image))
        return TRUE;
    injection->enter = dynamic_function(&image, WIRE_ENTER_SYMBOL);
    return injection->enter != 0 ||
           refuse(injection->process, error,
                  "an older agent is loaded, which cannot be started again; restart the process");
}

static gboolean
examine(Injection *injection, const char *file, TargetAttachFlags flags, GError **error)
{
    const Process *process = injection->process;
    g_autoptr(AddressSpace) space = address_space_new(process->pid, error);
    Dynamic libc;
    if (space == NULL || !remote_jemalloc_find(process, space, &injection->jemalloc, error) ||
        !find_loader(injection, space, &libc, error) || !check_filter(injection, flags, error) ||
        !read_environment(injection, error) || !find_enter(injection, space, error))
        return FALSE;
    return injection->enter != 0 || (read_agent(injection, file, error) && check_versions(injection, &libc, error));
}

static gboolean
system_call(Tracee *tracee, gint64 number, const guint64 *arguments, guint n, gint64 *result, GError **error)
{
    if (!tracee_system_call(tracee, number, arguments, n, result, error))
        return FALSE;
    if (*result >= 0)
        return TRUE;
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_AGENT, "a system call failed in it: %s", g_strerror((int)-*result));
    return FALSE;
}

static gboolean
write_string(Tracee *tracee, guint64 address, const char *text, GError **error)
{
    return tracee_write(tracee, address, text, strlen(text) + 1, error);
}

/* Linux before 6.3 has no MFD_EXEC; every memory file is executable there. */
static gboolean
make_memory_file(Tracee *tracee, gint64 *descriptor, GError **error)
{
    const guint64 scratch = tracee_scratch(tracee);
    guint64 arguments[] = {scratch, foreign_file_flags | MFD_EXEC};
    if (!write_string(tracee, scratch, agent_name, error) ||
        !tracee_system_call(tracee, SYS_memfd_create, arguments, G_N_ELEMENTS(arguments), descriptor, error))
        return FALSE;
    if (*descriptor != -EINVAL)
        return *descriptor >= 0 ||
               system_call(tracee, SYS_memfd_create, arguments, G_N_ELEMENTS(arguments), descriptor, error);
    arguments[1] = foreign_file_flags;
    return system_call(tracee, SYS_memfd_create, arguments, G_N_ELEMENTS(arguments), descriptor, error);
}

static gboolean
fill_memory_file(const Injection *injection, Tracee *tracee, gint64 descriptor, GError **error)
{
    gsize size;
    const char *bytes = g_bytes_get_data(injection->agent, &size);
    g_autoptr(GError) cause = NULL;
    int fd = foreign_file_take(tracee_thread(tracee), descriptor, &cause);
    if (fd < 0)
        return refuse(injection->process, error, "%s%s", cause->message, instead);
    gsize done = 0;
    while (done < size) {
        ssize_t n = pwrite(fd, bytes + done, size - done, (off_t)done);
        if (n <= 0)
            break;
        done += (gsize)n;
    }
    int saved = errno;
    close(fd);
    return done == size || refuse(injection->process, error, "cannot write to its memory file: %s", g_strerror(saved));
}

/* Sets the error with the message of dlerror(). */
static gboolean
set_dlerror(const Injection *injection, Tracee *tracee, GError **error)
{
    guint64 text = 0;
    if (!tracee_call(tracee, injection->dlerror, NULL, 0, &text, error))
        return FALSE;
    g_autofree char *said = text != 0 ? tracee_read_string(tracee, text, DLERROR_MAX) : NULL;
    g_autofree char *clean = said != NULL ? g_utf8_make_valid(said, -1) : g_strdup("dlopen() failed");
    g_strcanon(clean, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 _-+.,:;/()[]'`=", '?');
    return refuse(injection->process, error, "its dynamic loader says: %s", clean);
}

static gboolean
load(Injection *injection, Tracee *tracee, gint64 descriptor, GError **error)
{
    const guint64 scratch = tracee_scratch(tracee);
    const guint64 arguments[] = {scratch, RTLD_NOW | RTLD_LOCAL};
    g_autofree char *path = g_strdup_printf(WIRE_ENTER_NAME_BEGIN "%d", (int)descriptor);
    guint64 handle = 0;
    if (!fill_memory_file(injection, tracee, descriptor, error) || !write_string(tracee, scratch, path, error) ||
        !tracee_call(tracee, injection->dlopen, arguments, G_N_ELEMENTS(arguments), &handle, error))
        return FALSE;
    return handle != 0 || set_dlerror(injection, tracee, error);
}

/* Loads the agent and finds its function. The descriptor is always closed, unless a call did not return, since the
 * thread can then no longer be used. */
static gboolean
bring_in(Injection *injection, Tracee *tracee, GError **error)
{
    gint64 descriptor;
    if (!make_memory_file(tracee, &descriptor, error))
        return FALSE;
    gboolean loaded = load(injection, tracee, descriptor, error);
    const guint64 arguments[] = {(guint64)descriptor};
    gint64 result;
    gboolean closed =
        tracee_thread(tracee) == 0 ||
        tracee_system_call(tracee, SYS_close, arguments, G_N_ELEMENTS(arguments), &result, loaded ? error : NULL);
    if (!loaded || !closed)
        return FALSE;
    g_autoptr(AddressSpace) space = address_space_new(injection->process->pid, error);
    if (space == NULL || !find_enter(injection, space, error))
        return FALSE;
    return injection->enter != 0 || refuse(injection->process, error, "the loaded library was not found");
}

static gboolean
call_enter(const Injection *injection, Tracee *tracee, WireEntered *entered, GError **error)
{
    const guint64 scratch = tracee_scratch(tracee);
    const char *socket_directory = injection->socket_directory;
    const char *runtime_directory = injection->runtime_directory;
    const guint64 arguments[] = {scratch, scratch + DIRECTORY_ROOM};
    guint64 result;
    if (!write_string(tracee, arguments[0], socket_directory != NULL ? socket_directory : "", error) ||
        !write_string(tracee, arguments[1], runtime_directory != NULL ? runtime_directory : "", error) ||
        !tracee_call(tracee, injection->enter, arguments, G_N_ELEMENTS(arguments), &result, error))
        return FALSE;
    *entered = (WireEntered)(guint32)result;
    return TRUE;
}

typedef struct {
    Injection *injection;
    WireEntered entered;
} Entry;

static TraceeVerdict
before_call(TraceeSystemCall *call, gpointer data)
{
    return loan_files_check(data, call) ? TRACEE_PROCEED : TRACEE_SKIP;
}

static void
after_call(const TraceeSystemCall *call, gpointer data)
{
    loan_files_note(data, call);
}

/* Work of one stop: loads the agent if necessary and calls it. */
static gboolean
enter_once(Tracee *tracee, gpointer data, GError **error)
{
    Entry *entry = data;
    Injection *injection = entry->injection;
    if (!tracee_may_call_system(tracee))
        return refuse(injection->process, error, "it runs under a seccomp filter that only root may suspend%s",
                      instead);
    if (tracee_suspends_filter(tracee) && !injection->under_filter)
        return refuse_filter(injection->process, error);
    LoanFiles files = {.thread = tracee_thread(tracee)};
    const TraceeWatch watch = {before_call, after_call, &files};
    tracee_watch(tracee, &watch);
    const gboolean entered = tracee_disable_cancellation(tracee, error) &&
                             (injection->enter != 0 || bring_in(injection, tracee, error)) &&
                             call_enter(injection, tracee, &entry->entered, error);
    tracee_watch(tracee, NULL);
    return entered;
}

static gboolean
judge_entered(const Injection *injection, WireEntered entered, GError **error)
{
    static const char *const obstacles[] = {
        [WIRE_ENTER_LEAVING] = "the stopped agent has not ended yet",
        [WIRE_ENTER_NO_JEMALLOC] = "the agent finds no jemalloc in it",
        [WIRE_ENTER_NO_THREAD] = "it cannot create another thread (ulimit -u, pids.max)",
        [WIRE_ENTER_DIRECTORY] = "the directory for the socket is not absolute, or too long",
        [WIRE_ENTER_NO_LIST] =
            "its loaded objects cannot be listed: 2 MiB of address space are missing (ulimit -v), or "
            "it was forked during an attach and must be restarted",
    };
    if (entered == WIRE_ENTER_STARTED || entered == WIRE_ENTER_PRESENT)
        return TRUE;
    gboolean known = entered > 0 && entered < G_N_ELEMENTS(obstacles) && obstacles[entered] != NULL;
    return refuse(injection->process, error, "%s", known ? obstacles[entered] : "the agent gave an unknown answer");
}

gboolean
injection_run(const Process *process, const char *file, TargetAttachFlags flags, GError **error)
{
    g_auto(Injection) injection = {.process = process};
    /* First, so that addresses of another program that the process executes meanwhile are called in none. */
    g_autoptr(Tracee) tracee = tracee_new(process, error);
    if (tracee == NULL || !examine(&injection, file, flags, error))
        return FALSE;
    remote_control_guard(tracee, &injection.jemalloc);
    tracee_require_wait(tracee);
    tracee_permit_all(tracee); /* under a filter only after --under-seccomp */
    Entry entry = {.injection = &injection, .entered = WIRE_ENTER_LEAVING};
    const gint64 until = g_get_monotonic_time() + (gint64)LEAVING_MS * 1000;
    while (tracee_visit(tracee, enter_once, &entry, error)) {
        if (entry.entered != WIRE_ENTER_LEAVING || g_get_monotonic_time() >= until)
            return judge_entered(&injection, entry.entered, error);
        g_usleep(LEAVING_PAUSE_US);
    }
    return FALSE;
}
