// Tokenizers from files: recognised by content, in any order, with what stands beside them.
#include "load/tokenizer/tokenizer_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "load/hf/hf_test_util.h"
#include "load/tokenizer/tokenizer_files_test_util.h"

namespace ingot {
namespace {

using namespace testing;
using testing_hf::expect_refused;
using testing_hf::TempFolder;
using Ids = std::vector<std::int32_t>;

constexpr std::string_view kVocab = R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3, "<s>": 4})";
constexpr std::string_view kMerges = "#version: 0.2\na b\n";
constexpr std::string_view kWords = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n";

/// Writes the files, in any names, and reads them together in the order given.
TokenizerData read_files(const std::vector<std::string>& contents) {
  const TempFolder folder;
  std::vector<std::string> paths;
  for (const std::string& content : contents) {
    const std::string name = cat("file", paths.size());
    folder.write(name, content);
    paths.push_back((folder.path() / name).string());
  }
  return read_tokenizer_files(paths);
}

std::unique_ptr<TokenizerData> read_beside(const TempFolder& folder) {
  return read_folder_tokenizer(Directory(folder.string()));
}

const AddedToken* find_added(const TokenizerData& data, std::string_view content) {
  const auto at = std::find_if(data.added.begin(), data.added.end(),
                               [&](const AddedToken& t) { return t.content == content; });
  return at == data.added.end() ? nullptr : &*at;
}

TEST(TokenizerFiles, AreRecognisedByContent) {
  EXPECT_EQ(read_files({byte_level_json()}).model, TokenizerModel::kBpe);
  EXPECT_EQ(read_files({sentencepiece_model(2)}).model, TokenizerModel::kSentencePieceBpe);
  EXPECT_EQ(read_files({std::string(kWords)}).model, TokenizerModel::kWordPiece);
  for (const bool merges_first : {false, true}) {
    std::vector<std::string> files = {std::string(kVocab), std::string(kMerges)};
    if (merges_first) std::swap(files[0], files[1]);
    EXPECT_EQ(read_files(files).merges.size(), 1u);
  }
}

TEST(TokenizerFiles, ThatMakeNoTokenizerAreRefused) {
  const std::string vocab(kVocab);
  const std::string merges(kMerges);
  expect_refused([&] { read_files({vocab}); }, "a vocab.json needs its merges.txt beside it");
  expect_refused([&] { read_files({merges}); }, "merges need their vocab.json beside them");
  expect_refused([&] { read_files({vocab, vocab}); }, "is of the same kind as");
  expect_refused(
      [&] {
        read_files({byte_level_json(), sentencepiece_model(2)});
      },
      "these files are more than one tokenizer");
  expect_refused([&] { read_files({R"({"tokenizer_class": "GPT2Tokenizer"})"}); },
                 "there is no vocabulary beside the settings");
  expect_refused([&] { read_files({""}); }, "is no file of a tokenizer");
  expect_refused([&] { read_files({"\x80\x81"}); }, "is no file of a tokenizer");
  expect_refused([&] { read_files({"{\"a\": }"}); }, "tokenizer @");
  expect_refused([&] { read_files({byte_level_json(), "GGUF...."}); }, "name no other file");
  expect_refused([] { read_tokenizer_files({{"/no/such/file"}}); }, "/no/such/file");
  const TempFolder folder;
  expect_refused([&] { read_tokenizer_files({{folder.string()}}); },
                 "no tokenizer found: looked for tokenizer.json, tokenizer.model, spiece.model, "
                 "vocab.json with merges.txt, vocab.txt");
}

