// SseReader: parses events line by line.
#include "bench/client/sse_reader.h"

#include <algorithm>
#include <utility>

namespace ingot {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

bool SseReader::read(std::string_view bytes, std::vector<SseEvent>& events) {
  while (!bytes.empty() && !is_broken_) {
    if (std::exchange(follows_cr_, false) && bytes.front() == '\n') bytes.remove_prefix(1);
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    is_broken_ = line_.size() + event_.data.size() + end > event_bytes_max_;
    if (is_broken_) break;
    line_ += bytes.substr(0, end);
    if (end == bytes.size()) break;
    follows_cr_ = bytes[end] == '\r';
    end_line(events);
    bytes.remove_prefix(end + 1);
  }
  return !is_broken_;
}

void SseReader::end_line(std::vector<SseEvent>& events) {
  std::string_view line = line_;
  if (std::exchange(is_first_line_, false) && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (line.empty()) {
    SseEvent event = std::exchange(event_, SseEvent());
    if (std::exchange(has_data_, false)) events.push_back(std::move(event));
  } else {
    const std::size_t colon = std::min(line.find(':'), line.size());
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    if (value.starts_with(' ')) value.remove_prefix(1);
    take_field(line.substr(0, colon), value);
  }
  line_.clear();
}

void SseReader::take_field(std::string_view name, std::string_view value) {
  if (name == "event") event_.type = value;
  if (name != "data") return;
  if (std::exchange(has_data_, true)) event_.data += '\n';
  event_.data += value;
}

}  // namespace ingot
