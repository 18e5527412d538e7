// ingot perplexity: measures how well a model predicts a text.
#include <algorithm>
#include <deque>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/perplexity_meter.h"
#include "cli/progress.h"
#include "load/json.h"

namespace ingot {

namespace {

constexpr std::uint64_t kTextBytesMax = std::uint64_t{1} << 30;

struct PerplexityValues {
  ModelOptionValues model;
  std::string file;
  std::string definition = "ingot";
  std::int64_t stride = 0;
  std::int32_t step_rows = 512;
  bool json = false;
};

/// Context of llama.cpp's tool without --ctx-size. Source: its main function.
constexpr std::int64_t kLlamaCppContext = 512;

PerplexityDefinition definition_of(const PerplexityValues& v) {
  return v.definition == "ingot" ? PerplexityDefinition::kIngot : PerplexityDefinition::kLlamaCpp;
}

/// The tokens of the text, without BOS and EOS, which are added to each window.
std::vector<std::int32_t> read_tokens(const PerplexityValues& values, const Instance& instance) {
  const Tokenizer& tokenizer = require_tokenizer(instance);
  std::string text = read_input(values.file, kTextBytesMax).text;
  if (definition_of(values) == PerplexityDefinition::kIngot) return tokenizer.encode(text);
  if (tokenizer.adds_eos()) {
    throw Error(ErrorCode::kInvalid,
                "--definition llama.cpp: the tokenizer adds EOS, and llama.cpp refuses that");
  }
  // Its option -f drops one line break at the end (common/arg.cpp). Names of control tokens stay
  // text, other added tokens become tokens (src/llama-vocab.cpp, tokenizer_st_partition).
  if (text.ends_with('\n')) text.pop_back();
  return tokenizer.encode(text, {.add_begin = true, .parse_user_defined = true});
}

TextWindows cut(const PerplexityValues& v, std::int64_t tokens, std::int64_t context, bool bos) {
  return definition_of(v) == PerplexityDefinition::kIngot
             ? TextWindows(tokens, context, bos, v.stride)
             : TextWindows::of_llama_cpp(tokens, context);
}

/// Scores windows of a text, several at once, and sums the scores in the text's order.
class TextScorer {
 public:
  TextScorer(Instance& instance, std::span<const std::int32_t> tokens, const TextWindows& windows,
             PerplexityDefinition definition, std::shared_ptr<const AdapterList> adapters)
      : tokens_(tokens),
        windows_(windows),
        definition_(definition),
        adapters_(std::move(adapters)) {
    const Tokenizer& tokenizer = *instance.tokenizer();
    if (tokenizer.adds_bos()) bos_ = tokenizer.bos();
  }

  Perplexity run(Engine& engine, std::int64_t at_once) {
    ProgressBar bar("scoring");
    while (added_ < windows_.count()) {
      interruption_point();
      while (next_ < windows_.count() && next_ - added_ < at_once && submit(engine)) ++next_;
      engine.step();
      engine.require_alive();
      while (!streams_.empty() && streams_.front().finished()) add_first();
      bar.show(
          static_cast<std::uint64_t>(added_), static_cast<std::uint64_t>(windows_.count()),
          perplexity_.tokens() > 0 ? cat("perplexity ", to_fixed(perplexity_.value(), 4)) : "");
    }
    return perplexity_;
  }

 private:
  /// False if the engine takes no more requests now.
  bool submit(Engine& engine) {
    const ScoredWindow window = windows_[next_];
    Request request{.prompt = {tokens_.begin() + window.begin, tokens_.begin() + window.end},
                    .prompt_logprobs = 0,
                    .prompt_logprobs_from = window.scored - window.begin,
                    .adapters = adapters_};
    if (bos_ && definition_ == PerplexityDefinition::kLlamaCpp) {
      request.prompt.front() = *bos_;
    } else if (bos_) {
      request.prompt.insert(request.prompt.begin(), *bos_);
      ++request.prompt_logprobs_from;
    }
    auto stream = engine.submit(std::move(request));
    if (!stream) return false;
    streams_.push_back(std::move(*stream));
    return true;
  }

  void add_first() {
    const Outcome& outcome = streams_.front().outcome();
    if (outcome.error) throw Error(*outcome.error);
    for (const TokenLogprobs& t : outcome.prompt_logprobs) perplexity_.add(double{t.token.logprob});
    streams_.pop_front();
    ++added_;
  }