TEST(VocabAndMerges, ByClass) {
  const TokenizerData gpt2 = read_files({std::string(kVocab), std::string(kMerges)});
  EXPECT_EQ(gpt2.pretokenizers[0].name, "gpt-2");
  EXPECT_EQ(gpt2.eos, 3);
  EXPECT_EQ(gpt2.types[3], TokenType::kControl);
  ASSERT_EQ(gpt2.warnings.size(), 1u);
  EXPECT_NE(gpt2.warnings[0].find("no tokenizer_class beside it, using GPT2Tokenizer"),
            std::string::npos);
  const TokenizerData qwen2 = read_files(
      {R"({"tokenizer_class": "Qwen2TokenizerFast"})", std::string(kMerges), std::string(kVocab)});
  EXPECT_EQ(qwen2.pretokenizers[0].name, "qwen2");
  EXPECT_EQ(qwen2.normalizers.size(), 1u);
  EXPECT_TRUE(qwen2.warnings.empty());
  expect_refused(
      [&] {
        read_files({R"({"tokenizer_class": "OtherTokenizer"})", std::string(kMerges),
                    std::string(kVocab)});
      },
      "tokenizer_class 'OtherTokenizer' is not supported with vocab.json and merges.txt");
}

TEST(VocabAndMerges, RobertaIsFramed) {
  const TokenizerData data = read_files(
      {R"({"<s>": 0, "</s>": 1, "a": 2, "b": 3, "ab": 4, "<mask>": 5, "<unk>": 6, "<pad>": 7})",
       std::string(kMerges), R"({"tokenizer_class": "RobertaTokenizer"})"});
  EXPECT_EQ(data.frame_begin, Ids{0});
  EXPECT_EQ(data.frame_end, Ids{1});
  ASSERT_NE(find_added(data, "<mask>"), nullptr);
  EXPECT_TRUE(find_added(data, "<mask>")->lstrip);
}

TEST(VocabTxt, LowerCaseUnlessTheSettingsSayOtherwise) {
  const TokenizerData uncased = read_files({std::string(kWords)});
  EXPECT_EQ(uncased.tokens.size(), 7u);
  EXPECT_TRUE(uncased.normalizers[0].lowercase && uncased.normalizers[0].strip_accents);
  EXPECT_EQ(uncased.unknown, 1);
  EXPECT_EQ(uncased.frame_begin, Ids{2});
  EXPECT_EQ(uncased.frame_end, Ids{3});
  const TokenizerData cased = read_files(
      {R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false})", std::string(kWords)});
  EXPECT_FALSE(cased.normalizers[0].lowercase || cased.normalizers[0].strip_accents);
  EXPECT_EQ(read_files({"[UNK]\r\n[CLS]\r\n[SEP]\r\na"}).tokens[3], "a");
  expect_refused([&] { read_files({"a\nb\n"}); }, "there is no unknown token ([UNK])");
  expect_refused([&] { read_files({"[UNK]\na\na\n"}); }, "'a' has the ids 1 and 2");
  expect_refused(
      [&] {
        read_files({R"({"tokenizer_class": "XLNetTokenizer"})", std::string(kWords)});
      },
      "is not supported with vocab.txt");
}

TEST(TokenizerSettings, AddedTokensAndRoles) {
  const TokenizerData data = read_files({byte_level_json(), R"({
    "bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false, "special": true},
    "pad_token": null, "unk_token": "", "add_bos_token": false, "add_eos_token": true,
    "added_tokens_decoder": {"8": {"content": "<think>", "special": false, "normalized": false},
                             "7": {"content": "<tool>", "special": true, "rstrip": true}},
    "additional_special_tokens": ["ab", {"content": "missing"}],
    "chat_template": "{{ x }}"})"});
  EXPECT_EQ(data.bos, 5);
  EXPECT_EQ(data.eos, 6);
  EXPECT_FALSE(data.padding);
  EXPECT_TRUE(data.frame_begin.empty());
  EXPECT_EQ(data.frame_end, Ids{6});
  EXPECT_EQ(data.tokens[8], "<think>");
  EXPECT_EQ(data.types[8], TokenType::kUserDefined);
  EXPECT_EQ(data.types[7], TokenType::kControl);
  EXPECT_EQ(data.types[2], TokenType::kControl) << "an additional special token";
  EXPECT_TRUE(find_added(data, "<tool>")->rstrip) << "the settings hold";
  EXPECT_FALSE(find_added(data, "<tool>")->single_word);
  EXPECT_EQ(data.templates.standard, "{{ x }}");
  EXPECT_TRUE(data.warnings.empty());
  ASSERT_EQ(data.details.size(), 1u);
  EXPECT_NE(data.details[0].find("the vocabulary has no 'missing', which is left out"),
            std::string::npos);
}

