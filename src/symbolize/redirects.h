/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that follow redirects by libcurl without an option against it, such as libdebuginfod: a server would choose
 * which hosts and services are asked, by a process that may reach those of this machine and its network.
 */
#ifndef JESCOPE_SYMBOLIZE_REDIRECTS_H
#define JESCOPE_SYMBOLIZE_REDIRECTS_H

#include <glib.h>

/* From now on no redirect is followed by LIBRARY, of dlopen(), which is linked with libcurl. FALSE: that cannot be
 * ensured, and it must not be used. */
gboolean redirects_refuse(void *library);

#endif
