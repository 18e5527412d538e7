// check_request: checks the fields of a request against a model's limits.
#include "runtime/request.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "runtime/request_fields.h"
#include "runtime/sampling/shared_sampling.h"

namespace ingot {

namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::kInvalid, message); }

/// Checks that kGivenRow stands in the prompt for the rows of embeddings, and nowhere else.
void check_prompt(const Request& r, const RequestLimits& limits) {
  auto given = r.embeddings.begin();
  for (std::int64_t i = 0; i < std::ssize(r.prompt); ++i) {
    if (given != r.embeddings.end() && i >= given->end()) ++given;
    const bool is_given = given != r.embeddings.end() && i >= given->first;
    const std::int32_t id = at(r.prompt, i);
    if (is_given ? id == kGivenRow : id >= 0 && id < limits.vocab && limits.embedding) continue;
    if (!limits.embedding) {
      refuse(cat("prompt_ids[", i, "] is token ", id,
                 ", but the model was opened without its embedding matrix: give embeddings"));
    }
    refuse(cat("prompt_ids[", i, "] is token ", id, ", possible are tokens from 0 to ",
               limits.vocab - 1));
  }
  if (!r.embeddings.empty() && !limits.embeddings) {
    refuse(
        "embeddings: this model looks up more than embeddings by token id, so it takes only ids");
  }
  std::int64_t end = 0;
  for (const EmbeddingRows& e : r.embeddings) {
    if (e.cols != limits.hidden) {
      refuse(cat("embeddings: rows of ", e.cols, " values, expected ", limits.hidden));
    }
    INGOT_CHECK(e.first >= end && e.rows > 0 && e.end() <= std::ssize(r.prompt), "embeddings ",
                e.first, " to ", e.end(), " of ", r.prompt.size(), " rows");
    end = e.end();
  }
}

void check_length(std::int64_t rows, const Request& r, const RequestLimits& limits) {
  if (rows == 0) refuse("prompt: it has no tokens");
  if (rows > limits.context) {
    refuse(cat("prompt: it has ", rows, " tokens, the context is ", limits.context));
  }
  if (r.max_tokens < 0) refuse(cat("max_tokens: ", r.max_tokens, " is less than 0"));
  if (rows == limits.context && r.max_tokens > 0) {
    refuse(cat("prompt: it fills the context of ", rows, " tokens and leaves no room for another"));
  }
}

/// Checks a request to a model without its embedding matrix or output head.
void check_backbone(const Request& r, const RequestLimits& limits) {
  if (r.max_tokens > 0 && !limits.head) {
    refuse(cat("max_tokens: ", r.max_tokens,
               ", but the model was opened without its output head: set 0"));
  }
  if (r.max_tokens > 1 && !limits.embedding) {
    refuse(cat("max_tokens: ", r.max_tokens,
               ", but the model was opened without its embedding matrix: set 0 or 1"));
  }
}

void check_continued(const Request& r) {
  const std::int64_t tokens =
      std::ssize(r.prompt) - (r.embeddings.empty() ? 0 : r.embeddings.back().end());
  if (r.continued >= 0 && r.continued <= tokens) return;
  refuse(cat("continued: ", r.continued, " is not in [0, ", tokens, "]"));
}

/// Checks that adapters which act from some tokens on have these tokens in the prompt.
void check_adapters(const Request& r) {
  if (first_adapted_row(r) >= 0) return;
  refuse("prompt: it has no invocation tokens of the adapter, which acts from them on");
}

void check_hidden(const Request& r, const RequestLimits& limits) {
  if (r.hidden == HiddenRows::kNone) return;
  if (r.hidden != HiddenRows::kLast && !limits.hidden_all) {
    refuse("hidden: the engine was not started for hidden states of all rows");
  }
  const auto [first, end] = r.hidden_range;
  if (r.hidden == HiddenRows::kRange && (first < 0 || first >= end || end > std::ssize(r.prompt))) {
    refuse(cat("hidden: rows [", first, ", ", end, ") of a prompt of ", r.prompt.size(), " rows"));
  }
  if (r.max_tokens > 0) refuse(cat("hidden: max_tokens is ", r.max_tokens, ", expected 0"));
  if (r.prompt_logprobs >= 0) refuse("hidden: prompt_logprobs is asked for too");
}

