// SPDX-License-Identifier: Apache-2.0
// What C++ programs do: their stacks begin in the library.
#include "battery.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{
std::vector<std::vector<int>> columns;
std::map<unsigned, std::string> journal;

NAMED void
reserve_columns()
{
    for (int i = 0; i < 300; i++) {
        columns.emplace_back();
        for (int n = 0; n < 70000; n++)
            columns.back().push_back(n);
        truth += columns.back().capacity() * sizeof(int);
    }
}

NAMED void
render_page()
{
    std::string page;
    for (int i = 0; i < 100; i++)
        page += std::string(20 + random_below(60), 'p');
    __asm__ volatile("" : : "r"(page.data()) : "memory");
}

void
churn_strings()
{
    for (int i = 0; i < 150; i++)
        render_page();
}

NAMED void
journal_write()
{
    static unsigned next;
    journal[next++] = std::string(400, 'j');
    truth += 416 + 80;
}

void
leak_journal()
{
    for (int i = 0; i < 25; i++)
        journal_write();
}

std::vector<double> samples;

NAMED void
samples_prepare()
{
    samples.reserve(14 << 20);
    for (int i = 0; i < 100000; i++)
        samples.push_back(i);
    truth = samples.capacity() * sizeof(double);
}

std::unordered_map<unsigned, std::shared_ptr<std::string>> sessions;

NAMED void
session_open()
{
    static unsigned next;
    sessions.emplace(next++, std::make_shared<std::string>(900, 's'));
    truth += 64 + 1024 + 32;
}

void
leak_map()
{
    for (int i = 0; i < 4; i++)
        session_open();
}

struct Row {
    double values[3];
};
std::vector<Row> rows;

NAMED void
rows_collect()
{
    for (int i = 0; i < 4500000; i++)
        rows.push_back(Row{});
    truth = rows.capacity() * sizeof(Row);
}

std::unordered_map<unsigned, std::string> pages;

NAMED void
page_store(unsigned key)
{
    pages[key] = std::string(300 + random_below(3000), 'p');
}

void
fill_pages()
{
    for (unsigned i = 0; i < 50000; i++)
        page_store(i);
    truth = 50000 * (1900 + 64);
}

void
turn_pages()
{
    for (int i = 0; i < 40; i++) {
        unsigned key = random_below(50000);
        pages.erase(key);
        page_store(key);
    }
}

std::deque<std::string> events;

NAMED void
event_push()
{
    events.emplace_back(700, 'e');
    if (events.size() > 100000)
        events.pop_front();
    truth = events.size() * 768;
}

void
fill_events()
{
    for (int i = 0; i < 100000; i++)
        event_push();
}

void
turn_events()
{
    for (int i = 0; i < 200; i++)
        event_push();
}

void
nothing()
{
}
} // namespace

extern "C" const Case cxx_cases[] = {
    {"leak-journal", "heap-leak", "journal_write", "", nothing, leak_journal},
    {"leak-map", "heap-leak", "session_open", "", nothing, leak_map},
    {"cache-pages", "bounded-cache", "page_store", "", fill_pages, turn_pages},
    {"capacity-rows", "oversized-capacity", "rows_collect", "", rows_collect, nullptr},
    {"cache-events", "bounded-cache", "event_push", "", fill_events, turn_events},
    {"capacity-samples", "oversized-capacity", "samples_prepare", "", samples_prepare, nullptr},
    {"capacity-vectors", "oversized-capacity", "reserve_columns", "", reserve_columns, nullptr},
    {"churn-strings", "allocation-churn", "render_page", "", nothing, churn_strings},
    {},
};
