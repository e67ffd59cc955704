/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl, loaded for the first request (docs/decisions/0014-libcurl.md): its functions, as members of curl_library
 * with their own names.
 */
#ifndef JESCOPE_CLIENT_CURL_LIBRARY_H
#define JESCOPE_CLIENT_CURL_LIBRARY_H

#include <glib.h>

/* The macros that check types at compile time call the functions by their names. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#define CURL_FUNCTIONS(X)                                                                                              \
    X(curl_global_init)                                                                                                \
    X(curl_easy_init)                                                                                                  \
    X(curl_easy_setopt)                                                                                                \
    X(curl_easy_perform)                                                                                               \
    X(curl_easy_getinfo)                                                                                               \
    X(curl_easy_strerror)                                                                                              \
    X(curl_easy_cleanup)                                                                                               \
    X(curl_slist_append)                                                                                               \
    X(curl_slist_free_all)

#define CURL_POINTER(function) __typeof__(function) *function;
typedef struct {
    CURL_FUNCTIONS(CURL_POINTER)
} CurlLibrary;

/* Valid once curl_library_load() has returned TRUE. */
extern CurlLibrary curl_library;

/* Loads it once; thread-safe. WHAT needs it, for the error: "targets behind a server". FALSE with OUTCOME_SYSTEM. */
gboolean curl_library_load(const char *what, GError **error);

#endif
