// Unicode normal forms with utf8proc's data. Marks are sorted here, because utf8proc's ordering is
// quadratic in a run of marks.
#include "text/unicode/normalize.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "text/unicode/char_class.h"

namespace ingot {
namespace {

using Codes = std::vector<utf8proc_int32_t>;

bool is_compatible(NormalForm form) {
  return form == NormalForm::kNfkc || form == NormalForm::kNfkd;
}

bool is_composed(NormalForm form) { return form == NormalForm::kNfc || form == NormalForm::kNfkc; }

int combining_class(utf8proc_int32_t code) {
  return static_cast<int>(utf8proc_get_property(code)->combining_class);
}

void order_marks(Codes& codes) {
  const auto is_starter = [](utf8proc_int32_t c) { return combining_class(c) == 0; };
  const auto by_class = [](utf8proc_int32_t a, utf8proc_int32_t b) {
    return combining_class(a) < combining_class(b);
  };
  for (auto at = codes.begin(); at != codes.end();) {
    const auto first = std::find_if_not(at, codes.end(), is_starter);
    at = std::find_if(first, codes.end(), is_starter);
    if (!std::is_sorted(first, at, by_class)) std::stable_sort(first, at, by_class);
  }
}

/// Collects a character with the marks behind it, decomposed, and writes them in a normal form.
class FormWriter {
 public:
  FormWriter(NormalForm form, std::string& out)
      : out_(out),
        compose_(is_composed(form)),
        decompose_options_(static_cast<utf8proc_option_t>(
            UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (is_compatible(form) ? UTF8PROC_COMPAT : 0))) {}

  void add(char32_t code) {
    // The longest decomposition of a code point has 18 code points (UAX 15, stability policy).
    std::array<utf8proc_int32_t, 32> parts;
    int boundary_state = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(
        static_cast<utf8proc_int32_t>(code), parts.data(),
        static_cast<utf8proc_ssize_t>(parts.size()), decompose_options_, &boundary_state);
    INGOT_CHECK(count > 0 && count <= static_cast<utf8proc_ssize_t>(parts.size()), "code point ",
                static_cast<std::uint32_t>(code), " decomposes into ", count);
    if ((char_class(static_cast<char32_t>(parts[0])) & kCombines) == 0) flush();
    codes_.insert(codes_.end(), parts.begin(), parts.begin() + count);
  }

  void flush() {
    if (codes_.size() > 1) {
      order_marks(codes_);
      if (compose_) compose();
    }
    for (const utf8proc_int32_t c : codes_) append_utf8(out_, static_cast<char32_t>(c));
    codes_.clear();
  }

