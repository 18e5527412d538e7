// Runs inputs through an engine, and hands over results in the order of the inputs.
#include "cli/pooled_batch.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/options/options.h"
#include "runtime/engine.h"

namespace ingot {

namespace {

/// The least StartOptions that run all inputs without an error.
StartOptions start_for(const Instance& instance, const ModelOptionValues& model,
                       const BatchValues& batch, const std::vector<PooledItem>& items) {
  StartOptions start{.model = {.head = false, .check_tensors = model.check_tensors},
                     .sequences = 0,
                     .generates = true};
  std::int64_t rows = 0;
  for (const PooledItem& item : items) {
    if (!item.error.empty()) continue;
    const std::int64_t tokens = std::ssize(item.input.ids);
    start.context = std::max(start.context, tokens);
    rows += tokens;
    start.sequences = std::min({start.sequences + 1, batch.sequences, batch.step_rows});
  }
  const std::int64_t least = instance.needs_whole_sequences() ? start.context : start.sequences;
  start.rows =
      static_cast<std::int32_t>(std::max(least, std::min<std::int64_t>(rows, batch.step_rows)));
  return start;
}

/// Inputs under way in an engine.
class PooledRun {
 public:
  PooledRun(Engine& engine, std::vector<PooledItem>& items, FunctionRef<void(PooledItem&)> done)
      : engine_(engine), items_(items), streams_(items.size()), done_(done) {}

  void run() {
    while (hand_over()) {
      interruption_point();
      submit();
      engine_.step();
      engine_.require_alive();
    }
  }

 private:
  /// Submits inputs until the engine takes no more.
  void submit() {
    for (; next_ < items_.size(); ++next_) {
      PooledItem& item = items_[next_];
      if (!item.error.empty()) continue;
      Request request{.prompt = item.input.ids, .types = item.input.types, .pooled = true};
      streams_[next_] = engine_.submit(std::move(request));
      if (!streams_[next_]) return;
    }
  }

  /// Hands over the inputs that have ended. Returns whether others are left.
  bool hand_over() {
    for (; handed_ < items_.size(); ++handed_) {
      PooledItem& item = items_[handed_];
      std::optional<Stream>& stream = streams_[handed_];
      if (item.error.empty()) {
        if (!stream || !stream->finished()) return true;
        const Outcome& outcome = stream->outcome();
        item.pooled = outcome.pooled;
        if (outcome.error) item.error = outcome.error->message();
        stream.reset();
      }
      done_(item);
    }
    return false;
  }

  Engine& engine_;
  std::vector<PooledItem>& items_;
  std::vector<std::optional<Stream>> streams_;
  FunctionRef<void(PooledItem&)> done_;
  std::size_t next_ = 0;    ///< first input that was not submitted
  std::size_t handed_ = 0;  ///< number of inputs that were handed over
};

}  // namespace

void refuse_input(const std::string& message) { throw Error(ErrorCode::kInvalid, message); }

void add_batch_options(CLI::App& app, BatchValues& values) {
  add_number(app, values.sequences,
             {.name = "--sequences", .help = "Inputs that run at once", .low = 1, .high = 1024});
  add_number(
      app, values.step_rows,
      {.name = "--step-rows",
       .help = "Tokens that a step computes at most, of all that run; more if an input of an "
               "encoder has more",
       .low = 1,
       .high = 16384});
}

std::int64_t input_limit(const Instance& instance, const ModelOptionValues& values) {
  const std::int64_t limit =
      choose_context(instance, values, 0, std::numeric_limits<std::int64_t>::max());
  return values.ctx > 0 ? limit : std::min(limit, instance.input_tokens_max());
}

void check_input(PooledItem& item, std::int64_t limit) {
  const std::int64_t tokens = std::ssize(item.input.ids);
  if (tokens == 0) item.error = "the input has no tokens";
  if (tokens > limit) {
    item.error = cat("the input has ", tokens, " tokens, possible are ", limit,
                     ": --truncate cuts the rest off");
  }
}

void run_pooled(Instance& instance, const ModelOptionValues& model, const BatchValues& batch,
                std::vector<PooledItem>& items, FunctionRef<void(PooledItem& item)> done) {
  StartOptions start = start_for(instance, model, batch, items);
  if (start.sequences == 0) {
    for (PooledItem& item : items) done(item);
    return;
  }
  if (!instance.needs_whole_sequences()) shrink_step_to_fit(instance, start);
  start.pool_sequences = instance.fitting_pool(start);
  start_with_progress(instance, start);
  const auto engine = instance.make_engine();
  PooledRun(*engine, items, done).run();
}

}  // namespace ingot
