/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_CONFINE_TERMINAL_H
#define JESCOPE_CONFINE_TERMINAL_H

/*
 * Gives up the controlling terminal of a process that is about to become another user: it could put input there, which
 * the shell of the user who owns it would execute (TIOCSTI, ioctl_tty(2)), or open it by /dev/tty. Open descriptors of
 * it remain, and signals for the process group still arrive. A process that leads its session keeps the terminal, since
 * the kernel would end the session. Async-signal-safe apart from errno.
 */
void terminal_leave(void);

#endif
