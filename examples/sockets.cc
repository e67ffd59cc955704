// SPDX-License-Identifier: Apache-2.0
//
// A service in C++ with a socket loop of its own: jescope's routes below /debug, on a thread of their own.
//
//   c++ sockets.cc $(pkg-config --cflags --libs libjescope) -ljemalloc -pthread
//   MALLOC_CONF=prof:true,prof_active:false ./a.out [PORT]
#include <arpa/inet.h>
#include <jescope.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr std::size_t kRequestMax = 16384;
const std::string kMount = "/debug";

struct Request {
    std::string method;
    std::string target;
    std::string body;
};

// What the service keeps: the heap that a profile shows.
std::map<int, std::vector<char>> kept;

// False: not a request, or too long a one.
bool
read_request(int socket, Request &request)
{
    std::string text;
    std::size_t head = std::string::npos;
    std::size_t wanted = 0;
    char bytes[2048];
    while (head == std::string::npos || text.size() < head + wanted) {
        ssize_t n = recv(socket, bytes, sizeof bytes, 0);
        if (n <= 0 || text.size() + static_cast<std::size_t>(n) > kRequestMax) {
            return false;
        }
        text.append(bytes, static_cast<std::size_t>(n));
        if (head == std::string::npos && (head = text.find("\r\n\r\n")) != std::string::npos) {
            head += 4;
            std::size_t length = text.find("\r\nContent-Length: ");
            wanted = length < head ? std::strtoul(text.c_str() + length + 18, nullptr, 10) : 0;
            if (wanted > kRequestMax) {
                return false;
            }
        }
    }
    std::size_t first = text.find(' ');
    std::size_t second = text.find(' ', first + 1);
    if (first == std::string::npos || second == std::string::npos || second > head) {
        return false;
    }
    request = {text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(head, wanted)};
    return true;
}

void
send_all(int socket, const char *bytes, std::size_t n)
{
    while (n > 0) {
        ssize_t sent = send(socket, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return;
        }
        bytes += sent;
        n -= static_cast<std::size_t>(sent);
    }
}

void
send_head(int socket, unsigned status, std::size_t size, const std::string &headers)
{
    std::string head = "HTTP/1.1 " + std::to_string(status) +
                       " \r\nConnection: close\r\nContent-Length: " + std::to_string(size) + "\r\n" + headers + "\r\n";
    send_all(socket, head.data(), head.size());
}

void
send_file(int socket, int file)
{
    char bytes[16384];
    for (ssize_t n = 0; (n = read(file, bytes, sizeof bytes)) > 0;) {
        send_all(socket, bytes, static_cast<std::size_t>(n));
    }
    close(file);
}

void
ask_jescope(int socket, const Request &request)
{
    JescopeRequest question{};
    JescopeReply reply{};
    JescopeError error;
    question.size = sizeof question;
    reply.size = sizeof reply;
    question.method = request.method.c_str();
    question.path = request.target.c_str() + kMount.size();
    question.body = request.body.data();
    question.body_size = request.body.size();
    if (jescope_http(&question, &reply, &error) != JESCOPE_OK) {
        std::string text = error.message;
        send_head(socket, 400, text.size(), "");
        send_all(socket, text.data(), text.size());
        return;
    }
    std::string type = reply.content_type != nullptr ? std::string("Content-Type: ") + reply.content_type + "\r\n" : "";
    send_head(socket, reply.status, reply.body_size, type + reply.headers);
    if (reply.descriptor >= 0) {
        send_file(socket, reply.descriptor);
    } else {
        send_all(socket, reply.body, reply.body_size);
    }
}

void
answer(int socket)
{
    Request request;
    if (read_request(socket, request)) {
        if (request.target.compare(0, kMount.size() + 1, kMount + "/") == 0) {
            ask_jescope(socket, request);
        } else {
            kept[static_cast<int>(kept.size())].resize(100000);
            send_head(socket, 204, 0, "");
        }
    }
    close(socket);
}

[[noreturn]] void
serve(int listener)
{
    for (;;) {
        int socket = accept(listener, nullptr, nullptr);
        if (socket >= 0) {
            answer(socket);
        }
    }
}

} // namespace

int
main(int argc, char **argv)
{
    JescopeError error;
    sockaddr_in address{};
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0));
    if (jescope_start(nullptr, &error) != JESCOPE_OK) {
        std::fprintf(stderr, "sockets: jescope: %s\n", error.message);
    }
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, reinterpret_cast<sockaddr *>(&address), size) != 0 || listen(listener, 16) != 0 ||
        getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size) != 0) {
        std::perror("sockets");
        return 1;
    }
    std::thread(serve, listener).detach();
    std::printf("http://127.0.0.1:%d%s/\n", ntohs(address.sin_port), kMount.c_str());
    std::fflush(stdout);
    std::getchar(); // until its standard input ends
    jescope_stop(nullptr);
    std::_Exit(0);
}