  std::span<const std::int32_t> tokens_;
  const TextWindows& windows_;
  PerplexityDefinition definition_;
  std::shared_ptr<const AdapterList> adapters_;
  std::optional<std::int32_t> bos_;
  std::deque<Stream> streams_;  ///< streams of the windows [added_, next_)
  std::int64_t next_ = 0;
  std::int64_t added_ = 0;
  Perplexity perplexity_;
};

std::string as_json(const Perplexity& p, std::int64_t windows) {
  Json j = Json::object();
  j.set("perplexity", p.value());
  j.set("standard_error", p.standard_error());
  j.set("tokens", p.tokens());
  j.set("windows", windows);
  return j.dump() + "\n";
}

std::string as_text(const Perplexity& p, std::int64_t windows) {
  return cat("perplexity ", to_fixed(p.value(), 4), " +/- ", to_fixed(p.standard_error(), 4), " (",
             p.tokens(), " tokens in ", windows, windows == 1 ? " window" : " windows", ")\n");
}

/// Loads the model for the number of windows that fill a step, or less if the memory is too small.
void start(const PerplexityValues& v, Instance& instance, std::int64_t context,
           std::int64_t windows) {
  StartOptions start{.model = {.check_tensors = v.model.check_tensors}, .context = context};
  const std::int64_t at_once = std::min(windows, v.step_rows / context + 1);
  start.sequences = static_cast<std::int32_t>(std::min<std::int64_t>(at_once, v.step_rows));
  start.rows = static_cast<std::int32_t>(std::min<std::int64_t>(v.step_rows, windows * context));
  start.generates = true;
  start.prompt_logprobs = 0;
  start.pool_sequences = instance.fitting_pool(start);
  start_with_progress(instance, start);
}

void measure(PerplexityValues v) {
  const PerplexityDefinition definition = definition_of(v);
  if (definition == PerplexityDefinition::kLlamaCpp) {
    if (v.stride != 0) throw Error(ErrorCode::kInvalid, "--stride excludes --definition llama.cpp");
    if (v.model.ctx == 0) v.model.ctx = kLlamaCppContext;
  }
  OpenModel model(v.model);
  model.instance.require(ModelUse::kText);
  Instance& instance = model.instance;
  const std::vector<std::int32_t> tokens = read_tokens(v, instance);
  const std::int64_t context =
      choose_context(instance, v.model, 0, std::numeric_limits<std::int64_t>::max());
  const TextWindows windows = cut(v, std::ssize(tokens), context, instance.tokenizer()->adds_bos());
  start(v, instance, context, windows.count());
  const auto engine = instance.make_engine();
  TextScorer scorer(instance, tokens, windows, definition,
                    default_adapters(v.model.adapters, instance.adapters()));
  const Perplexity p = scorer.run(*engine, instance.executor().limits().sequences);
  write_stdout(v.json ? as_json(p, windows.count()) : as_text(p, windows.count()));
}

}  // namespace

Command add_perplexity_command(CLI::App& app) {
  auto values = std::make_shared<PerplexityValues>();
  CLI::App& sub =
      add_command(app, "perplexity", "Measure how well a model predicts the text of a file");
  add_model_options(sub, values->model);
  add_adapter_options(sub, values->model.adapters);
  add_text(sub, values->file,
           {.name = "--file",
            .help = "The text, cut into windows of --ctx tokens that begin with the tokenizer's "
                    "BOS; what fills none at the end is left out (-: standard input)",
            .is_required = true});
  mark_inputs(sub, {"--file"});
  add_text(sub, values->definition,
           {.name = "--definition",
            .help = "llama.cpp: the number that llama.cpp's tool gives for this file and --ctx "
                    "(default: 512); BOS replaces a window's first token, and only the second half "
                    "is scored",
            .takes = "ingot|llama.cpp",
            .is_checked = true});
  add_number(sub, values->stride,
             {.name = "--stride",
              .help = "Tokens from one window to the next, which then scores only its new tokens "
                      "(default: windows stand side by side)",
              .low = 1,
              .high = kContextMax,
              .show_default = false});
  add_number(sub, values->step_rows,
             {.name = "--step-rows",
              .help = "Tokens that a step computes at most, of several windows",
              .low = 1,
              .high = 16384});
  add_switch(sub, values->json, "--json", "One JSON object");
  return make_command(
      sub, [values] { measure(*values); },
      "ingot perplexity model.gguf --file text.txt --ctx 2048");
}

}  // namespace ingot
