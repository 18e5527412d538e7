// Tests of inputs, prompts and vectors of embedders.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "runtime/embed/input_tokens.h"
#include "runtime/embed/model_use.h"
#include "runtime/embed/prompts.h"
#include "runtime/embed/vectors.h"

namespace ingot {
namespace {

using Ids = std::vector<std::int32_t>;

/// A tokenizer of words: a to f, with [CLS] 2 and [SEP] 3 around texts.
std::unique_ptr<Tokenizer> word_tokenizer(bool has_pairs = true) {
  TokenizerData data;
  data.file = "words";
  data.model = TokenizerModel::kWordPiece;
  for (const char* word : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d", "e", "f"}) {
    data.tokens.add(word);
  }
  data.types.resize(data.tokens.size(), TokenType::kNormal);
  data.unknown = 1;
  data.pretokenizers.emplace_back().kind = PretokenizerStep::Kind::kWhitespaceSplit;
  data.frame_begin = {2};
  data.frame_end = {3};
  if (has_pairs) data.pair = bert_pair(2, 3);
  std::vector<std::string> details;
  return make_tokenizer(data, details);
}

InputTokens pair_of(const Tokenizer& tokenizer, std::string_view first, std::string_view second,
                    std::int64_t tokens_max = kNoCut, std::int64_t second_max = kNoCut) {
  return encode_pair(tokenizer, tokenizer.encode(first), second,
                     {.tokens = tokens_max, .second = second_max});
}

TEST(EmbedInput, CutsTheTextAndKeepsTheFrame) {
  const auto tokenizer = word_tokenizer();
  EXPECT_EQ(encode_input(*tokenizer, "a b c d").ids, (Ids{2, 4, 5, 6, 7, 3}));
  const InputTokens cut = encode_input(*tokenizer, "a b c d", 4);
  EXPECT_EQ(cut.ids, (Ids{2, 4, 5, 3}));
  EXPECT_EQ(cut.uncut, 6);
  EXPECT_TRUE(cut.is_cut());
  EXPECT_FALSE(encode_input(*tokenizer, "a b c d", 6).is_cut());
  EXPECT_EQ(encode_input(*tokenizer, "a b", 1).ids, (Ids{2, 3})) << "the frame stays";
  EXPECT_EQ(encode_input(*tokenizer, "").ids, (Ids{2, 3}));
}

TEST(EmbedInput, PairsHaveTypesAndLoseTokensOfTheLongerText) {
  const auto tokenizer = word_tokenizer();
  const InputTokens pair = pair_of(*tokenizer, "a b", "c d e");
  EXPECT_EQ(pair.ids, (Ids{2, 4, 5, 3, 6, 7, 8, 3}));
  EXPECT_EQ(pair.types, (Ids{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_FALSE(pair.is_cut());
  EXPECT_EQ(pair_of(*tokenizer, "a b", "c d e", 7).ids, (Ids{2, 4, 5, 3, 6, 7, 3}));
  EXPECT_EQ(pair_of(*tokenizer, "a b", "c d e", 6).ids, (Ids{2, 4, 3, 6, 7, 3}))
      << "the longer text gets the odd token";
  EXPECT_EQ(pair_of(*tokenizer, "a b c d", "e", 6).ids, (Ids{2, 4, 5, 3, 8, 3}));
  EXPECT_EQ(pair_of(*tokenizer, "a", "b", 2).ids, (Ids{2, 3, 3}));
  EXPECT_EQ(pair_of(*tokenizer, "a b", "c d e", 6).uncut, 8);
  EXPECT_EQ(pair_of(*tokenizer, "a b", "c d e", 7).first_cut, 0);
  EXPECT_EQ(pair_of(*tokenizer, "a b", "c d e", 6).first_cut, 1);
  EXPECT_EQ(pair_of(*tokenizer, "a b c d", "e", 6).first_cut, 2);
  EXPECT_EQ(pair_of(*tokenizer, "a b", "", 3).first_cut, 1);
  const InputTokens short_second = pair_of(*tokenizer, "a b", "c d e", kNoCut, 1);
  EXPECT_EQ(short_second.ids, (Ids{2, 4, 5, 3, 6, 3}));
  EXPECT_EQ(short_second.uncut, 8);
  EXPECT_EQ(pair_of(*tokenizer, "a b c", "c d e", 7, 1).ids, (Ids{2, 4, 5, 6, 3, 6, 3}));
  EXPECT_FALSE(pair_of(*tokenizer, "a b", "c d e", kNoCut, 3).is_cut());
  EXPECT_EQ(pair_of(*tokenizer, "a b", "").ids, (Ids{2, 4, 5, 3}));
  EXPECT_EQ(pair_of(*tokenizer, "a b", "").types, Ids(4));
  EXPECT_EQ(pair_of(*tokenizer, "a b", "", 3).ids, (Ids{2, 4, 3}));
  EXPECT_THROW(pair_of(*word_tokenizer(false), "a", "b"), Error);
}

TEST(EmbedInput, IdsStayAsTheyAre) {
  EXPECT_EQ(take_ids({1, 2, 3}).ids, (Ids{1, 2, 3}));
  const InputTokens cut = take_ids({1, 2, 3}, 2);
  EXPECT_EQ(cut.ids, (Ids{1, 2}));
  EXPECT_TRUE(cut.is_cut());
}

TEST(EmbedPrompts, ByNameAndByKindOfInput) {
  EmbedderSettings settings;
  settings.prompts = {{"query", "Q: "}, {"passage", "P: "}, {"clustering", "C: "}};
  settings.default_prompt = "passage";
  EXPECT_EQ(prompt_named(settings, {}), "P: ");
  EXPECT_EQ(prompt_named(settings, "query"), "Q: ");
  EXPECT_EQ(prompt_for(settings, "search_query"), "Q: ");
  EXPECT_EQ(prompt_for(settings, "document"), "P: ");
  EXPECT_EQ(prompt_for(settings, "clustering"), "C: ");
  EXPECT_FALSE(prompt_for(settings, "classification"));
  EXPECT_EQ(prompt_named({}, {}), "");
  EXPECT_EQ(input_text(settings, "Q: ", "Ab"), "Q: Ab");
  settings.lower_case = true;
  EXPECT_EQ(input_text(settings, "Q: ", "Ab"), "q: ab");
  try {
    prompt_named(settings, "other");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "prompt_name: there is no prompt other: the model has query, passage, clustering");
  }
}

TEST(EmbedVectors, ShortenedVectorsHaveLengthOneAgain) {
  std::vector<float> v{3, 4, 12};
  shorten(v, 2, true);
  EXPECT_EQ(v, (std::vector<float>{3 * 0.2f, 4 * 0.2f}));
  shorten(v, 2, true);
  shorten(v, 5, true);
  EXPECT_EQ(v, (std::vector<float>{3 * 0.2f, 4 * 0.2f})) << "nothing was cut";
  std::vector<float> raw{3, 4, 12};
  shorten(raw, 1, false);
  EXPECT_EQ(raw, std::vector<float>{3});
  std::vector<float> zeros(20);
  normalise(zeros);
  EXPECT_EQ(zeros, std::vector<float>(20));
  EXPECT_EQ(json_list(std::vector<float>{0.5f, -1, 0.1f}), "[0.5,-1,0.1]");
}

TEST(ModelUse, EveryKindOfModelSaysWhatItCanDo) {
  Config decoder;
  decoder.architecture = "llama";
  EXPECT_TRUE(can_do(decoder, ModelUse::kText) && can_do(decoder, ModelUse::kEmbedding));
  EXPECT_EQ(refusal(decoder, ModelUse::kScore),
            "llama is a model that generates text, which scores no pairs of texts: it continues "
            "texts (ingot run, ingot chat, /v1/chat/completions)");
  Config encoder;
  encoder.architecture = "bert";
  encoder.causal = false;
  encoder.pooling = PoolingKind::kMean;
  EXPECT_TRUE(is_embedder(encoder) && can_do(encoder, ModelUse::kEmbedding));
  EXPECT_EQ(refusal(encoder, ModelUse::kText),
            "bert is an encoder, which generates no text: it makes embeddings (ingot embed, "
            "/v1/embeddings)");
  encoder.labels = 1;
  EXPECT_TRUE(can_do(encoder, ModelUse::kScore) && !is_embedder(encoder));
  EXPECT_EQ(refusal(encoder, ModelUse::kEmbedding),
            "bert is a reranker, which makes no embeddings: it scores documents (ingot rerank, "
            "/v1/rerank)");
  encoder.labels = 3;
  EXPECT_FALSE(can_do(encoder, ModelUse::kScore));
}

}  // namespace
}  // namespace ingot
