// ingot run: continue a prompt.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/log.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "load/json.h"
#include "runtime/generate.h"
#include "text/detokenizer.h"

namespace ingot {

namespace {

struct RunValues {
  ModelOptionValues model;
  std::optional<std::string> prompt;
  std::optional<std::string> tokens;
  std::int64_t max_tokens = 256;
  double temperature = 0;
  std::uint64_t seed = 0;
  bool ignore_eos = false;
  bool print_ids = false;
  bool json = false;
};

constexpr std::int32_t kPrefillRows = 512;

std::vector<std::int32_t> read_prompt(const RunValues& v, const Instance& instance) {
  if (v.prompt.has_value() == v.tokens.has_value()) {
    throw Error(ErrorCode::kInvalid, "expected exactly one of -p and --tokens");
  }
  if (v.tokens) return parse_tokens(*v.tokens, instance.spec().vocab);
  auto ids = encode_prompt(instance, *v.prompt);
  if (ids.empty()) throw Error(ErrorCode::kInvalid, "the prompt has no tokens");
  return ids;
}

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "?";
}

Json ids_json(std::span<const std::int32_t> ids) {
  Json list = Json::array();
  for (const std::int32_t id : ids) list.push(id);
  return list;
}

std::string ids_text(std::span<const std::int32_t> ids) {
  std::string text;
  for (const std::int32_t id : ids) text += cat(text.empty() ? "" : ",", id);
  return text + "\n";
}

double per_second(std::int64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

std::string as_json(std::span<const std::int32_t> prompt, const Generated& g,
                    const Tokenizer* tokenizer) {
  Json j = Json::object();
  j.set("prompt_ids", ids_json(prompt));
  j.set("ids", ids_json(g.ids));
  // The text continues the prompt: its first space belongs to it.
  j.set("text", tokenizer == nullptr
                    ? Json()
                    : Json(detokenize(*tokenizer, g.ids, {.strip_leading_space = false})));
  j.set("finish_reason", to_string(g.finish));
  j.set("digest", g.digest);
  j.set("prefill_tok_s", per_second(std::ssize(prompt), g.prefill_seconds));
  j.set("decode_tok_s", per_second(g.decode_steps, g.decode_seconds));
  return j.dump() + "\n";
}

void run(const RunValues& v) {
  const auto pool = make_pool(v.model);
  Instance instance(*pool, instance_options(v.model));
  show_warnings(instance);
  const std::vector<std::int32_t> prompt = read_prompt(v, instance);
  const auto length = std::ssize(prompt);
  const bool stream = !v.json && !v.print_ids;
  const Tokenizer* tokenizer = instance.tokenizer();
  if (stream && tokenizer == nullptr) {
    throw model_error(instance.name(), "tokenizer", 0,
                      "the model has none that is understood: use --print-ids or --json");
  }
  GenerateParams params{
      .tokens_max = v.max_tokens,
      .sampling = {.temperature = static_cast<float>(v.temperature), .seed = v.seed},
      .stop_ids = v.ignore_eos ? std::vector<std::int32_t>{} : instance.stop_ids(),
      .sampled_ids = instance.sampled_ids()};
  StartOptions start{.model = {.check_tensors = v.model.check_tensors}};
  start.context = choose_context(instance, v.model, length, length + v.max_tokens);
  if (v.max_tokens > 0 && start.context == length) {
    throw Error(ErrorCode::kInvalid,
                cat("the prompt fills the context of ", length,
                    " tokens and leaves no room for another: --ctx raises it"));
  }
  start.rows = static_cast<std::int32_t>(std::min<std::int64_t>(length, kPrefillRows));
  start_with_progress(instance, start);

  std::unique_ptr<Detokenizer> detokenizer;
  if (stream) {
    detokenizer =
        std::make_unique<Detokenizer>(*tokenizer, DetokenizeOptions{.strip_leading_space = false});
    if (v.prompt) write_model_text(*v.prompt);
  }
  const Generated g = generate(instance.executor(), prompt, params, [&](std::int32_t id) {
    if (stream) {
      std::string text;
      detokenizer->push(id, text);
      write_model_text(text);
    }
    return !interrupted();
  });
  if (stream) {
    std::string rest;
    detokenizer->finish(rest);
    write_model_text(rest + "\n");
  }
  interruption_point();
  if (g.finish == FinishReason::kLength && std::ssize(g.ids) < v.max_tokens) {
    log_warning(cat("stopped at the context of ", start.context, " tokens: --ctx raises it"));
  }
  if (v.json) write_stdout(as_json(prompt, g, tokenizer));
  if (v.print_ids) write_stdout(ids_text(g.ids));
}

}  // namespace

Command add_run_command(CLI::App& app) {
  auto values = std::make_shared<RunValues>();
  CLI::App* sub = app.add_subcommand("run", "Continue a prompt, greedily or by temperature");
  add_model_options(*sub, values->model);
  add_text(*sub, values->prompt, "-p,--prompt",
           "Text to continue; the tokenizer's BOS is put in front, nothing else");
  add_text(*sub, values->tokens, "--tokens", "Token ids to continue: 1,2,3");
  add_number(*sub, values->max_tokens,
             {.name = "--max-tokens",
              .help = "Tokens to generate at most",
              .low = 0,
              .high = kContextMax});
  add_number(*sub, values->temperature,
             {.name = "--temperature",
              .help = "0: always the most likely token; higher: more varied",
              .low = 0,
              .high = 100});
  add_number(*sub, values->seed,
             {.name = "--seed",
              .help = "Equal seeds give equal text",
              .low = 0,
              .high = std::numeric_limits<std::uint64_t>::max()});
  add_switch(*sub, values->ignore_eos, "--ignore-eos", "Go on after end-of-sequence tokens");
  add_switch(*sub, values->print_ids, "--print-ids", "Only the generated ids, one line");
  add_switch(*sub, values->json, "--json", "One JSON object with ids, text, digest and speed");
  sub->get_option("--json")->excludes("--print-ids");
  return {sub, [values] {
            run(*values);
            return kDone;
          }};
}

}  // namespace ingot
