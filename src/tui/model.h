/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the screens: the latest frame, the track of each target, the selection and the current screen. Frames
 * and keys change it; views (view.h) draw it. It depends neither on the terminal nor on the kind of feed.
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
    EVENTS_SHOWN = 64, /* events kept, the latest */
    GONE_SHOWN = 32,   /* ended targets kept */
};

struct Model;

/* An action that the user has to confirm. */
typedef struct {
    char *text; /* "Stop ...?"; NULL: no question is open. model_ask() takes ownership */
    void (*yes)(struct Model *model, gpointer data);
    gpointer data;
    GDestroyNotify free_data;
} Question;

/* A line of input in the last row. */
typedef struct {
    const char *prompt; /* NULL: no input is open */
    GString *typed;
    void (*done)(struct Model *model, const char *text); /* called on Enter */
} Line;

struct Explore;

typedef struct {
    gint64 time_us;
    char *target; /* as in FeedEvent */
    char *text;
} ModelEvent;

/* The cursor's position in a list, and the scroll position. */
typedef struct {
    char *key; /* the row's; NULL: the first row */
    guint row; /* its last index, used if the row with this key is gone */
    guint top; /* first visible row */
} ListPlace;

/* How targets are grouped. */
typedef enum {
    TREE_NONE,
    TREE_GROUPS, /* control groups */
    TREE_UNITS,  /* systemd units */
    TREES,
} Tree;

typedef struct Model {
    Feed *feed;         /* borrowed; NULL in tests */
    FeedFrame *frame;   /* NULL: none yet */
    GHashTable *tracks; /* key -> Track */
    GHashTable *covers; /* key -> double: share of the held memory that the last dump explains */
    GPtrArray *events;  /* of ModelEvent, oldest first */
    gboolean readonly;
    gboolean paused;
    gboolean quit;
    gboolean still; /* a single frame of text, without a cursor */
    guint every_ms;

    ViewKind views[VIEW_DEPTH]; /* from the first screen to the current one */
    guint depth;                /* index of the current one */
    guint page;                 /* rows per page of the current list, as last drawn */
    guint columns;              /* columns of the targets list, as last drawn */

    ListPlace place; /* in the targets list */
    guint sort;      /* sort column of the targets: an index into targets_sort_words */
    gboolean ascending;
    Tree tree;
    char *filter; /* "" : none */

    char *opened;        /* key of the opened target */
    StatsSample *detail; /* the opened target's; NULL: none yet */
    Ledger ledger;       /* the opened target's, taken at ledger_us */
    gint64 ledger_us;    /* 0: none yet */
    guint scroll;        /* of the target's screen */
    guint scroll_max;
    guint metric;                /* shown in its chart */
    struct Explore *explore;     /* its dumps and reports (explore.h); NULL: none */
    GDestroyNotify free_explore; /* frees explore; set together with it */

    Line line;
    Question question;
    char *message; /* one line about the last action; NULL: none */
} Model;

Model *model_new(Feed *feed);
void model_free(Model *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Model, model_free)

/* These implement FeedSink. */
void model_take_frame(FeedFrame *frame, gpointer model);
void model_take_detail(const char *key, StatsSample *sample, gpointer model);
void model_take_ledger(const char *key, const LedgerTaken *ledger, gpointer model);
void model_take_event(const FeedEvent *event, gpointer model);
void model_drop_events(gpointer model);

/* Whether EVENT is about TARGET. */
gboolean model_is_event_of(const ModelEvent *event, const FeedTarget *target);

/* The target with KEY in the latest frame, or NULL. */
FeedTarget *model_find(const Model *model, const char *key);

/* The opened target; NULL if it was never seen. */
FeedTarget *model_opened(const Model *model);
const Track *model_track(const Model *model, const FeedTarget *target);

/* The share of TARGET's held memory that its last dump explains; negative if no dump was read. */
double model_coverage(const Model *model, const FeedTarget *target);

/* Notes that a dump of the opened target explains EXPLAINED bytes. */
void model_take_coverage(Model *model, double explained);

/* Opens the screen of the target with KEY; Escape returns to the current one. */
void model_open(Model *model, const char *key);

/* Opens another screen; and returns to the previous one. */
void model_enter(Model *model, ViewKind view);
void model_leave(Model *model);
ViewKind model_view(const Model *model);

/* Shows one line at the bottom until the next key. */
void model_show_message(Model *model, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Shows the question; calls its yes function with its data if the user confirms. */
void model_ask(Model *model, const Question *question);

/* Opens a line of input with the initial TEXT. */
void model_type(Model *model, const char *prompt, const char *text,
                void (*done)(struct Model *model, const char *text));

/* Handles a key if a question or a line of input is open; FALSE: neither is. */
gboolean model_key_first(Model *model, const Key *key);

/* Handles a key that is common to all screens, after the current screen has not handled it. */
gboolean model_key_common(Model *model, const Key *key);

/* Moves *ROW in a list of COUNT rows, PAGE of which are visible. FALSE: not a key that moves the cursor. */
gboolean list_move(guint *row, const Key *key, guint count, guint page);

/* Adjusts *TOP so that ROW of COUNT is among the PAGE visible rows. */
void list_show(guint *top, guint row, guint count, guint page);

#endif
