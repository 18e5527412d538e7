// ingot logits: writes a model's logits or hidden states for every position as a .npy file.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/log.h"
#include "cli/npy.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/options/own_input.h"

namespace ingot {

namespace {

struct LogitsValues {
  ModelOptionValues model;
  std::optional<std::string> prompt;
  std::optional<std::string> tokens;
  std::optional<std::string> embeds;
  std::string out;
  std::optional<std::string> split;
  std::string hidden;
  std::string norm;
  std::optional<std::string> layers;
};

/// What a run computes: input, layers, kind of output, step sizes.
struct Job {
  std::vector<std::int32_t> tokens;
  Matrix embeds;
  bool from_embeds = false;
  bool hidden = false;     ///< hidden states instead of logits
  bool final_norm = true;  ///< hidden states after the final norm
  bool last_only = false;
  std::vector<std::int64_t> steps;
  StartOptions start;

  std::int64_t length() const {
    return from_embeds ? embeds.rows : static_cast<std::int64_t>(tokens.size());
  }
};

/// Rows of a step without --split: what a buffer of 16 Mi logits holds, at most a prefill chunk.
std::int64_t default_step(std::int64_t vocab) {
  constexpr std::int64_t kElements = 1 << 24;
  return std::clamp<std::int64_t>(kElements / std::max<std::int64_t>(1, vocab), 16, 512);
}

void read_input(const LogitsValues& v, const Instance& instance, Job& job) {
  const int given = (v.prompt ? 1 : 0) + (v.tokens ? 1 : 0) + (v.embeds ? 1 : 0);
  if (given != 1) {
    throw Error(ErrorCode::kInvalid, "expected exactly one of -p, --tokens and --embeds");
  }
  if (v.embeds) {
    job.from_embeds = true;
    job.embeds = read_npy(*v.embeds, [&](std::int64_t rows, std::int64_t cols) {
      if (cols != instance.spec().hidden) {
        throw Error(ErrorCode::kInvalid,
                    cat("--embeds ", printable(*v.embeds), " has ", cols,
                        " columns, the model's hidden size is ", instance.spec().hidden));
      }
      choose_context(instance, v.model, rows, rows);
    });
  } else if (v.tokens) {
    job.tokens = parse_tokens(*v.tokens, instance.spec().vocab);
  } else {
    job.tokens = encode_prompt(instance, *v.prompt);
  }
  if (job.length() == 0) throw Error(ErrorCode::kInvalid, "the input has no tokens");
}

/// Parses "A:B" with 0 <= A < B <= layers.
void read_layers(std::string_view text, const Instance& instance, Job& job) {
  const std::size_t colon = text.find(':');
  const std::int64_t layers = instance.spec().layers;
  if (colon == std::string::npos) throw bad_option("--layers", text, "expected A:B");
  ModelOptions& model = job.start.model;
  model.first_layer = parse_whole<std::int64_t>(text.substr(0, colon), "--layers", 0, layers - 1);
  model.last_layer =
      parse_whole<std::int64_t>(text.substr(colon + 1), "--layers", model.first_layer + 1, layers);
}

void choose_output(const LogitsValues& v, const Instance& instance, Job& job) {
  const bool stage = v.layers.has_value();
  if (stage) read_layers(*v.layers, instance, job);
  if (!v.norm.empty() && !stage && v.hidden.empty()) {
    throw Error(ErrorCode::kInvalid, "--norm is about hidden states: give --hidden too");
  }
  if (stage || !v.hidden.empty()) {
    const std::string norm = !v.norm.empty() ? v.norm : stage ? "pre" : "post";
    const bool to_the_end = !stage || job.start.model.last_layer == instance.spec().layers;
    if (norm == "post" && !to_the_end) {
      throw Error(ErrorCode::kInvalid, "--norm post: the final norm follows the last layer only");
    }
    job.hidden = true;
    job.final_norm = norm == "post";
    job.last_only = v.hidden == "last";
  }
  job.start.model.embedding = !job.from_embeds;
  job.start.model.head = !job.hidden;
  job.start.model.final_norm = job.final_norm;
  job.start.model.check_tensors = v.model.check_tensors;
}

void choose_steps(const LogitsValues& v, const Instance& instance, Job& job) {
  std::int64_t left = job.length();
  if (instance.needs_whole_sequences()) {
    if (v.split) {
      throw Error(ErrorCode::kInvalid, "--split: an encoder computes its input in one step");
    }
    job.steps.push_back(left);
    return;
  }
  if (!v.split) {
    const std::int64_t step = default_step(instance.spec().vocab);
    for (; left > 0; left -= job.steps.back()) job.steps.push_back(std::min(step, left));
    return;
  }
  for (const std::int64_t size : parse_list(*v.split, "--split", 1, left)) {
    if (size > left) {
      throw Error(ErrorCode::kInvalid, cat("--split ", printable(*v.split), " is more than the ",
                                           job.length(), " rows of the input"));
    }
    job.steps.push_back(size);
    left -= size;
  }
  if (left > 0) job.steps.push_back(left);
}

/// Warns once, at the first row that has NaN or infinities.
class FiniteWatch {
 public:
  void look(std::span<const float> row) {
    const bool finite =
        std::all_of(row.begin(), row.end(), [](float v) { return std::isfinite(v); });
    if (!finite && !seen_) {
      seen_ = true;
      log_warning(cat("row ", rows_,
                      " holds NaN or infinities; --check-tensors tells whether the weights do"));
    }
    ++rows_;
  }

