// Options of every command with a model, and how commands open and start a model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/option_row.h"
#include "runtime/instance.h"

namespace CLI {
class App;
}

namespace ingot {

/// Values of the common options, as texts of the command line.
struct ModelOptionValues {
  std::optional<std::string> path;  ///< none: the built-in model
  std::string threads = "auto";
  std::string isa = "auto";
  std::string kv_type = "f16";
  std::string log_level = "info";
  std::string memory_limit = "0";
  std::int64_t ctx = 0;  ///< 0 = the model's
  bool pin_threads = false;
  bool check_tensors = false;
  std::string weights = "stored";
  std::optional<std::string> pack_cache;  ///< a folder
};

/// The table of the common options over the members of `values`.
std::vector<OptionRow> model_option_rows(ModelOptionValues& values);

/// Declares MODEL and the common options on a command. Without MODEL the built-in model is used.
void add_model_options(CLI::App& app, ModelOptionValues& values);

/// Declares --threads and --log-level alone: for commands that open a model and do not run it.
void add_work_options(CLI::App& app, ModelOptionValues& values);

/// The thread pool of --threads and --pin-threads. Errors: Error{kInvalid}, Error{kDoesNotFit}.
std::unique_ptr<ThreadPool> make_pool(const ModelOptionValues& values);

/// Sets the log level of --log-level. Errors: Error{kInvalid}.
void apply_log_level(const ModelOptionValues& values);

/// The values as an Instance takes them; also sets the log level.
///
/// Errors: Error{kInvalid} that names the option, its value and what is possible.
InstanceOptions instance_options(const ModelOptionValues& values);

/// A model that is open, and the threads that compute on it.
struct OpenModel {
  /// Opens MODEL and shows its warnings. With `profile`, ops are timed.
  ///
  /// Errors: as of make_pool, instance_options and Instance.
  explicit OpenModel(const ModelOptionValues& values, bool profile = false);

  std::unique_ptr<ThreadPool> pool;
  Instance instance;
};

/// A list such as "1,2,3" of whole numbers within [low, high].
///
/// Errors: Error{kInvalid} naming `option` and the entry.
std::vector<std::int64_t> parse_list(std::string_view text, std::string_view option,
                                     std::int64_t low, std::int64_t high);

/// A list of token ids below `vocab`, from --tokens. Errors: Error{kInvalid}.
std::vector<std::int32_t> parse_tokens(std::string_view text, std::int64_t vocab);

/// A hint of `require_tokenizer` for commands that take --tokens.
inline constexpr std::string_view kUseTokens = ": use --tokens";

/// The model's tokenizer. `hint` ends the message: what to do without one.
///
/// Errors: Error{kModel} without a tokenizer.
const Tokenizer& require_tokenizer(const Instance& instance, std::string_view hint = {});

/// The ids of a text, with the tokenizer's own frame (BOS). Errors: as of require_tokenizer.
std::vector<std::int32_t> encode_prompt(const Instance& instance, std::string_view text);

/// The context to plan for: `needed` tokens, at most --ctx or else the model's context. Warns when
/// --ctx is more than the model was made for.
///
/// Errors: Error{kInvalid} when `prompt` tokens are more than the context.
std::int64_t choose_context(const Instance& instance, const ModelOptionValues& values,
                            std::int64_t prompt, std::int64_t needed);

/// Halves the rows of a step, and the sequences where they would be more, until one whole sequence
/// fits beside it or one row is left: smaller steps give the same bits, in more time.
void shrink_step_to_fit(const Instance& instance, StartOptions& start);

/// The context of a start whose other options are set: --ctx, or else the model's, at most
/// `most` tokens and what the memory holds for one sequence. With a warning, as choose_context.
std::int64_t largest_context(const Instance& instance, const ModelOptionValues& values,
                             std::int64_t most, StartOptions start);

/// Shows the warnings of opening a model, from number `first` on.
void show_warnings(const Instance& instance, std::size_t first = 0);

/// Starts the instance with a progress bar.
void start_with_progress(Instance& instance, const StartOptions& options);

}  // namespace ingot
