// ResponseWriter: how an endpoint puts a generation into the form of its responses.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/stream.h"

namespace ingot {

struct ApiError;

/// Writes the response to one HTTP request from the deltas of its choices. Its functions are called
/// one at a time.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  /// Takes a delta of a choice.
  virtual void add_delta(std::size_t /*choice*/, const Delta& /*delta*/) {}
  /// For streams: appends an event for the choice's deltas since the last one, where they have
  /// something to say.
  virtual void flush(std::size_t /*choice*/, std::string& /*out*/) {}
  /// A choice has ended without an error; appends what was not flushed.
  virtual void end_choice(std::size_t choice, const Outcome& outcome, std::string& out) = 0;
  /// All choices have ended: appends the rest of a stream, or the whole body.
  virtual void finish(std::string& out) = 0;
  /// Appends the event of an error in the middle of a stream; nothing comes behind it.
  virtual void write_error(const ApiError& error, std::string& out) = 0;
};

}  // namespace ingot
