// Whole tokenizers of every kind: the order of the steps, and lines T04, T05, T07, T09, T12 and
// T15.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/full_run_test_util.h"
#include "base/text.h"
#include "base/utf8.h"
#include "load/tokenizer/tokenizer_files_test_util.h"
#include "load/tokenizer/tokenizer_json.h"
#include "quant/test_data.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_random_test_util.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::testing {
namespace {

using Ids = std::vector<std::int32_t>;

std::unique_ptr<Tokenizer> make_pipeline(const TokenizerData& data) {
  std::vector<std::string> warnings;
  return make_tokenizer(data, warnings);
}

TokenizerData read(const std::string& text) {
  const std::string file = "tokenizer.json";
  return read_tokenizer_json(parse_json(text, file, "tokenizer", kTokenizerJsonLimits), file);
}

std::unique_ptr<Tokenizer> from_json(const std::string& text) { return make_pipeline(read(text)); }

/// The message with which `work` fails, after "<code>: ".
std::string failure(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return cat(e.code() == ErrorCode::kModel ? "model: " : "invalid: ", e.message());
  }
  return "accepted";
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(Pipeline, ByteLevelOfTokenizerJson) {
  const auto t = from_json(byte_level_json());
  EXPECT_EQ(t->encode("ab x"), (Ids{2, 3, 0})) << "x is replaced, white space is a piece";
  EXPECT_EQ(t->encode("xb"), Ids{2}) << "replaced before it is merged";
  EXPECT_EQ(t->encode("zz"), Ids{4}) << "unknown bytes in a row are one token";
  EXPECT_EQ(t->encode("ab", {.add_begin = true, .add_end = true}), (Ids{5, 2, 6}));
  EXPECT_TRUE(t->adds_bos() == false && t->adds_eos() == false) << "no roles in this file";
  EXPECT_EQ(detokenize(*t, Ids{5, 2, 3, 0, 6}), "ab a");
  EXPECT_EQ(detokenize(*t, Ids{5, 2, 3, 0, 6}, {.keep_control = true}), "<s>ab a</s>");
}

TEST(Pipeline, AddedTokensAndTheirRules) {
  const auto t = from_json(byte_level_json());
  const EncodeOptions special{.parse_special = true};
  const EncodeOptions user{.parse_user_defined = true};
  EXPECT_EQ(t->encode("a </s> b", special), (Ids{0, 6, 1})) << "takes white space along";
  EXPECT_EQ(t->encode("a </s> b", user), (Ids{0, 3, 4, 3, 1})) << "unknown bytes";
  EXPECT_EQ(t->encode("a <tool> b", user), (Ids{0, 3, 7, 3, 1}));
  EXPECT_EQ(t->encode("a<tool>b", user).size(), 3u) << "no word of its own: all unknown";
  EXPECT_EQ(t->encode("a <tool> b").size(), 5u);
  EXPECT_FALSE(t->text_bytes_per_token_max()) << "white space can vanish";
}

TEST(Pipeline, UnigramWithMetaspace) {
  const auto t = from_json(unigram_json());
  EXPECT_EQ(t->encode("A a"), (Ids{3, 2, 3})) << "lower-cased, an a put in front";
  EXPECT_EQ(t->encode(" \u00C4"), (Ids{3, 0})) << "NFKC leaves one character";
  EXPECT_EQ(detokenize(*t, Ids{3, 2, 3}), "aa a");
  EXPECT_EQ(detokenize(*t, Ids{3, 2, 3}, {.strip_leading_space = false}), " aa a");
}

TEST(Pipeline, AddedTokensOfUnigramHaveNoScore) {
  const auto t =
      from_json(with(unigram_json(), R"("added_tokens": [])",
                     R"("added_tokens": [{"id": 4, "content": "aa", "special": false}])"));
  EXPECT_EQ(t->encode("a"), (Ids{3, 2}));
  EXPECT_EQ(t->encode("aa", {.parse_user_defined = true}), Ids{4})
      << "its content is normalised too: an a in front, as there is of the text";
}

TEST(Pipeline, MetaspaceInFrontOfTheTextAlone) {
  const std::string first =
      with(unigram_json(), R"("prepend_scheme": "always")", R"("prepend_scheme": "first")");
  EXPECT_EQ(from_json(first)->encode("a a"), (Ids{3, 2, 2}));
  const std::string never =
      with(unigram_json(), R"("prepend_scheme": "always")", R"("prepend_scheme": "never")");
  EXPECT_EQ(from_json(never)->encode("a a"), (Ids{2, 2, 2}));
}

TEST(Pipeline, WordPiece) {
  const auto t = from_json(wordpiece_json());
  EXPECT_EQ(t->encode("A ab abb b"), (Ids{3, 3, 4, 3, 4, 4, 0}));
  EXPECT_EQ(t->encode("a", {.add_begin = true, .add_end = true}), (Ids{1, 3, 2}));
  EXPECT_EQ(t->encode("[SEP]"), (Ids{0, 0, 0})) << "brackets and a word that is no piece";
  EXPECT_EQ(t->encode("[SEP]", {.parse_special = true}), Ids{2});
  EXPECT_EQ(detokenize(*t, Ids{3, 4, 3}), "ab a");
  EXPECT_EQ(detokenize(*t, Ids{4, 3}), "##b a") << "a suffix that begins a text";
  EXPECT_EQ(detokenize(*t, Ids{4, 3}, {.strip_leading_space = false}), "b a");
}

TEST(Pipeline, WithoutDecoderTokensStandApart) {
  const std::string text = with(byte_level_json(),
                                R"("decoder": {"type": "ByteLevel", )"
                                R"("add_prefix_space": true, "trim_offsets": true})",
                                R"("decoder": null)");
  EXPECT_EQ(detokenize(*from_json(text), Ids{2, 0}), "ab a");
}

TEST(Pipeline, CharactersThatFallBackOnBytes) {
  const auto t =
      make_pipeline(char_bpe_data({"▁", "a", "b"}, {{"▁", "a"}, {"a", "b"}, {"▁", "ab"}}));
  EXPECT_EQ(t->encode("ab"), (Ids{262, 261})) << "by rank: the first merge goes first";
  EXPECT_EQ(t->encode("b"), (Ids{259, 261}));
  EXPECT_EQ(t->encode("a\u00E9"), (Ids{262, 3 + 0xC3, 3 + 0xA9}));
  EXPECT_EQ(t->encode("\xFF"), (Ids{259, 3 + 0xFF}));
  EXPECT_EQ(t->encode(""), Ids{});
  EXPECT_EQ(detokenize(*t, t->encode("ab b")), "ab b");
  EXPECT_EQ(t->text_bytes_per_token_max(), 3u * 5u);
}

/// GGUF's "gemma4": no space in front, and pieces that begin with a line break.
TEST(Pipeline, SpacedBpe) {
  TokenizerData data = char_bpe_data({"▁", "a", "\n"}, {{"▁", "a"}, {"\n", "\n"}, {"a", "\n"}});
  describe_spaced_bpe(data);
  const auto t = make_pipeline(data);
  EXPECT_EQ(t->encode("a a"), (Ids{260, 262}));
  EXPECT_EQ(t->encode("\n\na\n"), (Ids{263, 264}));
  EXPECT_EQ(t->encode("\u00E9"), (Ids{3 + 0xC3, 3 + 0xA9}));
  EXPECT_EQ(detokenize(*t, t->encode(" a\n\u00E9")), " a\n\u00E9");
}

TEST(Pipeline, UnknownCharactersWithoutBytes) {
  TokenizerData data = char_bpe_data({"▁", "a"}, {{"▁", "a"}});
  data.byte_fallback = false;
  EXPECT_EQ(make_pipeline(data)->encode("\u00E9\u4E2Da"), (Ids{259, 0, 260})) << "fused";
  data.fuse_unknown = false;
  EXPECT_EQ(make_pipeline(data)->encode("\u00E9\u4E2Da"), (Ids{259, 0, 0, 260}));
  data.unknown.reset();
  EXPECT_EQ(make_pipeline(data)->encode("\u00E9\u4E2Da"), (Ids{259, 260})) << "left out";
}

// T04
TEST(Pipeline, RegularExpressionsRunUnderLimits) {
  const auto with_regex = [](const std::string& regex) {
    return with(byte_level_json(), R"("Regex": "\\s+|\\S+")",
                cat("\"Regex\": ", Json(regex).dump()));
  };
  for (const char* regex : {"(", "a{2,1}", "[", "\\p{NoSuch}", "(?<n>a)(?<n>b)", "\\"}) {
    EXPECT_TRUE(contains(failure([&] { from_json(with_regex(regex)); }), "model: tokenizer.json: "))
        << regex;
  }
  EXPECT_TRUE(
      contains(failure([&] { from_json(with_regex(std::string(1 << 20, 'a'))); }), "model: "));
  const std::string text = std::string(4096, 'a') + "!";
  for (const char* regex : {"(a+)+$", "(a|aa)+$", "(?=(a+))+b", "(a*)*b"}) {
    const std::string json = with_regex(regex);
    const std::string result = failure([&] { from_json(json)->encode(text); });
    EXPECT_TRUE(result == "accepted" || result.starts_with("invalid: ") ||
                result.starts_with("model: "))
        << regex << ": " << result;
  }
}

// T05
TEST(Pipeline, NormalisationThatGrowsATextIsBounded) {
  const auto with_content = [](const std::string& content) {
    return from_json(with(byte_level_json(), R"("content": "a"}]})",
                          cat(R"("content": ")", content, R"("}]})")));
  };
  EXPECT_EQ(with_content("aaaa")->encode(std::string(1000, 'x')).size(), 4000u);
  const auto t = with_content(std::string(1'000'000, 'a'));
  EXPECT_TRUE(failure([&] { t->encode("x"); }).starts_with("invalid: "));
  EXPECT_EQ(t->encode("a"), Ids{0});
}

TEST(Pipeline, DecodersThatCannotStreamAreRefused) {
  const auto with_decoders = [](const std::string& decoders) {
    const std::string json =
        with(wordpiece_json(), R"({"type": "WordPiece", "prefix": "##", "cleanup": true})",
             cat(R"({"type": "Sequence", "decoders": [)", decoders, "]}"));
    return failure([&] { from_json(json); });
  };
  const std::string fuse = R"({"type": "Fuse"})";
  const std::string strip = R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})";
  const std::string stop = R"({"type": "Strip", "content": " ", "start": 0, "stop": 1})";
  const std::string replace = R"({"type": "Replace", "pattern": {"String": "a"}, "content": "b"})";
  EXPECT_EQ(with_decoders(cat(stop, ",", replace, ",", fuse, ",", strip)), "accepted");
  for (const std::string& last : {stop, replace, cat(strip, ",", strip)}) {
    EXPECT_TRUE(contains(with_decoders(cat(fuse, ",", last)), "a decoder behind Fuse")) << last;
  }
  const std::string large = cat(R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")",
                                std::string(65, 'b'), R"("})");
  EXPECT_TRUE(contains(with_decoders(large), "a decoder's replacement has 65 bytes, more than 64"));
}

