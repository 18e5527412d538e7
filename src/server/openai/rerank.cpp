// POST /v1/rerank and /v1/score: scores of pairs of texts, in the forms of Jina, Cohere and vLLM.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/index.h"
#include "base/math.h"
#include "base/text.h"
#include "runtime/embed/reranker.h"
#include "server/common/common_params.h"
#include "server/common/embed_inputs.h"
#include "server/common/params.h"
#include "server/common/response_json.h"
#include "server/openai/endpoints.h"
#include "server/openai/pair_reader.h"

namespace ingot {

namespace {

/// Collects the scores of pairs. Subclasses write them.
class ScoreWriter : public ResponseWriter {
 public:
  explicit ScoreWriter(ScoreForm form) : form_(std::move(form)), scores_(form_.count) {}

  void end_choice(std::size_t choice, const Outcome& outcome, std::string& /*out*/) override {
    scores_[choice] = Reranker::score(outcome.pooled);
    prompt_tokens_ += outcome.prompt_tokens;
  }

  void finish(std::string& out) override {
    out = cat(form_.head, list_json(), ",\"usage\":", usage_json(prompt_tokens_));
    if (!form_.warnings.is_null()) out += cat(",\"warnings\":", form_.warnings.dump());
    out += "}";
  }

  void write_error(const ApiError& error, std::string& out) override { out = error_json(error); }

 protected:
  /// Returns the member with the scores, such as "results":[...].
  virtual std::string list_json() const = 0;

  const std::vector<float>& scores() const { return scores_; }
  /// Returns a score as the client wants it: the head's output, or its sigmoid.
  std::string score_json(std::size_t i) const {
    return Json(static_cast<double>(form_.raw ? scores_[i] : math::sigmoid(scores_[i]))).dump();
  }

 private:
  ScoreForm form_;
  std::vector<float> scores_;
  std::int64_t prompt_tokens_ = 0;
};

class RerankWriter final : public ScoreWriter {
 public:
  /// `documents` is empty if the response does not have them.
  RerankWriter(ScoreForm form, std::size_t top, std::vector<std::string> documents)
      : ScoreWriter(std::move(form)), top_(top), documents_(std::move(documents)) {}

 private:
  std::string list_json() const override {
    std::vector<std::size_t> order(scores().size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores()[a] > scores()[b]; });
    std::string out = ",\"results\":[";
    for (std::size_t i = 0; i < std::min(top_, order.size()); ++i) {
      const std::size_t index = order[i];
      out +=
          cat(i > 0 ? "," : "", "{\"index\":", index, ",\"relevance_score\":", score_json(index));
      if (!documents_.empty()) {
        out += cat(",\"document\":{\"text\":", json_string(documents_[index]), "}");
      }
      out += "}";
    }
    return out + "]";
  }

  std::size_t top_;
  std::vector<std::string> documents_;
};

class PairWriter final : public ScoreWriter {
 public:
  using ScoreWriter::ScoreWriter;

 private:
  std::string list_json() const override {
    std::string out = ",\"data\":[";
    for (std::size_t i = 0; i < scores().size(); ++i) {
      out += cat(i > 0 ? "," : "", "{\"index\":", i,
                 ",\"object\":\"score\",\"score\":", score_json(i), "}");
    }
    return out + "]";
  }
};

/// A limit on numbers of documents in a request's body.
constexpr std::int64_t kTopMax = std::int64_t{1} << 31;

/// Names of the two members of a score request whose texts form pairs.
struct PairMembers {
  std::string_view first, second;
};

/// Source: vLLM, vllm/entrypoints/pooling/scoring/protocol.py.
constexpr std::array<PairMembers, 4> kPairMembers = {
    {{"text_1", "text_2"}, {"data_1", "data_2"}, {"queries", "documents"}, {"queries", "items"}}};

/// Returns the members that a score request has. Errors: ApiError naming a member beside them.
PairMembers find_pair_members(const Params& params) {
  const auto count = [&](const PairMembers& m) {
    return int{params.has(m.first)} + int{params.has(m.second)};
  };
  const PairMembers found = *std::max_element(
      kPairMembers.begin(), kPairMembers.end(),
      [&](const PairMembers& a, const PairMembers& b) { return count(a) < count(b); });
  for (const PairMembers& members : kPairMembers) {
    for (const std::string_view name : {members.first, members.second}) {
      if (!params.has(name) || name == found.first || name == found.second) continue;
      throw invalid_request(std::string(name),
                            cat(name, " cannot stand beside ", found.first, " and ", found.second));
    }
  }
  return found;
}

}  // namespace

Reply rerank(const Call& call) {
  const Json body = read_body(call);
  PairReader reader(call, body);
  Params& params = reader.params();
  const Json* query = params.take("query");
  if (query == nullptr) throw invalid_request("query", "query is missing");
  const std::string query_text = read_text(*query, "query", params);
  MemberTexts documents = reader.read_texts("documents");
  // 0 stands for all, as in vLLM.
  const std::int64_t top = params.whole("top_n", 0, kTopMax).value_or(0);
  const bool returns = params.flag("return_documents").value_or(true);
  if (params.flag("return_embeddings").value_or(false)) {
    throw invalid_request("return_embeddings", "return_embeddings: a reranker has no embeddings");
  }
  reader.begin_query(query_text, documents.texts.size(), "query");
  for (std::size_t i = 0; i < documents.texts.size(); ++i) {
    reader.add_document(documents.texts[i], documents.place(i));
  }
  ScoreForm form = reader.finish("rerank-");
  if (!returns) documents.texts.clear();
  const std::size_t count = top > 0 ? to_size(top) : form.count;
  return reader.take(
      std::make_unique<RerankWriter>(std::move(form), count, std::move(documents.texts)));
}

Reply score(const Call& call) {
  const Json body = read_body(call);
  PairReader reader(call, body);
  const PairMembers members = find_pair_members(reader.params());
  const MemberTexts first = reader.read_texts(members.first);
  const MemberTexts second = reader.read_texts(members.second);
  const std::size_t queries = first.texts.size(), documents = second.texts.size();
  if (queries != 1 && queries != documents) {
    throw invalid_request(std::string(members.first),
                          cat(members.first, " has ", queries, " entries and ", members.second, " ",
                              documents, ": expected one, or equally many"));
  }
  const std::size_t pairs_each = documents / queries;
  for (std::size_t i = 0; i < queries; ++i) {
    reader.begin_query(first.texts[i], pairs_each, first.place(i));
    for (std::size_t j = i; j < i + pairs_each; ++j) {
      reader.add_document(second.texts[j], second.place(j));
    }
  }
  return reader.take(std::make_unique<PairWriter>(reader.finish("score-")));
}

}  // namespace ingot
