// Listener: binds TCP addresses and Unix sockets.
#include "server/http/listener.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::local::stream_protocol;
using boost::system::error_code;
using Listeners = std::vector<std::unique_ptr<Listener>>;

namespace {

/// Attempts to find a port that is free on both loopback addresses.
constexpr int kPortAttempts = 16;

[[noreturn]] void unavailable(const std::string& what, const error_code& error) {
  throw Error(ErrorCode::kUnavailable, cat("cannot listen on ", what, ": ", error.message()));
}

/// A generic endpoint as a TCP endpoint; empty if it is not an IP address.
tcp::endpoint tcp_endpoint(const asio::generic::stream_protocol::endpoint& generic) {
  tcp::endpoint endpoint;
  const int family = generic.protocol().family();
  if ((family == AF_INET || family == AF_INET6) && generic.size() <= endpoint.capacity()) {
    std::memcpy(endpoint.data(), generic.data(), generic.size());
    endpoint.resize(generic.size());
  }
  return endpoint;
}

std::uint16_t port_of(const Listener& listener) {
  return tcp_endpoint(listener.acceptor.local_endpoint()).port();
}

error_code listen_at(asio::io_context& context, const asio::ip::address& address,
                     std::uint16_t port, Listeners& listeners) {
  const tcp::endpoint endpoint(address, port);
  tcp::acceptor acceptor(context);
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) listeners.push_back(std::make_unique<Listener>(std::move(acceptor)));
  return error;
}

/// Tries again if another process holds the picked port at the second address.
Listeners listen_loopback(asio::io_context& context, std::uint16_t port) {
  for (int attempt = 1;; ++attempt) {
    Listeners listeners;
    if (const error_code error =
            listen_at(context, asio::ip::address_v4::loopback(), port, listeners)) {
      unavailable(cat("127.0.0.1:", port), error);
    }
    const std::uint16_t picked = port_of(*listeners.front());
    const error_code error =
        listen_at(context, asio::ip::address_v6::loopback(), picked, listeners);
    // Without IPv6 no client connects to that address.
    if (!error || error == asio::error::address_family_not_supported ||
        error == boost::system::errc::address_not_available) {
      return listeners;
    }
    if (port != 0 || attempt == kPortAttempts) unavailable(cat("[::1]:", picked), error);
  }
}

/// Removes the socket file that a killed server left, unless a process listens on it.
void remove_dead_socket(asio::io_context& context, const stream_protocol::endpoint& endpoint) {
  struct stat status {};
  if (::lstat(endpoint.path().c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  stream_protocol::socket probe(context);
  error_code error;
  probe.connect(endpoint, error);
  if (error == asio::error::connection_refused) ::unlink(endpoint.path().c_str());
}

}  // namespace

Listener::~Listener() {
  if (!path.empty()) ::unlink(path.c_str());
}

Listeners listen_tcp(asio::io_context& context, const std::string& host, std::uint16_t port) {
  if (host == "localhost") return listen_loopback(context, port);
  Listeners listeners;
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) error = listen_at(context, address, port, listeners);
  if (error) unavailable(cat(host, ":", port), error);
  return listeners;
}

std::unique_ptr<Listener> listen_unix(asio::io_context& context, const std::string& path) {
  error_code error;
  stream_protocol::endpoint endpoint;
  try {
    endpoint = stream_protocol::endpoint(path);
  } catch (const boost::system::system_error& e) {
    unavailable(path, e.code());
  }
  remove_dead_socket(context, endpoint);
  stream_protocol::acceptor acceptor(context);
  acceptor.open(endpoint.protocol(), error);
  // The mode is set before binding, so that other users can never connect.
  const mode_t before = ::umask(0177);
  if (!error) acceptor.bind(endpoint, error);
  ::umask(before);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) unavailable(path, error);
  return std::make_unique<Listener>(std::move(acceptor), path);
}

std::string address_of(const Listener& listener) {
  const tcp::endpoint endpoint = tcp_endpoint(listener.acceptor.local_endpoint());
  const bool is_v6 = endpoint.address().is_v6();
  return cat(is_v6 ? "[" : "", endpoint.address().to_string(), is_v6 ? "]" : "", ":",
             endpoint.port());
}

std::string peer_of(const asio::generic::stream_protocol::socket& socket) {
  error_code ignored;
  const auto endpoint = socket.remote_endpoint(ignored);
  if (endpoint.protocol().family() == AF_UNIX) return {};
  return tcp_endpoint(endpoint).address().to_string();
}

}  // namespace ingot
