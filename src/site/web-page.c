/* SPDX-License-Identifier: Apache-2.0 */
#include "site/web-page.h"

#include "page/page.h"

#include <string.h>

enum {
    TAG_DIGITS = 16, /* of the digest of a part's content */
};

/* The page only loads what this server sends, runs no inline script, and cannot be embedded in other pages. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; worker-src blob:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

static const char kept_for_ever[] = "public, max-age=31536000, immutable";

typedef struct {
    char *path;
    Answer *answers[ANSWER_N_CODINGS];
} Asset;

struct WebPage {
    Asset assets[PAGE_N_PARTS];
};

static char *
tag_of(GBytes *bytes)
{
    char *digest = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes);
    digest[TAG_DIGITS] = '\0';
    return digest;
}

/* "/assets/page.js" with a digest before its suffix. */
static char *
immutable_name(const char *name, GBytes *bytes)
{
    g_autofree char *tag = tag_of(bytes);
    const char *suffix = strrchr(name, '.');
    return g_strdup_printf("%.*s-%s%s", (int)(suffix - name), name, tag, suffix);
}

typedef struct {
    const char *type, *cache;
    const char *policy; /* NULL: not a document */
} AssetHeaders;

static void
fill(Asset *asset, GBytes *bytes, const AssetHeaders *headers)
{
    g_autofree char *tag = tag_of(bytes);
    for (AnswerCoding coding = ANSWER_PLAIN; coding < ANSWER_N_CODINGS; coding++) {
        g_autofree char *etag = g_strdup_printf("\"%s%s\"", tag, coding == ANSWER_GZIP ? "-gzip" : "");
        Answer *answer = answer_new(200, headers->type, g_bytes_ref(bytes), coding);
        answer_set_header(answer, "Cache-Control", headers->cache);
        answer_add_header(answer, "ETag", etag);
        if (headers->policy != NULL)
            answer_set_header(answer, "Content-Security-Policy", headers->policy);
        asset->answers[coding] = answer;
    }
}

/* The document with the present names of its parts. */
static GBytes *
document_with(GBytes *document, const Asset *script, const Asset *style)
{
    gsize size;
    const char *text = g_bytes_get_data(document, &size);
    GString *page = g_string_new_len(text, (gssize)size);
    g_string_replace(page, PAGE_SCRIPT_NAME, script->path, 0);
    g_string_replace(page, PAGE_STYLE_NAME, style->path, 0);
    return g_string_free_to_bytes(page);
}

WebPage *
web_page_new(void)
{
    g_autoptr(GBytes) document = page_part(PAGE_DOCUMENT);
    g_autoptr(GBytes) script = page_part(PAGE_SCRIPT);
    g_autoptr(GBytes) style = page_part(PAGE_STYLE);
    if (document == NULL)
        return NULL;
    WebPage *page = g_new0(WebPage, 1);
    page->assets[PAGE_DOCUMENT].path = g_strdup("/");
    page->assets[PAGE_SCRIPT].path = immutable_name(PAGE_SCRIPT_NAME, script);
    page->assets[PAGE_STYLE].path = immutable_name(PAGE_STYLE_NAME, style);
    g_autoptr(GBytes) named = document_with(document, &page->assets[PAGE_SCRIPT], &page->assets[PAGE_STYLE]);
    fill(&page->assets[PAGE_DOCUMENT], named, &(AssetHeaders){"text/html; charset=utf-8", "no-cache", policy});
    fill(&page->assets[PAGE_SCRIPT], script, &(AssetHeaders){"text/javascript; charset=utf-8", kept_for_ever, NULL});
    fill(&page->assets[PAGE_STYLE], style, &(AssetHeaders){"text/css; charset=utf-8", kept_for_ever, NULL});
    return page;
}

void
web_page_free(WebPage *page)
{
    for (PagePart part = 0; part < PAGE_N_PARTS; part++) {
        g_free(page->assets[part].path);
        for (AnswerCoding coding = ANSWER_PLAIN; coding < ANSWER_N_CODINGS; coding++)
            answer_unref(page->assets[part].answers[coding]);
    }
    g_free(page);
}

Answer *
web_page_answer(const WebPage *page, const char *path, AnswerCoding coding)
{
    for (PagePart part = 0; part < PAGE_N_PARTS; part++)
        if (strcmp(page->assets[part].path, path) == 0)
            return answer_ref(page->assets[part].answers[coding]);
    return NULL;
}
