// Listener: a TCP or Unix socket that accepts connections.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ingot {

/// A listening socket. The destructor closes it, and removes the file of a Unix socket.
struct Listener {
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

  explicit Listener(Acceptor socket, std::string file = {})
      : acceptor(std::move(socket)), path(std::move(file)) {}
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  Acceptor acceptor;
  std::string path;  ///< the file of a Unix socket; empty for TCP
};

/// Listens on a TCP address; "localhost" means both loopback addresses, since a client may use IPv4
/// or IPv6. Port 0: the system picks a port.
///
/// Errors: Error{kUnavailable} if an address cannot be bound.
std::vector<std::unique_ptr<Listener>> listen_tcp(boost::asio::io_context& context,
                                                  const std::string& host, std::uint16_t port);
/// Listens on a Unix socket. Only the file's owner can connect. Replaces an old socket file on
/// which no process listens.
///
/// Errors: Error{kUnavailable} if the path cannot be bound.
std::unique_ptr<Listener> listen_unix(boost::asio::io_context& context, const std::string& path);

/// Returns the address of a TCP listener: "127.0.0.1:8080" or "[::1]:8080".
std::string address_of(const Listener& listener);

/// Returns the address of a connected socket's client; empty for a Unix socket.
std::string peer_of(const boost::asio::generic::stream_protocol::socket& socket);

}  // namespace ingot
