// The tokenizer in GGUF metadata: decoding, and lists and ids that do not fit the vocabulary.
#include "load/gguf/gguf_tokenizer.h"

#include <limits>
#include <set>

#include "load/gguf/gguf_test_util.h"
#include "load/gguf/gguf_writer_test_util.h"

namespace ingot {
namespace {

using namespace testing_gguf;

std::string with_key(std::string_view key, Value value) {
  return tiny_model().set(key, std::move(value)).build();
}

TEST(GgufTokenizer, every_field) {
  GgufWriter w = tiny_model();
  w.set("tokenizer.ggml.pre", text("default"));
  w.set("tokenizer.ggml.merges", strings({"a b", "c d"}));
  w.set("tokenizer.ggml.eot_token_id", u32(3));
  w.set("tokenizer.ggml.add_space_prefix", boolean(0));
  w.set("tokenizer.ggml.remove_extra_whitespaces", boolean(1));
  w.set("tokenizer.chat_template", text("{{ x }}"));
  const Opened opened = open_bytes(w.build());
  ASSERT_NE(opened.checkpoint->tokenizer(), nullptr);
  const TokenizerData& t = *opened.checkpoint->tokenizer();
  EXPECT_EQ(t.file, "test.gguf");
  EXPECT_EQ(t.model, TokenizerModel::kSentencePieceBpe);
  ASSERT_EQ(t.tokens.size(), 16u);
  EXPECT_EQ(t.tokens[0], "<unk>");
  EXPECT_EQ(t.tokens[3], "\xe2\x96\x81");
  EXPECT_EQ(t.tokens[15], "gh");
  EXPECT_EQ(t.scores, std::vector<double>(16, -1.5));
  ASSERT_EQ(t.types.size(), 16u);
  EXPECT_EQ(t.types[0], TokenType::kUnknown);
  EXPECT_EQ(t.types[1], TokenType::kControl);
  EXPECT_EQ(t.types[15], TokenType::kNormal);
  ASSERT_EQ(t.merges.size(), 2u);
  EXPECT_EQ(t.merges[1], "c d");
  EXPECT_EQ(t.bos, 1);
  EXPECT_EQ(t.eos, 2);
  EXPECT_EQ(t.eot, 3);
  EXPECT_EQ(t.unknown, 0);
  EXPECT_FALSE(t.padding.has_value());  // 2^32 - 1 in the file
  EXPECT_EQ(t.frame_begin, std::vector<std::int32_t>{1});
  EXPECT_TRUE(t.frame_end.empty());
  ASSERT_EQ(t.normalizers.size(), 1u);
  EXPECT_FALSE(t.normalizers[0].add_prefix);
  EXPECT_TRUE(t.normalizers[0].squeeze);
  EXPECT_EQ(t.templates.standard, "{{ x }}");
  EXPECT_TRUE(t.warnings.empty());
}

TEST(GgufTokenizer, named_templates) {
  GgufWriter w = tiny_model();
  w.set("tokenizer.chat_template.default", text("other"));
  w.set("tokenizer.chat_template.tool_use", text("tools"));
  EXPECT_EQ(open_bytes(w.build()).checkpoint->tokenizer()->templates.standard, "other");
  w.set("tokenizer.chat_template", text("plain"));
  w.set("tokenizer.chat_template.rag", text("documents"));  // the list does not name it
  w.set("tokenizer.chat_templates", strings({"tool_use", "gone"}));
  const TemplateSet set = open_bytes(w.build()).checkpoint->tokenizer()->templates;
  EXPECT_EQ(set.standard, "plain");
  ASSERT_EQ(set.named.size(), 2u);
  EXPECT_EQ(set.named[0].name, "tool_use");
  EXPECT_EQ(set.named[0].text, "tools");
  EXPECT_EQ(set.named[1].name, "rag");
  expect_refusal(with_key("tokenizer.chat_template.x", u32(1)), "tokenizer.chat_template.x");
  for (int i = 0; i < 65; ++i) w.set(cat("tokenizer.chat_template.", i), text("x"));
  expect_refusal(w.build(), "has 68 named chat templates, at most 64");
}

TEST(GgufTokenizer, absent_settings_stay_absent) {
  GgufWriter w = tiny_model();
  for (const char* key :
       {"scores", "token_type", "bos_token_id", "eos_token_id", "unknown_token_id",
        "padding_token_id", "add_bos_token", "add_eos_token"}) {
    w.remove(cat("tokenizer.ggml.", key));
  }
  w.set("tokenizer.ggml.whatever", u32(1));
  const Opened opened = open_bytes(w.build());
  const TokenizerData& t = *opened.checkpoint->tokenizer();
  EXPECT_TRUE(t.scores.empty() && t.frame_begin.empty() && t.frame_end.empty());
  EXPECT_FALSE(t.bos || t.eos || t.unknown || t.padding || t.eot || t.eom || t.templates.standard);
  EXPECT_TRUE(t.normalizers[0].add_prefix);
  EXPECT_FALSE(t.normalizers[0].squeeze);
  EXPECT_TRUE(t.warnings.empty()) << "no other name is possible";
  ASSERT_EQ(t.details.size(), 1u);
  EXPECT_EQ(t.details[0], "test.gguf: no tokenizer.ggml.pre, using default");
  EXPECT_TRUE(opened.config().ends.empty());
  EXPECT_FALSE(opened.config().bos_id.has_value());
}

/// The tokenizer of a file with the given model and pre-tokenizer, as open_bytes reads it.
TokenizerData of_model(std::string_view model, std::string_view pre) {
  GgufWriter w = tiny_model();
  w.set("tokenizer.ggml.model", text(std::string(model)));
  if (!pre.empty()) w.set("tokenizer.ggml.pre", text(std::string(pre)));
  w.remove("tokenizer.ggml.add_bos_token").remove("tokenizer.ggml.add_eos_token");
  return *open_bytes(w.build()).checkpoint->tokenizer();
}

TEST(GgufTokenizer, fill_in_the_middle) {
  GgufWriter w = tiny_model();
  w.set("tokenizer.ggml.prefix_token_id", u32(4));
  w.set("tokenizer.ggml.suffix_token_id", u32(5));
  w.set("tokenizer.ggml.middle_token_id", u32(6));
  const FimIds older = open_bytes(w.build()).checkpoint->tokenizer()->fim;
  EXPECT_EQ(older, (FimIds{.prefix = 4, .suffix = 5, .middle = 6}));
  w.set("tokenizer.ggml.fim_pre_token_id", u32(7));
  w.set("tokenizer.ggml.fim_suf_token_id", u32(8));
  w.set("tokenizer.ggml.fim_mid_token_id", u32(9));
  w.set("tokenizer.ggml.fim_pad_token_id", u32(10));
  w.set("tokenizer.ggml.fim_rep_token_id", u32(11));
  w.set("tokenizer.ggml.fim_sep_token_id", u32(12));
  const FimIds newer = open_bytes(w.build()).checkpoint->tokenizer()->fim;
  EXPECT_EQ(
      newer,
      (FimIds{.prefix = 7, .suffix = 8, .middle = 9, .padding = 10, .repository = 11, .file = 12}));
}

TEST(GgufTokenizer, names_of_patterns_bring_their_rules) {
  const TokenizerData llama3 = of_model("gpt2", "llama-bpe");
  EXPECT_EQ(llama3.model, TokenizerModel::kBpe);
  EXPECT_TRUE(llama3.ignore_merges && llama3.normalizers.empty());
  EXPECT_EQ(llama3.frame_begin, std::vector<std::int32_t>{1});
  EXPECT_EQ(llama3.pretokenizers[0].name, "llama-bpe");
  EXPECT_FALSE(llama3.unknown) << "bytes without a token are left out";
  const TokenizerData qwen2 = of_model("gpt2", "qwen2");
  EXPECT_FALSE(qwen2.ignore_merges || qwen2.normalizers.empty());
  EXPECT_TRUE(qwen2.frame_begin.empty());
  const TokenizerData none = of_model("gpt2", "");
  EXPECT_EQ(none.pretokenizers[0].name, "gpt-2");
  ASSERT_EQ(none.warnings.size(), 1u);
  EXPECT_EQ(none.warnings[0], "test.gguf: no tokenizer.ggml.pre, using gpt-2");
}

TEST(GgufTokenizer, bert_and_t5) {
  const TokenizerData bert = of_model("bert", "bert-bge");
  EXPECT_EQ(bert.model, TokenizerModel::kWordPiece);
  EXPECT_EQ(bert.tokens[3], "") << "U+2581 begins a word";
  EXPECT_EQ(bert.tokens[4], "##a");
  EXPECT_EQ(bert.frame_begin, std::vector<std::int32_t>{1}) << "bos, where there is no cls";
  EXPECT_EQ(bert.frame_end, std::vector<std::int32_t>{2});
  const TokenizerData t5 = of_model("t5", "default");
  EXPECT_EQ(t5.model, TokenizerModel::kUnigram);
  EXPECT_TRUE(t5.frame_begin.empty());
  EXPECT_EQ(t5.frame_end, std::vector<std::int32_t>{2});
}

TEST(GgufTokenizer, gemma4) {
  GgufWriter w = tiny_model();
  w.set("tokenizer.ggml.model", text("gemma4")).set("tokenizer.ggml.pre", text("gemma4"));
  expect_refusal(w.build(), "tokenizer.ggml.merges is missing");
  w.set("tokenizer.ggml.merges", strings({"a b"})).remove("tokenizer.ggml.add_bos_token");
  const TokenizerData t = *open_bytes(w.build()).checkpoint->tokenizer();
  EXPECT_EQ(t.model, TokenizerModel::kBpe);
  EXPECT_TRUE(t.byte_fallback && t.pretokenizers.empty());
  ASSERT_EQ(t.normalizers.size(), 1u);
  EXPECT_EQ(t.normalizers[0].content, "\xe2\x96\x81");
  EXPECT_EQ(t.frame_begin, std::vector<std::int32_t>{1});
  EXPECT_TRUE(t.frame_end.empty());
}

/// A tokenizer whose last tokens have these texts; `ids` of them are of type unused.
TokenizerData with_unused(const std::vector<std::string>& last, const std::set<std::size_t>& ids,
                          std::string_view named_key = {}) {
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t rest = 16 - last.size();
    tokens.push_back(i < rest ? cat("t", i) : last[i - rest]);
    types.push_back(ids.contains(i) ? 5 : 1);
  }
  GgufWriter w = tiny_model();
  w.set("tokenizer.ggml.tokens", strings(tokens)).set("tokenizer.ggml.token_type", ints(types));
  if (!named_key.empty()) w.set(std::string(named_key), u32(15));
  const Opened opened = open_bytes(w.build());
  EXPECT_EQ(opened.config().vocab, 16);
  return *opened.checkpoint->tokenizer();
}

TEST(GgufTokenizer, rows_without_a_token) {
  const TokenizerData t = with_unused({"[PAD12]", "x", "[PAD14]", "[PAD15]"}, {12, 14, 15});
  ASSERT_EQ(t.tokens.size(), 14u);
  EXPECT_EQ(t.types.size(), 14u);
  EXPECT_EQ(t.scores.size(), 14u);
  EXPECT_EQ(t.tokens[11], "t11");
  EXPECT_EQ(t.tokens[12], "");
  EXPECT_EQ(t.types[12], TokenType::kUnused);
  EXPECT_EQ(t.tokens[13], "x");
}

TEST(GgufTokenizer, other_tokens_named_like_padding_stay) {
  EXPECT_EQ(with_unused({"[PAD14]", "[PAD15]"}, {14}).tokens.size(), 16u) << "a text";
  EXPECT_EQ(with_unused({"[PAD15]", "[PAD16]"}, {14, 15}).tokens.size(), 16u) << "other ids";
  EXPECT_EQ(with_unused({"<unused0>"}, {15}).tokens.size(), 16u);
  for (const char* role :
       {"bos", "eos", "eot", "eom", "unknown", "padding", "fim_pre", "fim_sep"}) {
    const TokenizerData t =
        with_unused({"[PAD14]", "[PAD15]"}, {14, 15}, cat("tokenizer.ggml.", role, "_token_id"));
    ASSERT_EQ(t.tokens.size(), 16u) << role;
    EXPECT_EQ(t.tokens[14], "") << role;
    EXPECT_EQ(t.tokens[15], "[PAD15]") << role;
    EXPECT_TRUE(t.warnings.empty()) << role;
  }
}

TEST(GgufTokenizer, files_without_types) {
  GgufWriter w = tiny_model();
  w.remove("tokenizer.ggml.token_type");
  const Opened opened = open_bytes(w.build());
  const TokenizerData& t = *opened.checkpoint->tokenizer();
  EXPECT_EQ(t.types[0], TokenType::kUnknown);
  EXPECT_EQ(t.types[1], TokenType::kControl);
  EXPECT_EQ(t.types[2], TokenType::kControl);
  EXPECT_EQ(t.types[3], TokenType::kNormal);
}

TEST(GgufHostile, G46_tokenizers_that_are_not_known) {
  for (const char* model : {"rwkv", "", "LLAMA"}) {
    expect_refusal(with_key("tokenizer.ggml.model", text(model)),
                   "is not supported; supported: llama, gpt2, bert, t5, gemma4");
  }
  expect_refusal(with_key("tokenizer.ggml.pre", text("gpt-2")),
                 "is not supported for sentencepiece; supported: default");
  GgufWriter w = tiny_model();
  w.set("tokenizer.ggml.model", text("bert")).set("tokenizer.ggml.pre", text("no-such"));
  expect_refusal(w.build(), "is not supported for wordpiece");
  expect_refusal(with_key("tokenizer.ggml.precompiled_charsmap", text("x")),
                 "must be an array of uint8 or int8");
}

TEST(GgufHostile, G39_no_tokenizer_at_all) {
  GgufWriter w = tiny_model();
  std::erase_if(w.entries, [](const auto& e) { return e.first.starts_with("tokenizer."); });
  EXPECT_EQ(open_bytes(w.build()).checkpoint->tokenizer(), nullptr);
  w.set("tokenizer.ggml.model", text("no_vocab"));
  EXPECT_EQ(open_bytes(w.build()).checkpoint->tokenizer(), nullptr);
  w.set("tokenizer.ggml.model", text("llama"));
  expect_refusal(w.build(), "tokenizer.ggml.tokens is missing");
  expect_refusal(tiny_model().remove("tokenizer.ggml.model").build(),
                 "tokenizer.ggml.model is missing");
  expect_refusal(with_key("tokenizer.ggml.tokens", strings({})), "must have 1 to");
}

TEST(GgufHostile, G40_scores_and_token_types) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t n : {0u, 15u, 17u}) {
    expect_refusal(with_key("tokenizer.ggml.scores", floats(std::vector<float>(n))),
                   "must have an entry for each of the 16 tokens");
    expect_refusal(with_key("tokenizer.ggml.token_type", ints(std::vector<std::int32_t>(n, 1))),
                   "must have an entry for each of the 16 tokens");
  }
  for (const std::int32_t type : {0, 7, -1}) {
    std::vector<std::int32_t> types(16, 1);
    types[9] = type;
    expect_refusal(with_key("tokenizer.ggml.token_type", ints(types)),
                   cat("has the type ", type, " for token 9"));
  }
  for (const float score : {nan, std::numeric_limits<float>::infinity()}) {
    std::vector<float> scores(16);
    scores[15] = score;
    expect_refusal(with_key("tokenizer.ggml.scores", floats(scores)),
                   "for token 15, must be finite");
  }
}

