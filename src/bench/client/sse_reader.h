// SseReader: parses server-sent events from a stream of bytes that arrives in any pieces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A complete server-sent event.
struct SseEvent {
  std::string type;  ///< the `event` field; empty if absent
  std::string data;  ///< the `data` fields, joined by line feeds

  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

/// Parses a stream of events. Lines end in CR, LF or both. Drops comments, all fields except
/// `event` and `data`, and events without data.
///
/// Source:  WHATWG HTML, section 9.2.6, "Interpreting an event stream".
class SseReader {
 public:
  explicit SseReader(std::size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}

  /// Parses more bytes and appends the events that these bytes complete. Returns false once an
  /// event exceeds the size limit; the reader then ignores all further bytes.
  [[nodiscard]] bool read(std::string_view bytes, std::vector<SseEvent>& events);

 private:
  void end_line(std::vector<SseEvent>& events);
  void take_field(std::string_view name, std::string_view value);

  std::size_t event_bytes_max_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool is_first_line_ = true;
  bool follows_cr_ = false;  ///< whether the last byte was CR; if so, `read` skips a line feed next
  bool is_broken_ = false;
};

}  // namespace ingot
