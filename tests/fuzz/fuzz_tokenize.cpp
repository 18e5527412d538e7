// Fuzzes encoding and decoding of any text with small vocabularies of every kind, and decoding of
// any ids.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_test_util.h"
#include "text/unicode/char_class.h"
#include "text/unicode/normalize.h"

namespace {

using ingot::Tokenizer;
using ingot::TokenType;

struct Subject {
  std::unique_ptr<Tokenizer> tokenizer;
  bool byte_level = false;
  bool nfc = false;
  std::int32_t unknown = -1;  ///< a control token that text can become
};

std::vector<Subject> make_subjects() {
  const std::vector<std::pair<std::string, std::string>> merges = {
      {"a", "a"},       {"aa", "aa"}, {" ", " "}, {" ", "a"}, {"\xC3", "\xA9"},
      {"\xF0", "\x9F"}, {"<", "|"},   {"1", "2"}, {"a", "b"}, {"b", "a"}};
  const std::vector<ingot::testing::TestPiece> added = {{"<|im_end|>", TokenType::kControl},
                                                        {"<think>", TokenType::kUserDefined}};
  std::vector<Subject> subjects;
  std::vector<std::string> warnings;
  for (const char* pre : {"default", "gpt-2", "llama-bpe", "qwen2"}) {
    subjects.push_back(
        {ingot::make_tokenizer(ingot::testing::byte_level_data(pre, merges, added), warnings), true,
         std::string_view(pre) == "qwen2"});
  }
  for (const bool bytes : {true, false}) {
    subjects.push_back(
        {ingot::make_tokenizer(ingot::testing::sentencepiece_data(
                                   {"▁", "a", "▁a", "aa", "ab", "▁▁", "é", "<", "s>", "b", "ba"},
                                   {{"[x]", TokenType::kUserDefined}}, bytes),
                               warnings)});
  }
  subjects.push_back(
      {ingot::make_tokenizer(ingot::testing::char_bpe_data({"▁", "a", "b", "é", "<", "|"},
                                                           {{"▁", "a"}, {"a", "b"}, {"▁", "▁"}}),
                             warnings)});
  for (const bool bytes : {true, false}) {
    subjects.push_back({ingot::make_tokenizer(
        ingot::testing::unigram_data({"▁", "a", "▁a", "ab", "é", "▁▁", "<"},
                                     {{"[x]", TokenType::kUserDefined}}, bytes),
        warnings)});
  }
  subjects.push_back(
      {.tokenizer = ingot::make_tokenizer(
           ingot::testing::wordpiece_data({"a", "b", "##a", "##b", "é", "中", "<", "1"}), warnings),
       .unknown = 1});
  return subjects;
}

void check_stream(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  ingot::Detokenizer stream(tokenizer, {.keep_control = true});
  std::string text;
  for (const std::int32_t id : ids) {
    const std::size_t before = text.size();
    stream.push(id, text);
    INGOT_CHECK(ingot::is_utf8(std::string_view(text).substr(before)), "after token ", id);
  }
  stream.finish(text);
  INGOT_CHECK(ingot::is_utf8(text), "at the end");
  INGOT_CHECK(text == ingot::detokenize(tokenizer, ids, {.keep_control = true}),
              "the stream differs");
}

void check_text(const Subject& subject, std::string_view text) {
  const Tokenizer& tokenizer = *subject.tokenizer;
  for (const bool special : {false, true}) {
    const auto ids = tokenizer.encode(text, {.parse_special = special});
    std::string bytes;
    for (const std::int32_t id : ids) {
      INGOT_CHECK(id >= 0 && id < tokenizer.size(), "token ", id, " of ", tokenizer.size());
      INGOT_CHECK(special || id == subject.unknown || tokenizer.type(id) != TokenType::kControl,
                  "a control token from text");
      bytes += tokenizer.piece(id);
    }
    if (subject.byte_level && !special) {
      INGOT_CHECK(bytes == (subject.nfc ? ingot::to_nfc(text) : std::string(text)),
                  "decoding differs");
    }
    if (const auto bound = tokenizer.text_bytes_per_token_max()) {
      INGOT_CHECK(ids.size() * *bound >= text.size(), ids.size(), " tokens of ", text.size(),
                  " bytes");
    }
    check_stream(tokenizer, ids);
  }
}

}  // namespace

/// Builds the table of characters, so that no input's time includes it.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  ingot::char_class(U'a');
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Subject> subjects = make_subjects();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Subject& subject : subjects) {
    check_text(subject, text);
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i + 1 < size; i += 2) {
      ids.push_back((data[i] << 8 | data[i + 1]) % (subject.tokenizer->size() + 8) - 4);
    }
    check_stream(*subject.tokenizer, ids);
  }
  return 0;
}
