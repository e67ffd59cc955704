/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/sandbox.h"

#include "confine/death-signal.h"
#include "confine/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COMPLETE FALSE
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define COMPLETE FALSE
#else
#define COMPLETE TRUE
#endif
#else
#define COMPLETE TRUE
#endif

#define MAX_MEMORY ((rlim_t)16 << 30) /* address space; a report of the largest real programs takes a quarter */
#define MAX_OUTPUT ((rlim_t)1 << 30)
#define MAX_CPU    ((rlim_t)1800) /* seconds, of all threads */
#define MAX_FILES  ((rlim_t)1024) /* above those that were handed in */

enum { MAX_INSTRUCTIONS = 4096 }; /* of a filter: the kernel's limit */

gboolean
sandbox_is_complete(void)
{
    return COMPLETE;
}

static gboolean
failed(const char *what, int code, GError **error)
{
    g_set_error(error, G_IO_ERROR, g_io_error_from_errno(code),
                "cannot confine the process that reads the dump: %s: %s", what, g_strerror(code));
    return FALSE;
}

static void
limit(__rlimit_resource_t resource, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) == 0) {
        now.rlim_cur = MIN(now.rlim_cur, most);
        now.rlim_max = MIN(now.rlim_max, most);
        setrlimit(resource, &now);
    }
}

static guint handed_in;

void
sandbox_keep_files(guint below)
{
    handed_in = below;
}

static void
set_limits(void)
{
    const struct {
        __rlimit_resource_t resource;
        rlim_t most;
        gboolean sanitized; /* also set in a build with a sanitizer */
    } limits[] = {
        {RLIMIT_AS, MAX_MEMORY, FALSE}, {RLIMIT_FSIZE, MAX_OUTPUT, TRUE},
        {RLIMIT_CPU, MAX_CPU, TRUE},    {RLIMIT_NOFILE, handed_in + MAX_FILES, TRUE},
        {RLIMIT_CORE, 0, TRUE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(limits); i++)
        if (COMPLETE || limits[i].sanitized)
            limit(limits[i].resource, limits[i].most);
}

/* Root's capabilities go with its user id; where the id stays, or another user has some, they are dropped here. */
static void
drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    syscall(SYS_capset, &header, none);
}

void
sandbox_limit_memory(guint64 bytes)
{
    if (COMPLETE)
        limit(RLIMIT_AS, bytes);
}

/* At the hard limit the kernel sends SIGKILL, before it SIGXCPU, which says what happened. */
void
sandbox_limit_time(guint seconds)
{
    struct rlimit now;
    limit(RLIMIT_CPU, (rlim_t)seconds + 1);
    if (getrlimit(RLIMIT_CPU, &now) == 0) {
        now.rlim_cur = MIN(now.rlim_cur, seconds);
        setrlimit(RLIMIT_CPU, &now);
    }
}

/* The bare system calls, which change the only thread: the C library's functions would look for the other threads that
 * the caller may have had before the fork. */
static gboolean
become(uid_t user)
{
    return syscall(SYS_setresgid, user, user, user) == 0 && syscall(SYS_setresuid, user, user, user) == 0;
}

static gboolean
drop_user(GError **error)
{
    if (geteuid() != 0)
        return TRUE;
    if (syscall(SYS_setgroups, 0, NULL) != 0 || !(become(SANDBOX_USER) || become(RIGHTS_NOBODY)))
        return errno == EPERM || failed("user id not changed", errno, error); /* a container with a single user */
    /* Threads take process ids, of which the machine has few. The limit counts all of a user, of whom this one has
     * hardly any others. */
    limit(RLIMIT_NPROC, SANDBOX_MAX_THREADS);
    return TRUE;
}

/* No file may be opened by name. Kernels without Landlock only have the system call filter. */
static void
close_file_system(void)
{
    struct landlock_ruleset_attr rules = {
        .handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
                             LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                             LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                             LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                             LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM,
    };
    int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
    if (fd >= 0) {
        syscall(SYS_landlock_restrict_self, fd, 0);
        close(fd);
    }
}

/* The system calls for computing, threads, memory, and reading and writing open descriptors. All others fail with
 * EPERM. */
