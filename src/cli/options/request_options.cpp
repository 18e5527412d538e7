// The flags of a request.
#include "cli/options/request_options.h"

#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "runtime/request_members.h"

namespace ingot {

namespace {

constexpr std::int32_t kIdMax = std::numeric_limits<std::int32_t>::max();

/// "ID=V,ID=V": by rising id, each once.
std::vector<LogitBias> parse_logit_bias(std::string_view text, std::int64_t ids) {
  constexpr std::string_view kOption = "--logit-bias";
  std::vector<LogitBias> biases;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view entry = text.substr(0, comma);
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) throw bad_option(kOption, entry, "expected ID=V,..");
    const auto id = parse_whole<std::int64_t>(entry.substr(0, equals), kOption, 0, ids - 1);
    const double bias =
        parse_real(entry.substr(equals + 1), kOption, -kLogitBiasMax, kLogitBiasMax);
    biases.push_back({static_cast<std::int32_t>(id), static_cast<float>(bias)});
    if (comma == std::string_view::npos) return biases;
    text.remove_prefix(comma + 1);
  }
}

void add_penalties(CLI::App& app, RequestOptionValues& values) {
  add_number(app, values.repetition_penalty,
             {.name = "--repetition-penalty",
              .help = "Makes tokens of prompt and text less likely above 1",
              .low = kRepetitionPenaltyMin,
              .high = kRepetitionPenaltyMax});
  add_number(app, values.presence_penalty,
             {.name = "--presence-penalty",
              .help = "Off the logit of every token of the text",
              .low = -kPenaltyMax,
              .high = kPenaltyMax});
  add_number(app, values.frequency_penalty,
             {.name = "--frequency-penalty",
              .help = "Off the logit for each time that a token is in the text",
              .low = -kPenaltyMax,
              .high = kPenaltyMax});
  add_text(app, values.logit_bias, "--logit-bias", "Added to logits: ID=V,ID=V");
}

void add_choice(CLI::App& app, RequestOptionValues& values) {
  add_number(app, values.temperature,
             {.name = "--temperature",
              .help = "0: always the most likely token; higher: more varied",
              .low = 0,
              .high = kTemperatureMax});
  add_number(app, values.top_k,
             {.name = "--top-k",
              .help = "Choose among so many likeliest tokens; 0 and -1: all",
              .low = -1,
              .high = kIdMax});
  add_number(app, values.top_p,
             {.name = "--top-p",
              .help = "Choose among the likeliest tokens that together are so likely",
              .low = 0,
              .high = 1});
  add_number(app, values.min_p,
             {.name = "--min-p",
              .help = "Leave out tokens less likely than this share of the likeliest",
              .low = 0,
              .high = 1});
  add_number(app, values.typical_p,
             {.name = "--typical-p",
              .help = "Choose among the tokens nearest to the expected surprise (above 0; 1: off)",
              .low = 0,
              .high = 1});
  add_number(app, values.seed,
             {.name = "--seed",
              .help = "Equal seeds give equal text",
              .low = 0,
              .high = std::numeric_limits<std::uint64_t>::max()});
}

void add_end(CLI::App& app, RequestOptionValues& values) {
  add_number(app, values.max_tokens,
             {.name = "--max-tokens",
              .help = "Tokens to generate at most",
              .low = 0,
              .high = kContextMax});
  add_number(app, values.min_tokens,
             {.name = "--min-tokens",
              .help = "Tokens before which no end-of-sequence or stop token is chosen",
              .low = 0,
              .high = kContextMax});
  add_texts(app, values.stop, "--stop", "End the text before this string");
  add_texts(app, values.stop_token, "--stop-token", "End the text at this token id, or ids: 1,2");
  add_switch(app, values.ignore_eos, "--ignore-eos", "Go on after end-of-sequence tokens");
}

}  // namespace

void add_request_options(CLI::App& app, RequestOptionValues& values) {
  add_end(app, values);
  add_choice(app, values);
  add_penalties(app, values);
}

void add_logprob_options(CLI::App& app, RequestOptionValues& values) {
  add_number(app, values.logprobs,
             {.name = "--logprobs",
              .help = "Log-probabilities of each token and of so many likeliest, in JSON",
              .low = 0,
              .high = kLogprobsMax,
              .show_default = false});
  add_number(app, values.prompt_logprobs,
             {.name = "--prompt-logprobs",
              .help = "The same for the prompt's tokens",
              .low = 0,
              .high = kLogprobsMax,
              .show_default = false});
}

RequestLimits request_limits(const Instance& instance, std::int64_t ctx) {
  const Spec& spec = instance.spec();
  return {.vocab = spec.vocab,
          .ids = instance.sampled_ids(),
          .hidden = spec.hidden,
          .context = ctx > 0 ? ctx : spec.context,
          .prompt_logprobs = kLogprobsMax,
          .text = instance.tokenizer() != nullptr};
}

Request make_request(const RequestOptionValues& v, std::int64_t ids) {
  Request request;
  SamplingParams& s = request.sampling;
  if (v.logit_bias) s.logit_bias = parse_logit_bias(*v.logit_bias, ids);
  sort_biases(s.logit_bias, "--logit-bias");
  s.repetition_penalty = static_cast<float>(v.repetition_penalty);
  s.presence_penalty = static_cast<float>(v.presence_penalty);
  s.frequency_penalty = static_cast<float>(v.frequency_penalty);
  s.min_tokens = v.min_tokens;
  for (const std::string& list : v.stop_token) {
    for (const std::int64_t id : parse_list(list, "--stop-token", 0, ids - 1)) {
      s.end_ids.push_back(static_cast<std::int32_t>(id));
    }
  }
  s.temperature = static_cast<float>(v.temperature);
  s.top_k = v.top_k;
  s.typical_p = static_cast<float>(v.typical_p);
  s.top_p = static_cast<float>(v.top_p);
  s.min_p = static_cast<float>(v.min_p);
  s.seed = v.seed;
  s.logprobs = v.logprobs;
  request.max_tokens = v.max_tokens;
  request.stop = v.stop;
  request.ignore_eos = v.ignore_eos;
  request.prompt_logprobs = v.prompt_logprobs;
  return request;
}

void apply_given(Request& request, const Request& flags, const CLI::App& app) {
  const auto take = [&](const char* flag, auto& to, const auto& from) {
    if (is_given(app, flag)) to = from;
  };
  SamplingParams& to = request.sampling;
  const SamplingParams& from = flags.sampling;
  take("--temperature", to.temperature, from.temperature);
  take("--top-k", to.top_k, from.top_k);
  take("--top-p", to.top_p, from.top_p);
  take("--min-p", to.min_p, from.min_p);
  take("--typical-p", to.typical_p, from.typical_p);
  take("--seed", to.seed, from.seed);
  take("--repetition-penalty", to.repetition_penalty, from.repetition_penalty);
  take("--presence-penalty", to.presence_penalty, from.presence_penalty);
  take("--frequency-penalty", to.frequency_penalty, from.frequency_penalty);
  take("--logit-bias", to.logit_bias, from.logit_bias);
  take("--stop-token", to.end_ids, from.end_ids);
  take("--min-tokens", to.min_tokens, from.min_tokens);
  take("--logprobs", to.logprobs, from.logprobs);
  take("--max-tokens", request.max_tokens, flags.max_tokens);
  take("--stop", request.stop, flags.stop);
  take("--ignore-eos", request.ignore_eos, flags.ignore_eos);
  take("--prompt-logprobs", request.prompt_logprobs, flags.prompt_logprobs);
}

}  // namespace ingot