 private:
  std::int64_t rows_ = 0;
  bool seen_ = false;
};

/// Runs the steps and writes each one's rows.
void write_rows(Instance& instance, const AdapterValues& adapters, Job& job, NpyWriter& writer) {
  Executor& executor = instance.executor();
  FiniteWatch watch;
  Sequence sequence(executor.cache());
  sequence.tokens = job.tokens;
  sequence.adapters = default_adapters(adapters, instance.adapters());
  if (sequence.adapters != nullptr) {
    sequence.prefix.adapter_from = first_adapted_row(*sequence.adapters, job.tokens);
    if (sequence.prefix.adapter_from < 0) {
      throw Error(ErrorCode::kInvalid,
                  "the input has no invocation tokens of the adapter, which acts from them on");
    }
  }
  if (job.from_embeds) {
    sequence.add_given(f32_view(job.embeds.values.data(), job.embeds.rows, job.embeds.cols));
  }
  for (const std::int64_t size : job.steps) {
    interruption_point();
    const bool last = sequence.computed + size == job.length();
    const auto outputs = static_cast<std::int32_t>(!job.last_only ? size : last ? 1 : 0);
    StepPart part{.sequence = &sequence,
                  .rows = static_cast<std::int32_t>(size),
                  .outputs = job.hidden ? 0 : outputs,
                  .hidden = job.hidden ? outputs : 0,
                  .final_norm = job.final_norm};
    const bool ran = run_next(executor, {&part, 1});
    INGOT_CHECK(ran, "the KV pool is smaller than the context it was planned for");
    sequence.forget();
    for (std::int64_t i = 0; i < outputs; ++i) {
      const std::span<const float> row = job.hidden ? executor.hidden(i) : executor.logits(i);
      watch.look(row);
      writer.write(row.data(), std::ssize(row));
    }
  }
  writer.finish();
}

void logits(const LogitsValues& v) {
  OpenModel model(v.model);
  Instance& instance = model.instance;
  Job job;
  read_input(v, instance, job);
  refuse_own_input("--out", v.out, instance.checkpoint(), {v.embeds.value_or("")});
  choose_output(v, instance, job);
  choose_steps(v, instance, job);
  const std::int64_t largest = *std::max_element(job.steps.begin(), job.steps.end());
  job.start.context = choose_context(instance, v.model, job.length(), job.length());
  job.start.rows = static_cast<std::int32_t>(largest);
  job.start.out_rows = job.last_only ? 1 : job.start.rows;
  if (!job.hidden) job.start.logits_rows = job.start.out_rows;
  job.start.output_bytes = std::ssize(job.embeds.values) * std::int64_t{sizeof(float)};
  const std::int64_t cols = job.hidden ? instance.spec().hidden : instance.spec().vocab;
  // Opened before the weights are loaded, so that an unwritable path fails at once.
  NpyWriter writer(v.out, job.last_only ? 1 : job.length(), cols);
  start_with_progress(instance, job.start);
  write_rows(instance, v.model.adapters, job, writer);
}

}  // namespace

Command add_logits_command(CLI::App& app) {
  auto values = std::make_shared<LogitsValues>();
  CLI::App& sub = add_command(
      app, "logits", "Write the logits or hidden states of every position as a float32 .npy file");
  add_model_options(sub, values->model);
  add_adapter_options(sub, values->model.adapters);
  add_text(sub, values->prompt, "-p,--prompt", "Text; the tokenizer's BOS is put in front");
  add_text(sub, values->tokens, "--tokens", "Token ids: 1,2,3");
  add_text(sub, values->embeds, "--embeds", "A .npy file [T, H] of rows in place of tokens");
  add_text(sub, values->out,
           {.name = "--out", .help = "The .npy file to write", .is_required = true});
  add_text(sub, values->split, "--split",
           "Cut the input into steps of these sizes, the rest in one: 3,5,1");
  add_text(sub, values->hidden,
           {.name = "--hidden",
            .help = "Hidden states instead of logits, of the last position or of all",
            .takes = "last|all",
            .is_checked = true});
  add_text(sub, values->norm,
           {.name = "--norm",
            .help = "Hidden states before (pre) or after (post) the final norm; default post, "
                    "with --layers pre",
            .takes = "pre|post",
            .is_checked = true});
  add_text(sub, values->layers, "--layers",
           "Run layers A to B-1 only and write hidden states: A:B");
  return make_command(
      sub, [values] { logits(*values); },
      "ingot logits model.gguf -p \"Once upon a time\" --out logits.npy");
}

}  // namespace ingot