/// Checks the token types: one for each token of the prompt, or none.
void check_types(const Request& r, const RequestLimits& limits) {
  if (r.types.empty()) return;
  if (limits.types == 0) refuse("types: the model has no token types");
  if (r.types.size() != r.prompt.size()) {
    refuse(cat("types: ", r.types.size(), " types for ", r.prompt.size(), " tokens"));
  }
  for (std::size_t i = 0; i < r.types.size(); ++i) {
    if (r.types[i] >= 0 && r.types[i] < limits.types) continue;
    refuse(
        cat("types[", i, "] is ", r.types[i], ", possible are types from 0 to ", limits.types - 1));
  }
}

void check_pooled(const Request& r, const RequestLimits& limits) {
  if (!r.pooled) return;
  if (limits.pooled == 0) refuse("pooled: the engine was not started for pooled results");
  if (r.max_tokens > 0) refuse(cat("pooled: max_tokens is ", r.max_tokens, ", expected 0"));
}

void check_whole(const Request& r, const RequestLimits& limits) {
  if (!is_whole(r, limits)) return;
  if (r.live != nullptr) refuse("pooled: a live sequence is computed in several steps");
  const std::int64_t rows = std::ssize(r.prompt);
  if (!r.embeddings.empty() && r.embeddings.front().rows < rows) {
    refuse("embeddings: a step computes embeddings or tokens of a sequence, not both");
  }
  if (rows > limits.whole_rows) {
    refuse(cat("prompt: it has ", rows, " tokens, a step computes ", limits.whole_rows));
  }
}

void check_history(const Request& r, const RequestLimits& limits) {
  if (!r.sampling.bad_words.empty() && !limits.text) {
    refuse("bad_words: the model has no tokenizer, so there is no text");
  }
  if (r.sampling.mirostat != 0 && r.continued > 0) {
    refuse("mirostat: no text can be continued with it, because its state is not stored: set 0");
  }
}

/// Checks a list of token ids.
void check_ids(std::string_view name, const std::vector<std::int32_t>& listed, std::size_t most,
               const RequestLimits& limits) {
  if (listed.size() > most) {
    refuse(cat(name, ": ", listed.size(), " tokens are more than ", most));
  }
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (listed[i] >= 0 && listed[i] < limits.ids) continue;
    refuse(cat(name, "[", i, "] is token ", listed[i], ", possible are tokens from 0 to ",
               limits.ids - 1));
  }
}

/// Checks that no other field restricts the tokens of a constrained text: both together might allow
/// no token.
void check_constraint(const Request& r) {
  if (r.constraint == nullptr) return;
  const auto refuse_both = [](std::string_view name) {
    refuse(cat(name, " has no meaning together with a constraint: leave one of them out"));
  };
  const SharedSampling* shared = r.shared.get();
  if (!r.sampling.bad_words.empty() || (shared != nullptr && !shared->bad_words.empty())) {
    refuse_both("bad_words");
  }
  if (!r.sampling.allowed_token_ids.empty() || (shared != nullptr && !shared->allowed.empty())) {
    refuse_both("allowed_token_ids");
  }
}

void check_reasoning(const Request& r, const RequestLimits& limits) {
  check_ids("markers", r.markers, kMarkersMax, limits);
  const ReasoningBudget& budget = r.reasoning;
  if (budget.tokens == -1) return;
  if (budget.tokens < -1) refuse(cat("thinking_budget: ", budget.tokens, " is less than -1"));
  if (!limits.text) refuse("thinking_budget: the model has no tokenizer, so there is no text");
  if (budget.end.empty() || budget.close.empty()) {
    refuse("thinking_budget: the model has no text that closes its reasoning");
  }
  check_ids("thinking_budget", budget.close, kCloseIdsMax, limits);
}

void check_prediction(const Request& r, const RequestLimits& limits) {
  check_ids("prediction", r.prediction, to_size(limits.context), limits);
}

