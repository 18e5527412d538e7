// The scanners against the patterns that they stand for, which PCRE2 runs; against Python's regex
// module they are tested by tests/tokenizer/pieces_test.py.
#include "text/pretokenize/pretokenize.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/full_run_test_util.h"
#include "base/text.h"
#include "base/utf8.h"
#include "quant/test_data.h"
#include "text/pretokenize/pattern.h"
#include "text/pretokenize/pretokenizer_chain.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/unicode/char_class.h"

namespace ingot::testing {
namespace {

using Pieces = std::vector<std::string>;

struct Case {
  Scanner scanner;
  std::string regex;
};

const std::string kSpaces = R"(|\s+(?!\S)|\s+)";
const std::string kContractions = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
const std::string kSigns = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)" + kSpaces;
const std::string kCasedFirst =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)";
const std::string kCasedSecond =
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)";
const std::string kCasedSigns = R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+)" + kSpaces;

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {Scanner::kGpt2, R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)" + kSpaces},
      {Scanner::kLlama3, kContractions + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})" + kSigns},
      {Scanner::kQwen2, kContractions + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})" + kSigns},
      {Scanner::kQwen35, kContractions + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})" +
                             R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+)" + kSpaces},
      {Scanner::kSeed, kContractions + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1})" +
                           R"(| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+)" + kSpaces},
      {Scanner::kCl100k,
       R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+)"
       R"(|\s++\z|\s*[\r\n]|\s+(?!\S)|\s)"},
      {Scanner::kO200k, kCasedFirst + kContractions + "?" + kCasedSecond + kContractions + "?" +
                            R"(|\p{N}{1,3})" + kCasedSigns},
      {Scanner::kTekken, kCasedFirst + kCasedSecond + R"(|\p{N})" + kCasedSigns},
      {Scanner::kDeepseek3,
       R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
       R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+)" +
           kSpaces},
      {Scanner::kWord, R"([\w\u200C\u200D]+|[^\w\s\u200C\u200D]+)"},
      {Scanner::kSpace, R"(\s)"},
      {Scanner::kNewline, "[\r\n]"},
      {Scanner::kNumber, R"(\p{N})"},
      {Scanner::kNumbers, R"(\p{N}+)"},
      {Scanner::kNumbersBy3, R"(\p{N}{1,3})"},
      {Scanner::kDigitsBy3, "[0-9][0-9][0-9]"},
      {Scanner::kPunctuation, R"([\p{P}$+<=>^`|~])"},
      {Scanner::kPunctuationRun, R"([\p{P}$+<=>^`|~]+)"},
      {Scanner::kDefaultPunctuation, R"([\p{P}$+<=>^~|]+)"},
      {Scanner::kSpacedLetters, R"(\s?\p{L}+)"},
      {Scanner::kSpacedPunctuation, R"(\s?\p{P}+)"},
      {Scanner::kDeepseekPunctuation, R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)"},
      {Scanner::kSpacesAtEnd, R"(\s+\z)"},
      {Scanner::kCjkAndBefore, "[一-龥ࠀ-一가-퟿]+"},
      {Scanner::kCjkAndKana, "[一-龥぀-ゟ゠-ヿ]+"},
  };
  return all;
}

/// In a group, so that it is no known pattern and runs in PCRE2.
Pattern in_pcre2(const std::string& regex) {
  Pattern pattern = Pattern::regex("(?:" + regex + ")", "test");
  EXPECT_FALSE(pattern.scanner());
  return pattern;
}

