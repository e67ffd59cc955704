// SPDX-License-Identifier: Apache-2.0
// Every kind of function name that C++ has; tests compare what we call them with what gdb does.
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace shop {
std::vector<void *> kept;
namespace {
__attribute__((noinline)) void hold(int n) { kept.push_back(malloc(n)); }
__attribute__((noinline)) void hold(const char *text) { kept.push_back(malloc(text[0])); }
inline __attribute__((always_inline)) void inlined(int n) { kept.push_back(malloc(n + 1000)); }
inline __attribute__((always_inline)) void inlined(char *text) { kept.push_back(malloc(text[0] + 2000)); }
struct Local {
    __attribute__((noinline)) void operator()(int n) const { hold(n); }
    __attribute__((noinline)) operator unsigned long() const { hold(4); return 4; }
    __attribute__((noinline)) bool operator<(const Local &) const { hold(5); return false; }
    __attribute__((noinline)) Local *operator->() { hold(6); return this; }
};
} // namespace
inline namespace v1 {
__attribute__((noinline)) void versioned() { hold(7); }
} // namespace v1
template <class T> struct Cart {
    std::vector<T> items;
    __attribute__((noinline)) void add(const T &item) { items.push_back(item); hold("cart"); }
    template <class F> __attribute__((noinline)) void each(F f) { for (auto &item : items) f(item); }
    static __attribute__((noinline)) Cart *make(T first) { auto *cart = new Cart; cart->add(first); return cart; }
    virtual ~Cart() { hold(8); }
};
struct Base {
    virtual void run() { hold(9); }
    virtual ~Base() {}
    static void *operator new(size_t size) { return malloc(size); }
    static void operator delete(void *p) { free(p); }
};
struct Other { virtual void other() { hold(10); } };
struct Derived : Base, Other {
    void run() override { hold(11); }
    void other() override { hold(12); }
};
__attribute__((noinline)) std::string text(std::string a, std::map<std::string, std::vector<int>> b) { hold("text"); return a + "x"; }
__attribute__((noinline)) void abi(std::string &&s) noexcept { hold(13); }
template <int N, class... A> __attribute__((noinline)) int variadic(A... a) { hold(N); return sizeof...(a); }
template <void (*F)(int)> __attribute__((noinline)) void through() { F(14); }
__attribute__((noinline)) Local &operator+(Local &a, int) { hold(15); return a; }
} // namespace shop
static __attribute__((noinline)) void file_static(long n) { shop::hold((int)n); }
extern "C" __attribute__((noinline)) void c_function(void) { shop::hold(16); }

int
main(int argc, char **argv)
{
    auto plain = [](int n) __attribute__((noinline)) { shop::hold(n); };
    auto capturing = [&](int n) __attribute__((noinline)) { shop::hold(n + argc); };
    plain(17), capturing(18);
    auto *cart = shop::Cart<int>::make(19);
    cart->each(plain), cart->each(capturing);
    cart->each([&](int n) { shop::kept.push_back(malloc(3000 + n)); });
    cart->each([&](int n) { shop::kept.push_back(malloc(4000 + n)); });
    shop::Cart<std::string>::make("x")->add("y");
    shop::Local local;
    local(20), (void)(unsigned long)local, (void)(local < local), (void)local.operator->(), local + 1;
    shop::versioned();
    shop::Base *base = new shop::Derived;
    base->run(), static_cast<shop::Derived *>(base)->other();
    shop::Other *other = static_cast<shop::Derived *>(base);
    other->other();
    shop::text("a", {}), shop::abi("b"), shop::variadic<21>(1, 'c', 2.0), shop::variadic<22>();
    shop::through<shop::hold>();
    shop::inlined(argc), shop::inlined(argv[0]);
    std::function<void(int)> function = [](int n) { shop::kept.push_back(malloc(5000 + n)); };
    function(argc);
    struct InMain { __attribute__((noinline)) static void member() { shop::hold(23); } };
    InMain::member();
    file_static(24), c_function();
    return 0;
}
