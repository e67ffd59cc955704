/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve-privileges.h"

#include "cli/command.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) ((guint64)1 << (capability))

/* Reading /proc/PID/root; connecting to a socket in a directory of mode 0700; opening files named by a target with its
 * user's rights (confine/rights.h). */
static const guint64 always_needed =
    BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SETUID) | BIT(CAP_SETGID);

/* Sending signals to the process; suspending its seccomp filter. */
static const guint64 needed_for_ptrace = BIT(CAP_KILL) | BIT(CAP_SYS_ADMIN);

/* Receiving the exits of processes. */
static const guint64 needed_for_exits = BIT(CAP_NET_ADMIN);

static gboolean
set_failed(const char *what, GError **error)
{
    int code = errno;
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "cannot give up %s: %s", what, g_strerror(code));
    return FALSE;
}

/* Also for children: a capability that is not in the bounding set is not regained by an exec as root. This requires
 * CAP_SETPCAP; without it the set is unchanged. */
static gboolean
drop_from_bounding_set(guint64 kept, GError **error)
{
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if ((kept & BIT(capability)) == 0 && prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1 &&
            prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM)
            return set_failed("capabilities of the bounding set", error);
    return TRUE;
}

static gboolean
drop_capabilities(guint64 kept, GError **error)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) != 0)
        return set_failed("capabilities", error);
    for (guint i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        guint32 half = (guint32)(kept >> (32 * i));
        data[i].permitted &= half;
        data[i].effective &= half;
        data[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, data) == 0 || set_failed("capabilities", error);
}

void
serve_privileges_guard_secrets(void)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

gboolean
serve_privileges_empty_bounding_set(GError **error)
{
    return drop_from_bounding_set(0, error);
}

static guint64
kept_for(ServeNeeds needs)
{
    if ((needs & SERVE_NEEDS_NOTHING) != 0)
        return 0;
    return always_needed | ((needs & SERVE_REACHES_BY_PTRACE) != 0 ? needed_for_ptrace : 0) |
           ((needs & SERVE_FOLLOWS_EXITS) != 0 ? needed_for_exits : 0);
}

gboolean
serve_privileges_reduce(ServeNeeds needs, GError **error)
{
    guint64 kept = kept_for(needs);
    if ((needs & SERVE_HOLDS_SECRETS) != 0)
        serve_privileges_guard_secrets();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return set_failed("gaining new privileges", error);
    if (kept == 0)
        return drop_capabilities(kept, error);
    return geteuid() != 0 || (drop_from_bounding_set(kept, error) && drop_capabilities(kept, error));
}
