// Fuzz target: any chat template over a chat that holds every kind of value. Each render ends
// within its budget, as text or as an error; two renders are equal; and no byte of the chat counts
// as the template's own.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "base/utf8.h"
#include "load/json.h"
#include "text/jinja/jinja.h"
#include "text/unicode/char_class.h"

namespace {

/// Its strings are all made of letters that no dictionary entry and no literal is likely to hold.
constexpr std::string_view kMessages = R"([
  {"role": "user", "content": "ŻŻŻ"},
  {"role": "assistant", "content": null, "n": 1.5, "b": true,
   "calls": [{"name": "Żf", "arguments": {"Ża": [1, "Ż", {}]}}]},
  {"role": "ŻŻ", "content": [{"type": "text", "text": "Ż Ż\n"}]}])";

void check_marks(const ingot::MarkedText& text, bool source_has_letter) {
  std::size_t behind = 0;
  for (std::size_t i = 0; i < text.own.size(); ++i) {
    const ingot::TextSpan& span = text.own[i];
    INGOT_CHECK(span.begin < span.end && span.end <= text.bytes.size(), "span ", i);
    INGOT_CHECK(i == 0 || behind < span.begin, "span ", i, " touches the one before");
    behind = span.end;
    const std::string_view own =
        std::string_view(text.bytes).substr(span.begin, span.end - span.begin);
    INGOT_CHECK(source_has_letter || own.find("Ż") == std::string_view::npos,
                "the chat's text counts as the template's");
  }
}

}  // namespace

/// Builds the table of characters, so that no input's time includes it.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  ingot::char_class(U'a');
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ingot::Json messages = ingot::parse_json(kMessages, "fuzz", "messages");
  static const ingot::Json yes(true);
  static const ingot::Json bos("<s>");
  const std::string source =
      ingot::to_valid_utf8(std::string_view(reinterpret_cast<const char*>(data), size));
  // An escape can spell the letter too, and so can a mapping of case.
  const bool has_letter = source.find("Ż") != std::string::npos ||
                          source.find('\\') != std::string::npos ||
                          source.find("ż") != std::string::npos;
  const ingot::JinjaVariable variables[] = {
      {.name = "messages", .value = &messages, .origin = ingot::VariableOrigin::kMessages},
      {.name = "add_generation_prompt", .value = &yes},
      {.name = "bos_token", .value = &bos, .origin = ingot::VariableOrigin::kTemplate}};
  ingot::JinjaOptions options;
  options.limits = {.steps_max = 50'000, .memory_bytes_max = std::size_t{8} << 20};
  std::string first;
  for (int i = 0; i < 2; ++i) {
    std::string result;
    try {
      const ingot::JinjaTemplate chat(source, "fuzz");
      const ingot::MarkedText text = chat.render(variables, options);
      INGOT_CHECK(ingot::is_utf8(text.bytes), "the text is not UTF-8");
      check_marks(text, has_letter);
      result = text.bytes;
    } catch (const ingot::Error& error) {
      result = error.message();
      INGOT_CHECK(result.find('\n') == std::string::npos, "an error of two lines");
    }
    INGOT_CHECK(i == 0 || result == first, "a second render differs");
    first = std::move(result);
  }
  return 0;
}
