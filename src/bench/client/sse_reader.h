// SseReader: server-sent events out of bytes, however these are cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// An event that has ended.
struct SseEvent {
  std::string type;  ///< of its `event` field; empty without one
  std::string data;  ///< its `data` fields, with a line feed between two

  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

/// Reads a stream of events. Lines end in CR, LF or both; comments and other fields are dropped;
/// an event without data is none.
///
/// Source:  WHATWG HTML, section 9.2.6, "Interpreting an event stream".
class SseReader {
 public:
  explicit SseReader(std::size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}

  /// Appends the events that end in `bytes`. False where one is larger than the limit: nothing is
  /// read from there on.
  [[nodiscard]] bool read(std::string_view bytes, std::vector<SseEvent>& events);

 private:
  void end_line(std::vector<SseEvent>& events);
  void take_field(std::string_view name, std::string_view value);

  std::size_t event_bytes_max_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool is_first_line_ = true;
  bool follows_cr_ = false;  ///< a line feed now ends no line of its own
  bool is_broken_ = false;
};

}  // namespace ingot