 private:
  void compose() {
    const utf8proc_ssize_t count = utf8proc_normalize_utf32(
        codes_.data(), static_cast<utf8proc_ssize_t>(codes_.size()),
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    INGOT_CHECK(count >= 0, "composing failed with ", count);
    codes_.resize(to_size(count));
  }

  std::string& out_;
  bool compose_;
  utf8proc_option_t decompose_options_;
  Codes codes_;
};

/// As decode_utf8, but faster for ASCII.
Utf8Char char_at(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return {.code = byte, .size = 1, .valid = true};
  return decode_utf8(text.substr(at));
}

/// Calls `change(code, out)` for each valid character of `text`; it appends the replacement.
template <class Change>
std::string change_chars(std::string_view text, const Change& change) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char step = char_at(text, at);
    if (step.valid) {
      change(step.code, out);
    } else {
      out += text.substr(at, step.size);
    }
    at += step.size;
  }
  return out;
}

bool has(char32_t code, unsigned classes) { return (char_class(code) & classes) != 0; }

/// Whether BERT counts the character as a CJK ideograph.
///
/// Source:  tokenizers, is_chinese_char, which begins extension E at U+2B920.
bool is_cjk_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

/// General category Co (private use); unassigned code points are not included.
bool is_private_use(char32_t c) {
  return (c >= 0xE000 && c <= 0xF8FF) || (c >= 0xF0000 && c <= 0xFFFFD) ||
         (c >= 0x100000 && c <= 0x10FFFD);
}

void clean_char(char32_t c, std::string& out) {
  const bool kept_control = c == '\t' || c == '\n' || c == '\r';
  if (c == 0xFFFD || is_private_use(c) || (has(c, kControl) && !kept_control)) return;
  if (has(c, kSpace)) {
    out += ' ';
  } else {
    append_utf8(out, c);
  }
}

void space_cjk_char(char32_t c, std::string& out) {
  if (!is_cjk_ideograph(c)) return append_utf8(out, c);
  out += ' ';
  append_utf8(out, c);
  out += ' ';
}

void lower_char(char32_t c, std::string& out) {
  // The only character with a lower case of two characters in any context (SpecialCasing.txt).
  if (c == 0x130) {
    out += "i\xCC\x87";
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

std::optional<char32_t> nmt_char(char32_t c) {
  const bool removed = (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) ||
                       c == 0x7F || c == 0x8F || c == 0x9F;
  if (removed) return std::nullopt;
  const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                     (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                     c == 0xFEFF || c == 0xFFFD;
  return space ? U' ' : c;
}

}  // namespace

std::string to_normal_form(std::string_view text, NormalForm form) {
  std::string out;
  out.reserve(text.size());
  FormWriter writer(form, out);
  std::size_t copied = 0;   // bytes of the text that `out` has already
  std::size_t starter = 0;  // the last character before `at` that marks can belong to
  for (std::size_t at = 0; at < text.size();) {
    Utf8Char step = char_at(text, at);
    if (!step.valid || !has(step.code, kCombines | kDecomposes)) {
      starter = step.valid ? at : at + step.size;
      at += step.size;
      continue;
    }
    out += text.substr(copied, starter - copied);
    if (starter < at) writer.add(decode_utf8(text.substr(starter)).code);
    while (step.valid && has(step.code, kCombines | kDecomposes)) {
      writer.add(step.code);
      at += step.size;
      step = at < text.size() ? char_at(text, at) : Utf8Char{};
    }
    writer.flush();
    copied = starter = at;
  }
  return out += text.substr(copied);
}

std::string to_lower(std::string_view text) { return change_chars(text, lower_char); }

std::string strip_marks(std::string_view text) {
  return change_chars(text, [](char32_t c, std::string& out) {
    if (!has(c, kMark)) append_utf8(out, c);
  });
}

std::string_view strip(std::string_view text, bool left, bool right) {
  std::size_t begin = 0;
  std::size_t end = 0;  // end of the last character that is not a space
  bool in_front = left;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char step = char_at(text, at);
    const bool space = step.valid && has(step.code, kSpace);
    at += step.size;
    in_front = in_front && space;
    if (in_front) begin = at;
    if (!space || !right) end = at;
  }
  return text.substr(begin, std::max(begin, end) - begin);
}

std::string bert_normalize(std::string_view text, const BertNormalization& options) {
  std::string out(text);
  if (options.clean_text) out = change_chars(out, clean_char);
  if (options.space_cjk) out = change_chars(out, space_cjk_char);
  if (options.strip_accents) {
    out = change_chars(to_normal_form(out, NormalForm::kNfd), [](char32_t c, std::string& to) {
      if (!has(c, kNonspacing)) append_utf8(to, c);
    });
  }
  return options.lowercase ? to_lower(out) : out;
}

std::string nmt_normalize(std::string_view text) {
  return change_chars(text, [](char32_t c, std::string& out) {
    if (const auto changed = nmt_char(c)) append_utf8(out, *changed);
  });
}

void check_normalized_size(std::size_t bytes, std::size_t bytes_max) {
  if (bytes > bytes_max) {
    throw Error(ErrorCode::kInvalid,
                cat("the tokenizer's normalisation makes more than ", bytes_max,
                    " bytes of the text, the most allowed; its replacements are not sound"));
  }
}

}  // namespace ingot
