// SPDX-License-Identifier: Apache-2.0
// Programs as larger services are built: pools of threads with a queue, classes and containers, parsers that recurse,
// arenas and caches of their own, forked workers. Each does ordinary work beside what is wrong with it.
#include "battery.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace
{
/* ---- ordinary work ---- */

NAMED size_t
parse_headers(unsigned count)
{
    std::map<std::string, std::string> headers;
    for (unsigned i = 0; i < count; i++)
        headers["header-of-a-request-" + std::to_string(i)] = std::string(20 + random_below(400), 'v');
    return headers.size();
}

NAMED void
serve_request()
{
    static volatile size_t served;
    std::vector<char> body(1000 + random_below(20000));
    served = served + body.size() + parse_headers(12);
}

void
serve_requests()
{
    for (int i = 0; i < 3; i++)
        serve_request();
}

class Workers
{
  public:
    explicit Workers(unsigned count)
    {
        for (unsigned i = 0; i < count; i++)
            std::thread([this] { run(); }).detach();
    }

    void
    post(std::function<void()> task)
    {
        std::lock_guard<std::mutex> held(lock);
        tasks.push_back(std::move(task));
        ready.notify_one();
    }

  private:
    void
    run()
    {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock<std::mutex> held(lock);
                ready.wait(held, [this] { return !tasks.empty(); });
                task = std::move(tasks.front());
                tasks.pop_front();
            }
            task();
        }
    }

    std::mutex lock;
    std::condition_variable ready;
    std::deque<std::function<void()>> tasks;
};

/* ---- leaks ---- */

/* Of a method, in a task of a pool of threads. */
struct Span {
    std::string name;
    std::vector<std::string> tags;
};

class Tracer
{
  public:
    NAMED void
    record(unsigned number)
    {
        auto span = std::make_unique<Span>();
        span->name = "a-request-with-a-name-" + std::to_string(number);
        for (int i = 0; i < 5; i++)
            span->tags.push_back(std::string(60 + 20 * i, 't'));
        std::lock_guard<std::mutex> held(lock);
        spans.push_back(std::move(span));
        truth += 64 + 48 + 256 + 80 + 96 + 112 + 128 + 160 + 8;
    }

  private:
    std::mutex lock;
    std::vector<std::unique_ptr<Span>> spans;
};

void
leak_spans()
{
    static Workers *pool = new Workers(4);
    static Tracer *tracer = new Tracer;
    static unsigned number;
    serve_requests();
    for (int i = 0; i < 8; i++) {
        unsigned n = number++;
        pool->post([n] { tracer->record(n); });
    }
}

/* A pool hands out parts of chunks. */
NAMED void *
chunk_alloc(size_t bytes)
{
    static char *chunk;
    static size_t left;
    if (left < bytes) {
        chunk = static_cast<char *>(filled(64 * KIB));
        left = 64 * KIB;
        truth += 64 * KIB;
    }
    left -= bytes;
    return chunk + left;
}

NAMED void
order_add()
{
    static_cast<char *>(chunk_alloc(200))[0] = 1;
}

void
leak_orders()
{
    serve_requests();
    for (int i = 0; i < 40; i++)
        order_add();
}

/* An arena of its own, without a thread cache. */
void *(*in_arena)(size_t size, int flags);
int arena_flags;

void
make_arena()
{
    unsigned arena = 0;
    size_t length = sizeof(arena);
    auto control = reinterpret_cast<int (*)(const char *, void *, size_t *, void *, size_t)>(dlsym(RTLD_DEFAULT, "mallctl"));
    in_arena = reinterpret_cast<void *(*)(size_t, int)>(dlsym(RTLD_DEFAULT, "mallocx"));
    if (control == nullptr || in_arena == nullptr || control("arenas.create", &arena, &length, nullptr, 0) != 0)
        abort();
    arena_flags = (static_cast<int>(arena) + 1) << 20 | 1 << 8; /* MALLOCX_ARENA, MALLOCX_TCACHE_NONE */
}

NAMED void
shard_insert()
{
    memset(in_arena(1500, arena_flags), 1, 1500);
    truth += 1536;
}

void
leak_shard()
{
    serve_requests();
    for (int i = 0; i < 6; i++)
        shard_insert();
}

/* Slow, beside a heap that is a hundred times as large. */
std::vector<std::string> documents;

NAMED void
load_documents()
{
    for (int i = 0; i < 150000; i++)
        documents.push_back(std::string(300 + random_below(1500), 'd'));
}

NAMED void
audit_event()
{
    static std::list<std::string> *events = new std::list<std::string>;
    events->emplace_back(500, 'a');
    truth += 512 + 48;
}

