/* SPDX-License-Identifier: Apache-2.0 */
/* CTL: reads and/or writes one control, within the rules of jemalloc/controls.h. In the agent thread. */
#ifndef JESCOPE_AGENT_CONTROL_H
#define JESCOPE_AGENT_CONTROL_H

#include "agent/guest.h"
#include "wire/wire.h"

/*
 * REQUEST has passed wire_request_check(). Fills REPLY's value, text and truncated on WIRE_STATUS_OK, and its error
 * (jemalloc's) on WIRE_STATUS_CONTROL_FAILED.
 */
WireStatus control_answer(Guest *guest, const WireCtlRequest *request, WireCtlReply *reply);

/* Whether NAME may be read from jemalloc as a TYPE (WireType): WIRE_STATUS_OK, or why not. */
WireStatus control_check_read(const Guest *guest, const char *name, uint32_t type);

/* The place of a control in jemalloc's tree, found by control_look_up(); length zero: not known. */
enum { CONTROL_DEPTH_MAX = 8 };
typedef struct {
    size_t places[CONTROL_DEPTH_MAX];
    size_t length;
} ControlMib;

/* Looks NAME up; if that fails, the length of MIB is zero. */
void control_look_up(const Allocator *allocator, const char *name, ControlMib *mib);

/* Like control_read_number(), for a control that was looked up. */
int control_read_number_at(const Allocator *allocator, const ControlMib *mib, uint32_t type, uint64_t *value);

/* Reads a number in the form of WireCtlReply.value. Returns jemalloc's error; then VALUE is untouched. */
int control_read_number(const Allocator *allocator, const char *name, uint32_t type, uint64_t *value);

#endif