TEST(Pipeline, StepsBehindByteLevelThatNeedLettersAreRefused) {
  const std::string bytes_first = with(
      byte_level_json(), R"("pretokenizers": [)",
      R"("pretokenizers": [{"type": "ByteLevel", "use_regex": true, "add_prefix_space": false},)");
  EXPECT_TRUE(
      contains(failure([&] { from_json(bytes_first); }), "behind ByteLevel is not supported"));
}

// T07
TEST(Pipeline, AddedTokensAreBounded) {
  TokenizerData data = byte_level_data("gpt-2", {{"a", "b"}});
  for (std::int32_t i = 0; i <= 1'000'000; ++i) {
    data.added.push_back({.content = cat(i), .id = i % 256, .special = true});
  }
  EXPECT_TRUE(
      contains(failure([&] { make_pipeline(data); }), "1000001 control and user-defined tokens"));
  data.added.resize(1);
  data.added[0].id = 257;
  EXPECT_TRUE(
      contains(failure([&] { make_pipeline(data); }), "an added token is token 257 of 257"));
}

// T09
TEST(Pipeline, TokensOutsideOfTheByteAlphabet) {
  const std::string text = with(byte_level_json(), R"("unk": 4)", R"("中 x": 4)");
  const auto t = from_json(with(text, R"("unk_token": "unk")", R"("unk_token": null)"));
  EXPECT_EQ(detokenize(*t, Ids{4, 0}), "中 xa");
}