Pieces pieces_of(Scanner scanner, std::string_view text) {
  Pieces pieces;
  split(scanner, text, SplitBehavior::kIsolated, false,
        [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

Pieces pieces_of(const Pattern& pattern, std::string_view text) {
  Pieces pieces;
  pattern.split(text, SplitBehavior::kIsolated, false,
                [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

Pieces named_pieces(std::string_view name, std::string_view text) {
  TokenizerData data;
  PretokenizerStep& step = data.pretokenizers.emplace_back();
  step.kind = PretokenizerStep::Kind::kNamed;
  step.name = name;
  Pieces pieces;
  PretokenizerChain(data).split(text, true, [&](std::string_view p) { pieces.emplace_back(p); });
  return pieces;
}

/// Characters of every class that a pattern uses; classes of several patterns occur more often.
std::string mixed_text(Random& random) {
  static const std::u32string kAlphabet =
      U"aStTdDmMlLrReEvVs\u017F\u00E9\u01C5\u02B0\u4E2D\u3042\uAC00\u05D0\u0915\u0660"
      U"0123\u0663\u00BD\u2160   \t\r\n\n\u00A0\u3000\u0085\u2028''!!./$+`~<_\u20AC\u00AD"
      U"\u0301\u0903\u20DD\U0001F999\u200D\u0964\u2018\uFF01\uFF21\uFFFD\U000F0000\u180E\u24B6\x7F";
  std::string text;
  for (std::uint64_t n = random.next() % 14; n > 0; --n) {
    append_utf8(text, kAlphabet[random.next() % kAlphabet.size()]);
  }
  return text;
}

int random_texts() { return random_runs(6'000, 300'000, 500); }

TEST(Pretokenize, EqualsThePatternsOnRandomTexts) {
  for (const Case& c : cases()) {
    const Pattern pattern = in_pcre2(c.regex);
    Random random(7);
    for (int i = 0; i < random_texts(); ++i) {
      const std::string text = mixed_text(random);
      ASSERT_EQ(pieces_of(c.scanner, text), pieces_of(pattern, text))
          << c.regex << ", text '" << text << "'";
    }
  }
}

/// Whether PCRE2, whose Unicode may be older than that of our tables, knows all characters that
/// random bytes have made.
bool is_known_to_pcre2(std::string_view text) {
  static const Pattern unassigned = in_pcre2("\\p{Cn}");
  for (std::size_t at = 0, step = 0; at < text.size(); at += step) {
    step = utf8_step(text, at);
    const std::string_view character = text.substr(at, step);
    if (step > 2 && pieces_of(unassigned, cat("a", character)).size() > 1) return false;
  }
  return true;
}

TEST(Pretokenize, InvalidBytesAreCharactersOfNoCategory) {
  Random random(11);
  for (const Case& c : cases()) {
    const Pattern pattern = in_pcre2(c.regex);
    for (int i = 0; i < random_texts() / 10; ++i) {
      std::string text = mixed_text(random);
      for (char& byte : text) {
        if (random.next() % 8 == 0) byte = static_cast<char>(random.next());
      }
      if (!is_known_to_pcre2(text)) continue;
      ASSERT_EQ(pieces_of(c.scanner, text), pieces_of(pattern, text)) << c.regex;
    }
  }
  EXPECT_EQ(pieces_of(Scanner::kGpt2, "a\x80\xC0 b"), (Pieces{"a", "\x80\xC0", " b"}));
  // Only the last of two invalid bytes can be the one sign before letters.
  EXPECT_EQ(pieces_of(Scanner::kQwen2, "\xE4\xB8z"), (Pieces{"\xE4\xB8", "z"}));
  EXPECT_EQ(pieces_of(Scanner::kQwen2, "\xE4z"), (Pieces{"\xE4z"}));
  EXPECT_EQ(pieces_of(Scanner::kGpt2, std::string("a\0b", 3)),
            (Pieces{"a", std::string("\0", 1), "b"}));
}

TEST(Pretokenize, KnownPieces) {
  EXPECT_EQ(named_pieces("gpt-2", "it's  12345 IT'S\n\n a"),
            (Pieces{"it", "'s", " ", " 12345", " IT", "'", "S", "\n\n", " a"}));
  EXPECT_EQ(named_pieces("llama-bpe", "it's  12345 IT'S\n\n a"),
            (Pieces{"it", "'s", " ", " ", "123", "45", " IT", "'S", "\n\n", " a"}));
  EXPECT_EQ(named_pieces("qwen2", "x 12!\n\n"), (Pieces{"x", " ", "1", "2", "!\n\n"}));
  EXPECT_EQ(named_pieces("seed-coder", "x 12!\n\n"), (Pieces{"x", " ", "1", "2", "!", "\n\n"}));
  EXPECT_EQ(named_pieces("hunyuan-dense", "1234 (ok)"), (Pieces{"123", "4", " (", "ok", ")"}));
  EXPECT_EQ(named_pieces("modern-bert", "it's 12"), (Pieces{"it", "'s", " 12"}));
  EXPECT_EQ(named_pieces("default", "it's 1234 5!?"),
            (Pieces{"it", "'", "s", " ", "123", "4", " ", "5", "!?"}));
  EXPECT_EQ(named_pieces("gpt-4o", "HTMLPage isn't aB"), (Pieces{"HTMLPage", " isn't", " a", "B"}));
  EXPECT_EQ(named_pieces("tekken", "isn't 12"), (Pieces{"isn", "'t", " ", "1", "2"}));
  EXPECT_EQ(named_pieces("starcoder", "a 12"), (Pieces{"a", " ", "1", "2"}));
  EXPECT_EQ(named_pieces("deepseek-v3", "中文1234 (ok)"),
            (Pieces{"中文", "123", "4", " (", "ok", ")"}));
  EXPECT_EQ(named_pieces("deepseek-llm", "Hi 中文 42!"),
            (Pieces{"Hi", " ", "中文", " ", "4", "2", "!"}));
}

TEST(Pretokenize, ByteNumbersAreThoseOfTheByteAlphabet) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = {'a', static_cast<char>(byte), 'a'};
    const char32_t letter = byte_to_letter(static_cast<std::uint8_t>(byte));
    const bool is_number = (char_class(letter) & kNumber) != 0;
    EXPECT_EQ(pieces_of(Scanner::kByteNumbers, text).size(), is_number ? 3 : 1) << byte;
  }
  // Both bytes of a superscript are letters of the alphabet, the second of them a number.
  EXPECT_EQ(named_pieces("falcon", "x\u00B2"), (Pieces{"x", "\xC2", "\xB2"}));
}

TEST(Pretokenize, LongRunsAreScannedOnce) {
  // Quadratic scanning would take many minutes here.
  constexpr std::size_t kSize = 400'000;
  const std::vector<std::string> units = {"a",
                                          "A",
                                          " ",
                                          "\n",
                                          "\n ",
                                          "'",
                                          "1",
                                          "us",
                                          "!",
                                          "/",
                                          "\u0301",
                                          "A\u0301",
                                          "\U0001F999\u200D",
                                          "\u0915\u093E"};
  for (const std::string& unit : units) {
    std::string text;
    while (text.size() < kSize) text += unit;
    for (const Case& c : cases()) {
      std::size_t bytes = 0;
      split(c.scanner, text, SplitBehavior::kIsolated, false,
            [&](std::string_view piece) { bytes += piece.size(); });
      EXPECT_EQ(bytes, text.size());
    }
  }
}

TEST(Pretokenize, EveryNameIsKnownAndNoOther) {
  const std::string names = pretokenizer_names();
  std::size_t known = 0;
  for (std::size_t at = 0; at < names.size(); ++known) {
    const std::size_t end = std::min(names.find(", ", at), names.size());
    const auto found = find_pretokenizer(names.substr(at, end - at));
    EXPECT_GE(found.size(), 1U) << names.substr(at, end - at);
    EXPECT_LE(found.size(), 6U);
    at = end + 2;
  }
  EXPECT_GT(known, 30U);
  for (const char* name : {"", "GPT-2", "gpt2", "qwen2 ", "unknown"}) {
    EXPECT_TRUE(find_pretokenizer(name).empty()) << name;
  }
}

TEST(Pretokenize, RegularExpressionsAreRecognised) {
  const std::string qwen2 = cases()[2].regex;
  EXPECT_EQ(find_scanner(qwen2), Scanner::kQwen2);
  EXPECT_EQ(find_scanner(qwen2 + " "), std::nullopt);
  // What a scanner is recognised by means what it does.
  int recognised = 0;
  for (const Case& c : cases()) {
    const auto found = find_scanner(c.regex);
    if (found) {
      EXPECT_EQ(*found, c.scanner) << c.regex;
      ++recognised;
    }
  }
  EXPECT_GE(recognised, 16);
}

void expect_class(std::u32string_view codes, unsigned kind) {
  constexpr unsigned kGeneral = kLetter | kNumber | kSpace | kPunctuation | kMark | kSymbol;
  for (const char32_t c : codes) {
    EXPECT_EQ(char_class(c) & kGeneral, kind) << static_cast<std::uint32_t>(c);
  }
}

TEST(CharClass, Categories) {
  expect_class(U"aZ\u00AA\u01C5\u02B0\u05D0\u4E2D\U00020000", kLetter);
  expect_class(U"09\u0663\u2160\u00BD", kNumber);
  expect_class(U"\t\n\v\f\r \u0085\u00A0\u1680\u2000\u200A\u2028\u2029\u202F\u205F\u3000", kSpace);
  expect_class(U"_-([)]\u00AB\u00BB!\u0964", kPunctuation);
  expect_class(U"\u0301\u0903\u20DD", kMark);
  expect_class(U"$+`\u20AC\U0001F999\uFFFD", kSymbol);
  expect_class(U"\u200B\u200D\u180E\U0010FFFF\uE000", kOther);
  EXPECT_EQ(char_class(0x110000), kOther);
}

TEST(CharClass, CaseWordsAndControls) {
  for (const char32_t c : {U'A', U'\u01C5'}) EXPECT_EQ(char_class(c) & (kUpper | kLower), kUpper);
  for (const char32_t c : {U'a', U'\u00DF'}) EXPECT_EQ(char_class(c) & (kUpper | kLower), kLower);
  for (const char32_t c : {U'\u02B0', U'\u4E2D', U'\u00AA'}) {
    EXPECT_EQ(char_class(c) & (kUpper | kLower), 0U);
  }
  for (const char32_t c : {U'a', U'7', U'_', U'\u0301', U'\u2160', U'\u24B6', U'\u200D'}) {
    EXPECT_NE(char_class(c) & kWord, 0U) << static_cast<std::uint32_t>(c);
  }
  for (const char32_t c : {U'-', U' ', U'\u00BD', U'\u20AC'}) {
    EXPECT_EQ(char_class(c) & kWord, 0U) << static_cast<std::uint32_t>(c);
  }
  for (const char32_t c : {U'\0', U'\n', U'\x7F', U'\u00AD', U'\u200B'}) {
    EXPECT_NE(char_class(c) & kControl, 0U) << static_cast<std::uint32_t>(c);
  }
}

TEST(CharClass, AsciiTableAgrees) {
  for (char32_t c = 0; c < 128; ++c) EXPECT_EQ(kAsciiClasses[c], char_class(c)) << int(c);
}

}  // namespace
}  // namespace ingot::testing