/// All templates as text: "name=text" for each.
std::string listed(const TemplateSet& templates) {
  std::string text = "default=" + templates.standard.value_or("none");
  for (const NamedTemplate& one : templates.named) text += cat(" ", one.name, "=", one.text);
  return text;
}

TEST(TokenizerSettings, TemplatesByName) {
  const TokenizerData data = read_files({byte_level_json(), R"({"chat_template": [
    {"name": "tool_use", "template": "two"}, {"name": "default", "template": "one"},
    {"name": "rag", "template": "three"}, {"name": "rag", "template": "four"}]})"});
  EXPECT_EQ(listed(data.templates), "default=one tool_use=two rag=three");
  EXPECT_EQ(listed(read_files({byte_level_json(), R"({"chat_template": [
    {"name": "tool_use", "template": "two"}]})"})
                       .templates),
            "default=none tool_use=two");
}

TEST(TokenizerSettings, WhatContradictsTheVocabularyIsRefused) {
  const auto with_settings = [](const std::string& settings) {
    return [settings] { read_files({byte_level_json(), settings}); };
  };
  expect_refused(with_settings(R"({"added_tokens_decoder": {"7": {"content": "x"}}})"),
                 "tokenizer config @0: the id 7 is both '<tool>' and 'x'");
  expect_refused(with_settings(R"({"added_tokens_decoder": {"x": {"content": "x"}}})"),
                 "added_tokens_decoder['x']: the key is no id");
  expect_refused(with_settings(R"({"added_tokens_decoder": {"8": {"content": "ab"}}})"),
                 "'ab' has the ids 2 and 8");
  expect_refused(with_settings(R"({"bos_token": 5, "eos_token": null})"),
                 "bos_token is 5, expected a string");
  expect_refused(with_settings(R"({"add_bos_token": "true"})"), "add_bos_token is 'true'");
  expect_refused(with_settings(R"({"chat_template": [{"name": "x"}]})"),
                 "chat_template[0] has no name and template");
  expect_refused(with_settings(R"({"additional_special_tokens": [5]})"),
                 "additional_special_tokens[0] is 5, expected a token");
}

TEST(TokenizerSettings, ClassesOfSentencePieceModels) {
  const std::string model = sentencepiece_model(2);
  EXPECT_EQ(read_files({model, R"({"tokenizer_class": "LlamaTokenizer"})"}).frame_begin, Ids{1});
  EXPECT_TRUE(
      read_files({model, R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": false})"})
          .frame_begin.empty());
  EXPECT_EQ(read_files({model, R"({"tokenizer_class": "T5Tokenizer"})"}).frame_end, Ids{2});
  expect_refused(
      [&] {
        read_files({model, R"({"tokenizer_class": "XLMRobertaTokenizer"})"});
      },
      "is not supported with a SentencePiece model");
}

TEST(FolderTokenizer, TakesTheFirstKindThatThereIs) {
  const TempFolder folder;
  EXPECT_EQ(read_beside(folder), nullptr);
  folder.write("vocab.txt", kWords);
  EXPECT_EQ(read_beside(folder)->model, TokenizerModel::kWordPiece);
  folder.write("vocab.json", kVocab);
  folder.write("merges.txt", kMerges);
  EXPECT_EQ(read_beside(folder)->model, TokenizerModel::kBpe);
  folder.write("spiece.model", sentencepiece_model(2));
  EXPECT_EQ(read_beside(folder)->model, TokenizerModel::kSentencePieceBpe);
  folder.write("tokenizer.model", sentencepiece_model(1));
  EXPECT_EQ(read_beside(folder)->model, TokenizerModel::kUnigram);
  folder.write("tokenizer.json", byte_level_json());
  EXPECT_EQ(read_beside(folder)->model, TokenizerModel::kBpe);
  EXPECT_EQ(read_tokenizer_files({{folder.string()}}).model, TokenizerModel::kBpe);
}

