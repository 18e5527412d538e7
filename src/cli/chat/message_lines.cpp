// Joins lines into messages: fences and backslashes.
#include "cli/chat/message_lines.h"

#include <utility>

namespace ingot {

namespace {

constexpr std::string_view kFence = "\"\"\"";

}  // namespace

std::optional<InputMessage> MessageLines::add(std::string_view line) {
  if (state_ == State::kFenced) return add_fenced(line);
  if (state_ == State::kStart && line.starts_with(kFence)) {
    state_ = State::kFenced;
    return add_fenced(line.substr(kFence.size()));
  }
  const bool was_begun = has_begun();
  if (line.ends_with('\\')) {
    line.remove_suffix(1);
    text_.append(line).append("\n");
    state_ = State::kContinued;
    return std::nullopt;
  }
  text_ += line;
  return take(!was_begun);
}

/// The line breaks next to the fences are not part of the text.
std::optional<InputMessage> MessageLines::add_fenced(std::string_view line) {
  if (line.ends_with(kFence)) {
    line.remove_suffix(kFence.size());
    text_ += line;
    if (line.empty() && text_.ends_with('\n')) text_.pop_back();
    return take(false);
  }
  if (!text_.empty() || !line.empty()) text_.append(line).append("\n");
  return std::nullopt;
}

InputMessage MessageLines::take(bool is_plain) {
  state_ = State::kStart;
  return {std::exchange(text_, {}), is_plain};
}

void MessageLines::clear() { take(false); }

}  // namespace ingot
