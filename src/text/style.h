/* SPDX-License-Identifier: Apache-2.0 */
/* Text styles of a terminal (ECMA-48 SGR); the 16 colours, whose shades are the user's choice. */
#ifndef JESCOPE_TEXT_STYLE_H
#define JESCOPE_TEXT_STYLE_H

typedef enum {
    STYLE_PLAIN,
    STYLE_HEADING, /* headings of columns */
    STYLE_STRONG,  /* emphasized */
    STYLE_FAINT,   /* unimportant */
    STYLE_GROWN,
    STYLE_SHRUNK,
    STYLE_TROUBLE,
    STYLES,
} Style;

/* The escape sequence that begins STYLE; for STYLE_PLAIN the one that ends any of them. */
const char *text_style(Style style);

#endif
