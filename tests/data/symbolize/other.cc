/* SPDX-License-Identifier: Apache-2.0 */
/* A second unit, so that there is something to share (dwz) and more than one unit to choose from. */
#include <map>
#include <string>

extern "C" volatile int sink;

namespace other {
__attribute__((noinline, used)) int
count(const std::map<std::string, int> &all)
{
    int sum = 0;
    for (const auto &[key, value] : all) {
        sum += value;
        sink = static_cast<int>(key.size());
    }
    return sum;
}
} // namespace other
