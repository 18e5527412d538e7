// The scanners. Each looks at what the pattern's alternatives can start with and takes the first
// that matches.
#include "text/pretokenize.h"

#include <array>
#include <cstddef>
#include <utility>

#include "base/utf8.h"
#include "text/char_class.h"

namespace ingot {
namespace {

/// One character of the text, or the end (size 0).
struct Char {
  CharClass kind = kOther;
  char ascii = '\0';  ///< the character when it is ASCII
  std::uint8_t size = 0;

  bool is_end() const { return size == 0; }
  bool is_newline() const { return ascii == '\r' || ascii == '\n'; }
  /// Not white space, letter or number: [^\s\p{L}\p{N}].
  bool is_sign() const { return !is_end() && (kind & (kSpace | kLetter | kNumber)) == 0; }
  bool is(CharClass wanted) const { return !is_end() && (kind & wanted) != 0; }
  bool is_digit() const { return ascii >= '0' && ascii <= '9'; }
};

Char char_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  const char c = text[at];
  if (static_cast<unsigned char>(c) < 0x80) {
    return {char_class(static_cast<unsigned char>(c)), c, 1};
  }
  const Utf8Char step = decode_utf8(text.substr(at));
  if (!step.valid) return {kOther, '\0', 1};
  return {char_class(step.code), '\0', static_cast<std::uint8_t>(step.size)};
}

/// The end of the run of characters from `at` on that satisfy `wanted`.
template <class Wanted>
std::size_t run_end(std::string_view text, std::size_t at, const Wanted& wanted) {
  for (Char c = char_at(text, at); !c.is_end() && wanted(c); c = char_at(text, at)) at += c.size;
  return at;
}

std::size_t class_end(std::string_view text, std::size_t at, CharClass kind) {
  return run_end(text, at, [kind](Char c) { return c.is(kind); });
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

/// Bytes of 's, 't, 're, 've, 'm, 'll or 'd at the start of `text`, else 0. Without regard to case,
/// U+017F (long s) folds to s.
std::size_t contraction(std::string_view text, bool any_case) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  const char first = any_case ? lower(text[1]) : text[1];
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (any_case && text.substr(1, 2) == "\xC5\xBF") return 3;
  if (text.size() < 3) return 0;
  const char second = any_case ? lower(text[2]) : text[2];
  const bool two =
      ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
  return two ? 3 : 0;
}

/// \s+(?!\S)|\s+ for a run of spaces that starts the text and ends at `end`, its last character at
/// `last`: all of it at the end of the text, else all but the last character, which belongs to what
/// follows, unless it is alone.
std::size_t spaces_before(std::size_t last, std::size_t end, bool something_follows) {
  return something_follows && last > 0 ? last : end;
}

/// A run of white space at the start of a text.
struct SpaceRun {
  std::size_t end = 0;          ///< bytes
  std::size_t last = 0;         ///< where its last character starts
  std::size_t newline_end = 0;  ///< behind its last \r or \n; 0 when it has none
};

SpaceRun space_run(std::string_view text) {
  SpaceRun run;
  for (Char c = char_at(text, 0); c.is(kSpace); c = char_at(text, run.end)) {
    run.last = run.end;
    run.end += c.size;
    if (c.is_newline()) run.newline_end = run.end;
  }
  return run;
}

std::size_t gpt2_length(std::string_view text) {
  if (const std::size_t size = contraction(text, false)) return size;
  const std::size_t start = text[0] == ' ' ? 1 : 0;
  const Char lead = char_at(text, start);
  if (lead.is(kLetter)) return class_end(text, start, kLetter);
  if (lead.is(kNumber)) return class_end(text, start, kNumber);
  if (lead.is_sign()) return run_end(text, start, [](Char c) { return c.is_sign(); });
  const SpaceRun run = space_run(text);
  return spaces_before(run.last, run.end, run.end < text.size());
}

/// Llama 3's pattern with numbers of at most `digits_max` characters.
std::size_t llama3_length(std::string_view text, int digits_max) {
  if (const std::size_t size = contraction(text, true)) return size;
  const Char first = char_at(text, 0);
  if (first.is(kLetter)) return class_end(text, 0, kLetter);
  const Char second = char_at(text, first.size);
  if (!first.is_newline() && !first.is(kNumber) && second.is(kLetter)) {
    return class_end(text, first.size, kLetter);
  }
  if (first.is(kNumber)) {
    std::size_t end = first.size;
    for (int digits = 1; digits < digits_max; ++digits) {
      const Char next = char_at(text, end);
      if (!next.is(kNumber)) break;
      end += next.size;
    }
    return end;
  }
  const std::size_t start = first.ascii == ' ' ? 1 : 0;
  if ((start == 0 ? first : second).is_sign()) {
    const std::size_t signs = run_end(text, start, [](Char c) { return c.is_sign(); });
    return run_end(text, signs, [](Char c) { return c.is_newline(); });
  }
  const SpaceRun run = space_run(text);
  if (run.newline_end != 0) return run.newline_end;
  return spaces_before(run.last, run.end, run.end < text.size());
}

/// [\p{P}$+<=>^~|]
bool is_default_punctuation(Char c) {
  constexpr std::string_view kSigns = "$+<=>^~|";
  return c.is(kPunctuation) || (c.ascii != '\0' && kSigns.find(c.ascii) != std::string_view::npos);
}

/// [0-9][0-9][0-9] within a run of number characters at the start of `text`: a match, or what comes
/// before one.
std::size_t digit_groups_length(std::string_view text) {
  std::size_t at = 0;
  std::size_t digits = 0;  // ASCII digits just before `at`
  for (Char c = char_at(text, 0); c.is(kNumber); c = char_at(text, at)) {
    at += c.size;
    digits = c.is_digit() ? digits + 1 : 0;
    if (digits == 3) return at == 3 ? 3 : at - 3;
  }
  return at;
}

/// Punctuation ends the text for the later patterns, so a piece never looks beyond it.
std::size_t default_length(std::string_view text) {
  const Char first = char_at(text, 0);
  if (is_default_punctuation(first)) return run_end(text, 0, is_default_punctuation);
  if (first.is(kNumber)) return digit_groups_length(text);
  const std::size_t start = first.ascii == ' ' ? 1 : 0;
  const Char lead = char_at(text, start);
  if (lead.is(kLetter)) return class_end(text, start, kLetter);
  if (lead.is(kNumber)) return start;
  if (lead.is_sign() && !is_default_punctuation(lead)) {
    return run_end(text, start, [](Char c) { return c.is_sign() && !is_default_punctuation(c); });
  }
  const SpaceRun run = space_run(text);
  const Char next = char_at(text, run.end);
  return spaces_before(run.last, run.end, !next.is_end() && !is_default_punctuation(next));
}

}  // namespace

std::optional<Pretokenizer> find_pretokenizer(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, Pretokenizer>, 6> kNames = {{
      {"default", Pretokenizer::kDefault},
      {"gpt-2", Pretokenizer::kGpt2},
      {"llama-bpe", Pretokenizer::kLlama3},
      {"llama3", Pretokenizer::kLlama3},
      {"llama-v3", Pretokenizer::kLlama3},
      {"qwen2", Pretokenizer::kQwen2},
  }};
  for (const auto& [known, kind] : kNames) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

std::size_t pretoken_length(Pretokenizer kind, std::string_view text) {
  switch (kind) {
    case Pretokenizer::kGpt2:
      return gpt2_length(text);
    case Pretokenizer::kLlama3:
      return llama3_length(text, 3);
    case Pretokenizer::kQwen2:
      return llama3_length(text, 1);
    case Pretokenizer::kDefault:
      return default_length(text);
  }
  return text.size();
}

}  // namespace ingot
