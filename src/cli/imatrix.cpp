// ingot imatrix: measures over a text which columns of a model's matrices matter.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/options/own_input.h"
#include "cli/progress.h"
#include "convert/importance_collector.h"

namespace ingot {

namespace {

constexpr std::int64_t kDefaultWindow = 512;
constexpr std::int64_t kStepRows = 512;
constexpr std::uint64_t kTextBytesMax = std::uint64_t{1} << 32;

struct ImatrixValues {
  ModelOptionValues model;
  std::string file;
  std::string out = "imatrix.gguf";
  std::int64_t windows_max = 0;  ///< 0 = all
};

/// Cuts the text into windows of tokens. Each begins with BOS if the tokenizer adds it, then has as
/// many tokens as fit. The last window may be shorter.
std::vector<std::vector<std::int32_t>> cut_windows(const Tokenizer& tokenizer,
                                                   const ImatrixValues& v, std::string_view text) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text, {});
  if (ids.empty()) throw bad_option("--file", v.file, "the text has no tokens");
  std::vector<std::int32_t> frame;
  if (tokenizer.adds_bos()) frame.push_back(*tokenizer.bos());
  const std::int64_t room = v.model.ctx - std::ssize(frame);
  if (room < 1) throw bad_option("--ctx", cat(v.model.ctx), "a window has to hold BOS and a token");
  std::vector<std::vector<std::int32_t>> windows;
  for (std::int64_t at = 0; at < std::ssize(ids); at += room) {
    if (v.windows_max > 0 && std::ssize(windows) == v.windows_max) break;
    const auto first = ids.begin() + at;
    windows.push_back(frame);
    windows.back().insert(windows.back().end(), first,
                          first + std::min(room, std::ssize(ids) - at));
  }
  return windows;
}

/// Runs a window through the model in steps. The last layer's output goes to the collector, as the
/// output head's input.
void run_window(Instance& instance, const std::vector<std::int32_t>& tokens,
                ImportanceCollector& collector, std::vector<float>& rows) {
  const std::int64_t hidden = instance.spec().hidden;
  Sequence sequence(instance.executor().cache());
  sequence.tokens = tokens;
  while (sequence.computed < sequence.length()) {
    interruption_point();
    const std::int64_t count = std::min(kStepRows, sequence.length() - sequence.computed);
    const View view = f32_view(rows.data(), count, hidden);
    StepPart part{.sequence = &sequence,
                  .rows = static_cast<std::int32_t>(count),
                  .hidden = static_cast<std::int32_t>(count)};
    const bool ran = run_next(instance.executor(), {&part, 1});
    INGOT_CHECK(ran, "the KV pool is smaller than the context it was planned for");
    sequence.forget();
    for (std::int64_t i = 0; i < count; ++i) {
      const auto row = instance.executor().hidden(i);
      std::copy(row.begin(), row.end(), view.row<float>(i));
    }
    collector.head(view);
  }
}

/// Refuses an --out that overwrites an input, and a model without a tokenizer.
void check_instance(const Instance& instance, const ImatrixValues& v) {
  refuse_own_input("--out", v.out, instance.checkpoint(), {v.file});
  show_warnings(instance);
  instance.require(ModelUse::kText);
  require_tokenizer(instance, ", and the text needs one");
}

/// Loads the model without its output head: the head's input is enough.
void start(Instance& instance, const ImatrixValues& v, std::int64_t longest) {
  const std::int64_t rows = std::min(kStepRows, longest);
  StartOptions options{.context = choose_context(instance, v.model, longest, longest),
                       .rows = static_cast<std::int32_t>(rows),
                       .out_rows = static_cast<std::int32_t>(rows),
                       .output_bytes = rows * instance.spec().hidden * std::int64_t{sizeof(float)}};
  options.model.head = false;
  options.model.check_tensors = v.model.check_tensors;
  start_with_progress(instance, options);
}

void imatrix(ImatrixValues v) {
  InstanceOptions options = instance_options(v.model);
  const auto pool = make_pool(v.model);
  ImportanceCollector collector(*pool);
  options.observer = &collector;
  Instance instance(*pool, options);
  check_instance(instance, v);
  if (v.model.ctx == 0) v.model.ctx = std::min(kDefaultWindow, instance.spec().context);
  TextInput input = read_input(v.file, kTextBytesMax);
  const auto windows = cut_windows(*instance.tokenizer(), v, std::exchange(input.text, {}));
  const auto longest = std::ssize(windows.front());
  start(instance, v, longest);
  collector.watch(instance.executor().model());
  std::vector<float> rows(to_size(std::min(kStepRows, longest) * instance.spec().hidden));
  {
    ProgressBar bar("measuring");
    for (std::size_t i = 0; i < windows.size(); ++i) {
      run_window(instance, windows[i], collector, rows);
      bar.show(i + 1, windows.size());
    }
  }
  write_importance(v.out, collector.sums(),
                   {.text = std::filesystem::path(input.name).filename().string(),
                    .windows = static_cast<std::uint32_t>(windows.size()),
                    .window_tokens = static_cast<std::uint32_t>(v.model.ctx)});
}

}  // namespace

Command add_imatrix_command(CLI::App& app) {
  auto values = std::make_shared<ImatrixValues>();
  CLI::App& sub = add_command(
      app, "imatrix",
      "Run a text through a model and write how much each column of its matrices matters, for "
      "ingot quantize --imatrix");
  add_model_options(sub, values->model);
  add_text(sub, values->file,
           {.name = "--file",
            .help = "The text, in windows of --ctx tokens (default: 512); -: standard input",
            .is_required = true});
  mark_inputs(sub, {"--file"});
  add_text(sub, values->out, {.name = "--out", .help = "The file to write"});
  add_number(sub, values->windows_max,
             {.name = "--windows",
              .help = "Windows to run at most (default: all of the text)",
              .low = 1,
              .high = 1'000'000'000,
              .show_default = false});
  return make_command(
      sub, [values] { imatrix(*values); },
      "ingot imatrix model.gguf --file text.txt --out imatrix.gguf");
}

}  // namespace ingot
