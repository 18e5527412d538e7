// Fuzz target: any bytes as a stream of events. How they are cut changes nothing, and what an
// event says is read without harm.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "bench/client/answer_events.h"
#include "bench/client/sse_reader.h"

namespace {

constexpr std::size_t kEventBytesMax = 4096;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<ingot::SseEvent> whole, parts;
  ingot::SseReader reader(kEventBytesMax), other(kEventBytesMax);
  const bool good = reader.read(text, whole);
  bool good_in_parts = true;
  // The first byte says how long the parts are.
  const std::size_t step = size == 0 ? 1 : 1 + data[0] % 16;
  for (std::size_t i = 0; i < size; i += step) {
    good_in_parts = other.read(text.substr(i, step), parts);
  }
  if (good && good_in_parts) INGOT_CHECK(whole == parts, "cutting changed the events");
  INGOT_CHECK(good || whole.size() <= size, "events of nothing");
  for (const ingot::SseEvent& event : whole) {
    INGOT_CHECK(event.data.size() <= kEventBytesMax, "an event beyond the limit");
    const ingot::AnswerEvent answer = ingot::read_answer_event(event.data);
    INGOT_CHECK(answer.error.find('\n') == std::string::npos, "an error of several lines");
  }
  return 0;
}
