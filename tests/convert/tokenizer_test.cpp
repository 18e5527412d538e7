// Tokenizers of folders as GGUF keys: what is written reads back to the same tokens.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "convert/convert_test_util.h"
#include "convert/tokenizer_check.h"
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

/// What a tokenizer becomes as GGUF keys.
struct Written {
  std::string refusal;  ///< the message of the refusal; empty if it is written
  std::vector<std::string> warnings;
  GgufValues values;
};

Written write(TokenizerData data, std::int64_t more_rows = 0) {
  EditableCheckpoint checkpoint;
  const std::int64_t rows = std::ssize(data.tokens) + more_rows;
  checkpoint.set_tokenizer(std::make_unique<TokenizerData>(std::move(data)));
  Written written;
  try {
    write_tokenizer(checkpoint, rows, written.values, written.warnings);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_TRUE(error.message().ends_with("; --no-tokenizer leaves the tokenizer out"))
        << error.message();
    written.refusal = error.message();
  }
  return written;
}

TokenizerData read(const GgufValues& values) {
  const std::string bytes = values.file();
  const GgufFile file = parse_gguf(std::as_bytes(std::span(bytes)), "again");
  GgufKeys keys(file);
  return std::move(*gguf_tokenizer(keys));
}

/// Writes a tokenizer and reads it back. Returns the refusal; empty if it is written.
std::string round_trip(TokenizerData data, std::vector<std::string> texts) {
  std::erase_if(texts, [&](const std::string& text) { return is_warned_of(data, text); });
  data.templates.add("default", "all");
  data.templates.add("tool_use", "tools");
  const Written written = write(data, 3);
  if (!written.refusal.empty()) return written.refusal;
  const TokenizerData again = read(written.values);
  EXPECT_EQ(again.tokens.size(), data.tokens.size()) << "rows without a token get none";
  EXPECT_EQ(again.templates.standard, data.templates.standard);
  EXPECT_EQ(again.templates.named.back().name, "tool_use");
  const auto source = made(data);
  const auto file = made(again);
  EXPECT_EQ(file->fim(), source->fim());
  expect_same_tokens(*file, *source, texts);
  return {};
}

/// Public tokenizers that GGUF cannot express, and a part of the reason.
const std::map<std::string, std::string>& expected_refusals() {
  static const std::map<std::string, std::string> all{
      {"falcon", "its pre-tokenizer has no name in GGUF"},
      {"tiny-bert", "GGUF's WordPiece lowers case and removes accents, as this one does not"},
  };
  return all;
}

TEST(TokenizerValues, PublicTokenizersReadBackToTheSameTokens) {
  INGOT_NEEDS_SHARED("goldens/tokenizer");
  INGOT_NEEDS_SHARED("data/tokenizers");
  std::map<std::string, std::string> refusals;
  for (const fs::path& path : shared_entries("goldens/tokenizer")) {
    const std::string name = path.stem().string();
    // Lists of ranks are in no model folder. gpt2 and qwen2 have the vocabularies of others here.
    const bool is_folders = !name.starts_with("gguf-") && !name.starts_with("openai-") &&
                            name != "gpt2" && !name.starts_with("qwen2");
    if (path.extension() != ".jsonl" || !is_folders) continue;
    SCOPED_TRACE(name);
    Golden golden = read_golden(path);
    // Several models of SentencePiece have the same pieces.
    if (golden.files.front().find(".model.") != std::string::npos) golden.files.resize(1);
    const std::string refusal = round_trip(read_tokenizer_files(golden.files), golden.texts);
    if (!refusal.empty()) refusals.emplace(name, refusal);
  }
  EXPECT_EQ(refusals.size(), expected_refusals().size());
  for (const auto& [name, refusal] : refusals) {
    const auto expected = expected_refusals().find(name);
    const bool is_expected = expected != expected_refusals().end();
    EXPECT_TRUE(is_expected && refusal.find(expected->second) != std::string::npos)
        << name << ": " << refusal;
  }
}

/// A public tokenizer, and texts.
struct Public {
  TokenizerData data;
  std::vector<std::string> texts;
};

Public read_public(const std::string& name) {
  const Golden golden = read_golden(shared_folder("goldens/tokenizer") / (name + ".jsonl"));
  return {read_tokenizer_files(golden.files), golden.texts};
}

