/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps, reports and actions of the opened target. An action that changes the target or stops its threads requires
 * confirmation. Profiling is enabled by a ten-second lease, which is renewed while a screen of the target is open.
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
    SITES_BY_DEFAULT, /* by gain if there is a mark, else by own */
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
    char *key; /* the target's */
    ExploreDump now;
    ExploreDump mark; /* baseline of gains: the first dump, until the user marks another one */
    SitesMode mode;
    ProfileValue value;
    ExploreSort sort;
    gboolean wrappers; /* whether they are shown */
    gboolean inverted;
    gboolean plain;                /* the flame graph shows totals, not the change since the mark */
    char *focus, *ignore, *search; /* NULL: none */
    GArray *zooms;                 /* guint64: FlameRow.key of the frames zoomed into */

    Sites *sites; /* NULL: not received yet */
    Flame *flame;
    guint row, top; /* selected and first visible row of the sites */
    guint first;    /* screen row of the first visible one */
    guint flame_row, flame_top;
    guint flame_columns; /* width it was drawn with */

    guint asked_kept, asked_dump, asked_sites, asked_flame, asked_lease, asked_end,
        asked_purge;          /* ids of open questions; 0: none */
    guint64 lease;            /* 0: none */
    gint64 renewed_us;        /* monotonic time of the latest lease request */
    gint64 granted_us;        /* monotonic time of the latest granted request */
    gint64 record_until_us;   /* monotonic time; 0: not recording */
    char *trouble;            /* why the last question failed */
    const char *doing;        /* what is in progress; NULL: nothing */
    ViewKind wanted;          /* the screen to open once a dump is available */
    gboolean moved;           /* the replay has moved since asked_kept was sent */
    gboolean ends_after_dump; /* the lease belongs to a recording */
} Explore;

/* The actions, as rows of a ViewKey table. */
#define EXPLORE_KEYS                                                                                                   \
    {"D", "take a heap dump", VIEW_KEY_CHANGES},                                                                       \
        {"R", "record: profile for 30 s, then dump", VIEW_KEY_BRIEF | VIEW_KEY_CHANGES},                               \
        {"E", "enable profiling while this target is open, and end it", VIEW_KEY_CHANGES},                             \
        {"P", "purge: give unused pages back", VIEW_KEY_CHANGES},                                                      \
    {                                                                                                                  \
        "M", "mark: gains are since this dump", VIEW_KEY_HELP                                                          \
    }

/* Opens VIEW; without a dump, asks for permission to take one. A replay shows the newest dump kept at its moment. */
void explore_enter(Model *model, ViewKind view);

/* To be called after a frame that moved the replay to another moment. */
void explore_move(Model *model);

/* Handles an action's key; FALSE: not such a key. */
gboolean explore_key(Model *model, const Key *key);

/* Requests the report of the current screen again, after a change of its parameters. */
void explore_refresh(Model *model);

/* Switches to the dump's next value. */
void explore_next_value(Model *model);

/* The suffix of amounts of VALUE: " objects", " allocated so far", ""... */
const char *explore_value_note(ProfileValue value);

/* Implements FeedSink.answer. */
void explore_answer(guint id, const json_t *document, const GError *error, gpointer model);

/* To be called about once a second. TRUE if a redraw is needed. */
gboolean explore_tick(Model *model);

/* Leaves the target: ends the lease and drops all other state. */
void explore_close(Model *model);

/* Leaves the target on exit. TRUE if it requested the end of a lease: explore_is_ending() is TRUE until the answer
 * arrives. */
gboolean explore_end(Model *model);
gboolean explore_is_ending(const Model *model);

/* "profiling for 12 s more", "profiling is enabled: E ends it"... Newly allocated; NULL if there is nothing to show. */
char *explore_state(const Model *model);

#endif
