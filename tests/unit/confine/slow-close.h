/* SPDX-License-Identifier: Apache-2.0 */
/* A socket whose last close takes an hour (SO_LINGER): what it has sent does not leave, since *OTHER_END does not
 * receive it. Both are the caller's to close, the other end first. */
#ifndef JESCOPE_TESTS_SLOW_CLOSE_H
#define JESCOPE_TESTS_SLOW_CLOSE_H

int slow_close_open(int *other_end);

#endif
