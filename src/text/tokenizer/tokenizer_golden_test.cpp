// Every tokenizer golden, llama.cpp's vocabulary tests, and encodings of other projects' tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/golden_test_util.h"
#include "text/tokenizer/tokenizer.h"

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

/// Runs a golden's records; counts what was compared.
struct GoldenRun {
  const Tokenizer& tokenizer;
  bool sentencepiece;  ///< the reference, which writes nothing for control tokens
  bool byte_fallback;  ///< whether the reference tokenizer has byte fallback
  int compared = 0;
  int skipped = 0;

  void check(const Json& record) {
    const Json* prefix = record.find("prefix");
    if (prefix != nullptr && *prefix->as_string() == "first") {
      ++skipped;
      return;
    }
    const Ids ids = ids_of(record, "ids");
    check_decoding(record, ids);
    ++compared;
    const std::string* text = record.find("text")->as_string();
    if (text == nullptr) return;
    const Ids got =
        tokenizer.encode(*text, {.add_begin = is_true(record, "add_special"),
                                 .add_end = is_true(record, "add_special"),
                                 .parse_special = is_true(record, "special"),
                                 .parse_user_defined = record.find("parse") != nullptr});
    if (is_true(record, "disputed") && got == ids_of(record, "other_ids")) return;
    EXPECT_EQ(got, ids) << record.dump();
  }

