// Looking pieces up: the hash table against plain searching; adjacency; the byte alphabet.
#include "text/tokenizer/piece_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "quant/test_data.h"
#include "text/tokenizer/adjacency.h"
#include "text/tokenizer/byte_alphabet.h"

namespace ingot::testing {
namespace {

std::string random_piece(Random& random, std::size_t size_max) {
  std::string text(random.next() % (size_max + 1), ' ');
  for (char& c : text) c = "ab\xFF\0"[random.next() % 4];
  return text;
}

TEST(PieceMap, FindsWhatWasInserted) {
  Random random(5);
  StringTable pieces;
  for (int i = 0; i < 3'000; ++i) pieces.add(random_piece(random, 20));
  PieceMap map(pieces, pieces.size());
  std::map<std::string, std::int32_t, std::less<>> wanted;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    map.insert(static_cast<std::int32_t>(i));
    wanted.try_emplace(std::string(pieces[i]), static_cast<std::int32_t>(i));
  }
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = random_piece(random, 22);
    const auto found = wanted.find(text);
    ASSERT_EQ(map.find(text), found == wanted.end() ? -1 : found->second);
  }
  EXPECT_EQ(PieceMap(pieces, 0).find("a"), -1);
}

TEST(Adjacency, KnowsWhatStandsSideBySide) {
  Adjacency adjacency;
  adjacency.add("ab\xFF");
  adjacency.add("c");
  EXPECT_TRUE(adjacency.joins('a', 'b'));
  EXPECT_TRUE(adjacency.joins('b', '\xFF'));
  for (const char* pair : {"ba", "bc", "cc", "aa",
                           "\xFF"
                           "a"})
    EXPECT_FALSE(adjacency.joins(pair[0], pair[1]));
}

TEST(ByteAlphabet, IsThatOfGpt2) {
  const std::vector<std::pair<int, char32_t>> known = {
      {0x00, 0x100}, {0x0A, 0x10A}, {0x20, 0x120}, {0x21, 0x21},  {0x7E, 0x7E}, {0x7F, 0x121},
      {0xA0, 0x142}, {0xA1, 0xA1},  {0xAC, 0xAC},  {0xAD, 0x143}, {0xAE, 0xAE}, {0xFF, 0xFF}};
  for (const auto& [byte, letter] : known)
    EXPECT_EQ(byte_to_letter(static_cast<std::uint8_t>(byte)), letter) << byte;
  EXPECT_EQ(letters_to_bytes("\u0120\u0143\u00C3"), " \xAD\xC3");
  EXPECT_EQ(letters_to_bytes(""), "");
  for (const char* text : {" ", "\u00AD", "\u0144", "\u4E2D", "a\x80"})
    EXPECT_FALSE(letters_to_bytes(text)) << text;
}

}  // namespace
}  // namespace ingot::testing