void check_stop(const Request& r, const RequestLimits& limits) {
  if (r.stop.empty()) return;
  if (!limits.text) refuse("stop: the model has no tokenizer, so there is no text");
  if (r.stop.size() > kStopsMax) {
    refuse(cat("stop: ", r.stop.size(), " strings are more than ", kStopsMax));
  }
  for (std::size_t i = 0; i < r.stop.size(); ++i) {
    const std::size_t bytes = r.stop[i].size();
    if (bytes == 0 || bytes > kStopBytesMax) {
      refuse(cat("stop[", i, "] has ", bytes, " bytes, possible are 1 to ", kStopBytesMax));
    }
    if (!is_utf8(r.stop[i])) refuse(cat("stop[", i, "] is not valid UTF-8"));
  }
}

}  // namespace

void check_speculation(const RequestSpeculation& speculation, const RequestLimits& limits) {
  const SpeculationMode mode = speculation.mode;
  const std::int32_t tokens = speculation.tokens;
  if (tokens < -1 || tokens > kDraftsMax) {
    refuse(cat("speculation.tokens is ", tokens, ", possible are -1 to ", kDraftsMax));
  }
  const bool asks = mode == SpeculationMode::kLookup || mode == SpeculationMode::kDraft;
  const auto refuse_mode = [&](std::string_view reason) {
    refuse(cat("speculation.mode is ", at(kSpeculationModes, mode), ", but ", reason,
               ": use auto or off"));
  };
  if (asks && limits.draft_rows == 0) refuse_mode("the model was started without drafts");
  if (mode == SpeculationMode::kDraft && !limits.draft_model) {
    refuse_mode("there is no draft model");
  }
}

bool is_whole(const Request& request, const RequestLimits& limits) {
  return limits.whole_rows > 0 && (request.pooled || !limits.head);
}

void check_sampling(const Request& request, const RequestLimits& limits) {
  if (limits.head) check_sampling(request.sampling, limits.ids);  // else nothing is drawn
  check_history(request, limits);
}

void append_embeddings(Request& request, std::vector<float> values, std::int64_t hidden) {
  const std::int64_t rows = std::ssize(values) / hidden;
  if (rows * hidden != std::ssize(values)) {
    refuse(cat("embeddings: ", values.size(), " values are no whole number of rows of ", hidden));
  }
  if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) {
    refuse("embeddings: a value is NaN or infinite");
  }
  if (rows == 0) return;
  const auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  request.embeddings.push_back({.first = std::ssize(request.prompt),
                                .rows = rows,
                                .cols = hidden,
                                .values = {owner, owner->data()}});
  request.prompt.resize(request.prompt.size() + to_size(rows), kGivenRow);
}

std::int64_t first_adapted_row(const Request& request) {
  if (request.adapters == nullptr) return 0;
  const std::span<const std::int32_t> prompt = request.prompt;
  return first_adapted_row(*request.adapters,
                           prompt.first(prompt.size() - to_size(request.continued)));
}

void check_request(const Request& request, const RequestLimits& limits) {
  check_length(std::ssize(request.prompt), request, limits);
  check_prompt(request, limits);
  check_backbone(request, limits);
  check_continued(request);
  check_adapters(request);
  check_types(request, limits);
  check_hidden(request, limits);
  check_pooled(request, limits);
  check_whole(request, limits);
  check_stop(request, limits);
  check_constraint(request);
  check_speculation(request.speculation, limits);
  check_prediction(request, limits);
  check_reasoning(request, limits);
  check_sampling(request, limits);
  const std::int32_t scores = request.prompt_logprobs;
  if (scores < -1 || scores > limits.prompt_logprobs) {
    refuse(limits.prompt_logprobs < 0
               ? cat("prompt_logprobs: ", scores, " is not possible: this engine scores no prompts")
               : cat("prompt_logprobs: ", scores, " is not in [0, ", limits.prompt_logprobs, "]"));
  }
  const std::int64_t from = request.prompt_logprobs_from;
  if (from < 0 || from > std::ssize(request.prompt)) {
    refuse(cat("prompt_logprobs_from: ", from, " is not in [0, ", request.prompt.size(), "]"));
  }
  if (scores >= 0 && !request.embeddings.empty() && from < request.embeddings.back().end()) {
    refuse("prompt_logprobs: embeddings have no log-probabilities");
  }
}

}  // namespace ingot
