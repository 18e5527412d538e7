// A tokenizer as a file stores it: pieces and settings, checked for shape but not yet for meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Many short strings in one allocation, in order.
class StringTable {
 public:
  void add(std::string_view s) {
    bytes_ += s;
    ends_.push_back(bytes_.size());
  }
  void reserve(std::size_t strings, std::size_t bytes) {
    ends_.reserve(strings);
    bytes_.reserve(bytes);
  }
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

/// What a piece is for; the values are GGUF's token_type.
enum class TokenType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

/// The tokenizer's part of a GGUF's metadata (keys tokenizer.ggml.*). Arrays have `tokens.size()`
/// entries or none, ids are within the vocabulary; merges and byte pieces are checked by text/.
struct TokenizerData {
  std::string file;   ///< for error messages
  std::string model;  ///< "llama" (SentencePiece BPE), "gpt2" (byte-level BPE), "bert", "t5", ...
  std::optional<std::string>
      pre;  ///< pre-tokenizer name: "default", "gpt-2", "llama-bpe", "qwen2", ...
  StringTable tokens;
  std::vector<float> scores;     ///< empty when the file has none
  std::vector<TokenType> types;  ///< empty when the file has none
  StringTable merges;            ///< "left right" each, best first
  std::optional<std::int32_t> bos, eos, unknown, padding, eot;
  std::optional<bool> add_bos, add_eos, add_space_prefix, remove_extra_whitespaces;
  std::optional<std::string> chat_template;
};

}  // namespace ingot
