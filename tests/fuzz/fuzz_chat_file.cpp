// Fuzz target: any bytes as a saved chat. An accepted one is written and read again unchanged.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "cli/chat/chat_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto messages = ingot::parse_saved_chat(text, "fuzz.json");
    const auto again =
        ingot::parse_saved_chat(ingot::format_saved_chat(messages, "fuzz"), "fuzz.json");
    INGOT_CHECK(again == messages, "a chat changed when it was saved");
  } catch (const ingot::Error& error) {
    INGOT_CHECK(error.code() == ingot::ErrorCode::kModel, "refused with another code");
    INGOT_CHECK(error.message().find('\n') == std::string::npos, "an error of several lines");
  }
  return 0;
}
