/* SPDX-License-Identifier: Apache-2.0 */
#include "history/schema.h"

#include <glib.h>

/* Blobs are ordered by frequency of use: SQLite reads a row's pages from its beginning up to the last requested column,
 * so totals are read without the far larger classes. */
static const char first_schema[] =
    "CREATE TABLE word(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);CREATE TABLE target(id INTEGER PRIMARY KEY, "
    "name TEXT NOT NULL UNIQUE);CREATE TABLE incarnation(  id INTEGER PRIMARY KEY,  target INTEGER NOT NULL REFERENCES "
    "target(id),  source INTEGER NOT NULL," /* HistorySource */
    "  pid INTEGER NOT NULL,  start_ticks INTEGER NOT NULL,  boot TEXT NOT NULL,  version TEXT,  every_us INTEGER NOT "
    "NULL,  UNIQUE(target, source, pid, start_ticks, boot));CREATE TABLE block(  id INTEGER PRIMARY KEY,  target "
    "INTEGER NOT NULL REFERENCES target(id),  incarnation INTEGER NOT NULL REFERENCES incarnation(id),  first_us "
    "INTEGER NOT NULL,  last_us INTEGER NOT NULL,  rows INTEGER NOT NULL,  step_us INTEGER NOT NULL," /* 0: as sampled
                                                                                                       */
    "  times BLOB NOT NULL,  totals BLOB,  arenas BLOB,  classes BLOB,  mutexes BLOB);CREATE INDEX block_by_time ON "
    "block(target, first_us, last_us, rows);CREATE INDEX block_by_life ON block(incarnation, rows);CREATE TABLE "
    "note(id INTEGER PRIMARY KEY, target INTEGER NOT NULL REFERENCES target(id),  time_us INTEGER NOT NULL, text TEXT "
    "NOT NULL);CREATE INDEX note_by_target ON note(target, time_us);CREATE TABLE seen(target INTEGER NOT NULL, digest "
    "BLOB NOT NULL, PRIMARY KEY(target, digest)) WITHOUT ROWID;";

/* Dumps are far larger than all else, so they are not columns of tables that are scanned. */
static const char dumps_schema[] =
    "CREATE TABLE dump(  id INTEGER PRIMARY KEY AUTOINCREMENT,"                               /* never reused */
    "  incarnation INTEGER NOT NULL REFERENCES incarnation(id),  recording INTEGER NOT NULL," /* 0: none */
    "  taken_ms INTEGER NOT NULL,  bytes INTEGER NOT NULL,"                                   /* uncompressed */
    "  content BLOB NOT NULL);"                                                               /* zstd */
    "CREATE INDEX dump_by_life ON dump(incarnation, id);CREATE TABLE recording(  incarnation INTEGER NOT NULL "
    "REFERENCES incarnation(id),  id INTEGER NOT NULL,  begin_ms INTEGER NOT NULL,  duration_ms INTEGER NOT NULL,  "
    "state INTEGER NOT NULL,  dump INTEGER NOT NULL," /* 0: none */
    "  error INTEGER NOT NULL,  why TEXT,  PRIMARY KEY(incarnation, id)) WITHOUT ROWID;";

/* The owner of a target's samples, since the name of a process does not identify its user. */
static const char owners_schema[] = "CREATE TABLE owner(  target TEXT PRIMARY KEY," /* may have no samples yet */
                                    "  user INTEGER NOT NULL,  unit TEXT NOT NULL) WITHOUT ROWID;"; /* "": none */

/* Texts that describe the process of an incarnation. A separate table, so that older files can be read without
 * migration. */
static const char processes_schema[] =
    "CREATE TABLE process(  incarnation INTEGER PRIMARY KEY REFERENCES incarnation(id),"
    "  user TEXT NOT NULL,  arguments TEXT NOT NULL,  cgroup TEXT NOT NULL);"; /* "": unknown */

/* A new process is looked for among all incarnations, of which any user's processes can leave millions. */
static const char process_index[] = "CREATE INDEX IF NOT EXISTS life_by_process ON incarnation(pid, start_ticks);";

/* The lives of one writer of a log (HistoryLife.boot ends with his name). Statements that repeat the condition and the
 * expression use it. */
static const char writer_index[] =
    "CREATE INDEX IF NOT EXISTS life_by_writer ON incarnation(target, substr(boot, instr(boot, char(10)) + 1), source)"
    " WHERE source <> 0;"; /* HISTORY_SOURCE_LIVE */

const char *const schema_steps[] = {first_schema,     dumps_schema,  owners_schema,
                                    processes_schema, process_index, writer_index};

const int schema_version = G_N_ELEMENTS(schema_steps);

const int schema_readable = 1;
