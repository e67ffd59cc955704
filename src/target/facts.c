/* SPDX-License-Identifier: Apache-2.0 */
#include "target/facts.h"

#include "confine/aside.h"
#include "target/cgroup.h"
#include "text/printable.h"

#include <unistd.h>

enum {
    TEXT_MAX = 4096, /* bytes of the arguments, with the NUL */
};

/* The arguments are read from memory of the process, which its user can block (FUSE). */
static gboolean
may_be_delayed(const Process *process)
{
    return process_user(process) != geteuid() || !process_sees_our_files(process->pid);
}

static void
read_aside(gpointer process, ChannelMessage *answer)
{
    g_autofree char *text = process_arguments(((const Process *)process)->pid);
    g_strlcpy(answer->bytes, text, TEXT_MAX);
}

static char *
read_arguments(const Process *process)
{
    char text[TEXT_MAX] = "";
    const char *end;
    Process copy = *process;
    ChannelMessage answer = {.bytes = text, .size = sizeof(text)};
    if (!may_be_delayed(process)) {
        g_autofree char *whole = process_arguments(process->pid);
        g_strlcpy(text, whole, sizeof(text));
    } else if (aside_run(read_aside, &copy, process->uids[1], &answer) == ASIDE_DONE) {
        channel_close_fds(&answer);
    } else {
        text[0] = '\0';
    }
    text[sizeof(text) - 1] = '\0';
    /* The last character may have been truncated. */
    g_utf8_validate(text, -1, &end);
    return g_strndup(text, (gsize)(end - text));
}

ProcessFacts *
process_facts_new(const Process *process)
{
    g_autofree char *group = cgroup_path((int)process->pid);
    ProcessFacts *facts = g_atomic_rc_box_new0(ProcessFacts);
    facts->user = process_user_name(process->uids[1]);
    facts->arguments = read_arguments(process);
    facts->group = text_printable(group != NULL ? group : "");
    return facts;
}

ProcessFacts *
process_facts_ref(ProcessFacts *facts)
{
    return facts != NULL ? g_atomic_rc_box_acquire(facts) : NULL;
}

static void
clear_facts(gpointer data)
{
    ProcessFacts *facts = data;
    g_free(facts->user);
    g_free(facts->arguments);
    g_free(facts->group);
}

void
process_facts_unref(ProcessFacts *facts)
{
    if (facts != NULL)
        g_atomic_rc_box_release_full(facts, clear_facts);
}
