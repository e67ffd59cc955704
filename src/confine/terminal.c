/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

void
terminal_leave(void)
{
    const int terminal = getsid(0) != getpid() ? open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (terminal < 0)
        return; /* there is none */
    ioctl(terminal, TIOCNOTTY);
    close(terminal);
}
