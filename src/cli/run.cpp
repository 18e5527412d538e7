// ingot run: continue a prompt.
#include "cli/run.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/log.h"
#include "cli/options/built_in_model.h"
#include "cli/options/chat_input.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "cli/run_constraints.h"
#include "cli/run_session.h"

namespace ingot {

namespace {

void check_input(const RunValues& v) {
  const int prompts = v.prompt_flags.count();
  const int inputs =
      prompts + int{v.tokens.has_value()} + int{v.messages.has_value()} + int{v.jsonl};
  if (v.session ? inputs > 1 : inputs != 1) {
    throw Error(ErrorCode::kInvalid,
                v.session ? "--session takes one of -p, -f and --tokens at most"
                          : "expected exactly one of -p, -f, --tokens, --messages and --jsonl");
  }
  if (v.suffix && (prompts == 0 || v.session)) {
    throw Error(ErrorCode::kInvalid, "--suffix needs -p or -f, and excludes --session");
  }
  if (v.jsonl) claim_stdin("--jsonl");
  const TemplateChoice& choice = v.chat_template;
  if ((choice.source || choice.name) && !v.messages && !v.jsonl) {
    throw Error(ErrorCode::kInvalid, cat(choice.source ? "--template" : "--template-name",
                                         " needs --messages or --jsonl"));
  }
  const bool scores = v.request.sampling.logprobs >= 0 || v.request.prompt_logprobs >= 0;
  if (scores && !v.json && !v.jsonl) {
    throw Error(ErrorCode::kInvalid,
                "--logprobs and --prompt-logprobs show in JSON alone: give --json or --jsonl");
  }
  if (v.save_session && v.request.sampling.mirostat != 0) {
    throw Error(ErrorCode::kInvalid, "--save-session cannot store the state of --mirostat");
  }
}

/// Reads the prompt of a chat. A constraint begins behind the reply's reasoning.
void read_chat(const RunValues& v, const Instance& instance, Request& request) {
  const Json chat = read_chat_json(*v.messages);
  const ChatTemplates templates = chat_templates(instance, v.chat_template);
  ChatInput input = parse_chat(chat, local_time());
  const ChatTemplate& chosen = template_for(templates, input);
  warn_of_tools_error(templates);
  RenderedChat prompt = render_messages(chosen, std::move(input));
  request.prompt = std::move(prompt.ids);
  if (v.constraint) {
    RunConstraints(instance).constrain_reply(*v.constraint, chosen, prompt.text, request);
  }
}

void read_prompt(const RunValues& v, const Instance& instance, Request& request) {
  if (v.messages) return read_chat(v, instance, request);
  request.prompt = v.tokens ? parse_tokens(*v.tokens, instance.spec().vocab)
                            : encode_prompt(instance, *v.prompt, prompt_options(v));
  if (request.prompt.empty()) throw Error(ErrorCode::kInvalid, "the prompt has no tokens");
  if (v.constraint) RunConstraints(instance).constrain_text(*v.constraint, request);
}

std::string as_json(const RunValues& v, const Request& request, const Reply& reply,
                    const Outcome& outcome, bool text) {
  Json j = reply_json(request.prompt, reply, outcome,
                      {.text = text,
                       .logprobs = v.request.sampling.logprobs >= 0,
                       .prompt_logprobs = v.request.prompt_logprobs >= 0,
                       .drafts = true,
                       .seed = request.sampling.seed});
  j.set("prefill_tok_s", per_second(outcome.prompt_tokens, outcome.prefill_seconds));
  j.set("decode_tok_s", per_second(outcome.decode_steps, outcome.decode_seconds));
  return j.dump() + "\n";
}

/// Loads the model for this one prompt; returns how it was started.
StartOptions start_for(const RunValues& v, Instance& instance, std::int64_t length) {
  const std::int64_t wanted = v.request.max_tokens;
  StartOptions start{.model = {.check_tensors = v.model.check_tensors}};
  start.context = choose_context(instance, v.model, length, length + wanted);
  if (wanted > 0 && start.context == length) {
    throw Error(ErrorCode::kInvalid,
                cat("the prompt fills the context of ", length,
                    " tokens and leaves no room for another: --ctx raises it"));
  }
  start.generates = true;
  start.draft_rows = wanted > 1 ? v.draft.draft_rows(1) : 0;
  start.rows = static_cast<std::int32_t>(
      std::min<std::int64_t>(std::max<std::int64_t>(length, start.draft_rows + 1), v.step_rows));
  start.prompt_logprobs = v.request.prompt_logprobs;
  shrink_step_to_fit(instance, start);
  start_with_progress(instance, start);
  return start;
}

/// Makes the request from the flags. The model's limits are checked later.
Request read_request(const RunValues& v, const Instance& instance, const RunSession& session) {
  Request request = v.request;
  if (session.is_continued()) {
    request = session.request(request);
  } else {
    read_prompt(v, instance, request);
  }
  request.digest = v.json;
  return request;
}

/// Notes that a model with a chat template gets a prompt without it. A prompt with control tokens
/// was written with a template.
void note_missing_template(const RunValues& v, const Instance& instance,
                           std::span<const std::int32_t> prompt) {
  const TokenizerData* data = instance.checkpoint().tokenizer();
  // The built-in model continues stories as well as chats.
  if (instance.name() == kBuiltInModel) return;
  if (!v.prompt || v.session || data == nullptr || !data->templates.standard) return;
  const Tokenizer& tokenizer = *instance.tokenizer();
  const auto is_written = [&](std::int32_t id) {
    return id != tokenizer.bos() && tokenizer.type(id) == TokenType::kControl;
  };
  if (std::any_of(prompt.begin(), prompt.end(), is_written)) return;
  log_info(
      "the model has a chat template, which run does not apply to this prompt: ingot chat MODEL -p "
      "TEXT and ingot run MODEL --messages FILE do");
}

/// Prints a continuation as it is generated, between the prompt and its suffix.
class TextPrinter {
 public:
  TextPrinter(const RunValues& v, bool prints) : v_(v), prints_(prints), echoes_(!v.no_echo) {}