TEST(GgufHostile, G41_special_ids) {
  for (const char* name :
       {"bos", "eos", "eot", "unknown", "padding", "fim_pre", "fim_suf", "fim_mid", "fim_pad",
        "fim_rep", "fim_sep", "prefix", "suffix", "middle"}) {
    const std::string key = cat("tokenizer.ggml.", name, "_token_id");
    EXPECT_TRUE(opens(with_key(key, u32(15))));
    EXPECT_TRUE(opens(with_key(key, u32(0xffffffff))));
    EXPECT_TRUE(opens(with_key(key, i32(-1))));
    const std::string beyond = cat(key, " = 16 is beyond the vocabulary of 16 tokens");
    const bool is_hint = std::set<std::string_view>{"bos", "unknown", "padding"}.contains(name);
    if (!is_hint) {
      expect_refusal(with_key(key, u32(16)), beyond);
      expect_refusal(with_key(key, u32(0x80000000)), "is beyond the vocabulary");
    } else {
      const Opened opened = open_bytes(with_key(key, u32(16)));
      const TokenizerData& t = *opened.checkpoint->tokenizer();
      ASSERT_EQ(t.warnings.size(), 1u) << key;
      EXPECT_EQ(t.warnings[0], cat("test.gguf: ", beyond, ": it is ignored"));
      EXPECT_TRUE(opens(with_key(key, u32(0x80000000))));
    }
    expect_refusal(with_key(key, i32(-2)), cat(key, " is of type int32, must be uint32"));
    expect_refusal(with_key(key, uints({1, 2})), cat(key, " is of type array of uint32"));
    expect_refusal(with_key(key, text("</s>")), cat(key, " is of type string"));
  }
}

TEST(GgufHostile, G42_more_merges_than_any_tokenizer_has) {
  const std::uint64_t count = (std::uint64_t{1} << 22) + 1;
  expect_refusal(
      with_key("tokenizer.ggml.merges", raw_array(8, count, std::string(count * 8, '\0'))),
      "tokenizer.ggml.merges = [string x 4194305] must have at most 4194304");
}

}  // namespace
}  // namespace ingot