struct Subject {
  std::string name;
  std::unique_ptr<Tokenizer> tokenizer;
  bool keeps_bytes = false;   ///< decoding gives the text again, except U+2581
  std::int32_t unknown = -1;  ///< a control token that text can become
};

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  const std::vector<std::pair<std::string, std::string>> merges = {
      {"a", "b"}, {"\xC3", "\xA9"}, {" ", "a"}, {"<", "s"}};
  all.push_back({"byte-level", make_pipeline(byte_level_data("default", merges)), true});
  all.push_back({"sentencepiece",
                 make_pipeline(sentencepiece_data({"▁", "a", "▁a", "ab", "é", "▁▁"})), true});
  all.push_back({"unigram", make_pipeline(unigram_data({"▁", "a", "▁a", "ab", "é", "▁▁"})), true});
  all.push_back(
      {"character bpe",
       make_pipeline(char_bpe_data({"▁", "a", "b", "é"}, {{"▁", "a"}, {"a", "b"}, {"▁", "▁"}})),
       true});
  all.push_back(
      {"unigram without bytes", make_pipeline(unigram_data({"▁", "a", "ab"}, {}, false))});
  all.push_back(
      {"wordpiece", make_pipeline(wordpiece_data({"a", "##b", "é", "<", "中", "1"})), false, 1});
  all.push_back({"tokenizer.json", from_json(byte_level_json())});
  return all;
}

