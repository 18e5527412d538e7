// tokenizer.json: what each component becomes, and lines T05, T07, T08 and T10.
#include "load/tokenizer/tokenizer_json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "load/hf/hf_test_util.h"
#include "load/tokenizer/tokenizer_files_test_util.h"

namespace ingot {
namespace {

using testing::byte_level_json;
using testing::unigram_json;
using testing::with;
using testing::wordpiece_json;
using testing_hf::expect_refused;

TokenizerData read_json(const std::string& text) {
  const std::string file = "tokenizer.json";
  return read_tokenizer_json(parse_json(text, file, "tokenizer", kTokenizerJsonLimits), file);
}

TEST(TokenizerJson, ByteLevel) {
  const TokenizerData data = read_json(byte_level_json());
  EXPECT_EQ(data.file, "tokenizer.json");
  EXPECT_EQ(data.model, TokenizerModel::kBpe);
  ASSERT_EQ(data.tokens.size(), 8u);
  EXPECT_EQ(data.tokens[2], "ab");
  EXPECT_EQ(data.tokens[7], "<tool>");
  EXPECT_EQ(data.types[4], TokenType::kNormal);
  EXPECT_EQ(data.types[5], TokenType::kControl);
  EXPECT_EQ(data.types[7], TokenType::kUserDefined);
  EXPECT_EQ(data.unknown, 4);
  EXPECT_TRUE(data.fuse_unknown && data.ignore_merges && !data.byte_fallback);
  ASSERT_EQ(data.merges.size(), 1u);
  EXPECT_EQ(data.merges[0], "a b");
  ASSERT_EQ(data.added.size(), 3u);
  EXPECT_TRUE(data.added[1].lstrip && data.added[1].rstrip && data.added[1].special);
  EXPECT_TRUE(data.added[2].single_word && data.added[2].normalized && !data.added[2].special);
  ASSERT_EQ(data.normalizers.size(), 2u);
  EXPECT_EQ(data.normalizers[0].kind, NormalizerStep::Kind::kNfc);
  EXPECT_EQ(data.normalizers[1].pattern.text, "x");
  EXPECT_EQ(data.normalizers[1].content, "a");
  ASSERT_EQ(data.pretokenizers.size(), 2u);
  EXPECT_TRUE(data.pretokenizers[0].pattern.regex);
  EXPECT_EQ(data.pretokenizers[0].behavior, SplitBehavior::kIsolated);
  EXPECT_FALSE(data.pretokenizers[1].use_regex || data.pretokenizers[1].add_prefix_space);
  EXPECT_EQ(data.frame_begin, std::vector<std::int32_t>{5});
  EXPECT_EQ(data.frame_end, std::vector<std::int32_t>{6});
  ASSERT_EQ(data.decoders.size(), 1u);
  EXPECT_EQ(data.decoders[0].kind, DecoderStep::Kind::kByteLevel);
  EXPECT_FALSE(data.join_with_spaces);
}

TEST(TokenizerJson, Unigram) {
  const TokenizerData data = read_json(unigram_json());
  EXPECT_EQ(data.model, TokenizerModel::kUnigram);
  EXPECT_EQ(data.scores, (std::vector<double>{0, -2, -1.5, -1}));
  EXPECT_EQ(data.unknown, 0);
  EXPECT_EQ(data.normalizers.size(), 6u);
  EXPECT_EQ(data.pretokenizers[1].prepend, PretokenizerStep::Prepend::kAlways);
  EXPECT_TRUE(data.pretokenizers[1].split && data.decoders[0].add_prefix);
}

TEST(TokenizerJson, WordPiece) {
  const TokenizerData data = read_json(wordpiece_json());
  EXPECT_EQ(data.model, TokenizerModel::kWordPiece);
  EXPECT_EQ(data.continuing_prefix, "##");
  EXPECT_EQ(data.word_chars_max, 100);
  EXPECT_TRUE(data.normalizers[0].strip_accents) << "as lowercase, where it is null";
  EXPECT_EQ(data.frame_begin, std::vector<std::int32_t>{1});
  EXPECT_EQ(data.frame_end, std::vector<std::int32_t>{2});
  EXPECT_EQ(data.pair, bert_pair(1, 2));
}

TEST(TokenizerJson, FormsOfPairs) {
  using enum PairPart::Kind;
  const auto roberta = read_json(with(wordpiece_json(), "BertProcessing", "RobertaProcessing"));
  EXPECT_EQ(roberta.pair, roberta_pair(1, 2));
  const auto with_pair = [](const std::string& parts) {
    return read_json(with(byte_level_json(), R"("pair": [])", R"("pair": [)" + parts + "]")).pair;
  };
  const std::string a = R"({"Sequence": {"id": "A", "type_id": 0}})";
  const std::string b = R"({"Sequence": {"id": "B", "type_id": 1}})";
  const std::string s = R"({"SpecialToken": {"id": "<s>", "type_id": 1}})";
  EXPECT_EQ(with_pair(a + "," + s + "," + b),
            (std::vector<PairPart>{
                {.kind = kFirst}, {.id = 5, .type = 1}, {.kind = kSecond, .type = 1}}));
  EXPECT_TRUE(with_pair(a).empty()) << "the second text is missing";
  EXPECT_TRUE(with_pair(a + "," + a + "," + b).empty());
  EXPECT_TRUE(with_pair(a + "," + b + R"(, {"Other": {}})").empty());
  EXPECT_TRUE(read_json(byte_level_json()).pair.empty());
}

TEST(TokenizerJson, OldFilesDoNotNameTheModel) {
  EXPECT_EQ(read_json(with(byte_level_json(), R"("type": "BPE", )", "")).model,
            TokenizerModel::kBpe);
  EXPECT_EQ(read_json(with(unigram_json(), R"("type": "Unigram", )", "")).model,
            TokenizerModel::kUnigram);
  EXPECT_EQ(read_json(with(wordpiece_json(), R"("type": "WordPiece", "unk)", R"("unk)")).model,
            TokenizerModel::kWordPiece);
}

TEST(TokenizerJson, MergesAsPairsMayHoldSpaces) {
  const TokenizerData data =
      read_json(with(byte_level_json(), R"(["a b"])", R"([["a", "b"], [" ", "a"]])"));
  EXPECT_EQ(data.merges[0],
            "a\xFF"
            "b");
  EXPECT_EQ(data.merges[1],
            " \xFF"
            "a");
  EXPECT_EQ(data.merge_separator, '\xFF');
}

TEST(TokenizerJson, IdsMayLeaveHoles) {
  const TokenizerData data = read_json(with(byte_level_json(), R"("id": 7)", R"("id": 9)"));
  ASSERT_EQ(data.tokens.size(), 10u);
  EXPECT_EQ(data.types[8], TokenType::kUnused);
  EXPECT_EQ(data.tokens[8], "");
}

TEST(TokenizerJson, OldSpellingOfMetaspace) {
  const TokenizerData data =
      read_json(with(unigram_json(), R"("prepend_scheme": "always", "split")",
                     R"("str_rep": "▁", "add_prefix_space": false, "split")"));
  EXPECT_EQ(data.pretokenizers[1].prepend, PretokenizerStep::Prepend::kNever);
}

struct Refusal {
  std::string from, to, message;
};

void expect_all_refused(const std::string& text, const std::vector<Refusal>& refusals) {
  for (const Refusal& r : refusals) {
    SCOPED_TRACE(r.to);
    ASSERT_NE(text.find(r.from), std::string::npos) << r.from;
    expect_refused([&] { read_json(with(text, r.from, r.to)); },
                   "tokenizer.json: tokenizer @0: " + r.message);
  }
}

// T08
TEST(TokenizerJson, UnknownComponentsAreRefusedWithTheirPath) {
  expect_all_refused(
      byte_level_json(),
      {{R"("type": "NFC")", R"("type": "NFZ")",
        "normalizer.normalizers[0].type is 'NFZ', which is not supported"},
       {R"({"type": "NFC"})", R"({})", "normalizer.normalizers[0].type is missing"},
       {R"({"type": "NFC"})", R"(5)", "normalizer.normalizers[0] is 5, expected an object"},
       {R"("type": "Split")", R"("type": "UnicodeScripts")",
        "pre_tokenizer.pretokenizers[0].type is 'UnicodeScripts', which is not supported"},
       {R"("pattern": {"Regex")", R"("pattern": {"Other")",
        "pre_tokenizer.pretokenizers[0].pattern.Regex is missing"},
       {R"("behavior": "Isolated")", R"("behavior": "Other")",
        "pre_tokenizer.pretokenizers[0].behavior is 'Other', which is not supported"},
       {R"("behavior": "Isolated", )", "", "pre_tokenizer.pretokenizers[0].behavior is missing"},
       {R"("decoder": {"type": "ByteLevel")", R"("decoder": {"type": "CTC")",
        "decoder.type is 'CTC', which is not supported"},
       {R"("type": "TemplateProcessing")", R"("type": "Other")",
        "post_processor.processors[1].type is 'Other', which is not supported"},
       {R"("id": "A")", R"("id": "B")",
        "post_processor.processors[1].single must hold special tokens and once the sequence A"},
       {R"("<s>": {"id")", R"("<t>": {"id")",
        "post_processor.processors[1].special_tokens has no ids for '<s>'"},
       {R"("ids": [5])", R"("ids": [8])",
        "post_processor.processors[1].special_tokens is 8, expected an id below 8"},
       {R"("type": "BPE")", R"("type": "WordLevel")",
        "model.type is 'WordLevel', supported are BPE, Unigram and WordPiece"},
       {R"("dropout": null)", R"("dropout": 0.1)", "model.dropout is 0.1, expected null or 0"},
       {R"("end_of_word_suffix": "")", R"("end_of_word_suffix": "</w>")",
        "model.end_of_word_suffix is '</w>', which is not supported"},
       {R"("unk_token": "unk")", R"("unk_token": "no")",
        "model.unk_token is 'no', which is not in the vocabulary"},
       {R"("a": 0)", R"("a": "0")", "model.vocab['a'] is '0', expected an integer"},
       {R"("a": 0)", R"("a": -1)", "model.vocab: 'a' has the id -1, accepted are 0 to 16777215"},
       {R"("b": 1)", R"("b": 0)", "model.vocab: the id 0 is both 'a' and 'b'"},
       {R"(["a b"])", R"(["a b", ["a", "b"]])", "model.merges[1] is an array, expected a string"},
       {R"(["a b"])", R"([["a", "b"], ["a"]])",
        "model.merges[1] is an array, expected two strings"},
       {R"("version": "1.0")", R"("version": "2.0")", "version is '2.0', supported is 1.0"}});
}

// T07
TEST(TokenizerJson, AddedTokensThatContradictTheVocabulary) {
  expect_all_refused(
      byte_level_json(),
      {{R"("id": 7)", R"("id": 3)", "added_tokens: the id 3 is both '<tool>' and 'Ġ'"},
       {R"("content": "<tool>")", R"("content": "ab")", "added_tokens: 'ab' has the ids 2 and 7"},
       {R"("content": "<tool>")", R"("content": "")", "added_tokens[2].content is empty"},
       {R"("id": 7)", R"("id": 16777216)",
        "added_tokens[2].id is 16777216, accepted are 0 to 16777215"},
       {R"("id": 7)", R"("id": "7")", "added_tokens[2].id is '7', expected an integer"},
       {R"("lstrip": true)", R"("lstrip": 1)",
        "added_tokens[1].lstrip is 1, expected true or false"}});
}

// T10
TEST(TokenizerJson, UnigramScores) {
  expect_all_refused(
      unigram_json(),
      {{R"(["a", -1.5])", R"(["a", 1e300])", "model.vocab[2] has the score 1e+300"},
       {R"(["a", -1.5])", R"(["a", null])", "model.vocab[2] is no pair"},
       {R"(["a", -1.5])", R"(["a", "NaN"])", "model.vocab[2] is no pair"},
       {R"("unk_id": 0)", R"("unk_id": 4)", "model.unk_id is 4, accepted are 0 to 3"},
       {R"("unk_id": 0)", R"("unk_id": -1)", "model.unk_id is -1, accepted are 0 to 3"}});
}

// T05
TEST(TokenizerJson, StepsAreBounded) {
  std::string steps = R"({"type": "NFC"})";
  for (int i = 0; i < 10'000; ++i) steps += R"(,{"type": "NFC"})";
  expect_refused([&] { read_json(with(byte_level_json(), R"({"type": "NFC"})", steps)); },
                 "normalizer has more than 32 steps");
  std::string nested = R"({"type": "NFC"})";
  for (int i = 0; i < 9; ++i) nested = R"({"type":"Sequence","normalizers":[)" + nested + "]}";
  EXPECT_EQ(read_json(with(byte_level_json(), R"({"type": "NFC"})", nested)).normalizers.size(),
            2u);
  for (int i = 0; i < 40; ++i) nested = R"({"type":"Sequence","normalizers":[)" + nested + "]}";
  expect_refused([&] { read_json(with(byte_level_json(), R"({"type": "NFC"})", nested)); },
                 "nested");
}

// T08: every value of every file, replaced by one of every type.
TEST(TokenizerJson, EveryValueOfAnotherType) {
  for (const std::string& text : {byte_level_json(), unigram_json(), wordpiece_json()}) {
    const Json root = parse_json(text, "tokenizer.json", "tokenizer");
    int refused = 0;
    for (std::size_t i = 0;; ++i) {
      bool damaged = true;
      for (const std::string& value : testing::json_values()) {
        const testing::DamagedJson damage(root, i, value);
        damaged = damage.is_damaged();
        if (damaged && !testing_hf::refusal([&] { read_json(damage.text()); }).empty()) ++refused;
      }
      if (!damaged) break;
    }
    EXPECT_GT(refused, 200);
  }
}

}  // namespace
}  // namespace ingot
