// Fuzz target: any bytes as a SentencePiece model: an accepted one can be worked with.
#include <cstddef>
#include <cstdint>
#include <span>

#include "load/tokenizer/sentencepiece_model.h"
#include "text/tokenizer/tokenizer_fuzz_checks.h"
#include "text/unicode/char_class.h"

/// Builds the table of characters, so that no input's time includes it.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  ingot::char_class(U'a');
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  ingot::testing::expect_errors_only(
      [&] { ingot::testing::use_tokenizer(ingot::read_sentencepiece_model(bytes, "fuzz.model")); });
  return 0;
}
