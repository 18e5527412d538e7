// WordPiece by hand and against the algorithm as BERT's Python code writes it.
#include "text/tokenizer/wordpiece.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "quant/test_data.h"

namespace ingot::testing {
namespace {

using Ids = std::vector<std::int32_t>;

Ids encode(const WordPiece& wordpiece, std::string_view word) {
  Ids ids = {7};  // earlier ids stay
  ModelScratch scratch;
  wordpiece.encode(word, scratch, ids);
  EXPECT_EQ(ids.front(), 7);
  return {ids.begin() + 1, ids.end()};
}

TEST(WordPiece, KnownWords) {
  // The example of BERT's tokenization.py.
  const WordPiece wordpiece({{"un", 1}, {"una", 2}}, {{"aff", 3}, {"able", 4}, {"ff", 5}},
                            {.unknown = 0});
  EXPECT_EQ(encode(wordpiece, "unaffable"), (Ids{2, 5, 4}));
  EXPECT_EQ(encode(wordpiece, "un"), (Ids{1}));
  EXPECT_EQ(encode(wordpiece, "unx"), (Ids{0}));
  EXPECT_EQ(encode(wordpiece, "aff"), (Ids{0}));
  EXPECT_EQ(encode(wordpiece, ""), Ids{});
}

TEST(WordPiece, LongWordsAreUnknown) {
  const WordPiece wordpiece({{"a", 1}, {"\u00E9", 2}}, {{"a", 1}, {"\u00E9", 2}},
                            {.unknown = 0, .word_chars_max = 3});
  EXPECT_EQ(encode(wordpiece, "aaa"), (Ids{1, 1, 1}));
  EXPECT_EQ(encode(wordpiece, "aaaa"), (Ids{0}));
  EXPECT_EQ(encode(wordpiece, "\u00E9\u00E9\u00E9"), (Ids{2, 2, 2}));
  EXPECT_EQ(encode(wordpiece, "\u00E9\u00E9\u00E9\u00E9"), (Ids{0}));
  EXPECT_EQ(encode(wordpiece, std::string(1'000'000, 'a')), (Ids{0}));
}

TEST(WordPiece, EqualsTheReferenceOnRandomWords) {
  Random random(21);
  const auto word = [&](std::size_t most) {
    std::string text(1 + random.next() % most, ' ');
    for (char& c : text) c = static_cast<char>('a' + random.next() % 3);
    return text;
  };
  for (int round = 0; round < 200; ++round) {
    std::map<std::string, std::int32_t> vocabulary;  // "##" in front of continuing pieces
    for (std::int32_t id = 1; id < 14; ++id) {
      vocabulary.try_emplace((id % 2 == 0 ? "##" : "") + word(3), id);
    }
    std::vector<TrieEntry> beginning;
    std::vector<TrieEntry> continuing;
    for (const auto& [text, id] : vocabulary) {
      const std::string_view view = text;
      if (view.starts_with("##")) {
        continuing.push_back({view.substr(2), id});
      } else {
        beginning.push_back({view, id});
      }
    }
    const WordPiece wordpiece(beginning, continuing, {.unknown = 0});
    for (int i = 0; i < 50; ++i) {
      const std::string text = word(8);
      Ids wanted;
      for (std::size_t at = 0; at < text.size();) {
        std::size_t end = text.size();
        const auto piece = [&] { return (at > 0 ? "##" : "") + text.substr(at, end - at); };
        while (end > at && !vocabulary.contains(piece())) --end;
        if (end == at) {
          wanted = {0};
          break;
        }
        wanted.push_back(vocabulary[piece()]);
        at = end;
      }
      ASSERT_EQ(encode(wordpiece, text), wanted) << text;
    }
  }
}

}  // namespace
}  // namespace ingot::testing
