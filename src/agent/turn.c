/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/turn.h"

#include "agent/word-lock.h"

static WordLock turn;

void
turn_take(void)
{
    word_lock_take(&turn);
}

void
turn_give(void)
{
    word_lock_give(&turn);
}

void
turn_reset(void)
{
    word_lock_reset(&turn);
}
