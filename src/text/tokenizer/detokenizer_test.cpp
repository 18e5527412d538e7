// The streaming detokenizer: whole characters only, and the same text however it is cut.
#include "text/tokenizer/detokenizer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "quant/test_data.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::testing {
namespace {

constexpr std::string_view kBad = "\uFFFD";

std::unique_ptr<Tokenizer> make_pieces(const TokenizerData& data) {
  std::vector<std::string> warnings;
  return make_tokenizer(data, warnings);
}

/// Byte-level: token b is byte b, then 256 "\xF0\x9F", 257 "\xA6\x99x", 258 a control and 259 a
/// user-defined token.
std::unique_ptr<Tokenizer> byte_pieces() {
  return make_pieces(
      byte_level_data("gpt-2", {{"\xF0", "\x9F"}, {"\xA6", "\x99"}},
                      {{"<|end|>", TokenType::kControl}, {"<think> é", TokenType::kUserDefined}}));
}

/// SentencePiece: bytes from 3 on, 259 " a", 260 " ", 261 "é", 262 user-defined " x".
std::unique_ptr<Tokenizer> sentencepiece() {
  return make_pieces(sentencepiece_data({"▁a", "▁", "é"}, {{"▁x", TokenType::kUserDefined}}));
}

TEST(Detokenizer, HoldsBackUnfinishedCharacters) {
  const auto tokenizer = byte_pieces();
  Detokenizer stream(*tokenizer);
  std::string out;
  stream.push(256, out);
  EXPECT_EQ(out, "");
  stream.push(0xA6, out);
  EXPECT_EQ(out, "");
  stream.push(258, out);  // a control token in between writes nothing and breaks nothing
  stream.push(0x99, out);
  EXPECT_EQ(out, "🦙");
  stream.push(0xE2, out);
  stream.push('A', out);  // known to be wrong now
  EXPECT_EQ(out, "🦙\uFFFDA");
  stream.push(0xC3, out);
  EXPECT_EQ(out, "🦙\uFFFDA");
  stream.finish(out);
  EXPECT_EQ(out, "🦙\uFFFDA\uFFFD");
  stream.push(0xA9, out);  // nothing is left over for the next text
  EXPECT_EQ(out, "🦙\uFFFDA\uFFFD\uFFFD");
}

TEST(Detokenizer, ReplacesMaximalPartsOrEveryByte) {
  const std::vector<std::int32_t> cut = {0xF0, 0x9F, 0xA6, 'z'};
  EXPECT_EQ(detokenize(*byte_pieces(), cut), "\uFFFDz");
  const std::vector<std::int32_t> cut_pieces = {3 + 0xF0, 3 + 0x9F, 3 + 0xA6, 3 + 'z'};
  EXPECT_EQ(detokenize(*sentencepiece(), cut_pieces), "\uFFFD\uFFFD\uFFFDz");
}

TEST(Detokenizer, ControlTokensOnDemand) {
  const auto tokenizer = byte_pieces();
  const std::vector<std::int32_t> ids = {'a', 258, 259, 'b'};
  EXPECT_EQ(detokenize(*tokenizer, ids), "a<think> éb");
  EXPECT_EQ(detokenize(*tokenizer, ids, {.keep_control = true}), "a<|end|><think> éb");
}

TEST(Detokenizer, MarkersAreTheControlTokensThatStay) {
  const auto tokenizer = make_pieces(byte_level_data(
      "gpt-2", {}, {{"<|a|>", TokenType::kControl}, {"<|b|>", TokenType::kControl}}));
  const std::vector<std::int32_t> ids = {'x', 256, 257, 0xC3, 257, 0xA9};
  const std::vector<std::int32_t> markers = {300, 256};
  EXPECT_EQ(detokenize(*tokenizer, ids), "xé");
  EXPECT_EQ(detokenize(*tokenizer, ids, {.markers = markers}), "x<|a|>é");
  EXPECT_EQ(detokenize(*tokenizer, ids, {.keep_control = true, .markers = markers}),
            "x<|a|><|b|>\uFFFD<|b|>\uFFFD");
}

TEST(Detokenizer, IdsOutsideOfTheVocabulary) {
  for (const std::int32_t id : {-1, 260, 1'000'000, INT32_MIN, INT32_MAX}) {
    const std::vector<std::int32_t> ids = {'a', 0xC3, id, 'b'};
    EXPECT_EQ(detokenize(*byte_pieces(), ids), "a\uFFFD\uFFFDb") << id;
  }
}

TEST(Detokenizer, LeadingSpaceOfSentencePiece) {
  const auto tokenizer = sentencepiece();
  const std::vector<std::int32_t> ids = {1, 259, 259};
  EXPECT_EQ(detokenize(*tokenizer, ids), "a a");
  EXPECT_EQ(detokenize(*tokenizer, ids, {.strip_leading_space = false}), " a a");
  EXPECT_EQ(detokenize(*tokenizer, std::vector<std::int32_t>{260, 259}), " a");
  EXPECT_EQ(detokenize(*tokenizer, std::vector<std::int32_t>{262}), "x");
  EXPECT_EQ(detokenize(*tokenizer, std::vector<std::int32_t>{3 + ' ', 259}), "  a");
  EXPECT_EQ(detokenize(*tokenizer, std::vector<std::int32_t>{0, 259}), " \u2047  a");
  const TokenizerData data =
      sentencepiece_data({"▁a"}, {}, true, {.charsmap = {}, .add_prefix = false, .squeeze = false});
  EXPECT_EQ(detokenize(*make_pieces(data), std::vector<std::int32_t>{259}), " a");
}

/// `bytes` with U+FFFD for what is ill-formed, written independently of the stream.
std::string replaced(std::string bytes, bool every_byte) {
  if (!every_byte) return to_valid_utf8(bytes);
  std::string out;
  while (!bytes.empty()) {
    const Utf8Char step = decode_utf8(bytes);
    out += step.valid ? bytes.substr(0, step.size) : std::string(kBad);
    bytes.erase(0, step.valid ? step.size : 1);
  }
  return out;
}

TEST(Detokenizer, TheStreamIsTheWholeText) {
  Random random(17);
  for (const auto& tokenizer : {byte_pieces(), sentencepiece()}) {
    for (int run = 0; run < 5'000; ++run) {
      Detokenizer stream(*tokenizer, {.strip_leading_space = false});
      std::string streamed;
      std::string bytes;
      for (std::uint64_t n = random.next() % 30; n > 0; --n) {
        const auto id = static_cast<std::int32_t>(random.next() %
                                                  static_cast<std::uint64_t>(tokenizer->size()));
        const std::size_t before = streamed.size();
        stream.push(id, streamed);
        ASSERT_TRUE(is_utf8(std::string_view(streamed).substr(before)));
        if (tokenizer->type(id) != TokenType::kControl) bytes += tokenizer->piece(id);
        const std::size_t held = incomplete_utf8_tail(bytes);
        ASSERT_LE(held, 3u);
        const std::string known = bytes.substr(0, bytes.size() - held);
        ASSERT_EQ(streamed, replaced(known, tokenizer->replaces_every_byte()));
      }
      stream.finish(streamed);
      ASSERT_EQ(streamed, replaced(bytes, tokenizer->replaces_every_byte()));
    }
  }
}

}  // namespace
}  // namespace ingot::testing
