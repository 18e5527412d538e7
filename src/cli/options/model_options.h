// Options of every command with a model, and how commands open and start a model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/adapter_options.h"
#include "cli/options/draft_options.h"
#include "cli/options/option_row.h"
#include "cli/options/pack_cache_options.h"
#include "runtime/instance.h"

namespace CLI {
class App;
}

namespace ingot {

/// Values of the options that all commands with a model share, as typed.
struct ModelOptionValues {
  std::optional<std::string> path;  ///< a path or name; absent: the built-in model
  std::string threads = "auto";
  std::string device = "auto";
  std::string numerics = "auto";
  std::string isa = "auto";
  std::string kv_type = "auto";
  std::string log_level = "info";
  std::string memory_limit = "0";
  std::int64_t ctx = 0;  ///< context in tokens; 0: the model's own context
  bool pin_threads = false;
  bool check_tensors = false;
  std::string weights = "stored";
  PackCacheValues pack_cache;
  AdapterValues adapters;                   ///< only of commands with add_adapter_options
  DraftValues draft;                        ///< only of commands with add_draft_options
  std::vector<std::string> accept_unknown;  ///< keys that are not known or not applied
  std::optional<std::string> end_tokens;    ///< ids that replace the model's end tokens: "1,2"
};

/// Makes the table of the common options. Its rows set the members of `values`.
std::vector<OptionRow> model_option_rows(ModelOptionValues& values);

/// Declares MODEL and the common options on a command. MODEL defaults to the built-in model.
void add_model_options(CLI::App& app, ModelOptionValues& values);

/// The help of --accept-unknown.
inline constexpr std::string_view kAcceptUnknownHelp =
    "A key of the model's files that ingot does not know or apply: a warning, not an error; may be "
    "repeated";

/// Declares only --threads and --log-level, for commands that open a model and do not run it.
void add_work_options(CLI::App& app, ModelOptionValues& values);

/// Makes a thread pool by --threads and --pin-threads. Errors: Error{kInvalid}, Error{kDoesNotFit}.
std::unique_ptr<ThreadPool> make_pool(const ModelOptionValues& values);

/// Sets the log level to --log-level. Errors: Error{kInvalid}.
void apply_log_level(const ModelOptionValues& values);

/// Converts the values to options of an Instance. Also sets the log level.
///
/// Errors: Error{kInvalid} naming the option, its value and the possible values.
InstanceOptions instance_options(const ModelOptionValues& values);

/// Returns the type of an instance's keys and values, as --kv-type spells it.
std::string kv_type_name(const Instance& instance);

/// How a command computes, besides the options of all commands.
struct ComputeOptions {
  bool profile = false;  ///< times each op
  bool pools = false;    ///< see InstanceOptions
  std::optional<Pooling> pooling{};
  std::optional<bool> normalise{};
};

/// An open model, and the threads that compute on it.
struct OpenModel {
  /// Opens MODEL and logs its warnings.
  ///
  /// Errors: those of make_pool, instance_options and Instance.
  explicit OpenModel(const ModelOptionValues& values, const ComputeOptions& compute = {});

  std::unique_ptr<ThreadPool> pool;
  Instance instance;
};

/// Parses a list such as "1,2,3" of whole numbers within [low, high].
///
/// Errors: Error{kInvalid} naming `option` and the entry.
std::vector<std::int64_t> parse_list(std::string_view text, std::string_view option,
                                     std::int64_t low, std::int64_t high);

/// Parses --tokens: a list of token ids below `vocab`. Errors: Error{kInvalid}.
std::vector<std::int32_t> parse_tokens(std::string_view text, std::int64_t vocab);

/// The `hint` that commands with --tokens pass to `require_tokenizer`.
inline constexpr std::string_view kUseTokens = ": use --tokens";

/// Returns the model's tokenizer. `hint` ends the error message; it says what the user can do.
///
/// Errors: Error{kModel} if the model has no tokenizer.
const Tokenizer& require_tokenizer(const Instance& instance, std::string_view hint = {});

/// How a prompt's text becomes tokens.
struct PromptOptions {
  /// Whether names of special tokens become tokens. Absent: only in a prompt without a suffix.
  std::optional<bool> special{};
  std::string suffix{};  ///< text behind the gap that the model fills; empty: no gap
};

/// Returns the ids of a prompt to continue, with BOS if the tokenizer adds it. Errors: those of
/// require_tokenizer; Error{kInvalid} for a suffix if the model has no fill-in-the-middle tokens.
std::vector<std::int32_t> encode_prompt(const Instance& instance, std::string_view text,
                                        const PromptOptions& options = {});

/// Returns the context to plan for: `needed` tokens, but at most --ctx. Without --ctx, the model's
/// context is the limit. Warns if --ctx exceeds the context that the model was made for.
///
/// Errors: Error{kInvalid} if the prompt's length `prompt`, in tokens, exceeds the limit.
std::int64_t choose_context(const Instance& instance, const ModelOptionValues& values,
                            std::int64_t prompt, std::int64_t needed);

/// Halves `start.rows`, down to 1, until a step and one whole sequence fit into memory. Lowers
/// `start.sequences` to `start.rows` if necessary. Smaller steps are slower, but give equal bits.
void shrink_step_to_fit(const Instance& instance, StartOptions& start);

/// Returns the context for `start`: --ctx if given. Otherwise the model's context, but at most
/// `most` tokens and no more than fit into memory in one sequence. Warns as choose_context does.
std::int64_t largest_context(const Instance& instance, const ModelOptionValues& values,
                             std::int64_t most, StartOptions start);

/// Logs the instance's warnings from index `first` on.
void show_warnings(const Instance& instance, std::size_t first = 0);

/// Starts the instance, shows a progress bar, and logs new warnings and notes.
void start_with_progress(Instance& instance, const StartOptions& options);

}  // namespace ingot
