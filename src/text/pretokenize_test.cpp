// The scanners against a literal interpreter of the patterns that they stand for.
#include "text/pretokenize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "quant/test_data.h"
#include "text/char_class.h"

namespace ingot::testing {
namespace {

/// A backtracking matcher for the regular expressions of this folder, as plain as possible:
/// sequences of atoms with greedy quantifiers, alternatives, (?i:...) and (?!\S). Exponential, for
/// short texts only.
class Pattern {
 public:
  explicit Pattern(std::string text) : text_(std::move(text)) {
    alternatives_ = parse_alternatives();
  }

  /// The end of the match that starts at `at`, or npos. An empty match is none.
  std::size_t match(const std::u32string& text, std::size_t at) const {
    std::size_t best = std::u32string::npos;
    for (const Sequence& s : alternatives_) {
      if (run(s, 0, text, at, [&](std::size_t end) { return best = end, true; })) break;
    }
    return best == at ? std::u32string::npos : best;
  }

 private:
  using Test = std::function<bool(char32_t)>;
  struct Atom;
  using Sequence = std::vector<Atom>;
  struct Atom {
    Test test;                           // one character; unset for the two below
    std::vector<Sequence> alternatives;  // a group
    bool not_before_visible = false;     // (?!\S)
    std::size_t least = 1;
    std::size_t most = 1;
  };
  using Then = std::function<bool(std::size_t)>;

  static bool run(const Sequence& s, std::size_t i, const std::u32string& text, std::size_t at,
                  const Then& then) {
    if (i == s.size()) return then(at);
    const Atom& atom = s[i];
    if (atom.not_before_visible) {
      return (at == text.size() || char_class(text[at]) == kSpace) && run(s, i + 1, text, at, then);
    }
    if (!atom.alternatives.empty()) {
      return std::any_of(
          atom.alternatives.begin(), atom.alternatives.end(), [&](const Sequence& a) {
            return run(a, 0, text, at,
                       [&](std::size_t end) { return run(s, i + 1, text, end, then); });
          });
    }
    std::size_t count = 0;
    while (count < atom.most && at + count < text.size() && atom.test(text[at + count])) ++count;
    for (std::size_t n = count + 1; n-- > atom.least;) {
      if (run(s, i + 1, text, at + n, then)) return true;
    }
    return false;
  }

  bool take(std::string_view word) {
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }

  std::vector<Sequence> parse_alternatives() {
    std::vector<Sequence> all(1);
    while (at_ < text_.size() && text_[at_] != ')') {
      if (take("|")) {
        all.emplace_back();
      } else {
        all.back().push_back(parse_atom());
      }
    }
    return all;
  }

  Atom parse_atom() {
    Atom atom;
    if (take("(?!\\S)")) {
      atom.not_before_visible = true;
    } else if (take("(?i:")) {
      const bool outer = std::exchange(any_case_, true);
      atom.alternatives = parse_alternatives();
      any_case_ = outer;
      ++at_;
    } else {
      atom.test = text_[at_] == '[' ? parse_class() : parse_one();
      if (take("?")) atom.least = 0;
      if (take("*")) atom.least = 0, atom.most = std::string::npos;
      if (take("+")) atom.most = std::string::npos;
      if (take("{1,3}")) atom.most = 3;
    }
    return atom;
  }

  Test parse_class() {
    ++at_;
    const bool negated = take("^");
    std::vector<Test> tests;
    while (!take("]")) {
      if (take("0-9")) {
        tests.push_back([](char32_t c) { return c >= '0' && c <= '9'; });
      } else {
        tests.push_back(parse_one());
      }
    }
    return [=](char32_t c) {
      const bool found =
          std::any_of(tests.begin(), tests.end(), [c](const Test& t) { return t(c); });
      return found != negated;
    };
  }

