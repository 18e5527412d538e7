// POST /v1/rerank and /v1/score: scores of pairs of texts, in the forms of Jina, Cohere and vLLM.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/index.h"
#include "base/math.h"
#include "base/text.h"
#include "runtime/embed/reranker.h"
#include "server/common/common_params.h"
#include "server/common/embed_inputs.h"
#include "server/common/message_text.h"
#include "server/common/params.h"
#include "server/common/response_json.h"
#include "server/openai/endpoints.h"

namespace ingot {

namespace {

/// Maximum bytes of a query, times the documents that it is scored with.
constexpr std::size_t kQueriesBytesMax = std::size_t{1} << 25;

/// Maximum tokens of a request's pairs together. Each pair repeats its query.
constexpr std::int64_t kPairsTokensMax = std::int64_t{1} << 21;

/// Collects the scores of pairs. Subclasses write them.
class ScoreWriter : public ResponseWriter {
 public:
  ScoreWriter(std::string head, Json warnings, bool raw, std::size_t count)
      : head_(std::move(head)), warnings_(std::move(warnings)), raw_(raw), scores_(count) {}

  void end_choice(std::size_t choice, const Outcome& outcome, std::string& /*out*/) override {
    scores_[choice] = Reranker::score(outcome.pooled);
    prompt_tokens_ += outcome.prompt_tokens;
  }

  void finish(std::string& out) override {
    out = cat(head_, list_json(), ",\"usage\":", usage_json(prompt_tokens_));
    if (!warnings_.is_null()) out += cat(",\"warnings\":", warnings_.dump());
    out += "}";
  }

  void write_error(const ApiError& error, std::string& out) override { out = error_json(error); }

 protected:
  /// Returns the member with the scores, such as "results":[...].
  virtual std::string list_json() const = 0;

  const std::vector<float>& scores() const { return scores_; }
  /// Returns a score as the client wants it: the head's output, or its sigmoid.
  std::string score_json(std::size_t i) const {
    return Json(static_cast<double>(raw_ ? scores_[i] : math::sigmoid(scores_[i]))).dump();
  }

