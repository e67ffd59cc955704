/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prekill hook of systemd-oomd (systemd 260 and later, oomd.conf(5)): before it kills a control group, it calls
 * io.systemd.oom.Prekill.Notify of each Varlink socket in /run/systemd/oomd.prekill.hook/ with the path of the group,
 * and waits for the answers, for PrekillHookTimeoutSec= at most.
 */
#ifndef JESCOPE_BLACKBOX_PREKILL_H
#define JESCOPE_BLACKBOX_PREKILL_H

#include <glib.h>

/* Called before GROUP ("/system.slice/redis.service") is killed; the kill waits until this returns. Runs on threads
 * of the hook, for several groups at a time. */
typedef void (*PrekillNotify)(const char *group, gpointer data);

typedef struct PrekillHook PrekillHook;

/* Listens on the socket PATH, which only its owner and root can connect to; a socket that another process has left
 * there is replaced. Calls wait until prekill_hook_begin(). NULL with BLACKBOX_ERROR_FILE. */
PrekillHook *prekill_hook_new(const char *path, GError **error);

void prekill_hook_begin(PrekillHook *hook, PrekillNotify notify, gpointer data);

/* Waits for NOTIFY, which is not called any more. Later calls are not answered. */
void prekill_hook_end(PrekillHook *hook);

/* Ends the hook and removes the socket. */
void prekill_hook_free(PrekillHook *hook);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PrekillHook, prekill_hook_free)

/* Returns the group of the Varlink call TEXT, to be freed. NULL for any other call, with an error in *ANSWER (to be
 * freed) to reply with; *ANSWER is NULL if TEXT is not a call. */
char *prekill_parse(const char *text, char **answer);

/* Whether GROUP is PATH, or below it. */
gboolean prekill_concerns(const char *path, const char *group);

#endif