  Test parse_one() {
    const auto of_class = [](CharClass kind) {
      return [kind](char32_t c) { return char_class(c) == kind; };
    };
    if (take("\\p{L}")) return of_class(kLetter);
    if (take("\\p{N}")) return of_class(kNumber);
    if (take("\\p{P}")) return of_class(kPunctuation);
    if (take("\\s")) return of_class(kSpace);
    if (take("\\r")) return [](char32_t c) { return c == '\r'; };
    if (take("\\n")) return [](char32_t c) { return c == '\n'; };
    const char32_t wanted = static_cast<unsigned char>(text_[at_++]);
    if (!any_case_ || wanted == '\'') return [=](char32_t c) { return c == wanted; };
    return [=](char32_t c) {
      return c == wanted || c == wanted - 32 || (wanted == 's' && c == 0x17F);
    };
  }

  std::string text_;
  std::size_t at_ = 0;
  bool any_case_ = false;
  std::vector<Sequence> alternatives_;
};

const char* const kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char* const kQwen2Pattern = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
                                  R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct Case {
  Pretokenizer kind;
  std::vector<const char*> patterns;  // each cuts the pieces of the one before
};

const std::vector<Case> kCases = {
    {Pretokenizer::kGpt2, {kGpt2Pattern}},
    {Pretokenizer::kLlama3, {kLlama3Pattern}},
    {Pretokenizer::kQwen2, {kQwen2Pattern}},
    {Pretokenizer::kDefault,
     {R"([\p{P}$+<=>^~|]+)",
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))", R"(\p{N}+)",
      R"([0-9][0-9][0-9])"}},
};

/// The pieces of `text`: the matches and what lies between them.
std::vector<std::u32string> cut(const Pattern& pattern, const std::u32string& text) {
  std::vector<std::u32string> pieces;
  std::size_t rest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = pattern.match(text, at);
    if (end == std::u32string::npos) {
      ++at;
      continue;
    }
    if (rest < at) pieces.push_back(text.substr(rest, at - rest));
    pieces.push_back(text.substr(at, end - at));
    rest = at = end;
  }
  if (rest < text.size()) pieces.push_back(text.substr(rest));
  return pieces;
}

std::vector<std::string> expected_pieces(const std::vector<Pattern>& patterns,
                                         const std::u32string& text) {
  std::vector<std::u32string> pieces = {text};
  for (const Pattern& pattern : patterns) {
    std::vector<std::u32string> next;
    for (const std::u32string& piece : pieces) {
      const auto parts = cut(pattern, piece);
      next.insert(next.end(), parts.begin(), parts.end());
    }
    pieces = next;
  }
  std::vector<std::string> utf8;
  for (const std::u32string& piece : pieces) {
    utf8.emplace_back();
    for (const char32_t c : piece) append_utf8(utf8.back(), c);
  }
  return utf8;
}

