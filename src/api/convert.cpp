// Converts options, requests and results to the engine's types, and back.
#include "api/convert.h"

#include "base/check.h"
#include "base/index.h"
#include "base/text.h"
#include "load/config.h"
#include "quant/formats.h"
#include "runtime/request_fields.h"

namespace ingot::api {

namespace {

constexpr std::int32_t kThreadsMax = 1024;
constexpr std::int32_t kSequencesMax = 1024;
constexpr std::int32_t kStepRowsMax = 16384;
constexpr std::size_t kQueueMax = std::size_t{1} << 20;
constexpr double kSecondsMax = 1e9;

template <class T>
T check_range(const char* name, T value, T least, T most) {
  if (value >= least && value <= most) return value;
  throw ingot::Error(ingot::ErrorCode::kInvalid, cat(std::string_view(name), ": ", value,
                                                     " is not in [", least, ", ", most, "]"));
}

[[noreturn]] void refuse(const std::string& message) {
  throw ingot::Error(ingot::ErrorCode::kInvalid, message);
}

/// Checks that a time is finite and not negative.
double check_seconds(const char* name, double seconds) {
  if (seconds >= 0 && seconds <= kSecondsMax) return seconds;
  refuse(cat(name, ": ", seconds, " is not in [0, ", kSecondsMax, "]"));
}

/// A time limit in seconds; 0 becomes no limit.
double bound_of(const char* name, double seconds) {
  return check_seconds(name, seconds) > 0 ? seconds : kNever;
}

ErrorCode to_code(ingot::ErrorCode code) {
  switch (code) {
    case ingot::ErrorCode::kInvalid:
      return ErrorCode::kInvalid;
    case ingot::ErrorCode::kModel:
      return ErrorCode::kModel;
    case ingot::ErrorCode::kDoesNotFit:
      return ErrorCode::kDoesNotFit;
    case ingot::ErrorCode::kIo:
      return ErrorCode::kIo;
    case ingot::ErrorCode::kNotFinite:
      return ErrorCode::kNotFinite;
    case ingot::ErrorCode::kUnavailable:
    case ingot::ErrorCode::kTimeout:
      return ErrorCode::kBusy;
    case ingot::ErrorCode::kInternal:
      return ErrorCode::kInternal;
  }
  return ErrorCode::kInternal;
}

bool has_drafts(const OpenOptions& options) { return !options.draft.empty() && options.head; }

ingot::SpeculationMode to_mode(SpeculationMode mode) {
  switch (mode) {
    case SpeculationMode::kAuto:
      return ingot::SpeculationMode::kAuto;
    case SpeculationMode::kOff:
      return ingot::SpeculationMode::kOff;
    case SpeculationMode::kLookup:
      return ingot::SpeculationMode::kLookup;
    case SpeculationMode::kDraft:
      return ingot::SpeculationMode::kDraft;
  }
  refuse(cat("speculation.mode: ", static_cast<int>(mode), " is unknown"));
}

ingot::KvType engine_kv_type(KvType type) {
  switch (type) {
    case KvType::kF16:
      return ingot::KvType::kF16;
    case KvType::kF32:
      return ingot::KvType::kF32;
    case KvType::kBF16:
      return ingot::KvType::kBF16;
    case KvType::kInt8:
      return ingot::KvType::kInt8;
  }
  refuse(cat("kv_type: ", static_cast<int>(type), " is unknown"));
}

KvType public_kv_type(ingot::KvType type) {
  switch (type) {
    case ingot::KvType::kF16:
      return KvType::kF16;
    case ingot::KvType::kF32:
      return KvType::kF32;
    case ingot::KvType::kBF16:
      return KvType::kBF16;
    case ingot::KvType::kInt8:
      return KvType::kInt8;
  }
  INGOT_CHECK(false, "kv type ", static_cast<int>(type));
  return KvType::kF16;
}

std::optional<Format> weights_format(Weights weights) {
  switch (weights) {
    case Weights::kStored:
      return {};
    case Weights::kQ8_0:
      return Q8_0::kFormat;
    case Weights::kQ4_K:
      return Q4_K::kFormat;
    case Weights::kBF16:
      return BF16::kFormat;
    case Weights::kF32:
      return F32::kFormat;
  }
  refuse(cat("weights: ", static_cast<int>(weights), " is unknown"));
}

SamplingParams sampling_params(const Request& r) {
  SamplingParams p;
  each_public_field([&](const auto& at) { p.*at.member = r.sampling.*at.cpp; });
  for (const LogitBias& b : r.sampling.logit_bias) p.logit_bias.push_back({b.id, b.bias});
  sort_biases(p.logit_bias, "logit_bias");
  p.dry_sequence_breakers = r.sampling.dry_sequence_breakers;
  p.bad_words = r.sampling.bad_words;
  p.allowed_token_ids = r.sampling.allowed_token_ids;
  p.min_tokens = r.min_tokens;
  p.end_ids = r.stop_token_ids;
  p.logprobs = r.logprobs;
  return p;
}

}  // namespace

Error to_error(const ingot::Error& error) { return {to_code(error.code()), error.message()}; }

InstanceOptions instance_options(const OpenOptions& options) {
  check_range("threads", options.threads, 0, kThreadsMax);
  check_range("sequences", options.sequences, 1, kSequencesMax);
  check_range("step_rows", options.step_rows, options.sequences, kStepRowsMax);
  check_range("context", options.context, std::int64_t{0}, kContextMax);
  check_range("draft_tokens", options.draft_tokens, 0, kDraftsMax);
  check_range("waiting_max", options.waiting_max, std::size_t{1}, kQueueMax);
  check_range("deltas_max", options.deltas_max, std::size_t{1}, kQueueMax);
  check_seconds("stall_seconds", options.stall_seconds);
  check_seconds("target_itl_seconds", options.target_itl_seconds);
  if (options.memory_limit < 0) {
    refuse(cat("memory_limit: ", options.memory_limit, " is less than 0"));
  }
  std::optional<ingot::KvType> kv_type;
  if (options.kv_type) kv_type = engine_kv_type(*options.kv_type);
  return {.path = options.path,
          .isa = options.isa,
          .kv_type = kv_type,
          .weights = weights_format(options.weights),
          .context = options.context,
          .pack_cache = {.folder = options.pack_cache},
          .memory_limit = options.memory_limit};
}

StartOptions start_options(const OpenOptions& options, const Instance& instance) {
  StartOptions start{.model = {.embedding = options.embedding,
                               .head = options.head,
                               .check_tensors = options.check_tensors}};
  start.context = options.context > 0 ? options.context : instance.spec().context;
  start.sequences = options.sequences;
  start.rows = options.step_rows;
  start.generates = true;
  start.prompt_logprobs = options.head ? kLogprobsMax : -1;
  start.hidden_states = true;
  if (has_drafts(options)) start.draft_rows = draft_rows_for(options.sequences);
  return start;
}

ModelInfo model_info(const Instance& instance, std::int64_t context) {
  const Spec& spec = instance.spec();
  ModelInfo info{.path = instance.name(),
                 .architecture = spec.architecture,
                 .isa = std::string(instance.isa()),
                 .vocab = spec.vocab,
                 .hidden = spec.hidden,
                 .layers = spec.layers,
                 .context = context,
                 .kv_type = public_kv_type(instance.kv_type()),
                 .has_tokenizer = instance.tokenizer() != nullptr,
                 .warnings = instance.warnings()};
  if (context > spec.context) {
    info.warnings.push_back(cat("context ", context, " is more than the ", spec.context,
                                " tokens that the model was made for"));
  }
  return info;
}

const Tokenizer& require_tokenizer(const Instance& instance) {
  if (instance.tokenizer() == nullptr) refuse("the model has no supported tokenizer");
  return *instance.tokenizer();
}

ingot::EncodeOptions encode_options(const EncodeOptions& options) {
  return {.add_begin = options.add_special,
          .add_end = options.add_special,
          .parse_special = options.parse_special};
}

std::vector<std::int32_t> prompt_ids(const Prompt& prompt, const Instance& instance,
                                     PromptEnd end) {
  if (!prompt.text) return prompt.ids;
  if (!prompt.ids.empty()) refuse("prompt: it has both text and ids");
  const Tokenizer& tokenizer = require_tokenizer(instance);
  const bool begins = prompt.sequence == nullptr || prompt.sequence->rows() == 0;
  EncodeOptions encode = prompt.encode;
  encode.add_special = encode.add_special && begins && prompt.embeddings.empty();
  return end == PromptEnd::kWhole
             ? tokenizer.encode(*prompt.text, encode_options(encode))
             : tokenizer.encode_prompt(*prompt.text, encode.parse_special, encode.add_special);
}

ingot::Request to_request(const Prompt& prompt, const Instance& instance, PromptEnd end) {
  ingot::Request request;
  append_embeddings(request, prompt.embeddings, instance.spec().hidden);
  const std::vector<std::int32_t> ids = prompt_ids(prompt, instance, end);
  request.prompt.insert(request.prompt.end(), ids.begin(), ids.end());
  return request;
}

ingot::Request to_request(const Prompt& prompt, const HiddenOptions& options,
                          const Instance& instance) {
  const bool lives = prompt.sequence != nullptr;
  ingot::Request request =
      to_request(prompt, instance, lives ? PromptEnd::kOpen : PromptEnd::kWhole);
  request.hidden = options.row_count != 0 ? HiddenRows::kRange
                   : options.all_rows     ? HiddenRows::kAll
                                          : HiddenRows::kLast;
  request.final_norm = options.final_norm;
  check_range("row_count", options.row_count, std::int64_t{0}, kContextMax);
  check_range("first_row", options.first_row, std::int64_t{0}, kContextMax);
  request.hidden_range = {options.first_row, options.first_row + options.row_count};
  if (request.hidden_range.end > std::ssize(request.prompt) && options.row_count > 0) {
    refuse(cat("row_count: rows ", options.first_row, " to ", request.hidden_range.end,
               " of a prompt of ", request.prompt.size(), " rows"));
  }
  return request;
}

ingot::Request to_request(const Request& r, const Instance& instance) {
  ingot::Request request = to_request(r.prompt, instance, PromptEnd::kOpen);
  request.continued = r.continued;
  request.sampling = sampling_params(r);
  request.max_tokens = r.max_tokens;
  request.stop = r.stop;
  request.ignore_eos = r.ignore_eos;
  request.prompt_logprobs = r.prompt_logprobs;
  request.digest = r.digest;
  request.priority = r.priority;
  request.tenant = r.tenant;
  request.domain = domain_of(r.domain);
  request.speculation = {.mode = to_mode(r.speculation.mode), .tokens = r.speculation.tokens};
  request.first_token_seconds = bound_of("max_ttft_seconds", r.max_ttft_seconds);
  request.end_seconds = bound_of("deadline_seconds", r.deadline_seconds);
  return request;
}

ingot::Session to_session(const Request& r, const Result& result, const Instance& instance) {
  if (!r.prompt.embeddings.empty()) refuse("prompt: a session has no embeddings");
  if (r.prompt.sequence != nullptr) refuse("prompt: a session has no live sequence");
  Request request = r;  // its text became these ids
  request.prompt = {.ids = result.prompt_ids};
  return session_of(to_request(request, instance), result.ids);
}

Request to_request(const ingot::Session& session) {
  const SamplingParams& p = session.sampling;
  Request r;
  r.prompt.ids = session.tokens;
  r.continued = session.generated;
  each_public_field([&](const auto& at) { r.sampling.*at.cpp = p.*at.member; });
  for (const ingot::LogitBias& b : p.logit_bias) r.sampling.logit_bias.push_back({b.id, b.bias});
  r.sampling.dry_sequence_breakers = p.dry_sequence_breakers;
  r.sampling.bad_words = p.bad_words;
  r.sampling.allowed_token_ids = p.allowed_token_ids;
  r.min_tokens = p.min_tokens;
  r.stop = session.stop;
  r.stop_token_ids = p.end_ids;
  r.ignore_eos = session.ignore_eos;
  return r;
}

EngineOptions engine_options(const OpenOptions& options) {
  EngineOptions engine{.waiting_max = options.waiting_max, .deltas_max = options.deltas_max};
  engine.stall_seconds = bound_of("stall_seconds", options.stall_seconds);
  engine.prefix_cache = options.prefix_cache;
  engine.step_seconds = options.target_itl_seconds;
  engine.speculation.lookup = has_drafts(options);
  engine.speculation.tokens = options.draft_tokens;
  engine.waiting.policy = options.by_priority ? Policy::kPriority : Policy::kArrival;
  return engine;
}

Delta to_delta(ingot::Delta&& delta) {
  return {.ids = std::move(delta.ids),
          .text = std::move(delta.text),
          .logprobs = to_logprobs(delta.logprobs)};
}

std::vector<TokenLogprobs> to_logprobs(const std::vector<ingot::TokenLogprobs>& scores) {
  std::vector<TokenLogprobs> list;
  list.reserve(scores.size());
  for (const ingot::TokenLogprobs& t : scores) {
    TokenLogprobs& to = list.emplace_back();
    to.token = {.id = t.token.id, .logprob = t.token.logprob};
    for (const auto& s : t.top) to.top.push_back({.id = s.id, .logprob = s.logprob});
  }
  return list;
}

}  // namespace ingot::api
