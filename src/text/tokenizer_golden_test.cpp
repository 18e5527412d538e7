// Every tokenizer golden whose kind is supported, and llama.cpp's vocabulary tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "text/detokenizer.h"
#include "text/golden_test_util.h"
#include "text/tokenizer.h"

namespace ingot::testing {
namespace {

using Ids = std::vector<std::int32_t>;

Ids ids_of(const Json& record, std::string_view key) {
  Ids ids;
  for (const Json& id : *record.find(key)->as_array())
    ids.push_back(static_cast<std::int32_t>(*id.as_int()));
  return ids;
}

bool is_true(const Json& record, std::string_view key) {
  const Json* value = record.find(key);
  return value != nullptr && value->as_bool() != nullptr && *value->as_bool();
}

/// tiktoken's cl100k_base takes white space at the text's very end as one piece where Llama 3's
/// pattern ends a piece at the last newline.
bool patterns_differ(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n\v\f") + 1;
  const std::size_t newline = text.find_last_of("\r\n");
  return newline != std::string::npos && newline >= end && newline + 1 != text.size();
}

/// Runs a golden's records; counts what was compared.
struct GoldenRun {
  const Tokenizer& tokenizer;
  bool sentencepiece;
  bool cl100k;
  bool nfc;
  int compared = 0;
  int skipped = 0;

  void check(const Json& record) {
    const Json* prefix = record.find("prefix");
    if (prefix != nullptr && *prefix->as_string() == "first") {
      ++skipped;
      return;
    }
    const Ids ids = ids_of(record, "ids");
    // SentencePiece's reference writes nothing for control tokens, the others keep their text.
    EXPECT_EQ(detokenize(tokenizer, ids, {.keep_control = !sentencepiece}),
              *record.find("decoded")->as_string())
        << record.dump();
    ++compared;
    const std::string* text = record.find("text")->as_string();
    if (text == nullptr) return;
    if ((cl100k && patterns_differ(*text)) || (!nfc && is_true(record, "nfc"))) {
      ++skipped;
      return;
    }
    const Ids got =
        tokenizer.encode(*text, {.add_special = is_true(record, "add_special"),
                                 .parse_special = is_true(record, "special"),
                                 .parse_user_defined = record.find("parse") != nullptr});
    if (is_true(record, "disputed") && got == ids_of(record, "other_ids")) return;
    EXPECT_EQ(got, ids) << record.dump();
  }
};

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder,
                                            std::string_view extension) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(TokenizerGolden, EveryRecordOfSupportedTokenizers) {
  const std::filesystem::path folder = shared_folder("goldens") / "tokenizer";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  int run = 0;
  for (const std::filesystem::path& file : files_in(folder, ".jsonl")) {
    SCOPED_TRACE(file.filename().string());
    const std::vector<std::string> lines = lines_of(read_text(file));
    ASSERT_FALSE(lines.empty());
    const Json header = parse_json(lines[0], file.string(), "header");
    std::unique_ptr<Tokenizer> tokenizer;
    std::string model;
    std::string pre;
    try {
      const TokenizerData data = read_golden_tokenizer(header);
      std::vector<std::string> warnings;
      tokenizer = make_tokenizer(data, warnings);
      model = data.model;
      pre = data.pre.value_or("");
    } catch (const Error& e) {
      std::printf("skipped %s: %s\n", file.filename().c_str(), e.what());
      continue;
    }
    GoldenRun golden{.tokenizer = *tokenizer,
                     .sentencepiece = model == "llama",
                     .cl100k = contains(*header.find("kind")->as_string(), "cl100k"),
                     .nfc = pre == "qwen2"};
    for (std::size_t i = 1; i < lines.size(); ++i) {
      golden.check(parse_json(lines[i], file.string(), cat("line ", i + 1)));
    }
    std::printf("ran %s: %d records, %d left out\n", file.filename().c_str(), golden.compared,
                golden.skipped);
    EXPECT_GT(golden.compared, 0);
    ++run;
  }
  EXPECT_GT(run, 0);
}

Ids numbers_of(const std::string& line) {
  Ids ids;
  for (const char* at = line.data(); at < line.data() + line.size();) {
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(at, line.data() + line.size(), id);
    if (error == std::errc()) ids.push_back(id);
    at = error == std::errc() ? end : at + 1;
  }
  return ids;
}

std::vector<std::string> texts_of(const std::string& all) {
  constexpr std::string_view kBetween = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find(kBetween, at), all.size());
    texts.push_back(all.substr(at, end - at));
    at = end + kBetween.size();
  }
  return texts;
}

