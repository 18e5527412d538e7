// Tokenizers of folders as GGUF keys: what is written reads back to the same tokens.
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "convert/convert_test_util.h"
#include "convert/tokenizer_values.h"
#include "load/gguf/gguf_metadata.h"
#include "load/gguf/gguf_tokenizer.h"
#include "load/tokenizer/tokenizer_files.h"
#include "support/random_model.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot::testing_support {
namespace {

namespace fs = std::filesystem;

/// A golden file: the tokenizer's files and texts of every kind.
struct Golden {
  std::string name;
  std::vector<std::string> files;
  std::vector<std::string> texts;
};

Golden read_golden(const fs::path& path) {
  Golden golden{.name = path.stem().string(), .files = {}, .texts = {}};
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    const Json j = parse_json(line, path.string(), "golden");
    const Json* text = j.find("text");  // null in records of decoding
    if (text != nullptr && text->as_string() != nullptr) golden.texts.push_back(*text->as_string());
    const Json* files = j.find("tokenizer");
    if (files == nullptr) continue;
    if (files->as_array() == nullptr) {
      golden.files.push_back((shared_folder("data") / *files->as_string()).string());
      continue;
    }
    for (const Json& file : *files->as_array()) {
      golden.files.push_back((shared_folder("data") / *file.as_string()).string());
    }
  }
  return golden;
}

/// Every text in three modes: the same tokens.
void expect_same_tokens(const Tokenizer& ours, const Tokenizer& source,
                        const std::vector<std::string>& texts) {
  int different = 0;
  for (const std::string& text : texts) {
    for (const EncodeOptions& options :
         {EncodeOptions{}, EncodeOptions{.add_begin = true, .add_end = true},
          EncodeOptions{.add_begin = true, .add_end = true, .parse_special = true}}) {
      const auto got = ours.encode(text, options);
      const auto want = source.encode(text, options);
      if (got == want || ++different > 3) continue;
      ADD_FAILURE() << "'" << printable(text, 200) << "' has " << got.size() << " tokens, not "
                    << want.size();
    }
  }
  EXPECT_EQ(different, 0);
}

/// Whether a warning says that GGUF finds other tokens in the text: white space beside added
/// tokens, and U+0085 in texts for a Unigram model.
bool is_warned_of(const TokenizerData& data, const std::string& text) {
  const bool next_line = text.find("\xC2\x85") != std::string::npos;
  return (data.model == TokenizerModel::kUnigram && next_line) ||
         std::any_of(data.added.begin(), data.added.end(), [&](const AddedToken& token) {
           const bool is_lost = token.lstrip || token.rstrip || token.single_word ||
                                (!token.special && !token.always) || token.normalized;
           return is_lost && text.find(token.content) != std::string::npos;
         });
}

std::unique_ptr<Tokenizer> made(const TokenizerData& data) {
  std::vector<std::string> warnings;
  return make_tokenizer(data, warnings);
}

/// Writes a tokenizer and reads it back; false where that is refused.
bool round_trips(TokenizerData data, std::vector<std::string> texts) {
  std::erase_if(texts, [&](const std::string& text) { return is_warned_of(data, text); });
  EditableCheckpoint checkpoint;
  const auto source = made(data);
  data.templates.add("default", "all");
  data.templates.add("tool_use", "tools");
  checkpoint.set_tokenizer(std::make_unique<TokenizerData>(std::move(data)));
  GgufValues values;
  std::vector<std::string> warnings;
  const std::int64_t rows = std::ssize(checkpoint.tokenizer()->tokens) + 3;
  try {
    write_tokenizer(checkpoint, rows, values, warnings);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_NE(error.message().find("--no-tokenizer"), std::string::npos) << error.message();
    std::cout << "refused: " << error.message() << "\n";
    return false;
  }
  for (const std::string& warning : warnings) std::cout << "warning: " << warning << "\n";
  const std::string bytes = values.file();
  const GgufFile file = parse_gguf(std::as_bytes(std::span(bytes)), "again");
  GgufKeys keys(file);
  const auto read = gguf_tokenizer(keys);
  EXPECT_EQ(std::ssize(read->tokens), rows);
  EXPECT_EQ(read->types.back(), TokenType::kUnused);
  EXPECT_TRUE(read->templates.standard);
  EXPECT_EQ(read->templates.named.back().name, "tool_use");
  const auto again = made(*read);
  EXPECT_EQ(again->fim(), source->fim());
  expect_same_tokens(*again, *source, texts);
  return true;
}