  void begin() {
    if (prints_ && echoes_ && v_.prompt) shown_.write(*v_.prompt);
  }
  void add(std::string_view text) {
    if (prints_) shown_.write(text);
  }
  void end() {
    if (prints_) shown_.write(cat(echoes_ ? v_.suffix.value_or("") : "", "\n"));
  }

 private:
  const RunValues& v_;
  bool prints_;
  bool echoes_;
  ModelTextStream shown_;
};

void run_one(const RunValues& v, OpenModel& model, TraceFile& trace) {
  Instance& instance = model.instance;
  const bool stream = !v.json && !v.print_ids;
  const bool has_text = instance.tokenizer() != nullptr;
  if (stream) require_tokenizer(instance, ": use --print-ids or --json");
  RunSession session(v, instance);
  Request request = read_request(v, instance, session);
  const std::vector<std::int32_t>& prompt = request.prompt;
  if (stream) note_missing_template(v, instance, prompt);
  RequestLimits limits = request_limits(instance, v.model.ctx);
  limits.context = std::numeric_limits<std::int64_t>::max();  // `start_for` gives a better message
  check_request(request, limits);
  const StartOptions start = start_for(v, instance, std::ssize(prompt));
  request.adapters = default_adapters(v.model.adapters, instance.adapters());
  const SpeculationOptions speculation = start_drafts(v.draft, *model.pool, instance, start);
  const auto engine =
      instance.make_engine({.speculation = speculation, .observer = trace.observer()});
  session.restore(*engine, request.adapters);
  Stream replies = *engine->submit(Request(request));
  TextPrinter printer(v, stream);
  printer.begin();
  Reply reply;
  for (bool more = true; more && !interrupted();) {
    more = engine->step();
    engine->require_alive();
    printer.add(collect(replies, reply));
  }
  printer.end();
  interruption_point();
  const Outcome& outcome = replies.outcome();
  if (outcome.error) throw Error(*outcome.error);
  if (outcome.finish == FinishReason::kLength && std::ssize(reply.ids) < v.request.max_tokens) {
    log_warning(cat("stopped at the context of ", start.context, " tokens: --ctx raises it"));
  }
  session.save(*engine, request, reply.ids);
  if (v.json) write_stdout(as_json(v, request, reply, outcome, has_text));
  if (v.print_ids) write_stdout(ids_line(reply.ids));
}

int run(RunValues& v) {
  settle_prompt(v.prompt_flags, v.model);
  check_input(v);
  v.prompt = read_prompt(v.prompt_flags);
  v.constraint = constraint_of(v.constraint_flags);
  v.draft = choose_drafts(v.model);
  OpenModel model(v.model, {.profile = v.trace.profile});
  model.instance.require(ModelUse::kText);
  TraceFile trace(v.trace);
  int code = kDone;
  if (v.jsonl) {
    code = run_lines(v, model, trace);
  } else {
    run_one(v, model, trace);
  }
  trace.finish();
  return code;
}

/// The fields that a line of --jsonl can set, listed as a sentence.
std::string line_fields() {
  std::string list;
  for (const RequestField& field : request_fields()) {
    const bool is_prompt = field.name == "prompt_ids";
    if ((field.places & place::kLine) == 0 || is_prompt) continue;
    list += cat(list.empty() ? "" : ", ", field.name);
  }
  return list;
}

void add_input(CLI::App& app, RunValues& values) {
  add_prompt_options(app, values.prompt_flags,
                     "Text to continue, with the tokenizer's BOS in front; names of special tokens "
                     "become these tokens");
  add_switch(app, values.no_echo, "--no-echo", "Print the continuation without the prompt");
  add_text(app, values.suffix, "--suffix",
           "Text behind the gap that the model fills, for models with fill-in-the-middle tokens; "
           "names of special tokens stay text here and in -p");
  add_switch(app, values.plain_text, "--no-special",
             "Names of special tokens in prompts stay text");
  add_text(app, values.tokens, "--tokens", "Token ids to continue: 1,2,3");
  add_switch(
      app, values.jsonl, "--jsonl",
      cat("Continue each line of stdin, all as one batch, and print one JSON object for each "
          "in order. A line is an object {\"prompt\"}, {\"prompt_ids\"} or {\"messages\"} (as for "
          "--messages), and may set for itself ",
          line_fields(), ", special (true or false, as --no-special), suffix, and one of ",
          "json_schema (an object), regex, grammar (texts) and choice (a list of texts)",
          ". A bad line gives {\"error\"} in its place, and exit code 1 in the end"));
  add_text(app, values.messages, "--messages",
           "A JSON file with a chat to continue, through the model's chat template: an array of "
           "messages, or an object with messages, and maybe tools, documents, "
           "add_generation_prompt, continue_final_message, chat_template_kwargs");
  add_template_options(app, values.chat_template);
  mark_inputs(app, {"--messages", "--template"});
}

void add_session(CLI::App& app, RunValues& values) {
  add_text(app, values.session, "--session",
           "A file of --save-session to continue, bit for bit as if it had not stopped: with its "
           "tokens, followed by those of -p or --tokens, and its sampling parameters where no flag "
           "says otherwise. It has to be of this model and --kv-type");
  add_text(app, values.save_session, "--save-session",
           "Write tokens, sampling parameters, and what was computed to this file in the end");
  exclude(app, "--session", {"--messages", "--jsonl"});
  exclude(app, "--save-session", {"--jsonl"});
  // A session file does not store how far a constraint is.
  for (const char* option : {"--session", "--save-session"}) {
    exclude(app, option, {"--json-schema", "--regex", "--grammar", "--choice"});
  }
}

void add_output(CLI::App& app, RunValues& values) {
  add_switch(app, values.print_ids, "--print-ids", "Only the generated ids, one line");
  add_switch(app, values.json, "--json", "One JSON object with ids, text, digest and speed");
  exclude(app, "--json", {"--print-ids"});
  exclude(app, "--jsonl", {"--json", "--print-ids"});
  add_number(
      app, values.sequences,
      {.name = "--sequences", .help = "Lines of --jsonl that run at once", .low = 1, .high = 1024});
  add_number(app, values.step_rows,
             {.name = "--step-rows",
              .help = "Tokens that a step computes at most, of all that run; fewer where memory is "
                      "short",
              .low = 1,
              .high = 16384});
}

}  // namespace

Command add_run_command(CLI::App& app) {
  auto values = std::make_shared<RunValues>();
  CLI::App& sub = add_command(app, "run", "Continue a prompt, or many at once");
  values->app = &sub;
  add_model_options(sub, values->model);
  add_adapter_options(sub, values->model.adapters);
  add_draft_options(sub, values->model.draft);
  add_input(sub, *values);
  add_constraint_options(sub, values->constraint_flags);
  add_session(sub, *values);
  add_request_options(sub, values->request, place::kRun);
  add_output(sub, *values);
  add_trace_file_options(sub, values->trace, "--trace");
  return {&sub, [values] { return run(*values); },
          "ingot run model.gguf -p \"Once upon a time\" --max-tokens 64"};
}

}  // namespace ingot
