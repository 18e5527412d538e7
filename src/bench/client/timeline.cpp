// Timeline: follows a response and records its times.
#include "bench/client/timeline.h"

#include <algorithm>

#include "base/text.h"

namespace ingot {

namespace {

constexpr std::size_t kEventBytesMax = 4 << 20;
constexpr std::size_t kPlainBytesMax = 4 << 20;

}  // namespace

Timeline::Timeline(double sent, bool keep_text)
    : result_{.sent = sent}, sse_(kEventBytesMax), keep_text_(keep_text) {}

void Timeline::head(int status, bool is_stream, double now) {
  result_.status = status;
  result_.answer = now;
  is_stream_ = is_stream && status == 200;
}

bool Timeline::body(std::string_view bytes, double now) {
  if (!is_stream_) {
    plain_ += bytes.substr(0, kPlainBytesMax - std::min(plain_.size(), kPlainBytesMax));
    return true;
  }
  if (!sse_.read(bytes, events_)) {
    result_.error = cat("an event of more than ", kEventBytesMax, " bytes");
  }
  for (const SseEvent& event : events_) {
    if (is_done_ || !result_.error.empty()) break;
    take(read_answer_event(event.data), now);
  }
  events_.clear();
  return result_.error.empty();
}

void Timeline::take(const AnswerEvent& event, double now) {
  result_.error = event.error;
  is_done_ = event.is_done;
  if (event.usage) result_.usage = event.usage;
  if (!event.finish_reason.empty()) result_.finish_reason = event.finish_reason;
  if (event.has_token) take_piece(event.text, now);
}

void Timeline::take_piece(std::string_view text, double now) {
  if (result_.pieces == 0) {
    result_.first = now;
  } else {
    result_.gaps.push_back(now - result_.last);
  }
  result_.last = now;
  ++result_.pieces;
  if (keep_text_) result_.text += text;
}

void Timeline::end_plain(double now) {
  if (result_.status != 200) {
    result_.error = cat("status ", result_.status, ": ", error_message(plain_));
    return;
  }
  take(read_answer_event(plain_), now);
}

void Timeline::end(const std::string& problem, double now) {
  const bool has_head = result_.status != 0;
  if (result_.error.empty()) result_.error = problem;
  if (result_.error.empty() && has_head && !is_stream_) end_plain(now);
  if (result_.error.empty() && result_.finish_reason.empty()) {
    result_.error = "the answer ended without a finish_reason";
  }
  if (result_.pieces == 0) result_.first = result_.last = now;
}

}  // namespace ingot
