// LoadQueue: limits the requests that wait for loads of adapters.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ingot {

/// Counts the requests that wait for the thread that loads adapters, and the adapters that they
/// wait for. Half of the places are the most for one API key, so that other keys have room.
/// Thread-safe.
class LoadQueue {
 public:
  LoadQueue(std::size_t names_max, std::size_t requests_max)
      : names_max_(names_max), requests_max_(requests_max) {}

  /// Returns a place for a request that waits for these adapters, which the owner drops to leave;
  /// null if there is none. Key 0 has no limit of its own: it stands for all clients if there is
  /// at most one key. This object must outlive the place.
  std::shared_ptr<const void> enter(std::vector<std::string> names, std::size_t key);

 private:
  /// Requests that wait.
  struct Waiting {
    std::map<std::string, std::size_t> names{};  ///< how many of them wait for an adapter
    std::size_t requests = 0;

    bool has_room(const std::vector<std::string>& more, std::size_t names_max,
                  std::size_t requests_max) const;
    void add(const std::vector<std::string>& more);
    void remove(const std::vector<std::string>& gone);
  };
  /// A request's place.
  struct Place {
    std::vector<std::string> names;
    std::size_t key = 0;
  };

  void leave(const Place& place);

  const std::size_t names_max_;
  const std::size_t requests_max_;
  std::mutex mutex_;  ///< protects the members below
  Waiting all_;
  std::map<std::size_t, Waiting> keys_;  ///< keys with waiting requests
};

}  // namespace ingot
