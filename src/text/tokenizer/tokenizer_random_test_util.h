// Random texts for tests of tokenizers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quant/test_data.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot::testing {

/// Returns a random text of up to about 60 bytes: letters, spaces, special tokens, invalid UTF-8.
inline std::string random_text(Random& random) {
  static const std::vector<std::string> kParts = {"a",
                                                  "b",
                                                  "ab",
                                                  " ",
                                                  "  ",
                                                  "\n",
                                                  "\t",
                                                  "'s",
                                                  "1",
                                                  "é",
                                                  "中",
                                                  "🦙",
                                                  "▁",
                                                  "\u0301",
                                                  "e\u0301",
                                                  "\uFFFD",
                                                  "<s>",
                                                  "<|im_end|>",
                                                  "[SEP]",
                                                  "\u200D",
                                                  "\x80",
                                                  "\xC3",
                                                  "\xE2\x82",
                                                  "\xED\xA0\x80",
                                                  "\xF8\x88\x80\x80\x80",
                                                  std::string(1, '\0')};
  std::string text;
  while (random.next() % 16 != 0 && text.size() < 60) text += kParts[random.next() % kParts.size()];
  return text;
}

/// Returns the decoded bytes of all tokens, joined.
inline std::string joined(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  std::string bytes;
  for (const std::int32_t id : ids) bytes += tokenizer.piece(id);
  return bytes;
}

}  // namespace ingot::testing
