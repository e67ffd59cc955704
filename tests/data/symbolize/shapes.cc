/* SPDX-License-Identifier: Apache-2.0 */
/* A little of everything that debug information can say of a function; tests/live/test_symbolize.py builds it many ways. */
#include <string>
#include <vector>

extern "C" volatile int sink;
volatile int sink;

namespace shapes {

static inline __attribute__((always_inline)) int
innermost(int x)
{
    sink = x;
    return x + sink;
}

static inline __attribute__((always_inline)) int
middle(int x)
{
    int y = innermost(x) * 3;
    sink = y;
    return y;
}

template <typename T> class Box
{
public:
    explicit Box(T value) : value_(value) {}
    __attribute__((noinline)) T get(int n) const
    {
        T sum = value_;
        for (int i = 0; i < n; i++) {
            sum += middle(i);
        }
        return sum;
    }

private:
    T value_;
};

namespace {
__attribute__((noinline)) int
hidden(int x)
{
    auto twice = [x](int y) __attribute__((noinline)) { return middle(x) + y; };
    return twice(x) + innermost(x);
}
} // namespace

__attribute__((noinline)) int
rarely(int x)
{
    if (__builtin_expect(x > 1000, 0)) {
        std::string text(static_cast<size_t>(x), 'x');
        throw text;
    }
    return middle(x);
}

__attribute__((noinline, section(".text.elsewhere"))) int
elsewhere(int x)
{
    struct Local {
        static __attribute__((noinline)) int
        method(int y)
        {
            return innermost(y) + 1;
        }
    };
    return Local::method(x);
}

} // namespace shapes

extern "C" int plain_c(int x);

extern "C" __attribute__((noinline)) int
plain_c(int x)
{
    return shapes::hidden(x) + shapes::elsewhere(x);
}

int
main(int argc, char **argv)
{
    shapes::Box<int> ints(argc);
    shapes::Box<double> doubles(argc);
    std::vector<int> all(static_cast<size_t>(argc), 1);
    return ints.get(argc) + static_cast<int>(doubles.get(argc)) + plain_c(argc) + shapes::rarely(all.front());
}