/// The vocabulary of a pair of llama.cpp's, or the one in the shared data that is known to give the
/// same ids.
TokenizerData read_pair_vocabulary(const std::filesystem::path& inputs) {
  const std::filesystem::path gguf = inputs.parent_path() / inputs.stem();
  if (std::filesystem::exists(gguf)) return std::move(*read_gguf_tokenizer(gguf.string()));
  const std::string name = inputs.filename().string();
  if (name == "ggml-vocab-llama-spm.gguf.inp") {
    return std::move(
        *read_gguf_tokenizer((inputs.parent_path() / "ggml-vocab-phi-3.gguf").string()));
  }
  if (name == "ggml-vocab-qwen2.gguf.inp") {
    const std::filesystem::path folder = shared_folder("data") / "tokenizers" / "qwen2";
    return read_vocab_and_merges({folder / "vocab.json", folder / "merges.txt"}, Json::object(),
                                 "qwen2");
  }
  throw Error(ErrorCode::kModel, "no vocabulary for it");
}

TEST(TokenizerGolden, PairsOfLlamaCpp) {
  const std::filesystem::path folder = shared_folder("data") / "llama.cpp" / "vocab";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  int run = 0;
  for (const std::filesystem::path& file : files_in(folder, ".inp")) {
    SCOPED_TRACE(file.filename().string());
    std::unique_ptr<Tokenizer> tokenizer;
    try {
      std::vector<std::string> warnings;
      tokenizer = make_tokenizer(read_pair_vocabulary(file), warnings);
    } catch (const Error& e) {
      std::printf("skipped %s: %s\n", file.filename().c_str(), e.what());
      continue;
    }
    const std::vector<std::string> texts = texts_of(read_text(file));
    const std::filesystem::path outputs = std::filesystem::path(file).replace_extension(".out");
    const std::vector<std::string> wanted = lines_of(read_text(outputs));
    ASSERT_EQ(texts.size(), wanted.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(tokenizer->encode(texts[i]), numbers_of(wanted[i]))
          << "text " << i << ": " << texts[i];
    }
    std::printf("ran %s: %zu texts\n", file.filename().c_str(), texts.size());
    ++run;
  }
  EXPECT_GT(run, 0);
}

TEST(TokenizerGolden, ModelsInSharedDataRoundTrip) {
  const std::filesystem::path folder = shared_folder("goldens") / "gguf";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const std::string text =
      "Once upon a time, there's  1234 \u00E9\u4E2D\U0001F999\n\n<|im_end|> <s>";
  const std::vector<std::filesystem::path> files = files_in(folder, ".gguf");
  EXPECT_FALSE(files.empty());
  for (const std::filesystem::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    std::vector<std::string> warnings;
    const auto tokenizer = make_tokenizer(*read_gguf_tokenizer(file.string()), warnings);
    EXPECT_TRUE(warnings.empty());
    const Ids ids = tokenizer->encode(text, {.add_special = true});
    EXPECT_EQ(detokenize(*tokenizer, ids), text);
    const auto is_control = [&](std::int32_t id) {
      return tokenizer->type(id) == TokenType::kControl;
    };
    EXPECT_EQ(std::count_if(ids.begin(), ids.end(), is_control), tokenizer->adds_bos() ? 1 : 0);
  }
}

}  // namespace
}  // namespace ingot::testing
