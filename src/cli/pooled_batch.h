// Runs many inputs as one batch, for `ingot embed` and `ingot rerank`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "cli/options/model_options.h"
#include "load/json.h"
#include "runtime/embed/input_tokens.h"

namespace ingot {

/// Limits on a line of --jsonl, which may have a text of up to 8 MiB, escaped.
inline constexpr JsonLimits kInputLineLimits{.bytes_max = std::uint64_t{1} << 26, .depth_max = 3};
/// Limit on the bytes of --file: as much as stdin may have.
inline constexpr std::uint64_t kInputFileBytesMax = std::uint64_t{1} << 28;

/// Throws Error{kInvalid}.
[[noreturn]] void refuse_input(const std::string& message);

/// An input, and its result.
struct PooledItem {
  InputTokens input;
  std::vector<float> pooled{};  ///< the embedding or the scores
  std::string error{};          ///< why there is no result; empty: there is one
};

/// Sizes of a batch.
struct BatchValues {
  std::int32_t sequences = 64;
  std::int32_t step_rows = 512;
};

/// Declares --sequences and --step-rows.
void add_batch_options(CLI::App& app, BatchValues& values);

/// Returns the limit on the tokens of an input: --ctx, or else the limit of the model's settings or
/// its context. Warns as choose_context does.
std::int64_t input_limit(const Instance& instance, const ModelOptionValues& values);

/// Sets the error of an input that has no tokens, or more than `limit` tokens.
void check_input(PooledItem& item, std::int64_t limit);

/// Starts the instance and runs all inputs without an error. Calls `done` for each input, in order,
/// as soon as this input and all earlier ones have ended. Does not start it without such inputs.
///
/// Errors: those of Instance::start; Interrupted; those of the engine.
void run_pooled(Instance& instance, const ModelOptionValues& model, const BatchValues& batch,
                std::vector<PooledItem>& items, FunctionRef<void(PooledItem& item)> done);

}  // namespace ingot
