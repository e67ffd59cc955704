/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the screens: the latest frame, how each target moved, what is chosen, and where the user is. Frames come
 * in, keys come in, views (view.h) draw it. It knows neither the terminal nor where its frames come from, and a
 * recorded frame is shown as a live one.
 */
#ifndef JESCOPE_TUI_MODEL_H
#define JESCOPE_TUI_MODEL_H

#include "tui/feed.h"
#include "tui/key.h"
#include "tui/track.h"

typedef enum {
    VIEW_TARGETS,
    VIEW_TARGET,
    VIEW_SITES,
    VIEW_FLAME,
    VIEW_HELP,
    VIEWS,
} ViewKind;

enum {
    VIEW_DEPTH = 8,
    EVENTS_SHOWN = 64, /* latest events that are kept */
    GONE_SHOWN = 32,   /* ended targets that are kept */
};

struct Model;

/* An action that was asked for and is done only after a yes. */
typedef struct {
    char *text; /* "Stop ...?"; NULL: no question is open. The model's once it is asked */
    void (*yes)(struct Model *model, gpointer data);
    gpointer data;
    GDestroyNotify free_data;
} Question;

/* A line that is typed in the last row. */
typedef struct {
    const char *prompt; /* NULL: none is */
    GString *typed;
    void (*done)(struct Model *model, const char *text); /* with Enter */
} Line;

struct Explore;

typedef struct {
    gint64 time_us;
    char *target; /* as in FeedEvent */
    char *text;
} ModelEvent;

/* Place of the cursor in a list, and of the list in the window. */
typedef struct {
    char *key; /* of the row; NULL: the first one */
    guint row; /* where it was: if its row has gone, the one that is there now */
    guint top; /* first row that is shown */
} ListPlace;

/* What targets are shown below. */
typedef enum {
    TREE_NONE,
    TREE_GROUPS, /* control groups */
    TREE_UNITS,  /* of systemd */
    TREES,
} Tree;

typedef struct Model {
    Feed *feed;         /* borrowed; NULL in tests */
    FeedFrame *frame;   /* NULL: none yet */
    GHashTable *tracks; /* key -> Track */
    GHashTable *covers; /* key -> double: share of the memory held that the last dump explains */
    GPtrArray *events;  /* of ModelEvent, oldest first */
    gboolean readonly;
    gboolean paused;
    gboolean quit;
    gboolean still; /* a frame of text: there is no cursor */
    guint every_ms;

    ViewKind views[VIEW_DEPTH]; /* from the first to the one that is shown */
    guint depth;                /* of the one that is shown */
    guint page;                 /* rows of a page of its list, when it was last drawn */
    guint columns;              /* of the targets, likewise */

    ListPlace place; /* targets */
    guint sort;      /* column of the targets: an index of targets_sort_words */
    gboolean ascending;
    Tree tree;
    char *filter; /* "" : none */

    char *opened;        /* key of the target whose screen is open */
    StatsSample *detail; /* of it; NULL: none yet */
    Ledger ledger;       /* of it, of ledger_us */
    gint64 ledger_us;    /* 0: none yet */
    guint scroll;        /* of its screen */
    guint scroll_max;
    guint metric;                /* of its chart */
    struct Explore *explore;     /* what was asked about it (explore.h); NULL: nothing */
    GDestroyNotify free_explore; /* its owner's; set with it */

    Line line;
    Question question;
    char *message; /* one line about what was just done; NULL: none */
} Model;

Model *model_new(Feed *feed);
void model_free(Model *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Model, model_free)

/* As FeedSink. */
void model_take_frame(FeedFrame *frame, gpointer model);
void model_take_detail(const char *key, StatsSample *sample, gpointer model);
void model_take_ledger(const char *key, const LedgerTaken *ledger, gpointer model);
void model_take_event(const FeedEvent *event, gpointer model);
void model_drop_events(gpointer model);

/* Whether EVENT is one of TARGET. */
gboolean model_is_event_of(const Model *model, const ModelEvent *event, const FeedTarget *target);

/* The target with KEY in the latest frame, or NULL. */
FeedTarget *model_find(const Model *model, const char *key);

/* The one whose screen is open; NULL: it was never seen. */
FeedTarget *model_opened(const Model *model);
const Track *model_track(const Model *model, const FeedTarget *target);

/* The share of the memory that TARGET holds that the last dump of it explains; negative: no dump was looked at. */
double model_coverage(const Model *model, const FeedTarget *target);

/* Of a dump of the opened target: it explains EXPLAINED bytes. */
void model_take_coverage(Model *model, double explained);

/* Opens the screen of the target with KEY, from where Escape returns. */
void model_open(Model *model, const char *key);

/* Another screen, from where Escape returns; and back. */
void model_enter(Model *model, ViewKind view);
void model_leave(Model *model);
ViewKind model_view(const Model *model);

/* One line at the bottom until the next key. */
void model_say(Model *model, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Asks TEXT; YES is called with DATA if the answer is yes. */
void model_ask(Model *model, const Question *question);

/* Types a line that begins as TEXT. */
void model_type(Model *model, const char *prompt, const char *text,
                void (*done)(struct Model *model, const char *text));

/* A key for an open question or a line that is typed. FALSE: there is neither. */
gboolean model_key_first(Model *model, const Key *key);

/* A key that has one meaning in every screen, unless the screen itself has another. */
gboolean model_key_common(Model *model, const Key *key);

/* Moves *ROW in a list of COUNT rows, PAGE of which are shown. FALSE: not a key that moves. */
gboolean list_move(guint *row, const Key *key, guint count, guint page);

/* Scrolls *TOP so that ROW of COUNT is among the PAGE that are shown. */
void list_show(guint *top, guint row, guint count, guint page);

#endif
