/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/control.h"

#include "agent/environment.h"
#include "agent/sampler.h"

#include "jemalloc/controls.h"
#include "jemalloc/version.h"

#include <errno.h>
#include <string.h>

/* The two rooms do not include each other; here their values must match. */
_Static_assert((int)WIRE_TYPE_NONE == CONTROL_NONE && (int)WIRE_TYPE_BOOL == CONTROL_BOOL, "control types");
_Static_assert((int)WIRE_TYPE_UNSIGNED == CONTROL_UNSIGNED && (int)WIRE_TYPE_SIZE == CONTROL_SIZE, "control types");
_Static_assert((int)WIRE_TYPE_SSIZE == CONTROL_SSIZE && (int)WIRE_TYPE_U64 == CONTROL_U64, "control types");
_Static_assert((int)WIRE_TYPE_STRING == CONTROL_STRING, "control types");

/* A control's value in the form that jemalloc reads and writes. */
typedef union {
    bool boolean;
    unsigned number;
    size_t size;
    ssize_t signed_size;
    uint64_t u64;
    const char *string;
} Value;

static const size_t value_sizes[] = {
    [WIRE_TYPE_NONE] = 0,
    [WIRE_TYPE_BOOL] = sizeof(bool),
    [WIRE_TYPE_UNSIGNED] = sizeof(unsigned),
    [WIRE_TYPE_SIZE] = sizeof(size_t),
    [WIRE_TYPE_SSIZE] = sizeof(ssize_t),
    [WIRE_TYPE_U64] = sizeof(uint64_t),
    [WIRE_TYPE_STRING] = sizeof(const char *),
};

/* False if VALUE does not fit the type. */
static bool
pack(uint32_t type, uint64_t value, Value *packed)
{
    switch (type) {
    case WIRE_TYPE_BOOL:
        packed->boolean = value != 0;
        return value <= 1;
    case WIRE_TYPE_UNSIGNED:
        packed->number = (unsigned)value;
        return value <= UINT32_MAX;
    case WIRE_TYPE_SSIZE:
        packed->signed_size = (ssize_t)value;
        return true;
    default:
        packed->u64 = value;
        return true;
    }
}

static uint64_t
unpack(uint32_t type, const Value *packed)
{
    switch (type) {
    case WIRE_TYPE_BOOL:
        return packed->boolean;
    case WIRE_TYPE_UNSIGNED:
        return packed->number;
    case WIRE_TYPE_SSIZE:
        return (uint64_t)(int64_t)packed->signed_size;
    default:
        return packed->u64;
    }
}

static void
copy_text(WireCtlReply *reply, const char *string)
{
    size_t n = string == NULL ? 0 : strnlen(string, sizeof(reply->text));
    reply->truncated = n == sizeof(reply->text);
    n -= reply->truncated;
    memcpy(reply->text, string == NULL ? "" : string, n);
    reply->text[n] = '\0';
}

/* Values that jemalloc would accept to the detriment of the process. VALUE is the new one. */
static bool
is_harmful(const Guest *guest, const char *name, uint64_t value)
{
    size_t threads = 1;
    const JemallocHarm harm = jemalloc_harm(guest->allocator.quirks, name, value);
    return harm == JEMALLOC_HARMFUL ||
           (harm == JEMALLOC_HARMFUL_WITHOUT_THREADS &&
            allocator_read(&guest->allocator, "max_background_threads", &threads, sizeof(threads)) == 0 &&
            threads == 0);
}

static WireStatus
check_name(const char *name, uint32_t type)
{
    return control_name_is_sound(name) && control_may_read(name, (ControlType)type) ? WIRE_STATUS_OK
                                                                                    : WIRE_STATUS_NOT_ALLOWED;
}

WireStatus
control_check_read(const Guest *guest, const char *name, uint32_t type)
{
    return control_is_profiling(name) && !allocator_can_profile(&guest->allocator) ? WIRE_STATUS_PROF_DISABLED
                                                                                   : check_name(name, type);
}

int
control_read_number(const Allocator *allocator, const char *name, uint32_t type, uint64_t *value)
{
    Value read = {0};
    int error = allocator_read(allocator, name, &read, value_sizes[type]);
    if (error == 0)
        *value = unpack(type, &read);
    return error;
}

void
control_look_up(const Allocator *allocator, const char *name, ControlMib *mib)
{
    size_t length = CONTROL_DEPTH_MAX;
    *mib = (ControlMib){0};
    if (allocator->name_to_mib != NULL && allocator->by_mib != NULL &&
        allocator->name_to_mib(name, mib->places, &length) == 0)
        mib->length = length;
}

int
control_read_number_at(const Allocator *allocator, const ControlMib *mib, uint32_t type, uint64_t *value)
{
    Value read = {0};
    size_t got = value_sizes[type];
    int error = allocator->by_mib(mib->places, mib->length, &read, &got, NULL, 0);
    if (error == 0 && got != value_sizes[type])
        return EINVAL;
    if (error == 0)
        *value = unpack(type, &read);
    return error;
}

static WireStatus
check_permission(const Guest *guest, const WireCtlRequest *request)
{
    const char *name = request->name;
    if (control_is_profiling(name) && profiling_sampler(&guest->profiling, &guest->allocator) == WIRE_SAMPLER_AUTO)
        return WIRE_STATUS_PROF_DISABLED;
    if ((request->flags & WIRE_CTL_WRITE) == 0)
        return check_name(name, request->type);
    if (!control_name_is_sound(name))
        return WIRE_STATUS_NOT_ALLOWED;
    return control_may_write(name, (ControlType)request->type) && !is_harmful(guest, name, request->value)
               ? WIRE_STATUS_OK
               : WIRE_STATUS_NOT_ALLOWED;
}