std::vector<std::string> pieces_of(Pretokenizer kind, std::string_view text) {
  std::vector<std::string> pieces;
  split(kind, text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

TEST(Pretokenize, EqualsThePatternsOnRandomTexts) {
  const std::u32string alphabet =
      U"aStTdDmMlLrReEvVs\u017F\u00E9\u4E2D0123\u0663\u00BD   "
      U"\t\r\n\u00A0\u3000\u0085''!.$+`~<\u0301\U0001F999\u200D\u0964";
  Random random(7);
  const int runs = std::getenv("INGOT_FULL") != nullptr ? 1'000'000 : 30'000;
  for (const Case& c : kCases) {
    const std::vector<Pattern> patterns(c.patterns.begin(), c.patterns.end());
    for (int i = 0; i < runs; ++i) {
      std::u32string text(random.next() % 14, U' ');
      for (char32_t& ch : text) ch = alphabet[random.next() % alphabet.size()];
      std::string utf8;
      for (const char32_t ch : text) append_utf8(utf8, ch);
      ASSERT_EQ(pieces_of(c.kind, utf8), expected_pieces(patterns, text))
          << "kind " << static_cast<int>(c.kind) << ", text '" << utf8 << "'";
    }
  }
}

TEST(Pretokenize, KnownPieces) {
  using Pieces = std::vector<std::string>;
  EXPECT_EQ(pieces_of(Pretokenizer::kGpt2, "it's  12345 IT'S\n\n a"),
            (Pieces{"it", "'s", " ", " 12345", " IT", "'", "S", "\n\n", " a"}));
  EXPECT_EQ(pieces_of(Pretokenizer::kLlama3, "it's  12345 IT'S\n\n a"),
            (Pieces{"it", "'s", " ", " ", "123", "45", " IT", "'S", "\n\n", " a"}));
  EXPECT_EQ(pieces_of(Pretokenizer::kQwen2, "x 12!\n\n"), (Pieces{"x", " ", "1", "2", "!\n\n"}));
  EXPECT_EQ(pieces_of(Pretokenizer::kDefault, "it's 1234 5!?"),
            (Pieces{"it", "'", "s", " ", "123", "4", " ", "5", "!?"}));
}

TEST(Pretokenize, InvalidBytesAreSignsOfTheirOwn) {
  // A lone continuation, an overlong form, a surrogate, a five-byte form, a cut character; NUL.
  const std::string text =
      "a\x80 b\xC0\xAF c\xED\xA0\x80 d\xF8\x88\x80\x80\x80 e\xE4\xB8" + std::string(1, '\0');
  for (const Case& c : kCases) {
    std::string joined;
    split(c.kind, text, [&](std::string_view piece) { joined += piece; });
    EXPECT_EQ(joined, text);
  }
  using Pieces = std::vector<std::string>;
  EXPECT_EQ(pieces_of(Pretokenizer::kGpt2, "a\x80\xC0 b"), (Pieces{"a", "\x80\xC0", " b"}));
  // Of two bytes that are wrong together only the last can be the one sign before letters.
  EXPECT_EQ(pieces_of(Pretokenizer::kQwen2, "\xE4\xB8z"), (Pieces{"\xE4\xB8", "z"}));
  EXPECT_EQ(pieces_of(Pretokenizer::kQwen2, "\xE4z"), (Pieces{"\xE4z"}));
  EXPECT_EQ(pieces_of(Pretokenizer::kGpt2, std::string("a\0b", 3)),
            (Pieces{"a", std::string("\0", 1), "b"}));
}

TEST(Pretokenize, LongRunsAreScannedOnce) {
  // Quadratic scanning would take many minutes here.
  constexpr std::size_t kSize = 400'000;
  const std::vector<std::string> units = {
      "a", " ", "\n", "\n ", "'", "1", "us", "!", "\xCC\x81", "\xF0\x9F\xA6\x99\xE2\x80\x8D"};
  for (const Case& c : kCases) {
    for (const std::string& unit : units) {
      std::string text;
      while (text.size() < kSize) text += unit;
      std::size_t bytes = 0;
      split(c.kind, text, [&](std::string_view piece) { bytes += piece.size(); });
      EXPECT_EQ(bytes, text.size());
    }
  }
}

TEST(Pretokenize, Names) {
  EXPECT_EQ(find_pretokenizer("default"), Pretokenizer::kDefault);
  EXPECT_EQ(find_pretokenizer("gpt-2"), Pretokenizer::kGpt2);
  for (const char* name : {"llama-bpe", "llama3", "llama-v3"}) {
    EXPECT_EQ(find_pretokenizer(name), Pretokenizer::kLlama3);
  }
  EXPECT_EQ(find_pretokenizer("qwen2"), Pretokenizer::kQwen2);
  for (const char* name : {"", "GPT-2", "gpt2", "falcon", "qwen2 "})
    EXPECT_FALSE(find_pretokenizer(name));
}

void expect_class(std::u32string_view codes, CharClass kind) {
  for (const char32_t c : codes) EXPECT_EQ(char_class(c), kind) << static_cast<std::uint32_t>(c);
}

TEST(CharClass, Categories) {
  expect_class(U"aZ\u00AA\u01C5\u02B0\u05D0\u4E2D\U00020000", kLetter);
  expect_class(U"09\u0663\u2160\u00BD", kNumber);
  expect_class(U"\t\n\v\f\r \u0085\u00A0\u1680\u2000\u200A\u2028\u2029\u202F\u205F\u3000", kSpace);
  expect_class(U"_-([)]\u00AB\u00BB!\u0964", kPunctuation);
  expect_class(U"\u200B\u200D\u0301$+`\u20AC\U0001F999\uFFFD\U0010FFFF", kOther);
  EXPECT_EQ(char_class(0), kOther);
  EXPECT_EQ(char_class(0x110000), kOther);
}

}  // namespace
}  // namespace ingot::testing
