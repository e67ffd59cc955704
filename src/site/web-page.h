/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page for browsers over HTTP: a document that names its script and style by their content, so that a browser
 * caches those indefinitely and requests only the document. For the server's thread.
 */
#ifndef JESCOPE_SITE_WEB_PAGE_H
#define JESCOPE_SITE_WEB_PAGE_H

#include "http/answer.h"

typedef struct WebPage WebPage;

/* NULL: jescope was built without the page. */
WebPage *web_page_new(void);
void web_page_free(WebPage *page);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WebPage, web_page_free)

/* The resource at PATH: "/" or one of the names in the document. A new reference; NULL: there is none. */
Answer *web_page_answer(const WebPage *page, const char *path, AnswerCoding coding);

#endif
