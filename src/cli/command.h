// The commands of the ingot binary, one file each.
#pragma once

#include <functional>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <vector>

namespace CLI {
class App;
}

namespace ingot {

/// Exit codes for success and for a failed check. command.cpp maps kinds of Error to other codes.
inline constexpr int kDone = 0;
inline constexpr int kCheckFailed = 1;

/// A command of the program, with the function that runs it and returns the exit code.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
  std::string_view example{};    ///< an example command line for the help
  std::vector<Command> below{};  ///< subcommands; `run` runs only if no subcommand is given
};

/// Makes a command from `run`. `run` returns an exit code, or void, which stands for kDone.
template <class Run>
Command make_command(CLI::App& app, Run run, std::string_view example) {
  if constexpr (std::is_void_v<std::invoke_result_t<Run&>>) {
    return {&app,
            [run] {
              run();
              return kDone;
            },
            example};
  } else {
    return {&app, run, example};
  }
}

/// Adds `ingot imatrix`, which measures which columns of a model's matrices matter most.
Command add_imatrix_command(CLI::App& app);
/// Adds `ingot chat`, which talks with a model.
Command add_chat_command(CLI::App& app);
/// Adds `ingot completion`, which prints a script that completes ingot's command lines in a shell.
Command add_completion_command(CLI::App& app);
/// Adds `ingot embed`, which turns texts into vectors.
Command add_embed_command(CLI::App& app);
/// Adds `ingot inspect`, which shows the contents of a model file.
Command add_inspect_command(CLI::App& app);
/// Adds `ingot logits`, which writes logits or hidden states.
Command add_logits_command(CLI::App& app);
/// Adds `ingot lora`, whose subcommands show and change adapters.
Command add_lora_command(CLI::App& app);
/// Adds `ingot quantize`, which writes a model as a GGUF file with weights of another type.
Command add_quantize_command(CLI::App& app);
/// Adds `ingot synth`, which writes a model with a real model's shape and random weights.
Command add_synth_command(CLI::App& app);
/// Adds `ingot perplexity`, which measures how well a model predicts a text.
Command add_perplexity_command(CLI::App& app);
/// Adds `ingot man`, which prints a manual page.
Command add_man_command(CLI::App& app);
/// Adds `ingot models`, which lists the built-in model and the downloaded models.
Command add_models_command(CLI::App& app);
/// Adds `ingot pull`, which downloads a model.
Command add_pull_command(CLI::App& app);
/// Adds `ingot rerank`, which scores documents by their relevance to a query.
Command add_rerank_command(CLI::App& app);
/// Adds `ingot rm`, which removes downloaded models.
Command add_rm_command(CLI::App& app);
/// Adds `ingot run`, which continues a prompt.
Command add_run_command(CLI::App& app);
/// Adds `ingot serve`, which serves a model over HTTP.
Command add_serve_command(CLI::App& app);
/// Adds `ingot tokenize`, which converts text to token ids and back.
Command add_tokenize_command(CLI::App& app);
/// Adds `ingot template`, which renders a chat template.
Command add_template_command(CLI::App& app);

/// Parses the command line, runs the command and returns the process's exit code. The functions in
/// `more` add commands of libraries that depend on this library.
int run_command_line(int argc, char** argv,
                     std::initializer_list<Command (*)(CLI::App&)> more = {});

}  // namespace ingot