 private:
  std::string head_;  ///< the response's first members, without the closing brace
  Json warnings_;
  bool raw_;
  std::vector<float> scores_;
  std::int64_t prompt_tokens_ = 0;
};

class RerankWriter final : public ScoreWriter {
 public:
  /// `documents` is empty if the response does not have them.
  RerankWriter(std::string head, Json warnings, bool raw, std::size_t count, std::size_t top,
               std::vector<std::string> documents)
      : ScoreWriter(std::move(head), std::move(warnings), raw, count),
        top_(top),
        documents_(std::move(documents)) {}

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

/// Reads whether scores are the head's outputs: `raw_scores` or vLLM's `use_activation`. By default
/// they are between 0 and 1, as clients of these APIs expect, unless the model's files say
/// otherwise. Errors: ApiError if both members are there and contradict each other.
bool read_raw(Params& params, const Service& service) {
  const auto activates = params.flag("use_activation"), raw = params.flag("raw_scores");
  if (activates && raw && *activates == *raw) {
    throw invalid_request("raw_scores", "raw_scores and use_activation contradict each other");
  }
  return raw.value_or(!activates.value_or(service.embedder().sigmoid_scores));
}

/// Reads a text, or a list of texts. Errors: ApiError naming the member or its entry.
std::vector<std::string> read_texts(Params& params, std::string_view name) {
  const Json* value = params.take(name);
  if (value == nullptr) throw invalid_request(std::string(name), cat(name, " is missing"));
  const Json::Array* list = value->as_array();
  if (list == nullptr) return {read_document(*value, name)};
  if (list->empty()) throw invalid_request(std::string(name), cat(name, " has no entries"));
  if (list->size() > to_size(kInputsMax)) {
    throw invalid_request(std::string(name),
                          cat(name, " has ", list->size(), " entries, possible are ", kInputsMax));
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < list->size(); ++i) {
    texts.push_back(read_document((*list)[i], entry_place(name, i)));
  }
  return texts;
}

/// Encodes a query, once for all of its documents. `param` is its path in the body.
Reranker::Query read_query(const std::string& text, std::size_t documents, std::string_view param,
                           const InputLimit& limit, const Service& service) {
  if (text.size() > kQueriesBytesMax / documents) {
    refuse_at(std::string(param),
              cat("has ", text.size(), " bytes, possible are ", kQueriesBytesMax / documents,
                  " with ", documents, documents == 1 ? " document" : " documents"));
  }
  if (!limit.cuts) service.check_text_room(text.size(), param);
  return as_api([&] {
    Reranker::Query query = service.reranker().read_query(text);
    check_length(service.reranker().encode(query, "", limit.cut_at()), limit, param);
    return query;
  });
}

/// Adds a query's pair with a document. `param` is the document's path in the body. `tokens` is the
/// number of tokens of all pairs so far.
void add_pair(Generation& generation, Params& params, const Service& service,
              const InputLimit& limit, const Reranker::Query& query, const std::string& document,
              const std::string& param, std::int64_t& tokens) {
  if (!limit.cuts) service.check_text_room(query.text.size() + document.size(), param);
  InputTokens input =
      as_api([&] { return service.reranker().encode(query, document, limit.cut_at()); });
  check_input(input, limit, param, params);
  tokens += std::ssize(input.ids);
  if (tokens > kPairsTokensMax) {
    refuse_at(param, cat("gives the pairs ", tokens, " tokens together, possible are ",
                         kPairsTokensMax, ": send fewer documents"));
  }
  add_pooled(generation, std::move(input));
}

/// The first members of a response.
std::string head_json(const Call& call, std::string_view prefix, std::string_view object,
                      const std::string& model) {
  return cat("{\"id\":", json_string(cat(prefix, call.id)), ",\"object\":", json_string(object),
             ",\"created\":", Service::now(), ",\"model\":", json_string(model));
}

}  // namespace

Reply rerank(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  Service& service = call.service;
  const std::string model = service.read_model(params);
  Generation generation;
  read_fields(params, call, generation.request, place::kEmbeddings);
  const Json* query_value = params.take("query");
  if (query_value == nullptr) throw invalid_request("query", "query is missing");
  const std::string query_text = read_document(*query_value, "query");
  std::vector<std::string> documents = read_texts(params, "documents");
  // 0 stands for all, as in vLLM.
  const auto top = params.whole("top_n", 0, std::int64_t{1} << 31);
  const bool returns = params.flag("return_documents").value_or(true);
  const bool raw = read_raw(params, service);
  params.ignore_text("user", 256, "it changes nothing here");
  const InputLimit limit = read_input_limit(params, service);
  const std::size_t count = documents.size();
  const Reranker::Query query = read_query(query_text, count, "query", limit, service);
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < count; ++i) {
    add_pair(generation, params, service, limit, query, documents[i], entry_place("documents", i),
             tokens);
  }
  params.finish();
  generation.writer =
      std::make_unique<RerankWriter>(head_json(call, "rerank-", "list", model), params.warnings(),
                                     raw, count, top && *top > 0 ? to_size(*top) : count,
                                     returns ? std::move(documents) : std::vector<std::string>());
  return generation;
}

Reply score(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  Service& service = call.service;
  const std::string model = service.read_model(params);
  Generation generation;
  read_fields(params, call, generation.request, place::kEmbeddings);
  const std::vector<std::string> first = read_texts(params, "text_1");
  const std::vector<std::string> second = read_texts(params, "text_2");
  if (first.size() != 1 && first.size() != second.size()) {
    throw invalid_request("text_1", cat("text_1 has ", first.size(), " entries and text_2 ",
                                        second.size(), ": expected one, or equally many"));
  }
  const bool raw = read_raw(params, service);
  params.ignore_text("user", 256, "it changes nothing here");
  const InputLimit limit = read_input_limit(params, service);
  std::int64_t tokens = 0;
  const std::size_t pairs_each = second.size() / first.size();
  for (std::size_t i = 0; i < first.size(); ++i) {
    const std::string place = first.size() == 1 ? "text_1" : entry_place("text_1", i);
    const Reranker::Query query = read_query(first[i], pairs_each, place, limit, service);
    for (std::size_t j = i; j < i + pairs_each; ++j) {
      add_pair(generation, params, service, limit, query, second[j], entry_place("text_2", j),
               tokens);
    }
  }
  params.finish();
  generation.writer = std::make_unique<PairWriter>(head_json(call, "score-", "list", model),
                                                   params.warnings(), raw, second.size());
  return generation;
}

}  // namespace ingot