TEST(TokenizerValues, WhatReadersWouldNotGetIsRefused) {
  INGOT_NEEDS_SHARED("goldens/tokenizer");
  TokenizerData named = read_public("gpt2-hf").data;
  named.templates.add(std::string(70'000, 'n'), "text");
  EXPECT_NE(write(named).refusal.find("has 70000 bytes"), std::string::npos);
  TokenizerData whole_words = read_public("mistral-v1").data;
  whole_words.ignore_merges = true;
  EXPECT_NE(write(whole_words).refusal.find("without merges"), std::string::npos);
}

NormalizerStep normalizer(NormalizerStep::Kind kind) {
  NormalizerStep step;
  step.kind = kind;
  return step;
}

PretokenizerStep metaspace(PretokenizerStep::Prepend prepend, bool split) {
  PretokenizerStep step;
  step.kind = PretokenizerStep::Kind::kMetaspace;
  step.replacement = "\xE2\x96\x81";
  step.prepend = prepend;
  step.split = split;
  return step;
}

/// Phi-3's pieces and merges without a space in front of texts, as Gemma has it.
Public spaced_bpe() {
  Public phi = read_public("phi-3");
  std::erase_if(phi.data.normalizers, [](const NormalizerStep& step) {
    return step.kind == NormalizerStep::Kind::kPrepend;
  });
  phi.data.decoders.pop_back();  // which removes the space in front
  return phi;
}

std::string model_of(const GgufValues& values) {
  const std::string bytes = values.file();
  const GgufFile file = parse_gguf(std::as_bytes(std::span(bytes)), "again");
  return std::string(file.find("tokenizer.ggml.model")->text());
}

TEST(TokenizerValues, MergesInAnotherOrderThanScoresAreStored) {
  INGOT_NEEDS_SHARED("goldens/tokenizer");
  Public phi = spaced_bpe();
  EXPECT_EQ(round_trip(phi.data, phi.texts), "");
  EXPECT_EQ(model_of(write(phi.data).values), "llama");
  StringTable merges;  // the last pair of a piece that several pairs make goes first
  const std::size_t last = phi.data.merges.size() - 1;
  merges.add(phi.data.merges[last]);
  for (std::size_t i = 0; i < last; ++i) merges.add(phi.data.merges[i]);
  phi.data.merges = std::move(merges);
  EXPECT_EQ(round_trip(phi.data, phi.texts), "");
  EXPECT_EQ(model_of(write(phi.data).values), "gemma4");
  phi.data.normalizers.insert(phi.data.normalizers.begin(),
                              normalizer(NormalizerStep::Kind::kPrepend));
  phi.data.normalizers[0].content = "\xE2\x96\x81";
  EXPECT_NE(write(phi.data).refusal.find("its merges"), std::string::npos);
}

TEST(TokenizerValues, MetaspaceOfBpe) {
  INGOT_NEEDS_SHARED("goldens/tokenizer");
  using enum PretokenizerStep::Prepend;
  Public phi = spaced_bpe();
  phi.data.normalizers.clear();
  phi.data.pretokenizers = {metaspace(kNever, false)};
  EXPECT_EQ(round_trip(phi.data, phi.texts), "");
  phi.data.pretokenizers = {metaspace(kNever, true)};
  EXPECT_NE(write(phi.data).refusal.find("its pre-tokenizer cuts in token '"), std::string::npos);
  phi.data.pretokenizers = {metaspace(kFirst, false)};
  EXPECT_NE(write(phi.data).refusal.find("only the first text of an input gets a space in front"),
            std::string::npos);
  phi.data.pretokenizers = {metaspace(kAlways, false)};
  EXPECT_NE(write(phi.data).refusal.find("unless they begin with one"), std::string::npos);
}

/// Why `prepend_scheme: first` is refused: GGUF has add_space_prefix for every text between special
/// tokens or for none. Chats of such models begin with a special token and a space.
TEST(TokenizerValues, NoSettingOfGgufMeansFirst) {
  INGOT_NEEDS_SHARED("goldens/tokenizer");
  const Public always = read_public("phi-3"), never = spaced_bpe();
  Public first = spaced_bpe();
  first.data.normalizers.clear();
  first.data.pretokenizers = {metaspace(PretokenizerStep::Prepend::kFirst, false)};
  const auto tokens = [](const Public& of, std::string_view text) {
    std::vector<std::string> details;
    return make_tokenizer(of.data, details)->encode(text, {.parse_special = true});
  };
  for (const std::string_view chat : {"<s> Hello", "<s> Hello</s>there"}) {
    EXPECT_EQ(tokens(never, chat), tokens(first, chat)) << chat;
    EXPECT_NE(tokens(always, chat), tokens(first, chat)) << chat;
  }
  EXPECT_EQ(tokens(always, "Hello"), tokens(first, "Hello"));
  EXPECT_NE(tokens(never, "Hello"), tokens(first, "Hello"));
  EXPECT_NE(tokens(always, " Hello"), tokens(first, " Hello"));
}

TEST(TokenizerValues, SentencePiecesSpacesAsTransformersWritesThem) {
  INGOT_NEEDS_SHARED("goldens/tokenizer");
  using enum PretokenizerStep::Prepend;
  Public t5 = read_public("t5-small");
  NormalizerStep strip = normalizer(NormalizerStep::Kind::kStrip);
  strip.right = true;
  NormalizerStep join = normalizer(NormalizerStep::Kind::kReplace);
  join.pattern = {.text = " {2,}", .regex = true};
  join.content = "\xE2\x96\x81";
  t5.data.normalizers = {t5.data.normalizers[0], strip, join};
  t5.data.pretokenizers = {metaspace(kAlways, true)};
  EXPECT_EQ(round_trip(t5.data, t5.texts), "");
  TokenizerData other = t5.data;
  other.normalizers.erase(other.normalizers.begin() + 1);
  EXPECT_NE(write(other).refusal.find("no key for the step Replace of ' {2,}'"), std::string::npos);
  other = t5.data;
  other.normalizers[1] = normalizer(NormalizerStep::Kind::kNfkc);
  EXPECT_NE(write(other).refusal.find("no key for the step NFKC"), std::string::npos);
  other = t5.data;
  other.normalizers.erase(other.normalizers.begin());  // the map makes line breaks spaces
  EXPECT_NE(write(other).refusal.find("becomes other tokens"), std::string::npos);
}

std::string difference(const TokenizerData& want, void (*change)(TokenizerData&)) {
  TokenizerData got = want;
  change(got);
  return tokenizer_difference(want, got, {});
}

TEST(TokenizerDifference, EachPropertyIsSeen) {
  INGOT_NEEDS_SHARED("goldens/tokenizer");
  using Data = TokenizerData;
  const Data unigram = read_public("t5-small").data;
  EXPECT_EQ(difference(unigram, [](Data&) {}), "");
  EXPECT_EQ(difference(unigram, [](Data& d) { d.scores[500] += 1; }),
            "token 500 has another score");
  EXPECT_EQ(difference(unigram, [](Data& d) { d.types[500] = TokenType::kControl; }),
            "token 500 has another type");
  EXPECT_NE(difference(unigram, [](Data& d) { d.decoders.clear(); }), "");
  EXPECT_NE(difference(unigram, [](Data& d) { d.frame_end.clear(); }).find("the text ''"),
            std::string::npos);
  EXPECT_NE(difference(unigram, [](Data& d) { d.added.pop_back(); }).find("becomes other tokens"),
            std::string::npos);
  const Data bytes = read_public("gpt2-hf").data;
  EXPECT_EQ(difference(bytes, [](Data&) {}), "");
  EXPECT_NE(
      difference(bytes, [](Data& d) { d.normalizers = {normalizer(NormalizerStep::Kind::kNfc)}; })
          .find("the text 'e"),
      std::string::npos);
  EXPECT_EQ(difference(bytes,
                       [](Data& d) {
                         StringTable merges;
                         for (std::size_t i = 0; i < d.merges.size(); ++i) {
                           merges.add(d.merges[i == 100 ? 101 : i == 101 ? 100 : i]);
                         }
                         d.merges = std::move(merges);
                       }),
            "merge 100 is another one");
}

TEST(TokenizerDifference, TextsWithLostTokensAreLeftOut) {
  INGOT_NEEDS_SHARED("goldens/tokenizer");
  const TokenizerData want = read_public("t5-small").data;
  TokenizerData got = want;
  const AddedToken lost = got.added.back();
  got.added.pop_back();
  EXPECT_NE(tokenizer_difference(want, got, {}), "");
  EXPECT_EQ(tokenizer_difference(want, got, {lost}), "");
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
