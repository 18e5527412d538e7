// Joins lines into messages: fences and backslashes.
#include "cli/chat/message_lines.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace ingot {

namespace {

constexpr std::string_view kFence = "\"\"\"";

bool begins_with_fence(const InputLine& line) {
  return line.text.starts_with(kFence) && line.typed_front >= kFence.size();
}

bool ends_with_fence(const InputLine& line) {
  return line.text.ends_with(kFence) && line.typed_back >= kFence.size();
}

bool ends_with_backslash(const InputLine& line) {
  return line.text.ends_with('\\') && line.typed_back > 0;
}

}  // namespace

std::optional<InputMessage> MessageLines::add(const InputLine& line) {
  if (state_ == State::kFenced) return add_fenced(line);
  if (state_ == State::kStart && begins_with_fence(line)) {
    state_ = State::kFenced;
    const std::string_view rest = line.text.substr(kFence.size());
    if (rest.empty()) return std::nullopt;  // the line break is not part of the text
    // A mark cannot both begin and end the text.
    return add_fenced({rest, line.typed_front, std::min(line.typed_back, rest.size())});
  }
  const bool was_begun = has_begun();
  if (ends_with_backslash(line)) {
    text_.append(line.text.substr(0, line.text.size() - 1)).append("\n");
    state_ = State::kContinued;
    return std::nullopt;
  }
  text_ += line.text;
  return take(!was_begun && line.text.find('\n') == std::string_view::npos);
}

/// The line break before the last fence is not part of the text.
std::optional<InputMessage> MessageLines::add_fenced(InputLine line) {
  if (ends_with_fence(line)) {
    line.text.remove_suffix(kFence.size());
    text_ += line.text;
    if (line.text.empty() && text_.ends_with('\n')) text_.pop_back();
    return take(false);
  }
  text_.append(line.text).append("\n");
  return std::nullopt;
}

InputMessage MessageLines::take(bool is_plain) {
  state_ = State::kStart;
  return {std::exchange(text_, {}), is_plain};
}

void MessageLines::clear() { take(false); }

std::string line_of(const InputMessage& message) {
  const std::string_view text = message.text;
  if (text.find('\n') != std::string_view::npos) return message.text;
  const bool is_message = !text.starts_with('/') || message.is_plain;
  if (is_message && !text.starts_with(kFence) && !text.ends_with('\\')) return message.text;
  return cat(kFence, text, kFence);
}

}  // namespace ingot
