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

/// A socket that listens. The destructor closes it and removes a Unix socket's file.
struct Listener {
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

  explicit Listener(Acceptor socket, std::string file = {})
      : acceptor(std::move(socket)), path(std::move(file)) {}
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  Acceptor acceptor;
  std::string path;  ///< a Unix socket's file; empty for TCP
};

/// Listens at an address; at both loopback addresses for "localhost", since clients try either.
/// Port 0: the system picks one.
///
/// Errors: Error{kUnavailable} for an address that cannot be bound.
std::vector<std::unique_ptr<Listener>> listen_tcp(boost::asio::io_context& context,
                                                  const std::string& host, std::uint16_t port);
/// Listens on a Unix socket that only its owner can connect to; replaces one that no process
/// listens on.
///
/// Errors: Error{kUnavailable}.
std::unique_ptr<Listener> listen_unix(boost::asio::io_context& context, const std::string& path);

/// "127.0.0.1:8080", or "[::1]:8080": where a TCP listener is.
std::string address_of(const Listener& listener);

/// The address of the other end; empty for a Unix socket.
std::string peer_of(const boost::asio::generic::stream_protocol::socket& socket);

}  // namespace ingot
