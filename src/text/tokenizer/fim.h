// Fill-in-the-middle: prompts for which a model writes the text between a prefix and a suffix.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

class Tokenizer;

/// How a model wants a prefix and a suffix. All members but `suffix_first` are token ids.
struct FimFormat {
  std::int32_t prefix = -1;              ///< stands before the prefix
  std::int32_t suffix = -1;              ///< stands before the suffix
  std::optional<std::int32_t> middle{};  ///< stands last; absent: the model starts after the texts
  bool suffix_first = false;             ///< true: the suffix stands before the prefix
  std::optional<std::int32_t> repository{};  ///< stands before a repository's name
  std::optional<std::int32_t> file{};        ///< stands before a file's name

  bool operator==(const FimFormat&) const = default;
};

/// Another file that the model sees before the prefix.
struct FimFile {
  std::string_view name;
  std::string_view text;
};

/// The texts around the gap.
struct FimText {
  std::string_view prefix;
  std::string_view suffix;
  std::span<const FimFile> files{};
  bool parse_special = false;  ///< turns names of added tokens in the texts into tokens
};

/// Finds the tokens of fill-in-the-middle: by the ids that the file states, or by the texts that
/// known families of models use. Returns nothing if the vocabulary lacks a token. The ids that the
/// file states must be within the vocabulary.
std::optional<FimFormat> find_fim(const TokenizerData& data);

/// Returns the prompt for the text between prefix and suffix, with BOS as the tokenizer adds it.
/// The tokenizer must have a FimFormat.
///
/// Errors:  those of Tokenizer::encode.
std::vector<std::int32_t> encode_fim(const Tokenizer& tokenizer, const FimText& text);

}  // namespace ingot
