// Unicode normal forms and the other changes that tokenizers make to a text before they cut it.
// Every function takes any bytes; invalid UTF-8 passes unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ingot {

/// Unicode's normal forms.
enum class NormalForm : std::uint8_t { kNfc, kNfd, kNfkc, kNfkd };

/// `text` in a normal form; invalid bytes compose with no character. The result has at most 11
/// times the bytes (U+FDFA in NFKC).
///
/// Cost:    O(n log n), also for long runs of combining marks; one scan for text in the form.
/// Source:  Unicode Standard Annex 15.
std::string to_normal_form(std::string_view text, NormalForm form);
inline std::string to_nfc(std::string_view text) { return to_normal_form(text, NormalForm::kNfc); }

/// Each character in lower case, without context: capital sigma always becomes small sigma.
std::string to_lower(std::string_view text);

/// Removes combining marks (category M). Accents of composed characters stay; NFD separates them.
std::string strip_marks(std::string_view text);

/// Removes white space in front (`left`) and behind (`right`).
std::string_view strip(std::string_view text, bool left, bool right);

/// The steps of BERT's normaliser, in order.
struct BertNormalization {
  bool clean_text = true;     ///< drop NUL, U+FFFD and control characters; white space to spaces
  bool space_cjk = true;      ///< a space before and behind each CJK ideograph
  bool strip_accents = true;  ///< NFD without nonspacing marks
  bool lowercase = true;
};

/// Cost:    linear; at most 3 times the bytes, before NFD and lower case.
/// Source:  BERT's tokenization.py; ranges as Hugging Face's tokenizers have them.
std::string bert_normalize(std::string_view text, const BertNormalization& options);

/// SentencePiece's "nmt" cleaning: removes some control characters, turns odd white space into
/// spaces.
///
/// Source:  SentencePiece's normalisation rules, as Hugging Face's tokenizers have them.
std::string nmt_normalize(std::string_view text);

/// The most bytes that a text of `bytes` may have after steps that a file describes (Replace,
/// Prepend, precompiled maps): four times as many and 1 KiB.
constexpr std::size_t normalized_bytes_max(std::size_t bytes) { return 4 * bytes + 1024; }

/// Errors:  Error{kInvalid} when a normalised text of `bytes` bytes is longer than `bytes_max`.
void check_normalized_size(std::size_t bytes, std::size_t bytes_max);

}  // namespace ingot
