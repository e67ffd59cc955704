/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/describe.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *what;
    int (*print)(void);
    int (*print_for)(const char *operand); /* used instead if there is an operand */
    const char *operand;
} kinds[] = {
    {"overview", NULL, describe_man_overview, "TEMPLATE"},
    {"page", NULL, describe_man_page, "COMMAND"},
    {"bash", describe_bash, NULL, NULL},
    {"fish", describe_fish, NULL, NULL},
    {"zsh", describe_zsh, NULL, NULL},
};

int
main(int argc, char **argv)
{
    for (gsize i = 0; argc > 1 && i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(argv[1], kinds[i].what) != 0 || argc != (kinds[i].operand != NULL ? 3 : 2))
            continue;
        return kinds[i].operand != NULL ? kinds[i].print_for(argv[2]) : kinds[i].print();
    }
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        fprintf(stderr, "usage: describe %s %s\n", kinds[i].what, kinds[i].operand != NULL ? kinds[i].operand : "");
    return 2;
}
