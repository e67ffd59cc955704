/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/redirects.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdarg.h>

#undef curl_easy_setopt

static __typeof__(curl_easy_setopt) *of_libcurl;

/* In place of libcurl's: the dynamic loader looks for the functions of a library in the program first, which exports
 * this one (meson.build). Each value is one machine word. jescope's own client calls libcurl's (client/curl-library.h);
 * libcurl calls this one for DNS over HTTPS, which nothing asks for. */
__attribute__((visibility("default"))) CURLcode
curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
    va_list values;
    va_start(values, option);
    gintptr value = va_arg(values, gintptr);
    va_end(values);
    if (of_libcurl == NULL)
        return CURLE_FAILED_INIT;
    return of_libcurl(curl, option, option != CURLOPT_FOLLOWLOCATION ? value : 0);
}

gboolean
redirects_refuse(void *library)
{
    static const char name[] = "curl_easy_setopt";
    of_libcurl = (__typeof__(curl_easy_setopt) *)dlsym(library, name);
    return of_libcurl != NULL && dlsym(RTLD_DEFAULT, name) == (void *)curl_easy_setopt;
}
