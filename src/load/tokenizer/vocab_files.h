// Reads vocab.json with merges.txt (GPT-2's format) and vocab.txt (BERT's format).
#pragma once

#include <string>
#include <string_view>

#include "load/json.h"
#include "load/tokenizer/tokenizer_data.h"
#include "load/tokenizer/tokenizer_settings.h"

namespace ingot {

/// The text of a file, and the file's name for error messages.
struct NamedText {
  std::string_view text;
  const std::string& file;
};

/// Reads a byte-level BPE model. The tokenizer class in `settings` decides the pre-tokenizer's
/// pattern. If `settings` have no class, uses GPT-2's pattern and adds a warning.
///
/// Errors: model_error(file, "tokenizer", reason) for malformed files and unknown classes.
TokenizerData read_vocab_and_merges(const Json& vocab, const std::string& vocab_file,
                                    const NamedText& merges, const TokenizerSettings& settings);

/// Reads a BERT WordPiece vocabulary, one token per line. `settings` may turn lower-casing off.
///
/// Errors: those of `read_vocab_and_merges`.
TokenizerData read_vocab_txt(const NamedText& vocab, const TokenizerSettings& settings);

/// Calls `each(line)` for each line of `text`, without the line's end.
template <class Each>
void for_each_line(std::string_view text, const Each& each) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    each(line);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace ingot
