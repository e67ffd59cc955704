/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked about the target that is open: dumps and reports of them, and actions on it. Whatever changes the
 * target or stops its threads is done only after a question; whatever is switched on is a lease of ten seconds that is
 * renewed as long as a screen of the target is open.
 */
#ifndef JESCOPE_TUI_EXPLORE_H
#define JESCOPE_TUI_EXPLORE_H

#include "tui/model.h"
#include "tui/sites.h"

enum {
    EXPLORE_LEASE_S = 10,
    EXPLORE_RENEW_S = 3,
    EXPLORE_RECORD_S = 30,
};

typedef enum {
    SITES_FUNCTIONS,
    SITES_LINES,
    SITES_STACKS,
    SITES_MODES,
} SitesMode;

typedef enum {
    SITES_BY_DEFAULT, /* gain, where there is a mark, else own */
    SITES_BY_OWN,
    SITES_BY_TOTAL,
    SITES_BY_NAME,
    SITES_SORTS,
} ExploreSort;

/* A kept dump; id 0: none. */
typedef struct {
    guint64 id;
    gint64 time_us;
} ExploreDump;

typedef struct Explore {
    char *key; /* of the target */
    ExploreDump now;
    ExploreDump mark; /* what gains are since: the first dump, until another one is marked */
    SitesMode mode;
    ProfileValue value;
    ExploreSort sort;
    gboolean wrappers; /* are shown */
    gboolean inverted;
    gboolean plain;                /* the flame graph shows no difference to the mark */
    char *focus, *ignore, *search; /* NULL: none */
    GArray *zooms;                 /* of guint64: the frames zoomed into, keys of FlameRow */

    Sites *sites; /* NULL: not there yet */
    Flame *flame;
    guint row, top; /* of the sites */
    guint first;    /* row of the screen of the first of them */
    guint flame_row, flame_top;
    guint flame_columns; /* that it is drawn on */

    guint asked_kept, asked_dump, asked_sites, asked_flame, asked_lease, asked_end,
        asked_purge;          /* questions; 0: none */
    guint64 lease;            /* 0: none */
    gint64 renewed_us;        /* monotonic: when it was asked for, the last time */
    gint64 granted_us;        /* the same of what was granted */
    gint64 record_until_us;   /* monotonic; 0: it is not a recording */
    char *trouble;            /* why the last question had no answer */
    const char *doing;        /* what is waited for; NULL: nothing */
    ViewKind wanted;          /* the screen that the first dump is for */
    gboolean moved;           /* a replay is at another moment than that of asked_kept */
    gboolean ends_after_dump; /* the lease, which is of a recording */
} Explore;

/* Rows of a table of keys: the actions. */
#define EXPLORE_KEYS                                                                                                   \
    {"D", "take a heap dump", VIEW_KEY_CHANGES},                                                                       \
        {"R", "record: profile for 30 s, then dump", VIEW_KEY_BRIEF | VIEW_KEY_CHANGES},                               \
        {"E", "enable profiling while this target is open, and end it", VIEW_KEY_CHANGES},                             \
        {"P", "purge: give unused pages back", VIEW_KEY_CHANGES},                                                      \
    {                                                                                                                  \
        "M", "mark: gains are since this dump", VIEW_KEY_HELP                                                          \
    }

/* Opens VIEW; asks whether a dump may be taken if there is none. A replay shows the newest kept dump of its moment. */
void explore_enter(Model *model, ViewKind view);

/* After a frame: a replay is at another moment. */
void explore_move(Model *model);

/* A key of the actions. */
gboolean explore_key(Model *model, const Key *key);

/* Asks for the report of the screen again, since what it shows is to change. */
void explore_refresh(Model *model);

/* Shows the next value that the dump has. */
void explore_next_value(Model *model);

/* What is said behind an amount of VALUE: " objects", " allocated so far", ""... */
const char *explore_value_note(ProfileValue value);

/* As FeedSink.answer. */
void explore_answer(guint id, const json_t *document, const GError *error, gpointer model);

/* About once a second. TRUE: something is to be drawn. */
gboolean explore_tick(Model *model);

/* The target is left: ends what was switched on and forgets the rest. */
void explore_close(Model *model);

/* The same at the end of all. TRUE: the end of a lease was asked for; explore_is_ending() until it is answered. */
gboolean explore_end(Model *model);
gboolean explore_is_ending(const Model *model);

/* "recording for 12 s more", "profiling is enabled"... NULL: nothing to tell. Newly allocated. */
char *explore_state(const Model *model);

#endif
