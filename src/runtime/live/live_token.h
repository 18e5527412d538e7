// LiveToken: names a live sequence, to which several requests in turn append rows.
#pragma once

#include <memory>
#include <utility>

#include "runtime/doorbell.h"

namespace ingot {

/// The name of a live sequence. After a request with Request::live has ended, its computed rows
/// stay in the KV cache for the next request with the same token, as long as no other request needs
/// their blocks. Results do not depend on what stayed. The end of the token frees the rows.
class LiveToken {
 public:
  /// `bell` wakes the engine.
  explicit LiveToken(std::shared_ptr<Doorbell> bell) : bell_(std::move(bell)) {}
  ~LiveToken() { bell_->ring(); }
  LiveToken(const LiveToken&) = delete;
  LiveToken& operator=(const LiveToken&) = delete;

 private:
  std::shared_ptr<Doorbell> bell_;
};

}  // namespace ingot
