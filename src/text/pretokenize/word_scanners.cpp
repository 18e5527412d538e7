// Scanners for words: each tests the alternatives of its pattern by their first characters, and
// uses the first one that matches.
#include "text/pretokenize/word_scanners.h"

#include "text/unicode/char_scan.h"

namespace ingot {
namespace {

constexpr unsigned kLetterMark = kLetter | kMark;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

/// Bytes of 's, 't, 're, 've, 'm, 'll or 'd at the start of `text`, or 0. With `any_case`, U+017F
/// (long s) counts as s.
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

/// A run of white space at the start of a text.
struct SpaceRun {
  std::size_t end = 0;          ///< bytes of the run
  std::size_t last = 0;         ///< start of its last character
  std::size_t newline_end = 0;  ///< end of its last \r or \n; 0 if it has no line break
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

/// \s+(?!\S)|\s+ : the whole run at the end of the text. Elsewhere its last character belongs to
/// the next piece, unless the run has only one character.
std::size_t spaces_before(const SpaceRun& run, std::string_view text) {
  return run.end < text.size() && run.last > 0 ? run.last : run.end;
}

/// \s*[\r\n]+|\s+(?!\S)|\s+
std::size_t lines_or_spaces(std::string_view text) {
  const SpaceRun run = space_run(text);
  return run.newline_end != 0 ? run.newline_end : spaces_before(run, text);
}

/// \p{N}{1,digits_max} for a text that starts with a number.
std::size_t number_length(std::string_view text, int digits_max) {
  std::size_t end = 0;
  for (int digits = 0; digits < digits_max; ++digits) {
    const Char c = char_at(text, end);
    if (!c.is(kNumber)) break;
    end += c.size;
  }
  return end;
}

}  // namespace

std::size_t gpt2_length(std::string_view text) {
  if (const std::size_t size = contraction(text, false)) return size;
  const std::size_t start = text[0] == ' ' ? 1 : 0;
  const Char lead = char_at(text, start);
  if (lead.is(kLetter)) return class_end(text, start, kLetter);
  if (lead.is(kNumber)) return class_end(text, start, kNumber);
  const auto is_sign = [](Char c) { return c.is_not(kSpace | kLetter | kNumber); };
  if (is_sign(lead)) return run_end(text, start, is_sign);
  return spaces_before(space_run(text), text);
}

std::size_t llama3_length(std::string_view text, const Llama3Rules& rules) {
  if (const std::size_t size = contraction(text, true)) return size;
  const Char first = char_at(text, 0);
  if (first.is(rules.letters)) return class_end(text, 0, rules.letters);
  if (first.is(kNumber)) return number_length(text, rules.digits_max);
  const Char second = char_at(text, first.size);
  if (!first.is_newline() && second.is(rules.letters)) {
    return class_end(text, first.size, rules.letters);
  }
  const auto is_sign = [&](Char c) { return c.is_not(kSpace | kNumber | rules.letters); };
  const std::size_t start = first.code == ' ' ? 1 : 0;
  if (is_sign(start == 0 ? first : second)) {
    const std::size_t signs = run_end(text, start, is_sign);
    if (!rules.sign_lines) return signs;
    return run_end(text, signs, [](Char c) { return c.is_newline(); });
  }
  if (rules.end_spaces && class_end(text, 0, kSpace) == text.size()) return text.size();
  return lines_or_spaces(text);
}

namespace {

/// A word of o200k's pattern that begins at `at`.
struct CasedWord {
  std::size_t end = 0;     ///< end of the word; `at` if no word begins there
  bool has_lower = false;  ///< whether the first alternative matched
};

/// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ or else
/// [\p{Lu}...\p{M}]+[\p{Ll}...]*. If no lower-case letter follows the first run, the first form
/// ends with the run's last character that is in both sets.
CasedWord cased_word(std::string_view text, std::size_t at) {
  std::size_t end = at;
  std::size_t uncased_end = at;
  Char c = char_at(text, end);
  for (; c.is(kLetterMark) && !c.is(kLower); c = char_at(text, end)) {
    end += c.size;
    if (!c.is(kUpper)) uncased_end = end;
  }
  if (c.is(kLower)) {
    const auto is_small = [](Char small) { return small.is(kLetterMark) && !small.is(kUpper); };
    return {run_end(text, end, is_small), true};
  }
  if (uncased_end > at) return {uncased_end, true};
  return {end, false};
}

/// Bytes of the word at the start of `text`, with one optional character in front:
/// [^\r\n\p{L}\p{N}]?. A mark can be this character or a part of the word. 0: no word.
std::size_t prefixed_word_length(std::string_view text) {
  const Char first = char_at(text, 0);
  if (first.is(kLetter)) return cased_word(text, 0).end;
  if (first.is(kNumber) || first.is_newline()) return 0;
  const CasedWord word = cased_word(text, first.size);
  // Behind a mark, a word without a lower-case letter does not count: the mark is the word.
  if (first.is(kMark)) return word.has_lower ? word.end : first.size;
  return word.end > first.size ? word.end : 0;
}

}  // namespace

std::size_t cased_length(std::string_view text, const CasedRules& rules) {
  if (const std::size_t word = prefixed_word_length(text)) {
    return word + (rules.contractions ? contraction(text.substr(word), true) : 0);
  }
  const Char first = char_at(text, 0);
  if (first.is(kNumber)) return number_length(text, rules.digits_max);
  const auto is_sign = [](Char c) { return c.is_not(kSpace | kLetter | kNumber); };
  const std::size_t start = first.code == ' ' ? 1 : 0;
  if (is_sign(char_at(text, start))) {
    const std::size_t signs = run_end(text, start, is_sign);
    return run_end(text, signs, [](Char c) { return c.is_newline() || c.code == '/'; });
  }
  return lines_or_spaces(text);
}

std::size_t deepseek3_length(std::string_view text) {
  const auto is_ascii_letter = [](Char c) { return c.code < 0x80 && c.is(kLetter); };
  const Char first = char_at(text, 0);
  const Char second = char_at(text, first.size);
  const bool ascii_sign = first.code < 0x80 && first.is(kPunctuation | kSymbol);
  if (ascii_sign && is_ascii_letter(second)) return run_end(text, first.size, is_ascii_letter);
  if (first.is(kLetterMark)) return class_end(text, 0, kLetterMark);
  if (!first.is_newline() && !first.is(kPunctuation | kSymbol) && second.is(kLetterMark)) {
    return class_end(text, first.size, kLetterMark);
  }
  const std::size_t start = first.code == ' ' ? 1 : 0;
  if ((start == 0 ? first : second).is(kPunctuation | kSymbol)) {
    const std::size_t signs = class_end(text, start, kPunctuation | kSymbol);
    return run_end(text, signs, [](Char c) { return c.is_newline(); });
  }
  return first.is(kSpace) ? lines_or_spaces(text) : 0;
}

}  // namespace ingot
