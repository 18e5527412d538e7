// Reranker: inputs of pairs and templates, what is cut, and scores.
#include "runtime/embed/reranker.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "load/hf/hf_test_util.h"
#include "load/json.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int32_t>;

constexpr std::string_view kFolder = "references/rerank/bert-cross";

/// An opened model, and how it reads pairs.
struct Opened {
  explicit Opened(const fs::path& folder)
      : instance(pool, {.path = folder.string(), .pools = true}), reranker(instance) {}

  Ids ids(std::string_view text) const {
    return instance.tokenizer()->encode(text, {.parse_special = true});
  }
  InputTokens pair(std::string_view query, std::string_view document,
                   const PairLimits& limits = {}) const {
    return reranker.encode(reranker.read_query(query), document, limits);
  }

  ThreadPool pool{1};
  Instance instance;
  Reranker reranker;
};

Ids ids_in(const Json& list) {
  Ids ids;
  for (const Json& id : *list.as_array()) ids.push_back(static_cast<std::int32_t>(*id.as_int()));
  return ids;
}

TEST(Reranker, FindsATemplateForAQueryAndADocument) {
  TemplateSet templates;
  EXPECT_FALSE(find_rerank_template(templates));
  templates.standard = "{{ messages[0].role == \"query\" }}";
  EXPECT_FALSE(find_rerank_template(templates));
  templates.standard = "{{ messages | selectattr('role', 'eq', 'query') }} 'document'";
  EXPECT_EQ(find_rerank_template(templates), templates.standard);
  templates.add("tool_use", "a");
  templates.add("rerank", "b");
  EXPECT_EQ(find_rerank_template(templates), "b");
}

TEST(Reranker, TheScoreIsTheOutputOrTheDifferenceOfTwo) {
  EXPECT_EQ(Reranker::score(std::vector{3.0f}), 3);
  EXPECT_EQ(Reranker::score(std::vector{2.0f, 5.0f}), -3);
}

TEST(Reranker, PairsAreThoseOfTheReference) {
  INGOT_NEEDS_SHARED(kFolder);
  const fs::path folder = shared_folder(kFolder);
  const Opened opened(folder);
  const Json reference =
      parse_json(testing_hf::read_file(folder / "pairs.json"), "pairs.json", "reference", {});
  const Json::Array& pairs = *reference.find("pairs")->as_array();
  ASSERT_GT(pairs.size(), 5u);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Json::Array& texts = *pairs[i].as_array();
    const InputTokens input = opened.pair(*texts[0].as_string(), *texts[1].as_string());
    EXPECT_EQ(input.ids, ids_in((*reference.find("ids")->as_array())[i])) << i;
    EXPECT_EQ(input.types, ids_in((*reference.find("types")->as_array())[i])) << i;
    EXPECT_FALSE(input.is_cut());
  }
}

TEST(Reranker, ADocumentIsCutAloneOrWithItsQuery) {
  INGOT_NEEDS_SHARED(kFolder);
  const Opened opened(shared_folder(kFolder));
  const InputTokens whole = opened.pair("the hand", "the line of it");
  const InputTokens cut = opened.pair("the hand", "the line of it", {.second = 2});
  const auto first_two = opened.ids("the line of it");
  const Ids query = opened.ids("the hand");
  ASSERT_GT(first_two.size(), 2u);
  EXPECT_EQ(cut.ids.size(), query.size() + 2 + 3);
  EXPECT_TRUE(std::equal(query.begin(), query.end(), cut.ids.begin() + 1));
  EXPECT_TRUE(std::equal(cut.ids.end() - 3, cut.ids.end() - 1, first_two.begin()));
  EXPECT_EQ(cut.uncut, std::ssize(whole.ids));
  const InputTokens both = opened.pair("the hand", "the line of it", {.tokens = 5});
  EXPECT_EQ(both.ids.size(), 5u);
}

/// A copy of the model with a template in which the document stands in the middle.
TEST(Reranker, ATemplateStaysWholeWhenItsDocumentIsCut) {
  INGOT_NEEDS_SHARED(kFolder);
  const testing_hf::TempFolder folder;
  for (const auto& entry : fs::directory_iterator(shared_folder(kFolder))) {
    if (entry.path().filename() == "tokenizer_config.json") continue;
    fs::copy_file(entry.path(), folder.path() / entry.path().filename());
  }
  std::string config = testing_hf::read_file(shared_folder(kFolder) / "tokenizer_config.json");
  config.insert(config.rfind('}'),
                R"(, "chat_template": [{"name": "default", "template": "x"},
                   {"name": "rerank", "template": "is {query} in {document} to be"}])");
  folder.write("tokenizer_config.json", config);
  const Opened opened(folder.path());
  EXPECT_EQ(opened.pair("the hand", "the line").ids, opened.ids("is the hand in the line to be"));
  EXPECT_EQ(opened.pair("{document}", "{query}").ids, opened.ids("is {document} in {query} to be"));
  const Ids expected = opened.ids("is the hand in the to be");
  for (const PairLimits limits : {PairLimits{.second = 1}, PairLimits{.tokens = 7}}) {
    const InputTokens cut = opened.pair("the hand", "the line no", limits);
    ASSERT_EQ(expected.size(), 7u);
    EXPECT_EQ(cut.ids, expected);
    EXPECT_TRUE(cut.is_cut());
  }
  // A document that ends as the template's text before it.
  EXPECT_EQ(opened.pair("the hand", "the line in", {.second = 2}).ids,
            opened.ids("is the hand in the line to be"));
  EXPECT_EQ(opened.pair("the hand", "the line", {.tokens = 2}).ids,
            opened.ids("is the hand in to be"))
      << "the template and its query stay";
}

TEST(Reranker, OtherModelsAreRefused) {
  INGOT_NEEDS_SHARED("references/embeddings/bert-mean-norm");
  try {
    const Opened opened(shared_folder("references/embeddings/bert-mean-norm"));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_NE(error.message().find("scores no pairs of texts"), std::string::npos);
  }
}

}  // namespace
}  // namespace ingot
