// Text normalisation for tokenizers: Unicode normal forms, lower case, accents, BERT's rules.
// Every function accepts any bytes; invalid UTF-8 stays unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ingot {

/// Unicode's normal forms: C composes, D decomposes, K also replaces compatibility characters.
enum class NormalForm : std::uint8_t { kNfc, kNfd, kNfkc, kNfkd };

/// Returns `text` in a normal form. Invalid bytes stay unchanged. The result has at most 11 times
/// the bytes of `text`: U+FDFA reaches this factor in NFKC.
///
/// Cost:    O(n log n), even for long runs of marks; one scan if the text has this form already.
/// Source:  Unicode Standard Annex 15.
std::string to_normal_form(std::string_view text, NormalForm form);
inline std::string to_nfc(std::string_view text) { return to_normal_form(text, NormalForm::kNfc); }

/// Returns `text` with each character in lower case, regardless of neighbours (no final sigma).
std::string to_lower(std::string_view text);

/// Returns `text` without combining marks (category M). Apply NFD first to strip accents.
std::string strip_marks(std::string_view text);

/// Returns `text` without white space at the start (if `left`) and at the end (if `right`).
std::string_view strip(std::string_view text, bool left, bool right);

/// Switches for the steps of BERT's normaliser, in the order of the steps.
struct BertNormalization {
  bool clean_text = true;     ///< drops controls, private use and U+FFFD; white space becomes ' '
  bool space_cjk = true;      ///< puts a space before and after each CJK ideograph
  bool strip_accents = true;  ///< applies NFD and removes nonspacing marks
  bool lowercase = true;
};

/// Runs BERT's normaliser. Cost: linear; NFD and lower case read at most 3 times `text`'s bytes.
/// Source:  BERT's tokenization.py; code point ranges from Hugging Face's tokenizers.
std::string bert_normalize(std::string_view text, const BertNormalization& options);

/// Applies SentencePiece's "nmt" rules: removes some control characters, and turns all kinds of
/// white space into spaces.
///
/// Source:  SentencePiece's normalisation rules, as Hugging Face's tokenizers implement them.
std::string nmt_normalize(std::string_view text);

/// Returns the most bytes that Replace and Prepend steps may make from a text of `bytes` bytes. If
/// there were no limit, a hostile tokenizer file could make texts of any size.
constexpr std::size_t normalized_bytes_max(std::size_t bytes) { return 4 * bytes + 1024; }

/// Checks the size of a normalised text. Errors: Error{kInvalid} if `bytes` exceeds `bytes_max`.
void check_normalized_size(std::size_t bytes, std::size_t bytes_max);

}  // namespace ingot
