/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from the servers that DEBUGINFOD_URLS names, by libdebuginfod, which is loaded on first use.
 *
 * A server may send without end, or hardly anything, and a process may have thousands of files that no server has. So a
 * request has DEBUGINFOD_IDLE_S seconds and one more for each DEBUGINFOD_LEAST_RATE bytes that it has received, those
 * that bring nothing have DEBUGINFOD_VAIN_S together, and all of this process DEBUGINFOD_ALL_S and
 * DEBUGINFOD_ALL_BYTES, also of what is compressed on the way; what comes after that is not requested. A child process
 * makes each request (confine/subprocess.h): libdebuginfod looks at none of this while libcurl decompresses. Its own
 * variables (DEBUGINFOD_TIMEOUT, _MAXTIME, _MAXSIZE) hold beside that; those by which it prints (DEBUGINFOD_VERBOSE,
 * _PROGRESS) do not. Redirects are not followed (redirects.h). Its files are kept in DEBUGINFOD_CACHE_PATH,
 * else debuginfod_client in rights_cache_directory(); root uses no directory on which another user decides.
 */
#ifndef JESCOPE_SYMBOLIZE_DEBUGINFOD_H
#define JESCOPE_SYMBOLIZE_DEBUGINFOD_H

#include <glib.h>

enum {
    DEBUGINFOD_IDLE_S = 10,
    DEBUGINFOD_LEAST_RATE = 100 * 1000,
    DEBUGINFOD_VAIN_S = 20,
    DEBUGINFOD_ALL_S = 300,
};

#define DEBUGINFOD_ALL_BYTES ((gint64)2 << 30)

/* Enables it, for this process or for a confined one (opener.h). */
void debuginfod_allow(void);

#endif
