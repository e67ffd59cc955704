// SPDX-License-Identifier: Apache-2.0
// Holds memory in functions of the kinds that D has: methods, templates, operators, lambdas, functions in functions.
module holds;

import std.stdio;

extern (C) void* malloc(size_t);

class Cart(T)
{
    void*[] items;

    void fill(int n)
    {
        foreach (i; 0 .. n)
            items ~= malloc(T.sizeof * 1000);
    }

    void opIndexAssign(T what, int n)
    {
        foreach (i; 0 .. n)
            items ~= malloc(4000);
    }
}

struct Store
{
    void*[] kept;

    void keep(string what, size_t n)
    {
        foreach (i; 0 .. 100)
            kept ~= malloc(n);
    }
}

void* apply(alias f)(int n)
{
    return f(n);
}

void lambda()
{
    foreach (i; 0 .. 200)
        apply!((int n) => malloc(n * 2))(4000);
}

void main()
{
    auto cart = new Cart!int;
    cart.fill(200);
    cart[200] = 4;
    Store store;
    store.keep("x", 4000);
    lambda();
    writeln("ready");
    stdout.flush();
    readln();
}