/* One mallctl() for both directions, so that reading and writing is one exchange. */
static int
exchange(const Allocator *allocator, const WireCtlRequest *request, Value *old, Value *new_value)
{
    size_t size = value_sizes[request->type];
    size_t old_size = size;
    bool reads = (request->flags & WIRE_CTL_READ) != 0;
    bool writes = (request->flags & WIRE_CTL_WRITE) != 0 && size > 0;
    int error = allocator->mallctl(request->name, reads ? old : NULL, reads ? &old_size : NULL,
                                   writes ? (void *)new_value : NULL, writes ? size : 0);
    return error == 0 && old_size != size ? EINVAL : error;
}

static bool
is_sampled_here(const Guest *guest)
{
    return profiling_sampler(&guest->profiling, &guest->allocator) == WIRE_SAMPLER_JESCOPE;
}

/* The value of a control of jemalloc's profiler while jescope's sampler replaces it. */
static int
read_sampler(const char *name, Value *value)
{
    if (strcmp(name, "prof.active") == 0)
        value->boolean = sampler_is_active();
    else if (strcmp(name, "prof.thread_active_init") == 0)
        value->boolean = true;
    else if (strcmp(name, "prof.gdump") == 0)
        value->boolean = false;
    else if (strcmp(name, "prof.lg_sample") == 0)
        value->size = sampler_lg();
    else if (strcmp(name, "prof.interval") == 0)
        value->u64 = 0;
    else
        return ENOENT;
    return 0;
}

/* WIRE_SAMPLER_CONTROL. */
static WireStatus
answer_sampler(Guest *guest, const WireCtlRequest *request, WireCtlReply *reply)
{
    if (request->type != WIRE_TYPE_UNSIGNED ||
        ((request->flags & WIRE_CTL_WRITE) != 0 && request->value > WIRE_SAMPLER_JESCOPE))
        return WIRE_STATUS_NOT_ALLOWED;
    reply->type = request->type;
    reply->value = guest->profiling.chosen;
    return (request->flags & WIRE_CTL_WRITE) == 0 ||
                   profiling_choose(&guest->profiling, &guest->allocator, (WireSampler)request->value)
               ? WIRE_STATUS_OK
               : WIRE_STATUS_PROF_DISABLED;
}

/* WIRE_SAMPLER_MEMORY_CONTROL. */
static WireStatus
answer_memory(const WireCtlRequest *request, WireCtlReply *reply)
{
    if (request->type != WIRE_TYPE_SIZE)
        return WIRE_STATUS_NOT_ALLOWED;
    reply->type = request->type;
    reply->value = sampler_memory();
    reply->reply.error = (request->flags & WIRE_CTL_WRITE) != 0 ? sampler_set_memory(request->value, SAMPLER_ONCE) : 0;
    return reply->reply.error == 0 ? WIRE_STATUS_OK : WIRE_STATUS_CONTROL_FAILED;
}

static int
run(Guest *guest, const WireCtlRequest *request, Value *old)
{
    Value new_value = {0};
    if (!pack(request->type, request->value, &new_value))
        return EINVAL;
    bool writes = (request->flags & WIRE_CTL_WRITE) != 0;
    if (writes && strcmp(request->name, "prof.active") == 0)
        return profiling_set_active(&guest->profiling, &guest->allocator, new_value.boolean, &old->boolean);
    if (writes && strcmp(request->name, "prof.reset") == 0)
        return profiling_reset(&guest->profiling, &guest->allocator,
                               request->type == WIRE_TYPE_SIZE ? &new_value.size : NULL);
    if (control_is_profiling(request->name) && is_sampled_here(guest))
        return writes ? ENOENT : read_sampler(request->name, old);
    return exchange(&guest->allocator, request, old, &new_value);
}

/* jemalloc reports this itself from 5.3.1 on. */
static bool
answer_for_older(const Guest *guest, const WireCtlRequest *request, WireCtlReply *reply)
{
    bool asked = request->flags == WIRE_CTL_READ && strcmp(request->name, "opt.malloc_conf.env_var") == 0;
    const char *conf = asked ? environment_malloc_conf(guest->allocator.prefix) : NULL;
    if (conf != NULL) {
        reply->type = request->type;
        copy_text(reply, conf);
    }
    return conf != NULL;
}

WireStatus
control_answer(Guest *guest, const WireCtlRequest *request, WireCtlReply *reply)
{
    if (strcmp(request->name, WIRE_SAMPLER_CONTROL) == 0)
        return answer_sampler(guest, request, reply);
    if (strcmp(request->name, WIRE_SAMPLER_MEMORY_CONTROL) == 0)
        return answer_memory(request, reply);
    WireStatus status = check_permission(guest, request);
    if (status != WIRE_STATUS_OK)
        return status;
    Value old = {0};
    int error = run(guest, request, &old);
    if (error == ENOENT && answer_for_older(guest, request, reply))
        return WIRE_STATUS_OK;
    if (error != 0) {
        reply->reply.error = error;
        return WIRE_STATUS_CONTROL_FAILED;
    }
    reply->type = request->type;
    if ((request->flags & WIRE_CTL_READ) == 0)
        return WIRE_STATUS_OK;
    if (request->type == WIRE_TYPE_STRING)
        copy_text(reply, old.string);
    else
        reply->value = unpack(request->type, &old);
    return WIRE_STATUS_OK;
}
