// Checks for fuzz targets: a tokenizer read from a file works, or fails with an Error.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/utf8.h"
#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot::testing {

/// Runs `work`. It may throw only an Error, with a one-line message and code kModel or kInvalid.
template <class Work>
void expect_errors_only(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    INGOT_CHECK(printable(error.message(), error.message().size() + 1) == error.message(),
                error.message());
    INGOT_CHECK(error.code() == ErrorCode::kModel || error.code() == ErrorCode::kInvalid,
                error.message());
  }
}

/// Returns a text of characters that tokenizers treat specially, and of the vocabulary's pieces.
inline std::string sample_text(const TokenizerData& data) {
  std::string text = "ab \xE2\x96\x81  1234\n\n<s><0x0A>\xFF e\xCC\x81'll \xF0\x9F\x98\x80";
  for (std::size_t i = 0; i < data.tokens.size() && text.size() < 1024; ++i) {
    text += data.tokens[i].substr(0, 64);
  }
  return text;
}

/// Makes the tokenizer that `data` describes. Encodes and decodes a sample text with it.
inline void use_tokenizer(const TokenizerData& data) {
  std::vector<std::string> warnings;
  const auto tokenizer = make_tokenizer(data, warnings);
  const std::string text = sample_text(data);
  for (const bool special : {false, true}) {
    const auto ids = tokenizer->encode(
        text, {.add_begin = special, .add_end = special, .parse_special = special});
    for (const std::int32_t id : ids) {
      INGOT_CHECK(id >= 0 && id < tokenizer->size(), "token ", id, " of ", tokenizer->size());
    }
    if (const auto bound = tokenizer->text_bytes_per_token_max()) {
      INGOT_CHECK(ids.size() * *bound >= text.size(), ids.size(), " tokens of at most ", *bound,
                  " bytes for ", text.size());
    }
    INGOT_CHECK(is_utf8(detokenize(*tokenizer, ids, {.keep_control = special})));
  }
  const std::array<std::int32_t, 4> outside = {-1, tokenizer->size(), 0, 0x7fffffff};
  INGOT_CHECK(is_utf8(detokenize(*tokenizer, outside)));
}

}  // namespace ingot::testing
