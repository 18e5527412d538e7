// PairReader: reads shared members, encodes queries and documents, and checks their lengths.
#include "server/openai/pair_reader.h"

#include <array>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "server/common/common_params.h"
#include "server/common/list_entries.h"
#include "server/common/message_text.h"
#include "server/common/response_json.h"
#include "server/common/service.h"

namespace ingot {

namespace {

/// Maximum bytes of a query, times the documents that it is scored with.
constexpr std::size_t kQueriesBytesMax = std::size_t{1} << 25;

/// Maximum tokens of a request's pairs together. Each pair repeats its query.
constexpr std::int64_t kPairsTokensMax = std::int64_t{1} << 21;

/// Members of other servers' rerank and score requests that are not honoured, and why. Sources:
/// vLLM, vllm/entrypoints/pooling/scoring/protocol.py (instruction, chat_template_kwargs); Cohere's
/// rerank API, docs.cohere.com/v1/reference/rerank (rank_fields, max_chunks_per_doc).
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kRefused = {{
    {"instruction", "a pair has no instruction: put it before the query's text"},
    {"chat_template_kwargs", "templates of rerankers get a query and a document alone"},
    {"rank_fields", "documents have one text, the member text"},
    {"max_chunks_per_doc", "documents are not divided: max_tokens_per_doc cuts them"},
}};

/// A limit on tokens in a request's body.
constexpr std::int64_t kLimitMax = std::int64_t{1} << 31;

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

}  // namespace

PairReader::PairReader(const Call& call, const Json& body)
    : call_(call), params_(body), model_(read_model(params_, call)) {
  generation_.request.adapters = model_.adapters;
  read_fields(params_, call, generation_.request, place::kEmbeddings);
  raw_ = read_raw(params_, call.service);
  params_.ignore_text("user", 256, "it changes nothing here");
  limit_ = read_input_limit(params_, call.service);
  read_document_limit();
  for (const auto& [name, why] : kRefused) params_.refuse(name, why);
}

MemberTexts PairReader::read_texts(std::string_view name) {
  const Json* value = params_.take(name);
  if (value == nullptr) throw invalid_request(std::string(name), cat(name, " is missing"));
  const Json::Array* list = value->as_array();
  if (list == nullptr) {
    return {.name = name, .texts = {read_text(*value, name, params_)}, .is_list = false};
  }
  if (list->empty()) throw invalid_request(std::string(name), cat(name, " has no entries"));
  if (list->size() > to_size(kInputsMax)) {
    throw invalid_request(std::string(name),
                          cat(name, " has ", list->size(), " entries, possible are ", kInputsMax));
  }
  std::vector<std::string> texts;
  each_entry(call_, name, *list, [&](const Json& entry, const std::string& place) {
    texts.push_back(read_text(entry, place, params_));
  });
  return {.name = name, .texts = std::move(texts), .is_list = true};
}

void PairReader::begin_query(const std::string& text, std::size_t documents,
                             std::string_view param) {
  if (text.size() > kQueriesBytesMax / documents) {
    refuse_at(std::string(param),
              cat("has ", text.size(), " bytes, possible are ", kQueriesBytesMax / documents,
                  " with ", documents, documents == 1 ? " document" : " documents"));
  }
  const Service& service = call_.service;
  if (!limit_.cuts) service.check_text_room(text.size(), param);
  query_place_ = param;
  query_ = as_api([&] { return service.reranker().read_query(text); });
  const PairLimits limits{.tokens = limit_.cut_at()};
  const InputTokens alone = as_api([&] { return service.reranker().encode(query_, "", limits); });
  check_length(alone, limit_, param);
}

void PairReader::add_document(const std::string& document, const std::string& param) {
  call_.require_wanted();
  const Service& service = call_.service;
  const bool may_cut = limit_.cuts || document_max_ != kNoCut;
  if (!may_cut) service.check_text_room(query_.text.size() + document.size(), param);
  const PairLimits limits{.tokens = limit_.cut_at(), .second = document_max_};
  InputTokens input = as_api([&] { return service.reranker().encode(query_, document, limits); });
  if (input.ids.empty()) refuse_at(param, "has no tokens");
  check_length(input, limit_, param);
  warn_of_cut(input, param);
  tokens_ += std::ssize(input.ids);
  if (tokens_ > kPairsTokensMax) {
    refuse_at(param, cat("gives the pairs ", tokens_, " tokens together, possible are ",
                         kPairsTokensMax, ": send fewer documents"));
  }
  add_pooled(generation_, std::move(input));
}

/// Warns if tokens of the document or of its query were cut off.
void PairReader::warn_of_cut(const InputTokens& input, const std::string& param) {
  const std::int64_t document_cut = input.uncut - std::ssize(input.ids) - input.first_cut;
  if (input.first_cut > 0) {
    params_.warn_once(
        query_place_, "truncated",
        cat("its last tokens were cut off: with a document it has more than ", limit_.tokens_max));
  }
  if (document_cut > 0) {
    params_.warn(param, "truncated",
                 cat("the last ", document_cut, " tokens of its text were cut off"));
  }
}

ScoreForm PairReader::finish(std::string_view prefix) {
  params_.finish();
  return {.head = cat("{\"id\":", json_string(cat(prefix, call_.id)),
                      ",\"object\":\"list\",\"created\":", Service::now(),
                      ",\"model\":", json_string(model_.name)),
          .warnings = params_.warnings(),
          .raw = raw_,
          .count = generation_.prompts.size()};
}

Generation PairReader::take(std::unique_ptr<ResponseWriter> writer) {
  generation_.writer = std::move(writer);
  return std::move(generation_);
}

/// Reads how many tokens of a document count; 0: all. Cohere's API and vLLM have
/// `max_tokens_per_doc`; vLLM alone has the limit on queries.
void PairReader::read_document_limit() {
  const auto most = params_.whole("max_tokens_per_doc", 0, kLimitMax);
  if (most && *most > 0) document_max_ = *most;
  if (params_.whole("max_tokens_per_query", 0, kLimitMax).value_or(0) == 0) return;
  throw invalid_request("max_tokens_per_query",
                        "max_tokens_per_query: queries are not cut: send a shorter query");
}

}  // namespace ingot
