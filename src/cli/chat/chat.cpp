// ingot chat: talk with a model.
#include "cli/chat/chat.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/chat/chat_terminal.h"
#include "cli/chat/chat_tools.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/log.h"
#include "cli/options/chat_input.h"
#include "cli/options/constraint_options.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/options/prompt_options.h"
#include "cli/options/request_options.h"
#include "cli/options/trace_file.h"
#include "cli/run_constraints.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/terminal_mode.h"
#include "runtime/sampling/random_seed.h"

namespace ingot {

namespace {

/// Tokens of a chat's context without --ctx. A larger context costs memory that most chats never
/// need.
constexpr std::int64_t kContextDefault = 16384;
constexpr std::int64_t kStepRows = 512;

struct ChatValues {
  ModelOptionValues model;
  Request request = default_request(place::kTalk);
  TraceValues trace;
  std::optional<std::string> system;
  TemplateChoice chat_template;
  std::optional<std::string> tools;  ///< a file; absent: no tools
  PromptValues prompt_flags;
  std::optional<std::string> prompt;  ///< the message to reply to; absent: a chat
  ConstraintValues constraint_flags;
  std::optional<ConstraintSpec> constraint;
  DraftChoice draft;  ///< read from `model.draft` before the model opens
  bool no_history = false;
};

/// Plans one sequence of --ctx, or else of kContextDefault or less, as the memory allows. Returns
/// how the model was started.
StartOptions start(const ChatValues& v, Instance& instance) {
  StartOptions start{.model = {.check_tensors = v.model.check_tensors},
                     .generates = true,
                     .draft_rows = v.draft.draft_rows(1)};
  start.context = choose_context(instance, v.model, 0, std::numeric_limits<std::int64_t>::max());
  start.rows = static_cast<std::int32_t>(std::min(kStepRows, start.context));
  if (v.model.ctx == 0) {
    start.context = std::min(start.context, kContextDefault);
    const MemoryPlan plan = instance.plan(start);
    if (!plan.fits && plan.max_context > 0) start.context = plan.max_context;
  }
  start_with_progress(instance, start);
  return start;
}

bool is_on_terminal() { return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1; }

/// Reads the prompt and the constraint.
void read_inputs(ChatValues& v) {
  settle_prompt(v.prompt_flags, v.model);
  if (v.prompt_flags.count() > 1) {
    throw Error(ErrorCode::kInvalid, "expected one of -p, -f and -, not both");
  }
  v.prompt = read_prompt(v.prompt_flags);
  v.constraint = constraint_of(v.constraint_flags);
  v.draft = choose_drafts(v.model);
  if (!v.prompt) claim_stdin("the chat");
  if (v.prompt && is_blank(*v.prompt)) {
    throw Error(ErrorCode::kInvalid, "the prompt is blank: a reply needs a message");
  }
  if (v.constraint && !v.prompt) {
    throw Error(ErrorCode::kInvalid,
                cat(v.constraint->name, " constrains one reply: give -p, -f or -"));
  }
}

/// Reads the tools. Without a chat on a terminal, the user could not be asked before a command
/// runs.
std::vector<ChatTool> read_tools(const ChatValues& v) {
  if (!v.tools) return {};
  if (v.prompt || !is_on_terminal()) {
    throw Error(ErrorCode::kInvalid,
                "--tools needs a chat on a terminal: the chat asks before it runs a command");
  }
  return load_chat_tools(*v.tools);
}

/// Binds the tools to the model's dialect; null without tools.
std::unique_ptr<ChatTools> bind_tools(const ChatValues& v, const Instance& instance,
                                      const ChatTemplate& chosen, std::vector<ChatTool> tools) {
  if (tools.empty()) return nullptr;
  if (!v.request.stop.empty()) log_warning("--stop: does not end replies that may have calls");
  return std::make_unique<ChatTools>(std::move(tools), find_tool_dialect(chosen),
                                     require_tokenizer(instance), instance.sampled_ids());
}

/// Replies to the prompt alone. Returns the exit code.
int reply_once(const ChatValues& v, const Instance& instance, const ChatTemplate& chosen,
               ChatSession& session) {
  session.add_user(*v.prompt);
  prepare_reply(session, "");
  if (v.constraint) {
    RunConstraints(instance).constrain_reply(*v.constraint, chosen, session.prompt(),
                                             session.request());
  }
  return write_reply(session, "");
}

/// The terminal of a chat, from before the model loads: keys that come meanwhile wait for the chat.
/// Ctrl-C ends the program until `signal_keys` is reset.
struct ChatKeys {
  LineEditor editor;
  std::optional<SignalKeys> signal_keys{std::in_place};
};

/// Returns the exit code. `keys` is null without a terminal.
int talk(const ChatValues& v, Instance& instance, Engine& engine, const ChatTemplate& chosen,
         ChatTools* tools, Request&& request, ChatKeys* keys) {
  ChatSession session(engine, chosen, std::move(request), instance.executor().limits().context,
                      local_time(), tools);
  session.set_system(v.system);
  if (v.prompt) return reply_once(v, instance, chosen, session);
  if (keys == nullptr) return chat_in_pipe(session);
  keys->signal_keys.reset();
  TerminalChat terminal(session, keys->editor,
                        {.model = instance.name(), .history = !v.no_history});
  terminal.run();
  return kDone;
}

int chat(const CLI::App& app, ChatValues& v) {
  read_inputs(v);
  std::vector<ChatTool> list = read_tools(v);
  std::optional<ChatKeys> keys;
  if (!v.prompt && is_on_terminal()) keys.emplace();
  OpenModel model(v.model, {.profile = v.trace.profile});
  model.instance.require(ModelUse::kText);
  Instance& instance = model.instance;
  const ChatTemplates templates = chat_templates(instance, v.chat_template);
  if (list.empty()) warn_of_tools_error(templates);
  const ChatTemplate& chosen = templates.get(!list.empty());
  Request request = v.request;
  // Opening the model has warned of wrong ones.
  set_model_defaults(request, instance.config(), instance.name());
  if (!is_given(app, "--seed")) request.sampling.seed = random_seed();
  copy_given(request, v.request, app, place::kTalk);
  check_sampling(request.sampling, instance.sampled_ids());
  TraceFile trace(v.trace);
  const std::unique_ptr<ChatTools> tools = bind_tools(v, instance, chosen, std::move(list));
  const StartOptions started = start(v, instance);
  request.adapters = default_adapters(v.model.adapters, instance.adapters());
  const SpeculationOptions speculation = start_drafts(v.draft, *model.pool, instance, started);
  const auto engine =
      instance.make_engine({.speculation = speculation, .observer = trace.observer()});
  const int code =
      talk(v, instance, *engine, chosen, tools.get(), std::move(request), keys ? &*keys : nullptr);
  trace.finish();
  return code;
}

}  // namespace

Command add_chat_command(CLI::App& app) {
  auto values = std::make_shared<ChatValues>();
  CLI::App& sub = add_command(app, "chat",
                              "Talk with a model, on a terminal or with a message a line on stdin; "
                              "or print one reply");
  add_model_options(sub, values->model);
  add_adapter_options(sub, values->model.adapters);
  add_draft_options(sub, values->model.draft);
  add_prompt_options(sub, values->prompt_flags, "A message: print the reply to it alone, and end");
  set_help(
      sub, "--ctx",
      cat("Tokens of the conversation (default: the model's own, up to ", kContextDefault, ")"));
  add_text(sub, values->system, "--system", "The system message: how the model is to behave");
  add_template_options(sub, values->chat_template);
  add_text(sub, values->tools, "--tools",
           "A JSON file of tools that the model may call: [{\"type\": \"function\", \"function\": "
           "{\"name\", \"description\", \"parameters\"}, \"command\": [\"PROGRAM\", ...]}]. A call "
           "runs its command after you said yes, with the arguments as JSON on its standard input");
  mark_inputs(sub, {"--template", "--tools"});
  add_constraint_options(sub, values->constraint_flags);
  add_switch(sub, values->no_history, "--no-history",
             "Neither read nor keep what was typed in earlier chats");
  add_request_options(sub, values->request, place::kTalk);
  add_trace_file_options(sub, values->trace, "--trace");
  return {&sub, [&sub, values] { return chat(sub, *values); },
          "ingot chat model.gguf --system \"You are brief.\""};
}

}  // namespace ingot