int texts_tried() { return random_runs(20'000, 1'000'000, 500); }

std::string unmarked(std::string_view text) { return without_space_marks(text); }

// T12: any bytes, of every kind.
TEST(Pipeline, AnyBytesOfEveryKind) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    const Tokenizer& t = *subject.tokenizer;
    const bool prefix = t.stripped_prefix_count() > 0;
    Random random(71);
    for (int i = 0; i < texts_tried(); ++i) {
      const std::string text = random_text(random);
      const Ids ids = t.encode(text);
      if (const auto bound = t.text_bytes_per_token_max()) {
        ASSERT_GE(ids.size() * *bound, text.size());
      }
      for (const std::int32_t id : ids) {
        ASSERT_TRUE(id >= 0 && id < t.size()) << id;
        ASSERT_TRUE(t.type(id) != TokenType::kControl || id == subject.unknown) << text;
      }
      ASSERT_TRUE(is_utf8(detokenize(t, ids, {.keep_control = true})));
      if (!subject.keeps_bytes) continue;
      const std::string wanted = prefix ? unmarked(text) : text;
      ASSERT_EQ(joined(t, ids), (prefix && !text.empty() ? " " : "") + wanted);
    }
  }
}

// T15
TEST(Pipeline, AnyIdsOfEveryKind) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    const Tokenizer& t = *subject.tokenizer;
    Random random(73);
    for (int i = 0; i < texts_tried() / 10; ++i) {
      Ids ids;
      while (random.next() % 8 != 0) {
        ids.push_back(
            static_cast<std::int32_t>(random.next() % static_cast<unsigned>(t.size() + 8)) - 4);
      }
      const std::string whole = detokenize(t, ids, {.keep_control = true});
      ASSERT_TRUE(is_utf8(whole));
      Detokenizer stream(t, {.keep_control = true});
      std::string text;
      for (const std::int32_t id : ids) {
        stream.push(id, text);
        ASSERT_TRUE(is_utf8(text));
      }
      stream.finish(text);
      ASSERT_EQ(text, whole);
    }
  }
}

}  // namespace
}  // namespace ingot::testing
