// Unicode normal forms and the other ways in which tokenizers change a text before they cut it.
// Every function takes any bytes: those that are not valid UTF-8 stay as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ingot {

/// Unicode's normal forms.
enum class NormalForm : std::uint8_t { kNfc, kNfd, kNfkc, kNfkd };

/// `text` in a normal form; bytes that are not valid UTF-8 are composed with nothing. It has at
/// most 11 times the bytes (U+FDFA in NFKC).
///
/// Cost:    O(n log n), also for long runs of combining marks; a scan for what is in the form.
/// Source:  Unicode Standard Annex 15.
std::string to_normal_form(std::string_view text, NormalForm form);
inline std::string to_nfc(std::string_view text) { return to_normal_form(text, NormalForm::kNfc); }

/// Each character in lower case, whatever stands beside it: capital sigma is always small sigma.
std::string to_lower(std::string_view text);

/// Without combining marks (category M). Accents of composed characters stay: NFD parts them.
std::string strip_marks(std::string_view text);

/// Without the white space in front and behind.
std::string_view strip(std::string_view text, bool left, bool right);

/// What BERT's normaliser does, in this order.
struct BertNormalization {
  bool clean_text = true;     ///< no NUL, U+FFFD and control characters, white space is spaces
  bool space_cjk = true;      ///< a space before and behind each CJK ideograph
  bool strip_accents = true;  ///< NFD without nonspacing marks
  bool lowercase = true;
};

/// Cost:    linear; at most 3 times the bytes and then those of NFD and lower case.
/// Source:  BERT's tokenization.py; ranges as Hugging Face's tokenizers have them.
std::string bert_normalize(std::string_view text, const BertNormalization& options);

/// SentencePiece's "nmt" cleaning: some control characters away, odd white space to spaces.
///
/// Source:  SentencePiece's normalisation rules, as Hugging Face's tokenizers have them.
std::string nmt_normalize(std::string_view text);

/// The most bytes that a text of `bytes` may have after steps that a file describes (Replace,
/// Prepend, precompiled maps): four times as many and 1 KiB.
constexpr std::size_t normalized_bytes_max(std::size_t bytes) { return 4 * bytes + 1024; }

/// Errors:  Error{kInvalid} when a normalised text of `bytes` bytes is longer than `bytes_max`.
void check_normalized_size(std::size_t bytes, std::size_t bytes_max);

}  // namespace ingot
