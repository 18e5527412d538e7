// Tests of fill-in-the-middle: the tokens of each family, their order, and what stays text.
#include "text/tokenizer/fim.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "base/shared_data_test_util.h"
#include "load/tokenizer/tokenizer_files.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::testing {
namespace {

using Ids = std::vector<std::int32_t>;

/// Bytes, then `names` as control tokens from id 256.
TokenizerData byte_data(const std::vector<std::string>& names) {
  std::vector<TestPiece> added;
  for (const std::string& name : names) added.push_back({name, TokenType::kControl});
  return byte_level_data("default", {}, added);
}

std::unique_ptr<Tokenizer> make(const TokenizerData& data) {
  std::vector<std::string> warnings;
  return make_tokenizer(data, warnings);
}

Ids bytes(std::string_view text) { return {text.begin(), text.end()}; }

Ids in_order(std::initializer_list<Ids> parts) {
  Ids all;
  for (const Ids& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(Fim, FamiliesHaveTheirTokensInTheirOrder) {
  struct Family {
    std::vector<std::string> names;  ///< prefix, suffix, middle: tokens 256, 257, 258
    Ids prompt;                      ///< for prefix "p" and suffix "s"
  };
  const Ids prefix_first = {256, 'p', 257, 's', 258};
  const Ids suffix_first = {257, 's', 256, 'p', 258};
  const std::vector<Family> families = {
      {{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"}, prefix_first},
      {{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"}, prefix_first},
      {{"<fim-prefix>", "<fim-suffix>", "<fim-middle>"}, prefix_first},
      {{"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"}, prefix_first},
      {{"▁<PRE>", "▁<SUF>", "▁<MID>"}, prefix_first},
      {{"<PRE>", "<SUF>", "<MID>"}, prefix_first},
      {{"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"}, prefix_first},
      {{"[PREFIX]", "[SUFFIX]", "[MIDDLE]"}, {257, 's', 256, 'p'}},
      {{"<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"}, suffix_first},
  };
  for (const Family& family : families) {
    SCOPED_TRACE(family.names[0]);
    const auto tokenizer = make(byte_data(family.names));
    ASSERT_TRUE(tokenizer->fim());
    EXPECT_EQ(encode_fim(*tokenizer, {.prefix = "p", .suffix = "s"}), family.prompt);
  }
}

TEST(Fim, AVocabularyWithoutOneOfTheTokensHasNone) {
  EXPECT_FALSE(find_fim(byte_data({})));
  EXPECT_FALSE(find_fim(byte_data({"<fim_prefix>", "<fim_suffix>"})));
  EXPECT_FALSE(find_fim(byte_data({"<fim_prefix>", "<fim-suffix>", "<|fim_middle|>"})));
  EXPECT_FALSE(find_fim(byte_data({"[SUFFIX]"})));
}

TEST(Fim, IdsOfTheFileComeFirst) {
  TokenizerData data = byte_data({"<a>", "<b>", "<c>", "<fim_prefix>", "<fim_suffix>",
                                  "<fim_middle>", "[PREFIX]", "[SUFFIX]", "<d>"});
  data.fim = {.prefix = 256, .suffix = 257, .middle = 258, .repository = 264, .file = 263};
  EXPECT_EQ(
      find_fim(data),
      (FimFormat{.prefix = 256, .suffix = 257, .middle = 258, .repository = 264, .file = 263}));
  data.fim = {.prefix = 256, .suffix = 257};  // without a middle it is no format
  EXPECT_EQ(find_fim(data), (FimFormat{.prefix = 259, .suffix = 260, .middle = 261}));
  data.fim = {.prefix = 262, .suffix = 263, .middle = 258};  // the text tells the order
  EXPECT_EQ(find_fim(data), (FimFormat{.prefix = 262, .suffix = 263, .suffix_first = true}));
}

TEST(Fim, IdsOutsideTheVocabularyAreRefused) {
  TokenizerData data = byte_data({"<a>"});
  data.fim = {.prefix = 300, .suffix = 256, .middle = 256};
  EXPECT_THROW(make(data), Error);
}

TEST(Fim, TextsStayTextUnlessAsked) {
  const auto tokenizer = make(byte_data({"<fim_prefix>", "<fim_suffix>", "<fim_middle>"}));
  FimText text{.prefix = "<fim_suffix>", .suffix = "<fim_middle>"};
  EXPECT_EQ(encode_fim(*tokenizer, text),
            in_order({{256}, bytes("<fim_suffix>"), {257}, bytes("<fim_middle>"), {258}}));
  text.parse_special = true;
  EXPECT_EQ(encode_fim(*tokenizer, text), (Ids{256, 257, 257, 258, 258}));
  EXPECT_EQ(encode_fim(*tokenizer, {}), (Ids{256, 257, 258}));
}

TEST(Fim, BosStandsInFrontAndNoEosBehind) {
  TokenizerData data = byte_data({"<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<s>", "</s>"});
  data.bos = 259;
  data.eos = 260;
  data.frame_begin = {259};
  data.frame_end = {260};
  EXPECT_EQ(encode_fim(*make(data), {.prefix = "p", .suffix = "s"}),
            (Ids{259, 256, 'p', 257, 's', 258}));
}

TEST(Fim, OtherFilesStandInFront) {
  const FimFile files[] = {{.name = "a.h", .text = "x"}, {.name = "b.h", .text = "y"}};
  const FimText text{.prefix = "p", .suffix = "s", .files = files};
  std::vector<std::string> names = {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"};
  const Ids gap = {256, 'p', 257, 's', 258};
  EXPECT_EQ(encode_fim(*make(byte_data(names)), text),
            in_order({bytes("\n\n--- snippet ---\n\nx\n\n--- snippet ---\n\ny"), gap}));
  names.insert(names.end(), {"<|repo_name|>", "<|file_sep|>"});
  EXPECT_EQ(encode_fim(*make(byte_data(names)), text), in_order({{259},
                                                                 bytes("myproject\n"),
                                                                 {260},
                                                                 bytes("a.h\nx"),
                                                                 {260},
                                                                 bytes("b.h\ny"),
                                                                 {260},
                                                                 bytes("filename\n"),
                                                                 gap}));
}

/// CodeLlama's prefix gets SentencePiece's space, its suffix does not: it continues a text.
TEST(Fim, SentencePieceSuffixGetsNoSpace) {
  const auto tokenizer =
      make(sentencepiece_data({"▁", "a", "b", "▁a", "▁b"}, {{"▁<PRE>", TokenType::kControl},
                                                            {"▁<SUF>", TokenType::kControl},
                                                            {"▁<MID>", TokenType::kControl}}));
  const std::int32_t first = 259;  // the id of "▁"
  const std::int32_t prefix = first + 5;
  EXPECT_EQ(encode_fim(*tokenizer, {.prefix = "a", .suffix = "b"}),
            (Ids{1, prefix, first + 3, prefix + 1, first + 2, prefix + 2}));
  EXPECT_EQ(encode_fim(*tokenizer, {.prefix = "", .suffix = " b"}),
            (Ids{1, prefix, prefix + 1, first + 4, prefix + 2}));
  EXPECT_EQ(encode_fim(*tokenizer, {.prefix = "a", .suffix = ""}),
            (Ids{1, prefix, first + 3, prefix + 1, prefix + 2}));
}

/// Source:  mistral-common, tests/test_fim.py.
TEST(Fim, Codestral) {
  constexpr std::string_view kFolder = "data/tokenizers/mistral";
  INGOT_NEEDS_SHARED(kFolder);
  const std::filesystem::path file =
      shared_folder(kFolder) / "mistral_instruct_tokenizer_240323.model.v3";
  const TokenizerData data = read_tokenizer_files({{file.string()}});
  std::string text;
  for (const std::int32_t id :
       encode_fim(*make(data), {.prefix = "def f(", .suffix = "return a + b"})) {
    text += data.tokens[to_size(id)];
  }
  EXPECT_EQ(text, "<s>[SUFFIX]return▁a▁+▁b[PREFIX]▁def▁f(");
}

/// Source:  Qwen2.5-Coder's tokenizer_config.json.
TEST(Fim, Qwen25Coder) {
  constexpr std::string_view kFolder = "data/tokenizers";
  INGOT_NEEDS_SHARED(kFolder);
  const std::filesystem::path folder = shared_folder(kFolder);
  const std::filesystem::path settings = folder / "configs" / "qwen2.5" / "tokenizer_config.json";
  const TokenizerData data =
      read_tokenizer_files({{(folder / "qwen2" / "vocab.json").string(),
                             (folder / "qwen2" / "merges.txt").string(), settings.string()}});
  EXPECT_EQ(find_fim(data), (FimFormat{.prefix = 151659,
                                       .suffix = 151661,
                                       .middle = 151660,
                                       .repository = 151663,
                                       .file = 151664}));
}

}  // namespace
}  // namespace ingot::testing