void
leak_beside_documents()
{
    static unsigned steps;
    serve_requests();
    if (steps++ % 2 == 0)
        for (int i = 0; i < 6; i++)
            audit_event();
}

/* Parsed by recursion. */
struct Value {
    std::string text;
    std::vector<std::unique_ptr<Value>> children;
};

NAMED std::unique_ptr<Value>
parse_value(unsigned depth)
{
    auto value = std::make_unique<Value>();
    value->text = std::string(20 + random_below(100), 'x');
    for (unsigned i = 0; depth > 0 && i < 4; i++)
        value->children.push_back(parse_value(depth - 1));
    return value;
}

size_t
size_of(const Value &value)
{
    size_t bytes = sizeof(Value) + value.text.capacity() + 8 * value.children.capacity();
    for (const auto &child : value.children)
        bytes += size_of(*child);
    return bytes;
}

NAMED void
reload_catalog()
{
    static std::vector<std::unique_ptr<Value>> *catalogs = new std::vector<std::unique_ptr<Value>>;
    catalogs->push_back(parse_value(4));
    truth += size_of(*catalogs->back());
}

void
leak_catalogs()
{
    static unsigned steps;
    serve_requests();
    if (steps++ % 5 == 0)
        reload_catalog();
}

/* ---- load ---- */

struct Client {
    int descriptor;
    std::vector<char> input, output;
    std::map<std::string, std::string> state;
};
std::list<Client> clients;

NAMED void
client_open()
{
    int pair[2];
    if (clients.size() >= 900 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return;
    close(pair[1]);
    clients.push_back(Client{pair[0], std::vector<char>(32 * KIB, 'i'), std::vector<char>(16 * KIB, 'o'), {}});
    for (int i = 0; i < 20; i++)
        clients.back().state[std::to_string(i)] = std::string(300, 's');
    truth += 48 * KIB + 20 * (320 + 96);
}

/* Some go, more come. */
void
more_clients()
{
    static unsigned steps;
    serve_requests();
    if (steps++ % 8 != 0)
        return;
    client_open();
    if (steps % 40 == 1 && !clients.empty()) {
        close(clients.front().descriptor);
        clients.pop_front();
        truth -= 48 * KIB + 20 * (320 + 96);
    }
}

/* ---- caches ---- */

class Cache
{
  public:
    NAMED void
    put(unsigned key)
    {
        auto at = index.find(key);
        if (at != index.end()) {
            order.erase(at->second);
            index.erase(at);
        }
        order.emplace_front(key, std::make_shared<std::string>(800 + key % 3000, 'c'));
        index[key] = order.begin();
        if (order.size() <= 40000)
            return;
        index.erase(order.back().first);
        order.pop_back();
    }

  private:
    std::list<std::pair<unsigned, std::shared_ptr<std::string>>> order;
    std::unordered_map<unsigned, decltype(order)::iterator> index;
};
Cache cache;

void
fill_cache()
{
    for (unsigned i = 0; i < 40000; i++)
        cache.put(i);
    truth = static_cast<size_t>(40000) * (2300 + 200 + 32 + 48 + 32 + 8);
}

void
use_cache()
{
    serve_requests();
    for (int i = 0; i < 40; i++)
        cache.put(random_below(60000));
}

/* Seldom written: a hundredth in five seconds. */
void
use_cache_seldom()
{
    serve_requests();
    if (random_below(3) == 0)
        cache.put(random_below(60000));
}

/* ---- of the start ---- */

std::unique_ptr<Value> catalog;

NAMED void
load_catalog()
{
    catalog = parse_value(8);
    for (int i = 0; i < 3; i++)
        catalog->children.push_back(parse_value(8));
    truth = size_of(*catalog);
}

/* ---- capacity ---- */

std::vector<std::string> lines;

NAMED void
lines_prepare()
{
    for (int i = 0; i < 1500; i++) {
        lines.emplace_back();
        lines.back().reserve(100000);
        lines.back() += std::string(200, 'l');
        truth += 112 * KIB;
    }
}

std::unordered_map<unsigned, unsigned> counts;

NAMED void
counts_prepare()
{
    counts.reserve(16 << 20);
    for (unsigned i = 0; i < 1000; i++)
        counts[i] = i;
    truth = counts.bucket_count() * sizeof(void *);
}

/* ---- churn ---- */

NAMED void
render_document()
{
    auto document = parse_value(4);
    __asm__ volatile("" : : "r"(document.get()) : "memory");
}

void
start_rendering()
{
    for (int i = 0; i < 2; i++)
        std::thread([] {
            for (;;) {
                for (int n = 0; n < 5; n++)
                    render_document();
                usleep(3000);
            }
        }).detach();
}

/* ---- holes ---- */

std::map<unsigned, std::string> names;

/* What is short-lived lies between what stays. */
NAMED void
name_keep(unsigned key)
{
    names.emplace(key, std::string(150, 'n'));
}

NAMED void
fragment_names()
{
    std::vector<std::unique_ptr<std::string>> rows;
    for (unsigned i = 0; i < 700000; i++) {
        if (i % 20 == 0)
            name_keep(i);
        rows.push_back(std::make_unique<std::string>(150, 'r'));
    }
    rows.clear();
    rows.shrink_to_fit();
    truth = static_cast<size_t>(700000) * (160 + 32);
}

/* ---- arenas ---- */

void
fill_shards()
{
    for (int i = 0; i < 200; i++) {
        make_arena();
        for (size_t size = 128; size <= 3584; size += size / 4)
            memset(in_arena(size, arena_flags), 1, size);
    }
}

/* ---- a past ---- */

NAMED void
build_report()
{
    std::vector<std::string> all;
    for (int i = 0; i < 100000; i++)
        all.push_back(std::string(2000, 'r'));
    truth = static_cast<size_t>(100000) * 2048;
}

/* ---- workers ---- */

/* Counts of references are in the objects: workers that only read copy them. */
void
fork_readers()
{
    std::vector<std::shared_ptr<std::string>> rows;
    for (int i = 0; i < 25000; i++)
        rows.push_back(std::make_shared<std::string>(900, 'r'));
    for (int child = 0; child < 3; child++) {
        int ready[2];
        char byte = 1;
        if (pipe(ready) != 0)
            abort();
        if (fork() == 0) {
            auto mine = rows;
            for (auto &row : mine)
                (*row)[0] = 's';
            if (write(ready[1], &byte, 1) != 1)
                _exit(1);
            while (getppid() != 1)
                sleep(1);
            _exit(0);
        }
        if (read(ready[0], &byte, 1) != 1)
            abort();
    }
    truth = static_cast<size_t>(3) * 25000 * (1024 + 48);
}

/* ---- nothing is wrong ---- */

/* A queue that a burst fills and workers empty, again and again. */
void
bursts()
{
    static std::deque<std::string> *queue = new std::deque<std::string>;
    static unsigned step;
    serve_requests();
    if (step % 100 == 0)
        for (int i = 0; i < 5000; i++)
            queue->emplace_back(1000, 'q');
    for (int i = 0; i < 60 && !queue->empty(); i++)
        queue->pop_front();
    step++;
}

/* It warms up in the first second and stays so. */
void
warm()
{
    static std::vector<std::string> *pages = new std::vector<std::string>;
    serve_requests();
    if (pages->size() < 2000)
        for (int i = 0; i < 10; i++)
            pages->push_back(std::string(3000, 'w'));
}

void
nothing()
{
}
} // namespace

