// Pre-tokenizers: selects the function of a scanner, and cuts a text at its matches.
#include "text/pretokenize/pretokenize.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "text/pretokenize/deepseek_letters.h"
#include "text/pretokenize/word_scanners.h"
#include "text/unicode/char_scan.h"

namespace ingot {
namespace {

/// A match; it is empty if nothing matches.
struct Match {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Finds matches by a function that returns the size of a match at the start of a text, or 0.
template <class Length>
auto by_length(const Length& length) {
  return [length](std::string_view text, std::size_t at) -> Match {
    while (at < text.size()) {
      if (const std::size_t size = length(text.substr(at))) return {at, at + size};
      at += char_at(text, at).size;
    }
    return {};
  };
}

/// Finds runs of at least `least` and at most `most` characters that `wanted` takes.
template <class Wanted>
auto runs(const Wanted& wanted, std::size_t least = 1, std::size_t most = std::string_view::npos) {
  return [=](std::string_view text, std::size_t at) -> Match {
    std::size_t begin = at;
    std::size_t count = 0;
    while (at < text.size()) {
      const Char c = char_at(text, at);
      if (wanted(c)) {
        at += c.size;
        if (++count == most) break;
      } else if (count >= least) {
        break;
      } else {
        begin = at += c.size;
        count = 0;
      }
    }
    return count >= least ? Match{begin, at} : Match{};
  };
}

/// \s?[wanted]+
template <class Wanted>
auto spaced_runs(Wanted wanted) {
  return by_length([wanted](std::string_view text) -> std::size_t {
    const Char first = char_at(text, 0);
    if (wanted(first)) return run_end(text, 0, wanted);
    const bool spaced = first.is(kSpace) && wanted(char_at(text, first.size));
    return spaced ? run_end(text, first.size, wanted) : 0;
  });
}

auto of_class(unsigned classes) {
  return [classes](Char c) { return c.is(classes); };
}

/// \w+|[^\w\s]+
std::size_t word_length(std::string_view text) {
  const Char first = char_at(text, 0);
  if (first.is(kWord)) return class_end(text, 0, kWord);
  return run_end(text, 0, [](Char c) { return c.is_not(kWord | kSpace); });
}

/// \s+$
Match spaces_at_end(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (at < text.size()) {
    const Char c = char_at(text, at);
    at += c.size;
    if (!c.is(kSpace)) begin = at;
  }
  return {begin, at};
}

bool is_ascii_symbol(Char c, bool backtick) {
  return c.is(kSymbol) && c.code < 0x80 && (backtick || c.code != '`');
}

bool is_punctuation(Char c) { return c.is(kPunctuation) || is_ascii_symbol(c, true); }
bool is_default_punctuation(Char c) { return c.is(kPunctuation) || is_ascii_symbol(c, false); }

bool is_within(Char c, char32_t first, char32_t last) { return c.code >= first && c.code <= last; }

bool is_deepseek_punctuation(Char c) {
  return is_within(c, '!', '/') || is_within(c, ':', '~') || is_within(c, 0xFF01, 0xFF0F) ||
         is_within(c, 0xFF1A, 0xFF5E) || is_within(c, 0x2018, 0x201F) ||
         is_within(c, 0x3000, 0x3002);
}

bool is_deepseek_letter(Char c) {
  const auto ends_before = [](const std::pair<char32_t, char32_t>& range, char32_t code) {
    return range.second < code;
  };
  const auto range =
      std::lower_bound(kDeepseekLetters.begin(), kDeepseekLetters.end(), c.code, ends_before);
  return range != kDeepseekLetters.end() && range->first <= c.code;
}

bool is_cjk_or_before(Char c) {
  return is_within(c, 0x800, 0x9FA5) || is_within(c, 0xAC00, 0xD7FF);
}

bool is_cjk_or_kana(Char c) { return is_within(c, 0x4E00, 0x9FA5) || is_within(c, 0x3040, 0x30FF); }

/// Runs of bytes that GPT-2's byte alphabet writes as numbers: ASCII digits, and the bytes of
/// Latin-1's superscripts and fractions, also inside of characters.
Match byte_numbers(std::string_view text, std::size_t at) {
  constexpr std::string_view kNumberBytes = "0123456789\xB2\xB3\xB9\xBC\xBD\xBE";
  const std::size_t begin = std::min(text.find_first_of(kNumberBytes, at), text.size());
  return {begin, std::min(text.find_first_not_of(kNumberBytes, begin), text.size())};
}

/// Calls `visit` with a function that finds a scanner's first match at or behind a place.
template <class Visit>
void with_finder(Scanner scanner, const Visit& visit) {
  const auto llama3 = [&](const Llama3Rules& rules) {
    visit(by_length([rules](std::string_view text) { return llama3_length(text, rules); }));
  };
  const auto cased = [&](const CasedRules& rules) {
    visit(by_length([rules](std::string_view text) { return cased_length(text, rules); }));
  };
  switch (scanner) {
    case Scanner::kGpt2:
      return visit(by_length(gpt2_length));
    case Scanner::kLlama3:
      return llama3({.letters = kLetter, .digits_max = 3, .end_spaces = false});
    case Scanner::kQwen2:
      return llama3({.letters = kLetter, .digits_max = 1, .end_spaces = false});
    case Scanner::kQwen35:
      return llama3({.letters = kLetter | kMark, .digits_max = 1, .end_spaces = false});
    case Scanner::kSeed:
      return llama3(
          {.letters = kLetter, .digits_max = 1, .end_spaces = false, .sign_lines = false});
    case Scanner::kCl100k:
      return llama3({.letters = kLetter, .digits_max = 3, .end_spaces = true});
    case Scanner::kO200k:
      return cased({.contractions = true, .digits_max = 3});
    case Scanner::kTekken:
      return cased({.contractions = false, .digits_max = 1});
    case Scanner::kDeepseek3:
      return visit(by_length(deepseek3_length));
    case Scanner::kWord:
      return visit(by_length(word_length));
    case Scanner::kSpace:
      return visit(runs(of_class(kSpace), 1, 1));
    case Scanner::kNewline:
      return visit(runs([](Char c) { return c.is_newline(); }, 1, 1));
    case Scanner::kNumber:
      return visit(runs(of_class(kNumber), 1, 1));
    case Scanner::kNumbers:
      return visit(runs(of_class(kNumber)));
    case Scanner::kNumbersBy3:
      return visit(runs(of_class(kNumber), 1, 3));
    case Scanner::kDigitsBy3:
      return visit(runs([](Char c) { return c.is_digit(); }, 3, 3));
    case Scanner::kByteNumbers:
      return visit(byte_numbers);
    case Scanner::kPunctuation:
      return visit(runs(is_punctuation, 1, 1));
    case Scanner::kPunctuationRun:
      return visit(runs(is_punctuation));
    case Scanner::kDefaultPunctuation:
      return visit(runs(is_default_punctuation));
    case Scanner::kSpacedLetters:
      return visit(spaced_runs(of_class(kLetter)));
    case Scanner::kSpacedPunctuation:
      return visit(spaced_runs(of_class(kPunctuation)));
    case Scanner::kDeepseekLetters:
      return visit(spaced_runs(is_deepseek_letter));
    case Scanner::kDeepseekPunctuation:
      return visit(spaced_runs(is_deepseek_punctuation));
    case Scanner::kSpacesAtEnd:
      return visit(spaces_at_end);
    case Scanner::kCjkAndBefore:
      return visit(runs(is_cjk_or_before));
    case Scanner::kCjkAndKana:
      return visit(runs(is_cjk_or_kana));
  }
}

}  // namespace

void find_all(Scanner scanner, std::string_view text,
              FunctionRef<void(std::size_t, std::size_t)> each) {
  with_finder(scanner, [&](const auto& find) {
    for (Match m = find(text, 0); m.end > m.begin; m = find(text, m.end)) each(m.begin, m.end);
  });
}

void split(Scanner scanner, std::string_view text, SplitBehavior behavior, bool invert,
           EachPiece each) {
  MatchCutter cutter(text, behavior, invert, each);
  with_finder(scanner, [&](const auto& find) {
    for (Match m = find(text, 0); m.end > m.begin; m = find(text, m.end)) {
      cutter.match(m.begin, m.end);
    }
  });
  cutter.finish();
}

}  // namespace ingot
