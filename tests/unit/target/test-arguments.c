/* SPDX-License-Identifier: Apache-2.0 */
#include "target/arguments.h"

#include <string.h>

typedef struct {
    const char *name;
    const char *words; /* each with a NUL behind it, of which the last is the compiler's */
    gsize length;
    const char *expected;
} Line;

#define LINE(words) words, sizeof(words)

static const Line lines[] = {
    {"plain", LINE("redis-server\0--port\0006379"), "redis-server --port 6379"},
    {"one-title", LINE("postgres: writer\0\0\0"), "postgres: writer"},
    {"blanks", LINE("a\0b\nc\td\0"), "a b c d"},
    {"none", "", 0, ""},
    {"without-an-end", "ab\0cd", 4, "ab c"},
    {"controls", LINE("a\0\033[2J\0\xff"), "a \\u{001B}[2J \\x{FF}"},
    {"next-word", LINE("app\0--password\0hunter2\0--port\0001"), "app --password *** --port 1"},
    {"no-next-word", LINE("app\0--ask-password\0--port\0001"), "app --ask-password --port 1"},
    {"last-word", LINE("app\0--token"), "app --token"},
    {"equals", LINE("app\0--auth-token=abc=def\0-Ddb.PASSWORD=x\0KEY=1"),
     "app --auth-token=*** -Ddb.PASSWORD=*** KEY=1"},
    {"empty", LINE("app\0--password=\0x"), "app --password= x"},
    {"without-dashes", LINE("redis-server\0requirepass\0foobared\0port\0001"), "redis-server requirepass *** port 1"},
    {"parts", LINE("app\0--api-key\0abc\0--aws.secret_access_key=abc\0--masterauth\0x"),
     "app --api-key *** --aws.secret_access_key=*** --masterauth ***"},
    {"other-keys", LINE("app\0--ssl-key=/etc/key.pem\0--keyspace\0a\0--tokenizer=x\0--passive\0y"),
     "app --ssl-key=/etc/key.pem --keyspace a --tokenizer=x --passive y"},
    {"program", LINE("/usr/bin/mkpasswd\0word"), "/usr/bin/mkpasswd word"},
    {"url", LINE("app\0postgres://me:pw@db/x?y=a:b@c"), "app postgres://me:***@db/x?y=a:b@c"},
    {"url-of-an-option", LINE("app\0--db=postgres://me:pw@db"), "app --db=postgres://me:***@db"},
    {"urls", LINE("app\0--at=a://b:c@d,e://f:g@h,i://j"), "app --at=a://b:***@d,e://f:***@h,i://j"},
    {"second-of-a-word", LINE("app\0host=db password=pw\0-o\0a=b,token=c,d=e\0--set=secret=x"),
     "app host=db password=*** -o a=b,token=*** --set=secret=***"},
    {"query", LINE("app\0http://h/?a=b&token=c"), "app http://h/?a=b&token=***"},
    {"command-of-a-shell", LINE("sh\0-c\0app --token x --port 1"), "sh -c app --token ***"},
    {"title", LINE("app --port 1 --db-password=x\0\0"), "app --port 1 --db-password=***"},
    {"url-without-a-password", LINE("app\0http://me@h:80/a:b@c\0http://h:80/"),
     "app http://me@h:80/a:b@c http://h:80/"},
};

static void
test_line(gconstpointer data)
{
    const Line *line = data;
    g_autofree char *text = arguments_text(line->words, line->length);
    g_assert_cmpstr(text, ==, line->expected);
}

static void
test_words(void)
{
    static const char words[] = "app\0--password\0hunter2\0\0\033\0--token=x";
    static const char expected[] = "app\0--password\0***\0\0\033\0--token=***";
    g_autoptr(GString) shown = arguments_words(words, sizeof(words));
    g_autoptr(GString) none = arguments_words("", 0);
    g_assert_cmpmem(shown->str, shown->len, expected, sizeof(expected));
    g_assert_cmpuint(none->len, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_autofree char *path = g_strconcat("/arguments/", lines[i].name, NULL);
        g_test_add_data_func(path, &lines[i], test_line);
    }
    g_test_add_func("/arguments/words", test_words);
    return g_test_run();
}