extern "C" const Case shape_cases[] = {
    {"shape-spans", "heap-leak", "Tracer::record", "", nothing, leak_spans},
    {"shape-orders", "heap-leak", "order_add|chunk_alloc", "", nothing, leak_orders},
    {"shape-shard", "heap-leak", "shard_insert", "", make_arena, leak_shard},
    {"shape-audit", "heap-leak", "audit_event", "", load_documents, leak_beside_documents},
    {"shape-catalogs", "heap-leak", "reload_catalog|parse_value", "", nothing, leak_catalogs},
    {"shape-clients", "growth-with-load", "client_open", "", nothing, more_clients},
    {"shape-cache", "bounded-cache", "Cache::put", "", fill_cache, use_cache},
    {"shape-cache-seldom", "bounded-cache", "Cache::put", "", fill_cache, use_cache_seldom},
    {"shape-start", "startup-memory", "load_catalog|parse_value", "", load_catalog, serve_requests},
    {"shape-lines", "oversized-capacity", "lines_prepare", "", lines_prepare, serve_requests},
    {"shape-counts", "oversized-capacity", "counts_prepare", "", counts_prepare, serve_requests},
    {"shape-render", "allocation-churn", "render_document|parse_value", "", start_rendering, nullptr},
    {"shape-names", "fragmentation-small-classes", "name_keep", "", fragment_names, serve_requests},
    {"shape-shards", "many-arenas", "", "", fill_shards, serve_requests},
    {"shape-report", "burst-returned", "", "dirty_decay_ms:0,muzzy_decay_ms:0", build_report, serve_requests},
    {"shape-readers", "fork-copy-on-write", "", "", fork_readers, nullptr},
    {"shape-bursts", "healthy", "", "", nothing, bursts},
    {"shape-warm", "healthy", "", "", nothing, warm},
    {},
};
