// SPDX-License-Identifier: Apache-2.0
// Programs of other trades: phases, pools, templates, workers that come and go, and a second thing that catches the eye
// beside what is wrong.
#include "battery.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace
{
constexpr unsigned STEPS_A_SECOND = 200;

void
nothing()
{
}

/* ---- leaks ---- */

struct Invoice {
    std::array<char, 180> head;
    std::vector<int> lines;
    std::string note;
};

template <typename Record> class Ledger
{
  public:
    NAMED void
    archive(size_t lines)
    {
        auto *record = new Record;
        record->lines.resize(lines);
        record->note.assign(100, 'n');
        kept.push_back(record);
        truth += 256 + 112 + (lines * sizeof(int) + 64) / 64 * 64;
    }

  private:
    std::list<Record *> kept;
};
Ledger<Invoice> ledger;

/* A batch every two seconds, of which a little stays. */
void
leak_in_batches()
{
    static unsigned step;
    static std::vector<std::string> *batch = new std::vector<std::string>;
    unsigned at = step++ % (2 * STEPS_A_SECOND);
    if (at < STEPS_A_SECOND)
        for (int i = 0; i < 40; i++)
            batch->push_back(std::string(700 + random_below(2000), 'b'));
    else if (at == STEPS_A_SECOND)
        batch->clear();
    else if (at % 4 == 0)
        for (int i = 0; i < 40; i++)
            ledger.archive(50 + random_below(200));
}

/* A cache that fills twice as fast, and ever more slowly, catches the eye. */
class Thumbnails
{
  public:
    NAMED void
    request(unsigned key)
    {
        if (images.count(key) == 0)
            images.emplace(key, std::string(5000, 't'));
    }

  private:
    std::unordered_map<unsigned, std::string> images;
};

NAMED void
subscribe(unsigned number)
{
    static std::set<std::string> *topics = new std::set<std::string>;
    topics->insert("a-topic-of-a-client-that-is-gone-" + std::to_string(number) + std::string(300, 's'));
    truth += 64 + 384;
}

void
leak_beside_filling()
{
    static Thumbnails thumbnails;
    static unsigned number;
    for (int i = 0; i < 15; i++)
        thumbnails.request(random_below(9000));
    for (int i = 0; i < 10; i++)
        subscribe(number++);
}

/* A pool of threads: each thread is short-lived, and what it forgets is not. */
NAMED void
job_result(unsigned size)
{
    filled(size);
    __atomic_add_fetch(&truth, 2560, __ATOMIC_RELAXED);
}

void
leak_of_short_threads()
{
    static unsigned step;
    if (step++ % 8 != 0)
        return;
    std::thread([] {
        std::vector<std::string> work;
        for (int i = 0; i < 200; i++)
            work.emplace_back(300, 'w');
        for (int i = 0; i < 16; i++)
            job_result(2400);
    }).join();
}

/* Three kinds of leaks at once: the largest is meant. */
NAMED void
leak_small()
{
    filled(90);
}

NAMED void
leak_large()
{
    filled(30000);
    truth += 32 * KIB;
}

void
leak_several()
{
    static unsigned step;
    for (int i = 0; i < 10; i++)
        leak_small();
    if (step++ % 4 == 0)
        leak_large();
}

/* A quarter of a mebibyte a second, beside 120 MiB that turn over. */
std::vector<std::string> frames(30000);

void
fill_frames()
{
    for (auto &frame : frames)
        frame.assign(3500 + random_below(1200), 'f');
}

NAMED void
watcher_add()
{
    static std::vector<std::unique_ptr<std::array<char, 330>>> watchers;
    watchers.push_back(std::make_unique<std::array<char, 330>>());
    watchers.back()->fill('w');
    truth += 384;
}

void
leak_beside_frames()
{
    for (int i = 0; i < 200; i++)
        frames[random_below(30000)] = std::string(3500 + random_below(1200), 'g');
    for (int i = 0; i < 4; i++)
        watcher_add();
}

/* ---- load ---- */

/* Clients have an event each, and their memory comes out of blocks for eight. */
NAMED char *
slab_of_clients()
{
    truth += 320 * KIB;
    return static_cast<char *>(filled(300 * KIB));
}

NAMED void
accept_client()
{
    static char *slab;
    static unsigned clients;
    if (clients >= 900 || eventfd(0, 0) < 0)
        return;
    if (clients++ % 8 == 0)
        slab = slab_of_clients();
    slab[clients % 8] = 1;
}

void
more_clients()
{
    static unsigned steps;
    if (steps++ % 5 == 0)
        accept_client();
}

/* ---- caches ---- */

template <typename Key, typename Value> class Lru
{
  public:
    explicit Lru(size_t limit)
        : most(limit)
    {
    }

    NAMED void
    insert(const Key &key, Value value)
    {
        order.emplace_front(key, std::move(value));
        bytes += order.front().second.size();
        auto at = index.find(key);
        if (at != index.end()) {
            bytes -= at->second->second.size();
            order.erase(at->second);
        }
        index[key] = order.begin();
        while (bytes > most) {
            bytes -= order.back().second.size();
            index.erase(order.back().first);
            order.pop_back();
        }
    }

  private:
    std::list<std::pair<Key, Value>> order;
    std::unordered_map<Key, typename std::list<std::pair<Key, Value>>::iterator> index;
    size_t bytes = 0, most;
};
Lru<std::string, std::vector<char>> pages(80 << 20);

NAMED void
page_render(unsigned number)
{
    pages.insert("/catalogue/page/" + std::to_string(number), std::vector<char>(2000 + number * 7919 % 60000, 'p'));
}

void
fill_pages()
{
    for (unsigned i = 0; i < 4000; i++)
        page_render(i);
    truth = 80 << 20;
}

void
turn_pages()
{
    if (random_below(2) == 0)
        page_render(random_below(1000000));
}

/* A ring of blocks of one size, all of it new twice in a watch. */
std::deque<std::unique_ptr<std::array<char, 40000>>> history;

NAMED void
frame_decoded()
{
    history.push_back(std::make_unique<std::array<char, 40000>>());
    history.back()->fill('h');
    if (history.size() > 2500)
        history.pop_front();
}

void
fill_history()
{
    for (int i = 0; i < 2500; i++)
        frame_decoded();
    truth = 2500 * 40 * KIB;
}

void
turn_history()
{
    for (int i = 0; i < 2; i++)
        frame_decoded();
}

/* ---- of the start ---- */

struct Row {
    std::string name;
    std::vector<double> values;
};

template <typename T> class Table
{
  public:
    NAMED void
    load(unsigned rows)
    {
        std::vector<std::string> text;
        for (unsigned i = 0; i < rows; i++)
            text.push_back(std::string(200, 't'));
        for (unsigned i = 0; i < rows; i++) {
            all.push_back(T{"a-row-with-a-long-name-" + std::to_string(i), std::vector<double>(60 + i % 40)});
            truth += sizeof(T) + 48 + 8 * (60 + i % 40);
        }
    }

  private:
    std::vector<T> all;
};
Table<Row> prices;

void
load_prices()
{
    prices.load(120000);
}

void
answer()
{
    std::vector<std::string> words;
    for (int i = 0; i < 20; i++)
        words.emplace_back(30 + random_below(2000), 'a');
}

/* ---- capacity ---- */

class Channel
{
  public:
    NAMED
    Channel()
    {
        samples.reserve(48 * 1024);
        for (int i = 0; i < 900; i++)
            samples.push_back(i);
        truth += 48 * 1024 * sizeof(double);
    }

  private:
    std::vector<double> samples;
};
std::vector<std::unique_ptr<Channel>> channels;

void
open_channels()
{
    for (int i = 0; i < 320; i++)
        channels.push_back(std::make_unique<Channel>());
}

/* Once long, now empty. */
struct Session {
    std::string input;
};
std::vector<Session> sessions(160);

NAMED void
session_receive(Session &session, size_t length)
{
    for (size_t at = 0; at < length; at += 1000)
        session.input.append(1000, 'i');
    session.input.clear();
}

void
receive_once()
{
    for (auto &session : sessions) {
        session_receive(session, 600000);
        truth += 1024 * KIB;
    }
}

void
receive_little()
{
    session_receive(sessions[random_below(160)], 2000);
}

/* ---- churn ---- */

struct Token {
    std::string text;
    std::unique_ptr<Token> next;
};

NAMED size_t
tokenize(unsigned words)
{
    std::unique_ptr<Token> first;
    for (unsigned i = 0; i < words; i++) {
        auto token = std::make_unique<Token>();
        token->text.assign(20 + random_below(60), 'x');
        token->next = std::move(first);
        first = std::move(token);
    }
    size_t sum = 0;
    while (first) {
        sum += first->text.size();
        first = std::move(first->next);
    }
    return sum;
}

void
churn_tokens()
{
    for (int i = 0; i < 8; i++)
        tokenize(1000);
}

/* ---- holes ---- */

struct Order {
    std::array<char, 300> text;
};
std::vector<std::unique_ptr<Order>> open_orders;

NAMED void
order_accept(std::vector<std::unique_ptr<Order>> &orders)
{
    orders.push_back(std::make_unique<Order>());
    orders.back()->text.fill('o');
}

/* After a day of trade one order in twelve is still open; what was between them has been freed. */
void
close_orders()
{
    std::vector<std::unique_ptr<Order>> orders;
    for (unsigned i = 0; i < 300000; i++) {
        order_accept(orders);
        if (i % 12 == 5) {
            open_orders.push_back(std::move(orders.back()));
            orders.pop_back();
        }
    }
    orders.clear();
    truth = static_cast<size_t>(300000) * 320 * 11 / 12;
}

/* ---- pages, caches and arenas ---- */

void
worker_batch(int)
{
    std::vector<void *> parts;
    for (int i = 0; i < 200; i++)
        parts.push_back(filled(60 * KIB));
    for (void *part : parts)
        free(part);
}

extern "C" int mallctl(const char *name, void *old, size_t *old_length, void *value, size_t value_length)
    __attribute__((weak));

size_t
statistic(const char *name)
{
    size_t bytes = 0, length = sizeof(bytes);
    unsigned long long epoch = 1;
    if (mallctl == nullptr)
        return 0;
    mallctl("epoch", nullptr, nullptr, &epoch, sizeof(epoch));
    mallctl(name, &bytes, &length, nullptr, 0);
    return bytes;
}

/* Workers that sleep after a batch each keep the pages of their arenas. */
void
batches_of_workers()
{
    in_threads(8, worker_batch);
    truth = 4 * KIB * statistic("stats.arenas.4096.pdirty");
}

void
small_work(int)
{
    for (size_t size : {8 * KIB, 10 * KIB, 12 * KIB, 14 * KIB}) {
        std::vector<void *> parts;
        for (int i = 0; i < 8; i++)
            parts.push_back(filled(size));
        for (void *part : parts)
            free(part);
    }
}

void
thread_caches()
{
    in_threads(240, small_work);
    truth = statistic("stats.arenas.4096.tcache_bytes");
}

void
one_of_many(int)
{
    for (size_t size = 320; size <= 12 * KIB; size += size / 3)
        filled(size);
}

void
arena_for_each()
{
    size_t before = statistic("stats.active") - statistic("stats.allocated");
    in_threads(180, one_of_many);
    truth = statistic("stats.active") - statistic("stats.allocated") - before;
}

/* ---- outside of the heap ---- */

/* Buffers that a program maps one by one, ever more, and a small leak beside them. */
NAMED void
ring_map()
{
    void *ring = mmap(nullptr, 256 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(ring, 1, 256 * KIB);
    truth += 256 * KIB;
}

void
first_rings()
{
    for (int i = 0; i < 200; i++)
        ring_map();
}

void
more_rings()
{
    static unsigned steps;
    if (steps++ % 25 == 0)
        ring_map();
}

/* An allocator of the program's own, in memory of sbrk(). */
void
own_heap()
{
    for (int i = 0; i < 1200; i++) {
        void *block = sbrk(64 * KIB);
        memset(block, 1, 64 * KIB);
        truth += 64 * KIB;
    }
}

/* A file that is mapped privately and written: the pages are the program's own. */
void
files_in_memory()
{
    static char part[1 << 20];
    for (int i = 0; i < 6; i++) {
        char name[] = "/dev/shm/battery-XXXXXX";
        int fd = mkstemp(name);
        unlink(name);
        memset(part, 1, sizeof(part));
        for (int j = 0; j < 12; j++)
            if (write(fd, part, sizeof(part)) != static_cast<ssize_t>(sizeof(part)))
                abort();
        truth += 12 * MIB;
    }
}

NAMED void
recurse(unsigned depth)
{
    char frame[8192];
    memset(frame, static_cast<int>(depth), sizeof(frame));
    __asm__ volatile("" : : "r"(frame) : "memory");
    if (depth > 0)
        recurse(depth - 1);
    __asm__ volatile("" : : : "memory");
}

void
deep_work(int)
{
    recurse(300);
}

void
deep_workers()
{
    in_threads(40, deep_work);
    truth = 40 * 300 * 8400;
}

/* Workers that were forked with a loaded heap and free it piece by piece. */
void
fork_workers()
{
    std::vector<std::unique_ptr<std::string>> rows;
    for (int i = 0; i < 60000; i++)
        rows.push_back(std::make_unique<std::string>(500 + i % 500, 'r'));
    for (int child = 0; child < 3; child++) {
        int ready[2];
        char byte = 1;
        if (pipe(ready) != 0)
            abort();
        if (fork() == 0) {
            for (auto &row : rows)
                row->assign(row->size(), 's');
            if (write(ready[1], &byte, 1) != 1)
                _exit(1);
            while (getppid() != 1)
                sleep(1);
            _exit(0);
        }
        if (read(ready[0], &byte, 1) != 1)
            abort();
        truth += static_cast<size_t>(60000) * 832;
    }
    static auto *kept = new std::vector<std::unique_ptr<std::string>>(std::move(rows));
    __asm__ volatile("" : : "r"(kept) : "memory");
}

/* ---- a past ---- */

void
import_once()
{
    std::vector<std::string> all;
    for (int i = 0; i < 60000; i++)
        all.push_back(std::string(4000, 'i'));
    truth = static_cast<size_t>(60000) * 4096;
}

/* ---- nothing is wrong ---- */

/* Work comes in waves of five seconds. */
void
waves()
{
    static unsigned step;
    static std::deque<std::string> *work = new std::deque<std::string>;
    unsigned at = step++ % (5 * STEPS_A_SECOND);
    if (at < 2 * STEPS_A_SECOND)
        for (int i = 0; i < 10; i++)
            work->emplace_back(500 + random_below(1000), 'w');
    for (int i = 0; i < 5 && !work->empty(); i++)
        work->pop_front();
}

/* A cache of 20 MiB fills, ever more slowly. */
void
fills()
{
    static Thumbnails thumbnails;
    for (int i = 0; i < 10; i++)
        thumbnails.request(random_below(4000));
    answer();
}

/* Threads come and go with what they hold. */
void
visitors()
{
    static unsigned step;
    static std::deque<std::thread> *threads = new std::deque<std::thread>;
    if (step++ % 20 != 0)
        return;
    threads->emplace_back([] {
        std::vector<char> buffer(200 * KIB, 'v');
        usleep(500000 + static_cast<useconds_t>(buffer[7]) * 1000);
    });
    if (threads->size() > 8) {
        threads->front().join();
        threads->pop_front();
    }
}
} // namespace

extern "C" const Case trade_cases[] = {
    {"trade-batches", "heap-leak", "Ledger<(anonymous namespace)::Invoice>::archive|Ledger<Invoice>::archive", "", nothing,
     leak_in_batches},
    {"trade-topics", "heap-leak", "subscribe", "", nothing, leak_beside_filling},
    {"trade-jobs", "heap-leak", "job_result", "", nothing, leak_of_short_threads},
    {"trade-several", "heap-leak", "leak_large", "", nothing, leak_several},
    {"trade-watchers", "heap-leak", "watcher_add", "", fill_frames, leak_beside_frames},
    {"trade-clients", "growth-with-load", "slab_of_clients|accept_client", "", nothing, more_clients},
    {"trade-pages", "bounded-cache",
     "page_render|Lru<std::__cxx11::basic_string<char>, std::vector<char>>::insert|Lru<std::string, std::vector<char>>::insert",
     "", fill_pages, turn_pages},
    {"trade-history", "bounded-cache", "frame_decoded", "", fill_history, turn_history},
    {"trade-prices", "startup-memory", "load_prices|Table<Row>::load", "", load_prices, answer},
    {"trade-channels", "oversized-capacity", "Channel::Channel", "", open_channels, answer},
    {"trade-sessions", "oversized-capacity", "session_receive", "", receive_once, receive_little},
    {"trade-tokens", "allocation-churn", "tokenize", "", nothing, churn_tokens},
    {"trade-orders", "fragmentation-small-classes", "order_accept", "", close_orders, answer},
    {"trade-batches-done", "dirty-pages", "", "", batches_of_workers, nullptr},
    {"trade-caches", "thread-cache-hoard", "", "", thread_caches, nullptr},
    {"trade-arenas", "many-arenas", "", "narenas:180,tcache:false", arena_for_each, answer},
    {"trade-rings", "non-jemalloc-anon-mmap", "", "", first_rings, more_rings},
    {"trade-own-heap", "other-allocator", "", "", own_heap, answer},
    {"trade-spool", "tmpfs-files", "", "", files_in_memory, answer},
    {"trade-recursion", "thread-stacks", "", "", deep_workers, answer},
    {"trade-workers", "fork-copy-on-write", "", "", fork_workers, nullptr},
    {"trade-import", "burst-returned", "", "dirty_decay_ms:0,muzzy_decay_ms:0", import_once, answer},
    {"trade-waves", "healthy", "", "", nothing, waves},
    {"trade-fills", "healthy", "", "", nothing, fills},
    {"trade-visitors", "healthy", "", "", nothing, visitors},
    {},
};
