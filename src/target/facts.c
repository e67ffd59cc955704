/* SPDX-License-Identifier: Apache-2.0 */
#include "target/facts.h"

#include "confine/aside.h"
#include "target/cgroup.h"
#include "target/user-name.h"
#include "text/printable.h"

#include <string.h>
#include <unistd.h>

enum {
    TEXT_MAX = 4096, /* bytes of the arguments, with the NUL */
    LIST_MS = 9000,  /* total time for the arguments of processes whose users can delay it */
};

/* The arguments are read from memory of the process, which its user can block (FUSE). */
static gboolean
may_be_delayed(const Process *process)
{
    return process_user(process) != geteuid() || !process_sees_our_files(process->pid);
}

/* The processes of a list. */
typedef struct {
    const GPtrArray *processes; /* const Process */
    GArray *slow;               /* guint, indices of those whose users can delay it */
    GPtrArray *texts;           /* char *, by process; NULL: unknown */
} Reading;

static const Process *
slow_process(const Reading *reading, guint i)
{
    return reading->processes->pdata[g_array_index(reading->slow, guint, i)];
}

static void
read_aside(gpointer data, guint i, gpointer answer)
{
    g_autofree char *text = process_arguments(slow_process(data, i)->pid);
    g_strlcpy(answer, text, TEXT_MAX);
}

static uid_t
user_of_slow(gconstpointer data, guint i)
{
    return slow_process(data, i)->uids[1];
}

static void
take_text(gpointer data, guint i, gconstpointer answer)
{
    const Reading *reading = data;
    reading->texts->pdata[g_array_index(reading->slow, guint, i)] = g_strdup(answer);
}

static void
read_arguments(Reading *reading)
{
    for (guint i = 0; i < reading->processes->len; i++) {
        const Process *process = reading->processes->pdata[i];
        if (may_be_delayed(process))
            g_array_append_val(reading->slow, i);
        else
            reading->texts->pdata[i] = process_arguments(process->pid);
    }
    const AsideList list = {.n = reading->slow->len,
                            .size = TEXT_MAX,
                            .data = reading,
                            .each = read_aside,
                            .user = user_of_slow,
                            .most_ms = LIST_MS};
    aside_each(&list, take_text);
}

static ProcessFacts *
facts_of(const Process *process, const char *arguments)
{
    const char *end;
    const char *text = arguments != NULL ? arguments : "";
    g_autofree char *group = cgroup_path((int)process->pid);
    ProcessFacts *facts = g_atomic_rc_box_new0(ProcessFacts);
    facts->user = user_name(process->uids[1]);
    /* The last character may have been truncated. */
    g_utf8_validate(text, (gssize)MIN(strlen(text), (gsize)TEXT_MAX - 1), &end);
    facts->arguments = g_strndup(text, (gsize)(end - text));
    facts->group = text_printable(group != NULL ? group : "");
    return facts;
}

GPtrArray *
process_facts_list(const GPtrArray *processes)
{
    GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)process_facts_unref);
    g_autoptr(GArray) slow = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    Reading reading = {processes, slow, texts};
    g_ptr_array_set_size(texts, (gint)processes->len);
    read_arguments(&reading);
    for (guint i = 0; i < processes->len; i++)
        g_ptr_array_add(list, facts_of(processes->pdata[i], texts->pdata[i]));
    return list;
}

ProcessFacts *
process_facts_new(const Process *process)
{
    g_autoptr(GPtrArray) one = g_ptr_array_new();
    g_ptr_array_add(one, (gpointer)(guintptr)process);
    g_autoptr(GPtrArray) list = process_facts_list(one);
    return process_facts_ref(list->pdata[0]);
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
