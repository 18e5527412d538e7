// ingot chat: talk with a model.
#include "cli/chat/chat.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/chat/chat_terminal.h"
#include "cli/command.h"
#include "cli/log.h"
#include "cli/options/chat_input.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/options/request_options.h"
#include "cli/options/trace_file.h"

namespace ingot {

namespace {

/// Tokens of a chat's context without --ctx: a larger one costs memory that most chats never need.
constexpr std::int64_t kContextDefault = 16384;
constexpr std::int32_t kStepRows = 512;

struct ChatValues {
  ModelOptionValues model;
  RequestOptionValues request{.max_tokens = 4096, .temperature = 0.8, .top_p = 0.95};
  TraceValues trace;
  std::optional<std::string> system;
  std::optional<std::string> chat_template;
  bool no_history = false;
};

/// Plans one sequence of the whole context, or of what there is memory for where nothing was asked.
void start(const ChatValues& v, Instance& instance) {
  StartOptions start{
      .model = {.check_tensors = v.model.check_tensors}, .rows = kStepRows, .generates = true};
  start.context = largest_context(instance, v.model, kContextDefault, start);
  start.rows = static_cast<std::int32_t>(std::min<std::int64_t>(kStepRows, start.context));
  start_with_progress(instance, start);
}

/// The model's own settings, where the person gave none.
void take_sampling_defaults(const CLI::App& app, const Config& config, RequestOptionValues& v) {
  const SamplingDefaults& d = config.sampling;
  const auto take = [&](const char* flag, const auto& from, auto& to) {
    if (from && !is_given(app, flag)) to = *from;
  };
  take("--temperature", d.temperature, v.temperature);
  take("--top-k", d.top_k, v.top_k);
  take("--top-p", d.top_p, v.top_p);
  take("--min-p", d.min_p, v.min_p);
  take("--repetition-penalty", d.repetition_penalty, v.repetition_penalty);
}

void talk(const ChatValues& v, Instance& instance, Engine& engine, const ChatTemplate& chosen,
          Request&& request) {
  ChatSession session(engine, chosen, std::move(request), instance.executor().limits().context,
                      local_time());
  session.set_system(v.system);
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) return chat_in_pipe(session);
  TerminalChat terminal(
      session, {.model = instance.name(), .ids = instance.sampled_ids(), .history = !v.no_history});
  terminal.run();
}

int chat(const CLI::App& app, ChatValues& v) {
  OpenModel model(v.model, v.trace.profile);
  Instance& instance = model.instance;
  const ChatTemplate chosen = chat_template(instance, v.chat_template);
  take_sampling_defaults(app, instance.config(), v.request);
  Request request = make_request(v.request, instance.sampled_ids());
  check_sampling(request.sampling, instance.sampled_ids());
  TraceFile trace(v.trace);
  start(v, instance);
  talk(v, instance, *instance.make_engine({.observer = trace.observer()}), chosen,
       std::move(request));
  trace.finish();
  return kDone;
}

}  // namespace

Command add_chat_command(CLI::App& app) {
  auto values = std::make_shared<ChatValues>();
  CLI::App& sub = add_command(app, "chat",
                              "Talk with a model, on a terminal or with a message a line on stdin");
  add_model_options(sub, values->model);
  set_help(
      sub, "--ctx",
      cat("Tokens of the conversation (default: the model's own, up to ", kContextDefault, ")"));
  add_text(sub, values->system, "--system", "The system message: how the model is to behave");
  add_text(sub, values->chat_template, "--template", template_help());
  add_switch(sub, values->no_history, "--no-history",
             "Neither read nor keep what was typed in earlier chats");
  add_request_options(sub, values->request);
  add_trace_file_options(sub, values->trace, "--trace");
  return {&sub, [&sub, values] { return chat(sub, *values); },
          "ingot chat model.gguf --system \"You are brief.\""};
}

}  // namespace ingot