  void check_decoding(const Json& record, const Ids& ids) {
    const std::string& wanted = *record.find("decoded")->as_string();
    // Where a run of byte tokens is ill-formed anywhere, tokenizers replaces all of it, which
    // cannot stream; SentencePiece and this replace the ill-formed bytes.
    if (byte_fallback && contains(wanted, "\uFFFD")) {
      ++skipped;
      return;
    }
    EXPECT_EQ(detokenize(tokenizer, ids, {.keep_control = !sentencepiece}), wanted)
        << record.dump();
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

/// Compares every n-th record of every m-th file. The release build compares all; under sanitizers,
/// reading a large vocabulary takes ten seconds.
#ifdef INGOT_SANITIZED
constexpr std::size_t kRecordStep = 20;
constexpr std::size_t kFileStep = 5;
#else
constexpr std::size_t kRecordStep = 1;
constexpr std::size_t kFileStep = 1;
#endif

/// The files are compared in parts, so that shards share them.
class TokenizerGoldenFiles : public ::testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::size_t kParts = 4;
};

TEST_P(TokenizerGoldenFiles, EveryRecord) {
  const std::filesystem::path folder = shared_folder("goldens") / "tokenizer";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  int run = 0;
  const std::vector<std::filesystem::path> files = files_in(folder, ".jsonl");
  for (std::size_t f = GetParam() * kFileStep; f < files.size(); f += kParts * kFileStep) {
    const std::filesystem::path& file = files[f];
    SCOPED_TRACE(file.filename().string());
    const std::vector<std::string> lines = lines_of(read_text(file));
    ASSERT_FALSE(lines.empty());
    const Json header = parse_json(lines[0], file.string(), "header");
    std::vector<std::string> warnings;
    const auto tokenizer = make_tokenizer(read_golden_tokenizer(header), warnings);
    const bool sentencepiece = header.find("reference")->as_string()->starts_with("sentencepiece");
    GoldenRun golden{.tokenizer = *tokenizer,
                     .sentencepiece = sentencepiece,
                     .byte_fallback = !sentencepiece && tokenizer->replaces_every_byte()};
    for (std::size_t i = 1; i < lines.size(); i += kRecordStep) {
      golden.check(parse_json(lines[i], file.string(), cat("line ", i + 1)));
    }
    std::printf("ran %s: %d records, %d left out\n", file.filename().c_str(), golden.compared,
                golden.skipped);
    EXPECT_GT(golden.compared, 0);
    ++run;
  }
  EXPECT_GT(run, 0);
}

INSTANTIATE_TEST_SUITE_P(Parts, TokenizerGoldenFiles, ::testing::Range<std::size_t>(0, 4));

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
/// same ids; no files where there is none.
std::vector<std::string> pair_files(const std::filesystem::path& inputs) {
  const std::filesystem::path gguf = inputs.parent_path() / inputs.stem();
  if (std::filesystem::exists(gguf)) return {gguf.string()};
  const std::filesystem::path folder = shared_folder("data") / "tokenizers";
  const std::string name = inputs.filename().string();
  if (name == "ggml-vocab-llama-spm.gguf.inp")
    return {(folder / "phi-3" / "tokenizer.json").string()};
  if (name == "ggml-vocab-qwen2.gguf.inp") return {(folder / "qwen2").string()};
  return {};
}

TEST(TokenizerGolden, PairsOfLlamaCpp) {
  const std::filesystem::path folder = shared_folder("data") / "llama.cpp" / "vocab";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  int run = 0;
  for (const std::filesystem::path& file : files_in(folder, ".inp")) {
    SCOPED_TRACE(file.filename().string());
    const std::vector<std::string> vocabulary = pair_files(file);
    if (vocabulary.empty()) {
      std::printf("skipped %s: no vocabulary for it\n", file.filename().c_str());
      continue;
    }
    std::vector<std::string> warnings;
    const auto tokenizer = make_tokenizer(read_tokenizer_files(vocabulary), warnings);
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

/// The tokenizer in the shared data with this name in the expected encodings, or nothing.
std::unique_ptr<Tokenizer> expected_tokenizer(const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> kFolders[] = {
      {"bert-base-uncased", "bert-hf"},
      {"bert_uncased_encoded.json", "bert-base-uncased"},
      {"distilgpt2", "gpt2-hf"},
      {"falcon_encoded.json", "falcon"},
      {"gpt2_encoded_tokens.json", "gpt2"},
      {"google-bert/bert-base-uncased", "bert-hf"},
      {"t5-base", "t5-small"},
      {"t5_base_encoded.json", "t5-small"},
      {"tiiuae/falcon-7b", "falcon"}};
  for (const auto& [known, folder] : kFolders) {
    if (known != name) continue;
    std::vector<std::string> warnings;
    const std::filesystem::path path = shared_folder("data") / "tokenizers" / folder;
    return make_tokenizer(read_tokenizer_files({{path.string()}}), warnings);
  }
  std::printf("skipped %s: no vocabulary for it\n", name.c_str());
  return nullptr;
}

TEST(TokenizerExpected, LongTexts) {
  const std::filesystem::path folder =
      shared_folder("data") / "tokenizers" / "expected" / "swift-transformers";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  int run = 0;
  for (const std::filesystem::path& file : files_in(folder, ".json")) {
    const std::string text = read_text(file);
    const Json record = parse_json(text, file.string(), "file");
    if (record.find("token_ids") == nullptr) continue;
    const auto tokenizer = expected_tokenizer(file.filename().string());
    if (!tokenizer) continue;
    SCOPED_TRACE(file.filename().string());
    EXPECT_EQ(
        tokenizer->encode(*record.find("text")->as_string(), {.add_begin = true, .add_end = true}),
        ids_of(record, "token_ids"));
    ++run;
  }
  EXPECT_GT(run, 0);
}

TEST(TokenizerExpected, ShortTextsOfSeveralTokenizers) {
  const std::filesystem::path file = shared_folder("data") / "tokenizers" / "expected" /
                                     "swift-transformers" / "tokenizer_tests.json";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  const Json all = parse_json(read_text(file), file.string(), "file");
  for (const auto& [name, records] : *all.as_object()) {
    const auto tokenizer = expected_tokenizer(name);
    if (!tokenizer) continue;
    SCOPED_TRACE(name);
    for (const Json& record : *records.as_array()) {
      const std::string& text = *record.find("input")->as_string();
      const Ids ids = ids_of(*record.find("encoded"), "input_ids");
      EXPECT_EQ(
          tokenizer->encode(text, {.add_begin = true, .add_end = true, .parse_special = true}), ids)
          << text;
    }
  }
}

TEST(TokenizerExpected, QuestionsOfBert) {
  const std::filesystem::path folder =
      shared_folder("data") / "tokenizers" / "expected" / "swift-transformers";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const auto read = [&](const char* name) {
    const std::filesystem::path file = folder / name;
    return parse_json(read_text(file), file.string(), "file");
  };
  const Json questions = read("question_tokens.json");
  const Json ids = read("tokenized_questions.json");
  const auto tokenizer = expected_tokenizer("bert_uncased_encoded.json");
  ASSERT_EQ(questions.as_array()->size(), ids.as_array()->size());
  for (std::size_t i = 0; i < ids.as_array()->size(); ++i) {
    Ids wanted;
    for (const Json& id : *(*ids.as_array())[i].as_array()) {
      wanted.push_back(static_cast<std::int32_t>(*id.as_int()));
    }
    const std::string& text = *(*questions.as_array())[i].find("original")->as_string();
    ASSERT_EQ(tokenizer->encode(text), wanted) << text;
  }
}

/// The file says that outer white space is removed; the folder's tokenizer keeps it.
bool differs_by_setting(const std::string& model, const std::string& text) {
  return model.starts_with("xlm-roberta") && text.ends_with(' ');
}

TEST(TokenizerGolden, EncodersInGgufHaveTheTokensOfTheirFolders) {
  const std::filesystem::path folder = shared_folder("references") / "encoders-gguf";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  int compared = 0;
  for (const std::filesystem::path& file : files_in(folder, ".gguf")) {
    const std::string name = file.stem().string();
    SCOPED_TRACE(name);
    const std::filesystem::path texts_file =
        shared_folder("references") / "embeddings" / name / "texts.json";
    const Json golden = parse_json(read_text(texts_file), texts_file.string(), "file");
    std::vector<std::string> warnings;
    const auto tokenizer = make_tokenizer(read_tokenizer_files({{file.string()}}), warnings);
    EXPECT_TRUE(warnings.empty());
    const Json::Array& texts = *golden.find("texts")->as_array();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string& text = *texts[i].as_string();
      if (differs_by_setting(name, text)) continue;
      Ids wanted;
      for (const Json& id : *(*golden.find("ids")->as_array())[i].as_array()) {
        wanted.push_back(static_cast<std::int32_t>(*id.as_int()));
      }
      EXPECT_EQ(tokenizer->encode(text, {.add_begin = true, .add_end = true}), wanted) << text;
      ++compared;
    }
  }
  EXPECT_GT(compared, 60);
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
    const auto tokenizer = make_tokenizer(read_tokenizer_files({{file.string()}}), warnings);
    EXPECT_TRUE(warnings.empty());
    const Ids ids = tokenizer->encode(text, {.add_begin = true, .add_end = true});
    EXPECT_EQ(detokenize(*tokenizer, ids), text);
    const auto is_control = [&](std::int32_t id) {
      return tokenizer->type(id) == TokenType::kControl;
    };
    EXPECT_EQ(std::count_if(ids.begin(), ids.end(), is_control), tokenizer->adds_bos() ? 1 : 0);
  }
}

}  // namespace
}  // namespace ingot::testing