TEST(TokenizerValues, PublicTokenizersReadBackToTheSameTokens) {
  INGOT_NEEDS_SHARED("goldens/tokenizer");
  INGOT_NEEDS_SHARED("data/tokenizers");
  int written = 0;
  for (const fs::path& path : shared_entries("goldens/tokenizer")) {
    if (path.extension() != ".jsonl") continue;
    const Golden golden = read_golden(path);
    if (golden.files.size() > 1) continue;  // one form of description is as good as another here
    SCOPED_TRACE(golden.name);
    try {
      const bool is_written = round_trips(read_tokenizer_files(golden.files), golden.texts);
      std::cout << golden.name << (is_written ? ": written" : ": refused") << std::endl;
      if (is_written) ++written;
    } catch (const Error& error) {
      std::cout << golden.name << ": " << error.message() << "\n";
    }
  }
  EXPECT_GT(written, 0);
}

/// The refusal of a public tokenizer after a change; empty if it is written.
std::string refusal_after(void (*change)(TokenizerData&), TokenizerModel model) {
  for (const fs::path& path : shared_entries("goldens/tokenizer")) {
    if (path.extension() != ".jsonl") continue;
    TokenizerData data = read_tokenizer_files(read_golden(path).files);
    if (data.model != model) continue;
    change(data);
    EditableCheckpoint checkpoint;
    checkpoint.set_tokenizer(std::make_unique<TokenizerData>(std::move(data)));
    GgufValues values;
    std::vector<std::string> warnings;
    try {
      write_tokenizer(checkpoint, 0, values, warnings);
      return "";
    } catch (const Error& error) {
      return error.message();
    }
  }
  return "no such tokenizer";
}

TEST(TokenizerValues, WhatReadersWouldNotGetIsRefused) {
  INGOT_NEEDS_SHARED("goldens/tokenizer");
  const auto long_name = [](TokenizerData& data) {
    data.templates.add(std::string(70'000, 'n'), "text");
  };
  const auto whole_words = [](TokenizerData& data) { data.ignore_merges = true; };
  EXPECT_NE(refusal_after(long_name, TokenizerModel::kBpe).find("has 70000 bytes"),
            std::string::npos);
  EXPECT_NE(refusal_after(whole_words, TokenizerModel::kSentencePieceBpe).find("without merges"),
            std::string::npos);
}

TEST(TokenizerValues, GoldenModelsKeepTheirTokens) {
  INGOT_NEEDS_SHARED("goldens/models");
  std::vector<std::string> texts;
  for (const fs::path& path : shared_entries("goldens/tokenizer")) {
    if (path.extension() == ".jsonl" && texts.empty()) texts = read_golden(path).texts;
  }
  for (const fs::path& folder : shared_entries("goldens/models")) {
    SCOPED_TRACE(folder.filename().string());
    const TempFolder temp;
    try {
      convert(folder.string(), temp.path("out.gguf"), {.type = "F32", .tokenizer = true});
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("GGUF cannot express that"), std::string::npos)
          << error.message();
      continue;
    }
    const auto out = Checkpoint::open(temp.path("out.gguf"));
    const auto source = Checkpoint::open(folder.string());
    ASSERT_NE(out->tokenizer(), nullptr);
    expect_same_tokens(*made(*out->tokenizer()), *made(*source->tokenizer()), texts);
    EXPECT_EQ(out->tokenizer()->templates.standard, source->tokenizer()->templates.standard);
    EXPECT_EQ(ids_of(out->config().ends), ids_of(source->config().ends));
  }
}

}  // namespace
}  // namespace ingot::testing_support
