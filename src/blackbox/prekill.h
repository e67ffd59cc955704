/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prekill hook of systemd-oomd (systemd 260 and later, oomd.conf(5)): before it kills a control group, it calls
 * io.systemd.oom.Prekill.Notify of each Varlink socket in /run/systemd/oomd.prekill.hook/ with the path of the group,
 * and waits for the answers, for PrekillHookTimeoutSec= at most.
 */
#ifndef JESCOPE_BLACKBOX_PREKILL_H
#define JESCOPE_BLACKBOX_PREKILL_H

#include <glib.h>

/* GROUP ("/system.slice/redis.service") is about to be killed: returns when what is to be done before that is done. On
 * a thread of the hook, for one group at a time. */
typedef void (*PrekillNotify)(const char *group, gpointer data);

typedef struct PrekillHook PrekillHook;

/* Listens at the socket PATH, which only its owner and root can connect to; one that is left there by another process
 * is replaced. Calls wait until prekill_hook_begin(). */
PrekillHook *prekill_hook_new(const char *path, GError **error);

void prekill_hook_begin(PrekillHook *hook, PrekillNotify notify, gpointer data);

/* NOTIFY is not called any more; waits for it. What calls now is not answered. */
void prekill_hook_end(PrekillHook *hook);

/* Ends it, and removes the socket. */
void prekill_hook_free(PrekillHook *hook);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PrekillHook, prekill_hook_free)

/* The group of the Varlink call TEXT, to be freed. NULL: it is another call, and *ANSWER (to be freed) is its answer,
 * an error; or *ANSWER is NULL, since it is not a call. */
char *prekill_parse(const char *text, char **answer);

/* Whether GROUP is PATH, or below it. */
gboolean prekill_concerns(const char *path, const char *group);

#endif
