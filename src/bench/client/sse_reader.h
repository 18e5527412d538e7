// SseReader: parses server-sent events from bytes cut at any place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A complete event.
struct SseEvent {
  std::string type;  ///< its `event` field; empty without one
  std::string data;  ///< its `data` fields, with a line feed between two

  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

/// Reads a stream of events. Lines end in CR, LF or both. Comments, other fields and events without
/// data are dropped.
///
/// Source:  WHATWG HTML, section 9.2.6, "Interpreting an event stream".
class SseReader {
 public:
  explicit SseReader(std::size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}

  /// Appends the events that end in `bytes`. Returns false for an event beyond the limit, and reads
  /// no further.
  [[nodiscard]] bool read(std::string_view bytes, std::vector<SseEvent>& events);

 private:
  void end_line(std::vector<SseEvent>& events);
  void take_field(std::string_view name, std::string_view value);

  std::size_t event_bytes_max_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool is_first_line_ = true;
  bool follows_cr_ = false;  ///< the last byte was CR: a line feed now belongs to it
  bool is_broken_ = false;
};

}  // namespace ingot
