// The options that every command with a model has, declared once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/instance.h"

namespace CLI {
class App;
}

namespace ingot {

/// Values of the common options as the command line gave them.
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

/// Declares MODEL, which is the built-in one where it is left out, and the common options on a
/// command.
void add_model_options(CLI::App& app, ModelOptionValues& values);

/// Declares --threads and --log-level alone: for commands that open a model and do not run it.
void add_work_options(CLI::App& app, ModelOptionValues& values);

/// The pool of threads that the values ask for. Errors: Error{kInvalid}, Error{kDoesNotFit}.
std::unique_ptr<ThreadPool> make_pool(const ModelOptionValues& values);

/// Shows on stderr from here on what the values ask for. Errors: Error{kInvalid}.
void apply_log_level(const ModelOptionValues& values);

/// The values as an Instance takes them; also sets the log level.
///
/// Errors: Error{kInvalid} that names the option, its value and what is possible.
InstanceOptions instance_options(const ModelOptionValues& values);

/// A list such as "1,2,3" of whole numbers within [low, high].
///
/// Errors: Error{kInvalid} naming `option` and the entry.
std::vector<std::int64_t> parse_list(std::string_view text, std::string_view option,
                                     std::int64_t low, std::int64_t high);

/// Token ids as a list, each an id of the model. Errors: Error{kInvalid}.
std::vector<std::int32_t> parse_tokens(std::string_view text, std::int64_t vocab);

/// The ids of a text, with the tokenizer's own frame (BOS). Errors: Error{kModel} without a
/// tokenizer.
std::vector<std::int32_t> encode_prompt(const Instance& instance, std::string_view text);

/// The context to plan for: what `needed` tokens take, at most the model's unless --ctx says more
/// (with a warning).
///
/// Errors: Error{kInvalid} when `prompt` tokens are more than the context.
std::int64_t choose_context(const Instance& instance, const ModelOptionValues& values,
                            std::int64_t prompt, std::int64_t needed);

/// Shows what opening a model assumed, from the warning of number `first` on.
void show_warnings(const Instance& instance, std::size_t first = 0);

/// Starts the instance with a progress bar.
void start_with_progress(Instance& instance, const StartOptions& options);

}  // namespace ingot
