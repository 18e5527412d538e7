// Fuzz target: any bytes as tokenizer.json, a NUL, tokenizer_config.json: an accepted pair can be
// worked with.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "load/tokenizer/tokenizer_json.h"
#include "load/tokenizer/tokenizer_settings.h"
#include "text/tokenizer/tokenizer_fuzz_checks.h"
#include "text/unicode/char_class.h"

namespace {

constexpr ingot::JsonLimits kLimits{.bytes_max = 1 << 20, .depth_max = 32};

void use_files(std::string_view text) {
  const std::size_t end = text.find('\0');
  const std::string name = "tokenizer.json";
  ingot::TokenizerData data = ingot::read_tokenizer_json(
      ingot::parse_json(text.substr(0, end), name, "tokenizer", kLimits), name);
  if (end != std::string_view::npos) {
    const std::string config = "tokenizer_config.json";
    ingot::apply_settings(
        data, ingot::read_tokenizer_settings(
                  ingot::parse_json(text.substr(end + 1), config, "tokenizer", kLimits), config));
  }
  ingot::testing::use_tokenizer(data);
}

}  // namespace

/// Builds the table of characters, so that no input's time includes it.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  ingot::char_class(U'a');
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ingot::testing::expect_errors_only([&] { use_files(text); });
  return 0;
}
