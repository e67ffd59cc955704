// SPDX-License-Identifier: Apache-2.0
// A service whose functions have names of thousands of characters, as C++ that nests containers has them. It listens on the socket that it is
// told of; each connection asks to keep a number of shelves, in decimal, and is answered with how many there are.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{
constexpr size_t GOODS = 2000; /* bytes on the lowest shelf */

template <unsigned Depth> struct Shelf {
    using Content = std::map<std::string, std::vector<typename Shelf<Depth - 1>::Content>>;
};

template <> struct Shelf<0> {
    using Content = std::vector<char>;
};

__attribute__((noinline)) void
fill(std::vector<char> &goods)
{
    goods.assign(GOODS, 'g');
}

template <class Inner>
__attribute__((noinline)) void
fill(std::map<std::string, std::vector<Inner>> &shelf)
{
    auto &row = shelf["a row with a name that needs an allocation of its own"];
    row.emplace_back();
    fill(row.back());
}

template <class Content> class Warehouse
{
  public:
    __attribute__((noinline)) size_t
    keep(unsigned count)
    {
        const std::lock_guard<std::mutex> held(lock);
        for (unsigned i = 0; i < count; i++) {
            shelves.push_back(std::make_unique<Content>());
            fill(*shelves.back());
        }
        return shelves.size();
    }

  private:
    std::mutex lock;
    std::vector<std::unique_ptr<Content>> shelves;
};

Warehouse<Shelf<5>::Content> warehouse;

void
serve(int connection)
{
    char line[32] = "";

    if (read(connection, line, sizeof(line) - 1) > 0) {
        const std::string answer = std::to_string(warehouse.keep(static_cast<unsigned>(atoi(line)))) + "\n";
        if (write(connection, answer.data(), answer.size()) < 0)
            perror("write");
    }
    close(connection);
}

void
work(int listener, unsigned number)
{
    pthread_setname_np(pthread_self(), ("keeper-" + std::to_string(number)).c_str());
    for (;;) {
        const int connection = accept(listener, nullptr, nullptr);
        if (connection >= 0)
            serve(connection);
    }
}
} // namespace

int
main(int argc, char **argv)
{
    sockaddr_un address = {};
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sun_family = AF_UNIX;
    if (argc != 2 || strlen(argv[1]) >= sizeof(address.sun_path))
        return 2;
    strcpy(address.sun_path, argv[1]);
    if (bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0 || listen(listener, 64) != 0)
        return 1;
    std::vector<std::thread> keepers;
    for (unsigned number = 0; number < 2; number++)
        keepers.emplace_back(work, listener, number);
    for (auto &keeper : keepers)
        keeper.join();
}
