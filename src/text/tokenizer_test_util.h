// Small vocabularies for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "load/tokenizer_data.h"
#include "text/byte_alphabet.h"

namespace ingot::testing {

/// One entry of a vocabulary under construction.
struct TestPiece {
  std::string text;
  TokenType type = TokenType::kNormal;
  float score = 0;
};

inline TokenizerData make_data(std::string model, std::string pre,
                               const std::vector<TestPiece>& pieces) {
  TokenizerData data;
  data.file = "test.gguf";
  data.model = std::move(model);
  data.pre = std::move(pre);
  for (const TestPiece& p : pieces) {
    data.tokens.add(p.text);
    data.types.push_back(p.type);
    if (data.model == "llama") data.scores.push_back(p.score);
  }
  return data;
}

/// `bytes` in the byte alphabet.
inline std::string to_letters(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) append_utf8(text, byte_to_letter(static_cast<std::uint8_t>(c)));
  return text;
}

/// The 256 bytes as byte-level tokens: token b stands for byte b.
inline std::vector<TestPiece> byte_letters() {
  std::vector<TestPiece> pieces;
  for (int b = 0; b < 256; ++b)
    pieces.push_back({to_letters(std::string(1, static_cast<char>(b)))});
  return pieces;
}

/// A byte-level vocabulary: token b is byte b, then the joined pieces of `merges` (of raw bytes, "a
/// b" joins a and b) as tokens 256 and on, then `added`.
inline TokenizerData byte_level_data(std::string pre,
                                     const std::vector<std::pair<std::string, std::string>>& merges,
                                     const std::vector<TestPiece>& added = {}) {
  std::vector<TestPiece> pieces = byte_letters();
  for (const auto& [left, right] : merges) pieces.push_back({to_letters(left + right)});
  pieces.insert(pieces.end(), added.begin(), added.end());
  TokenizerData data = make_data("gpt2", std::move(pre), pieces);
  for (const auto& [left, right] : merges)
    data.merges.add(to_letters(left) + " " + to_letters(right));
  return data;
}

/// A SentencePiece vocabulary: 0 <unk>, 1 <s>, 2 </s>, bytes from 3 on where wanted, then `normal`
/// with scores 0, -1, -2, ..., then `added`.
inline TokenizerData sentencepiece_data(const std::vector<std::string>& normal,
                                        const std::vector<TestPiece>& added = {},
                                        bool bytes = true) {
  std::vector<TestPiece> pieces = {
      {"<unk>", TokenType::kUnknown}, {"<s>", TokenType::kControl}, {"</s>", TokenType::kControl}};
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (std::size_t b = 0; bytes && b < 256; ++b) {
    pieces.push_back({std::string("<0x") + kHex[b / 16] + kHex[b % 16] + ">", TokenType::kByte});
  }
  float score = 0;
  for (const std::string& text : normal) pieces.push_back({text, TokenType::kNormal, score--});
  pieces.insert(pieces.end(), added.begin(), added.end());
  TokenizerData data = make_data("llama", "default", pieces);
  data.unknown = 0;
  data.bos = 1;
  data.eos = 2;
  return data;
}

}  // namespace ingot::testing
