// RestingRequests: ended requests of live sequences, with the blocks of their computed rows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "runtime/live/live_token.h"
#include "runtime/running_request.h"
#include "runtime/schedule/scheduler.h"

namespace ingot {

/// Keeps the last request of each live sequence after its end, while its sequence rests.
class RestingRequests {
 public:
  /// `scheduler` must outlive this object.
  explicit RestingRequests(Scheduler& scheduler) : scheduler_(scheduler) {}

  /// Lets the sequence of an ended request rest. Errors: std::bad_alloc, with nothing changed.
  void add(std::unique_ptr<RunningRequest>& request);
  /// Adds a new request's sequence to the scheduler. If the request has a live sequence, its
  /// sequence takes over the rows of the one that rests.
  void enqueue(RunningRequest& request);
  /// Drops requests whose live sequence has ended or has lost its blocks.
  void drop_ended();
  void clear();
  /// Returns how many references to blocks of group g the resting sequences hold.
  std::int64_t held(std::int32_t g) const;

 private:
  using Key = std::weak_ptr<const LiveToken>;

  Scheduler& scheduler_;
  std::map<Key, std::unique_ptr<RunningRequest>, std::owner_less<Key>> requests_;
};

}  // namespace ingot
