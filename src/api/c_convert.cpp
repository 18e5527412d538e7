// Converts the C API's structs, member by member.
#include "api/c_convert.h"

#include <utility>

#include "runtime/request_fields.h"

namespace ingot::api {

namespace {

template <class T>
std::vector<T> list_of(const char* name, const T* values, std::size_t count) {
  const std::span<const T> span = span_of(name, values, count);
  return {span.begin(), span.end()};
}

std::vector<std::string> texts_of(const char* name, const char* const* values, std::size_t count) {
  std::vector<std::string> texts;
  for (const char* text : span_of(name, values, count)) texts.push_back(text_of(name, text));
  return texts;
}

}  // namespace

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

std::string text_of(const char* name, const char* text) {
  if (text == nullptr) throw Error(ErrorCode::kInvalid, std::string(name) + ": a null pointer");
  return text;
}

OpenOptions from_c(const ingot_open_options& o) {
  OpenOptions options;
  options.path = text_of("path", o.path);
  options.threads = o.threads;
  options.isa = text_of("isa", o.isa);
  if (o.kv_type != INGOT_KV_AUTO) options.kv_type = static_cast<KvType>(o.kv_type);
  options.weights = static_cast<Weights>(o.weights);
  options.context = o.context;
  options.sequences = o.sequences;
  options.step_rows = o.step_rows;
  options.memory_limit = o.memory_limit;
  options.check_tensors = o.check_tensors;
  options.embedding = o.embedding;
  options.head = o.head;
  if (o.pack_cache != nullptr) options.pack_cache = o.pack_cache;
  options.waiting_max = o.waiting_max;
  options.deltas_max = o.deltas_max;
  options.stall_seconds = o.stall_seconds;
  options.prefix_cache = o.prefix_cache;
  options.target_itl_seconds = o.target_itl_seconds;
  options.by_priority = o.by_priority;
  if (o.draft != nullptr) options.draft = o.draft;
  options.draft_tokens = o.draft_tokens;
  options.sessions = o.sessions;
  options.threadless = o.threadless;
  if (o.progress != nullptr) {
    options.progress = [progress = o.progress, user = o.user](std::uint64_t done,
                                                              std::uint64_t total) {
      return progress(user, done, total);
    };
  }
  return options;
}

Prompt from_c(const ingot_prompt& p) {
  std::optional<std::string> text;
  const std::span<const char> bytes = span_of("prompt.text", p.text, p.text_bytes);
  if (p.text != nullptr) text.emplace(bytes.begin(), bytes.end());
  return {.text = std::move(text),
          .encode = {.add_special = p.add_special, .parse_special = p.parse_special},
          .ids = list_of("prompt.ids", p.ids, p.id_count),
          .embeddings = list_of("prompt.embeddings", p.embeddings, p.embedding_values),
          .sequence = p.sequence != nullptr ? &p.sequence->sequence : nullptr};
}

HiddenOptions from_c(const ingot_hidden_options& o) {
  return {.all_rows = o.all_rows,
          .final_norm = o.final_norm,
          .first_row = o.first_row,
          .row_count = o.row_count};
}

Request from_c(const ingot_request& r) {
  Request request;
  request.prompt = from_c(r.prompt);
  Sampling& s = request.sampling;
  each_public_field([&](const auto& at) { s.*at.cpp = r.*at.c; });
  for (const auto& b : span_of("logit_bias", r.logit_bias, r.logit_bias_count)) {
    s.logit_bias.push_back({.id = b.id, .bias = b.bias});
  }
  s.dry_sequence_breakers =
      texts_of("dry_sequence_breakers", r.dry_sequence_breakers, r.dry_sequence_breaker_count);
  s.bad_words = texts_of("bad_words", r.bad_words, r.bad_word_count);
  s.allowed_token_ids = list_of("allowed_token_ids", r.allowed_token_ids, r.allowed_token_count);
  request.continued = r.continued;
  request.max_tokens = r.max_tokens;
  request.min_tokens = r.min_tokens;
  request.stop = texts_of("stop", r.stop, r.stop_count);
  request.stop_token_ids = list_of("stop_token_ids", r.stop_token_ids, r.stop_token_count);
  request.ignore_eos = r.ignore_eos;
  request.logprobs = r.logprobs;
  request.prompt_logprobs = r.prompt_logprobs;
  request.digest = r.digest;
  request.priority = r.priority;
  request.tenant = r.tenant;
  request.domain = r.domain;
  request.speculation = {.mode = static_cast<SpeculationMode>(r.speculation_mode),
                         .tokens = r.speculation_tokens};
  request.max_ttft_seconds = r.max_ttft_seconds;
  request.deadline_seconds = r.deadline_seconds;
  return request;
}

Result from_c(const ingot_result& r) {
  Result result;
  result.prompt_ids = list_of("result.prompt_ids", r.prompt_ids, r.prompt_id_count);
  result.ids = list_of("result.ids", r.ids, r.id_count);
  return result;
}

CSession::CSession(Session&& session) : ingot_session{}, owned(std::move(session)) {
  const Request& r = owned.request;
  const Sampling& s = r.sampling;
  for (const LogitBias& b : s.logit_bias) logit_bias.push_back({.id = b.id, .bias = b.bias});
  stop = pointers_to(r.stop);
  breakers = pointers_to(s.dry_sequence_breakers);
  bad_words = pointers_to(s.bad_words);
  request = ingot_default_request();
  request.prompt.ids = r.prompt.ids.data();
  request.prompt.id_count = r.prompt.ids.size();
  each_public_field([&](const auto& at) { request.*at.c = s.*at.cpp; });
  request.logit_bias = logit_bias.data();
  request.logit_bias_count = logit_bias.size();
  request.dry_sequence_breakers = breakers.data();
  request.dry_sequence_breaker_count = breakers.size();
  request.bad_words = bad_words.data();
  request.bad_word_count = bad_words.size();
  request.allowed_token_ids = s.allowed_token_ids.data();
  request.allowed_token_count = s.allowed_token_ids.size();
  request.continued = r.continued;
  request.min_tokens = r.min_tokens;
  request.stop = stop.data();
  request.stop_count = stop.size();
  request.stop_token_ids = r.stop_token_ids.data();
  request.stop_token_count = r.stop_token_ids.size();
  request.ignore_eos = r.ignore_eos;
  request.domain = r.domain;
  restored_tokens = owned.restored_tokens;
}

CLogprobs::CLogprobs(const std::vector<TokenLogprobs>& scores) {
  std::size_t count = 0;
  for (const TokenLogprobs& t : scores) count += t.top.size();
  top_.reserve(count);  // pointers into it stay valid
  tokens_.reserve(scores.size());
  for (const TokenLogprobs& t : scores) {
    tokens_.push_back({.token = {.id = t.token.id, .logprob = t.token.logprob},
                       .top = top_.data() + top_.size(),
                       .top_count = t.top.size()});
    for (const TokenScore& s : t.top) top_.push_back({.id = s.id, .logprob = s.logprob});
  }
}

const ingot_delta* CDelta::set(Delta&& delta) {
  owned = std::move(delta);
  logprobs = CLogprobs(owned.logprobs);
  shown = {.ids = owned.ids.data(),
           .id_count = owned.ids.size(),
           .text = owned.text.c_str(),
           .text_bytes = owned.text.size(),
           .logprobs = logprobs.data()};
  return &shown;
}

CResult::CResult(Result&& result)
    : ingot_result{},
      owned(std::move(result)),
      owned_logprobs(owned.logprobs),
      owned_prompt_logprobs(owned.prompt_logprobs) {
  prompt_ids = owned.prompt_ids.data();
  prompt_id_count = owned.prompt_ids.size();
  ids = owned.ids.data();
  id_count = owned.ids.size();
  text = owned.text.c_str();
  text_bytes = owned.text.size();
  finish = static_cast<ingot_finish>(owned.finish);
  logprobs = owned_logprobs.data();
  prompt_logprobs = owned_prompt_logprobs.data();
  prompt_logprob_count = owned_prompt_logprobs.size();
  digest = owned.digest.c_str();
  cached_tokens = owned.cached_tokens;
  drafted = owned.drafted;
  accepted = owned.accepted;
  prefill_seconds = owned.prefill_seconds;
  decode_seconds = owned.decode_seconds;
}

}  // namespace ingot::api