TEST(FolderTokenizer, WhatStandsBesideTheVocabulary) {
  const TempFolder folder;
  folder.write("tokenizer.model", sentencepiece_model(2));
  folder.write("added_tokens.json", R"({"<new>": 8})");
  folder.write("special_tokens_map.json", R"({"pad_token": "</s>"})");
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "LlamaTokenizer", "chat_template": "config"})");
  auto data = read_beside(folder);
  EXPECT_EQ(data->tokens[8], "<new>");
  EXPECT_EQ(data->padding, 2);
  EXPECT_EQ(data->templates.standard, "config");
  folder.write("chat_template.json", R"({"chat_template": "json"})");
  EXPECT_EQ(read_beside(folder)->templates.standard, "json");
  folder.write("chat_template.jinja", "jinja");
  EXPECT_EQ(read_beside(folder)->templates.standard, "jinja");
}

TEST(FolderTokenizer, TemplatesInFilesOfTheirOwn) {
  const TempFolder folder;
  folder.write("tokenizer.json", byte_level_json());
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "a"},
    {"name": "tool_use", "template": "b"}, {"name": "rag", "template": "c"}]})");
  folder.write("chat_template.jinja", "own");
  const std::filesystem::path named = folder.path() / "additional_chat_templates";
  std::filesystem::create_directory(named);
  folder.write("additional_chat_templates/tool_use.jinja", "tools");
  folder.write("additional_chat_templates/plain.jinja", "plain");
  folder.write("additional_chat_templates/README.md", "x");
  folder.write("additional_chat_templates/.jinja", "x");
  EXPECT_EQ(listed(read_beside(folder)->templates), "default=own plain=plain tool_use=tools");
  // A folder that is a link could show files of others.
  const TempFolder outside;
  outside.write("secret.jinja", "secret");
  std::filesystem::remove_all(named);
  std::filesystem::create_directory_symlink(outside.path(), named);
  EXPECT_EQ(listed(read_beside(folder)->templates), "default=own");
  std::filesystem::remove(named);
  std::filesystem::create_directory(named);
  std::filesystem::create_symlink(outside.path() / "secret.jinja", named / "x.jinja");
  EXPECT_EQ(listed(read_beside(folder)->templates), "default=own");
  // A file of any name replaces the configuration's list.
  std::filesystem::remove(folder.path() / "chat_template.jinja");
  EXPECT_EQ(listed(read_beside(folder)->templates), "default=a tool_use=b rag=c");
  folder.write("additional_chat_templates/y.jinja", "y");
  EXPECT_EQ(listed(read_beside(folder)->templates), "default=none y=y");
  for (int i = 0; i < 65; ++i) folder.write(cat("additional_chat_templates/", i, ".jinja"), "x");
  expect_refused([&] { read_beside(folder); }, "has more than 64 templates");
}

TEST(FolderTokenizer, EveryGoldenFolderAgreesWithItsGguf) {
  const std::filesystem::path goldens = shared_folder("goldens");
  if (!std::filesystem::exists(goldens / "models")) GTEST_SKIP() << "no " << goldens;
  for (const std::filesystem::path& folder : testing_hf::entries(goldens / "models")) {
    SCOPED_TRACE(folder);
    const std::filesystem::path gguf =
        goldens / "gguf" / (folder.filename().string() + "-f32.gguf");
    if (!std::filesystem::exists(gguf)) continue;
    const TokenizerData hf = read_tokenizer_files({{folder.string()}});
    const TokenizerData other = read_tokenizer_files({{gguf.string()}});
    ASSERT_EQ(hf.tokens.size(), other.tokens.size());
    for (std::size_t i = 0; i < hf.tokens.size(); ++i) EXPECT_EQ(hf.tokens[i], other.tokens[i]);
    EXPECT_EQ(hf.frame_begin, other.frame_begin);
    EXPECT_EQ(hf.frame_end, other.frame_end);
    EXPECT_EQ(hf.bos, other.bos);
    EXPECT_EQ(hf.eos, other.eos);
    EXPECT_EQ(hf.templates.standard, other.templates.standard);
  }
}

}  // namespace
}  // namespace ingot
