/* SPDX-License-Identifier: Apache-2.0 */
/* Says "ready" and lives until its stdin ends. */
#include <cstdio>

__attribute__((noinline)) int
wait_for_end()
{
    return std::getchar();
}

int
main()
{
    std::puts("ready");
    std::fflush(stdout);
    return wait_for_end() == EOF ? 0 : 1;
}
