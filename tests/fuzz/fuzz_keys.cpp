// Fuzz target: any bytes from a terminal. How they are cut changes nothing, and all text is valid
// UTF-8.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "cli/terminal/key_reader.h"

namespace {

/// The events of the bytes, cut into parts of `step` bytes.
std::vector<ingot::KeyEvent> read_keys(std::string_view bytes, std::size_t step) {
  ingot::KeyReader reader;
  const ingot::KeyReader::Time now{};
  std::vector<ingot::KeyEvent> events;
  const auto read = [&] {
    while (auto event = reader.next()) events.push_back(std::move(*event));
  };
  for (std::size_t i = 0; i < bytes.size(); i += step) {
    reader.add(bytes.substr(i, step), now);
    read();
  }
  while (reader.is_waiting()) {
    reader.end_key(now + ingot::KeyReader::kKeyTime);
    read();
  }
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = read_keys(bytes, size + 1);
  // The first byte says how long the parts are.
  const std::size_t step = size == 0 ? 1 : 1 + data[0] % 16;
  INGOT_CHECK(whole == read_keys(bytes, step), "cutting changed the events");
  for (const ingot::KeyEvent& event : whole) {
    INGOT_CHECK(ingot::is_utf8(event.text), "text is not valid UTF-8");
  }
  return 0;
}
