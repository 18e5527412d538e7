// Text normalisation for tokenizers: Unicode normal forms, lower case, accents, BERT's rules.
// Every function accepts any bytes; invalid UTF-8 stays unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ingot {

/// Unicode's normal forms.
enum class NormalForm : std::uint8_t { kNfc, kNfd, kNfkc, kNfkd };

/// `text` in a normal form; invalid bytes stay as they are. The result has at most 11 times the
/// bytes of `text`, a factor that U+FDFA reaches in NFKC.
///
/// Cost:    O(n log n), even for long runs of marks; one scan if the text has this form already.
/// Source:  Unicode Standard Annex 15.
std::string to_normal_form(std::string_view text, NormalForm form);
inline std::string to_nfc(std::string_view text) { return to_normal_form(text, NormalForm::kNfc); }

/// `text` with each character in lower case, whatever its neighbours (final sigma is not used).
std::string to_lower(std::string_view text);

/// Removes combining marks (category M). A composed character keeps its accent, so apply NFD first.
std::string strip_marks(std::string_view text);

/// Removes white space of `text`: at the start if `left`, at the end if `right`.
std::string_view strip(std::string_view text, bool left, bool right);

/// Switches for the steps of BERT's normaliser, in the order in which they run.
struct BertNormalization {
  bool clean_text = true;     ///< drops NUL, U+FFFD and controls; turns all white space into spaces
  bool space_cjk = true;      ///< puts a space before and behind each CJK ideograph
  bool strip_accents = true;  ///< applies NFD and removes nonspacing marks
  bool lowercase = true;
};

/// BERT's normaliser. Cost: linear. NFD and lower case get a text of at most 3 times the bytes.
/// Source:  BERT's tokenization.py; code point ranges from Hugging Face's tokenizers.
std::string bert_normalize(std::string_view text, const BertNormalization& options);

/// SentencePiece's "nmt" rules: removes some control characters, and turns all kinds of white space
/// into spaces.
///
/// Source:  SentencePiece's normalisation rules, as Hugging Face's tokenizers implement them.
std::string nmt_normalize(std::string_view text);

/// Most bytes that a text of `bytes` bytes may have after Replace and Prepend steps. Without a
/// limit a hostile tokenizer file could make texts of any size.
constexpr std::size_t normalized_bytes_max(std::size_t bytes) { return 4 * bytes + 1024; }

/// Checks the size of a normalised text. Errors: Error{kInvalid} if `bytes` exceeds `bytes_max`.
void check_normalized_size(std::size_t bytes, std::size_t bytes_max);

}  // namespace ingot