static const int allowed[] = {
#ifdef __NR_access
    SCMP_SYS(access), /* the existence of a font file is checked before each use of the loaded font */
#endif
    SCMP_SYS(brk),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl), /* GIO asks whether a descriptor can be waited for */
    SCMP_SYS(close),
    SCMP_SYS(dup),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(faccessat),
    SCMP_SYS(fcntl),
    SCMP_SYS(fstat),
    SCMP_SYS(ftruncate),
    SCMP_SYS(futex),
    SCMP_SYS(getegid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(getrandom),
    SCMP_SYS(getrlimit),
    SCMP_SYS(getrusage),
    SCMP_SYS(gettid),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(getuid),
    SCMP_SYS(lseek),
    SCMP_SYS(madvise),
    SCMP_SYS(mremap),
    SCMP_SYS(munmap),
    SCMP_SYS(nanosleep),
    SCMP_SYS(newfstatat),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(pread64),
    SCMP_SYS(pwrite64),
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(recvmsg),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(rseq),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sendmsg),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(sysinfo),
    SCMP_SYS(tgkill),
    SCMP_SYS(uname),
    SCMP_SYS(write),
    SCMP_SYS(writev),
};

/* Threads may be created, but no processes; memory may be mapped, but not executable; a thread may be named. */
static int
allow_in_part(scmp_filter_ctx filter)
{
    int code = 0;
    code = code
               ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                                   SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_NEWUSER, CLONE_THREAD));
    code =
        code ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    code = code
               ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                                   SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    code = code ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME, 0));
    /* A filter cannot see the flags of clone3(); without it the C library uses clone(). */
    code = code ?: seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    return code;
}

/* A signal to another process of the same user, sent directly or through the kernel: abort() sends one to itself. The
 * id of the process is only known here. */
static int
keep_signals_inside(void)
{
    enum { NUMBER = offsetof(struct seccomp_data, nr), LOW = G_BYTE_ORDER == G_BIG_ENDIAN ? 4 : 0 };
    enum { FIRST = offsetof(struct seccomp_data, args) + LOW, SECOND = FIRST + sizeof(guint64) };
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NUMBER),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fcntl, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 0, 6),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIRST),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (guint32)getpid(), 4, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SECOND),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETOWN, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETSIG, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETOWN_EX, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog filter = {.len = G_N_ELEMENTS(instructions), .filter = instructions};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 ? 0 : errno;
}

static struct sock_fprog program; /* the filter as the kernel takes it */
static int program_code;          /* errno of compiling it */

static int
take_program(int fd)
{
    static struct sock_filter instructions[MAX_INSTRUCTIONS];
    ssize_t length = pread(fd, instructions, sizeof(instructions), 0);
    if (length <= 0 || length == sizeof(instructions))
        return E2BIG;
    program.filter = instructions;
    program.len = (unsigned short)((gsize)length / sizeof(*instructions));
    return 0;
}

static int
translate(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int fd = memfd_create("jescope-filter", MFD_CLOEXEC);
    int code = filter == NULL || fd < 0 ? -ENOMEM : 0;
    for (gsize i = 0; i < G_N_ELEMENTS(allowed) && code == 0; i++)
        code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
    code = code ?: allow_in_part(filter);
    code = code ?: seccomp_export_bpf(filter, fd);
    code = code == 0 ? take_program(fd) : -code;
    if (filter != NULL)
        seccomp_release(filter);
    if (fd >= 0)
        close(fd);
    return code;
}

void
sandbox_prepare(void)
{
    static gsize done;
    if (COMPLETE && g_once_init_enter(&done)) {
        program_code = translate();
        g_once_init_leave(&done, 1);
    }
}

static gboolean
filter_calls(GError **error)
{
    sandbox_prepare();
    int code = program_code != 0 ? program_code : keep_signals_inside();
    if (code == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        code = errno;
    return code == 0 || failed("no seccomp filter", code, error);
}

gboolean
sandbox_enter(GError **error)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return failed("no_new_privs", errno, error);
    rights_remember_caller();
    const DeathSignal death = death_signal_get();
    if (!drop_user(error))
        return FALSE;
    drop_capabilities();
    death_signal_keep(&death);
    set_limits();
    if (!COMPLETE)
        return TRUE;
    close_file_system();
    return filter_calls(error);
}
