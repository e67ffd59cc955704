/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/control.h"

#include "agent/environment.h"

#include "jemalloc/controls.h"
#include "jemalloc/version.h"

#include <errno.h>
#include <string.h>

/* The two rooms do not know each other; here they meet. */
_Static_assert((int)WIRE_TYPE_NONE == CONTROL_NONE && (int)WIRE_TYPE_BOOL == CONTROL_BOOL, "control types");
_Static_assert((int)WIRE_TYPE_UNSIGNED == CONTROL_UNSIGNED && (int)WIRE_TYPE_SIZE == CONTROL_SIZE, "control types");
_Static_assert((int)WIRE_TYPE_SSIZE == CONTROL_SSIZE && (int)WIRE_TYPE_U64 == CONTROL_U64, "control types");
_Static_assert((int)WIRE_TYPE_STRING == CONTROL_STRING, "control types");

/* A control's value as jemalloc wants it in memory. */
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

/* False if @value does not fit the type. */
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
    size_t n = string == NULL ? 0 : strnlen(string, sizeof reply->text);
    reply->truncated = n == sizeof reply->text;
    n -= reply->truncated;
    memcpy(reply->text, string == NULL ? "" : string, n);
    reply->text[n] = '\0';
}

/* The values jemalloc would take and the process would pay for. @value is the one to write. */
static bool
is_harmful(const Guest *guest, const char *name, uint64_t value)
{
    if ((guest->allocator.quirks & JEMALLOC_QUIRK_ZERO_BACKGROUND_THREADS) == 0) {
        return false;
    }
    if (strcmp(name, "max_background_threads") == 0) {
        return value == 0;
    }
    /* The program itself may have set the zero. */
    size_t threads = 1;
    return strcmp(name, "background_thread") == 0 && value != 0 &&
           allocator_read(&guest->allocator, "max_background_threads", &threads, sizeof threads) == 0 && threads == 0;
}

WireStatus
control_check_read(const Guest *guest, const char *name, uint32_t type)
{
    if (control_is_profiling(name) && !allocator_can_profile(&guest->allocator)) {
        return WIRE_STATUS_PROF_DISABLED;
    }
    return control_name_is_sound(name) && control_may_read(name, (ControlType)type) ? WIRE_STATUS_OK
                                                                                    : WIRE_STATUS_NOT_ALLOWED;
}

int
control_read_number(const Allocator *allocator, const char *name, uint32_t type, uint64_t *value)
{
    Value read = {0};
    int error = allocator_read(allocator, name, &read, value_sizes[type]);
    if (error == 0) {
        *value = unpack(type, &read);
    }
    return error;
}

void
control_look_up(const Allocator *allocator, const char *name, ControlMib *mib)
{
    size_t length = CONTROL_DEPTH_MAX;
    *mib = (ControlMib){0};
    if (allocator->name_to_mib != NULL && allocator->by_mib != NULL &&
        allocator->name_to_mib(name, mib->places, &length) == 0) {
        mib->length = length;
    }
}

int
control_read_number_at(const Allocator *allocator, const ControlMib *mib, uint32_t type, uint64_t *value)
{
    Value read = {0};
    size_t got = value_sizes[type];
    int error = allocator->by_mib(mib->places, mib->length, &read, &got, NULL, 0);
    if (error == 0 && got != value_sizes[type]) {
        return EINVAL;
    }
    if (error == 0) {
        *value = unpack(type, &read);
    }
    return error;
}

static WireStatus
check_permission(const Guest *guest, const WireCtlRequest *request)
{
    const char *name = request->name;
    if ((request->flags & WIRE_CTL_WRITE) == 0) {
        return control_check_read(guest, name, request->type);
    }
    if (control_is_profiling(name) && !allocator_can_profile(&guest->allocator)) {
        return WIRE_STATUS_PROF_DISABLED;
    }
    if (!control_name_is_sound(name)) {
        return WIRE_STATUS_NOT_ALLOWED;
    }
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

static int
run(Guest *guest, const WireCtlRequest *request, Value *old)
{
    Value new_value = {0};
    if (!pack(request->type, request->value, &new_value)) {
        return EINVAL;
    }
    bool writes = (request->flags & WIRE_CTL_WRITE) != 0;
    if (writes && strcmp(request->name, "prof.active") == 0) {
        return profiling_set_active(&guest->profiling, &guest->allocator, new_value.boolean, &old->boolean);
    }
    int error = exchange(&guest->allocator, request, old, &new_value);
    if (error == 0 && writes && strcmp(request->name, "prof.reset") == 0) {
        profiling_note_reset(&guest->profiling);
    }
    return error;
}

/* jemalloc tells it from 5.3.1 on; before, we do. */
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
    WireStatus status = check_permission(guest, request);
    if (status != WIRE_STATUS_OK) {
        return status;
    }
    Value old = {0};
    int error = run(guest, request, &old);
    if (error == ENOENT && answer_for_older(guest, request, reply)) {
        return WIRE_STATUS_OK;
    }
    if (error != 0) {
        reply->reply.error = error;
        return WIRE_STATUS_CONTROL_FAILED;
    }
    reply->type = request->type;
    if ((request->flags & WIRE_CTL_READ) == 0) {
        return WIRE_STATUS_OK;
    }
    if (request->type == WIRE_TYPE_STRING) {
        copy_text(reply, old.string);
    } else {
        reply->value = unpack(request->type, &old);
    }
    return WIRE_STATUS_OK;
}
