// Pre-tokenizers: hand-written scanners for the patterns by which byte-level BPE cuts text before
// merging.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot {

/// A known pattern. L, N, P are Unicode's general categories.
enum class Pretokenizer : std::uint8_t {
  /// GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kGpt2,
  /// Llama 3: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
  /// | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  kLlama3,
  /// Qwen 2: as Llama 3 with every number character on its own.
  kQwen2,
  /// What llama.cpp means by "default" for byte-level BPE: four patterns, each cutting the pieces
  /// of the one before; what a pattern does not match between its matches is a piece too.
  /// [\p{P}$+<=>^~|]+ then GPT-2's (without its last \s+) then \p{N}+ then [0-9][0-9][0-9]
  kDefault,
};

/// The pre-tokenizer of a GGUF's `tokenizer.ggml.pre` for byte-level BPE, or nothing for an unknown
/// name.
std::optional<Pretokenizer> find_pretokenizer(std::string_view name);

/// Bytes of the first piece of `text`, which must start where a piece ends and must not be empty: 1
/// or more. A byte that is not part of valid UTF-8 counts as a character that is neither letter,
/// number nor space.
///
/// Cost:    cutting a whole text piece by piece is linear in its bytes; no recursion, no memory.
std::size_t pretoken_length(Pretokenizer kind, std::string_view text);

/// Calls `each(piece)` for the pieces of `text` from left to right; joined they are `text` again.
template <class Each>
void split(Pretokenizer kind, std::string_view text, Each&& each) {
  while (!text.empty()) {
    const std::size_t size = pretoken_length(kind, text);
    each(text.substr(0, size));
    text.remove_prefix(size);
  }
}

}  // namespace ingot
