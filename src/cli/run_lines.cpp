// ingot run --jsonl: runs the lines of stdin as one batch.
#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/options/chat_input.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "cli/run.h"
#include "cli/run_constraints.h"
#include "runtime/request_fields.h"
#include "runtime/sampling/bias_texts.h"
#include "runtime/sampling/random_seed.h"

namespace ingot {

namespace {

/// A schema in a line may have 256 levels.
constexpr JsonLimits kLineLimits{.bytes_max = std::uint64_t{1} << 24, .depth_max = 258};

/// The member of a line that names the adapter.
constexpr std::string_view kAdapter = "adapter";

/// A line of input and its result.
struct Line {
  std::optional<Request> request;      ///< present until it is submitted
  std::optional<std::string> adapter;  ///< the member "adapter"
  std::vector<std::int32_t> prompt;
  ReplyFields fields;
  std::optional<Stream> stream;
  Reply reply;
  std::string error;

  bool is_done() const { return !error.empty() || (stream && stream->finished()); }
};

[[noreturn]] void refuse_line(const std::string& message) {
  throw Error(ErrorCode::kInvalid, message);
}

const std::string& text_member(std::string_view name, const Json& value) {
  if (value.as_string() == nullptr) {
    refuse_line(cat(name, ": is ", value.kind(), ", expected a string"));
  }
  return *value.as_string();
}

/// Reads lines as requests.
struct LineReader {
  const RunValues& values;
  const Instance& instance;
  const std::tm now;
  RunConstraints constraints;
  std::optional<ChatTemplates> templates{};  ///< present once a line has messages

  void read_chat(const Json& line, const std::optional<ConstraintSpec>& spec, Request& request) {
    ChatInput input = parse_chat(line, now);
    if (!templates) {
      templates.emplace(chat_templates(instance, values.chat_template));
      warn_of_tools_error(*templates);
    }
    const ChatTemplate& chat = template_for(*templates, input);
    RenderedChat prompt = render_messages(chat, std::move(input));
    request.prompt = std::move(prompt.ids);
    if (spec) constraints.constrain_reply(*spec, chat, prompt.text, request);
  }

  static void expect_known_members(const Json& line, bool has_messages) {
    for (const auto& [name, unused] : *line.as_object()) {
      const bool is_text = name == "prompt" || name == "special" || name == "suffix";
      if (is_text || name == kAdapter || is_constraint_member(name)) continue;
      if (has_messages && is_chat_member(name)) continue;
      if (find_field(name, place::kLine) == nullptr) {
        refuse_line(cat("unknown member ", printable(name)));
      }
    }
  }

  /// Parses a line. Errors: Error{kInvalid} or Error{kModel} with the reason.
  Request parse(std::string_view text, std::size_t number, Request request,
                std::optional<std::string>& adapter) {
    const Json j = parse_json(text, "stdin", cat("line ", number), kLineLimits);
    if (j.as_object() == nullptr) refuse_line(cat("expected an object, got ", j.kind()));
    if (const Json* name = j.find(kAdapter)) {
      adapter = text_member(kAdapter, *name);
      check_is_loaded(values.model.adapters, *adapter, kAdapter);
    }
    const Json* prompt = j.find("prompt");
    const bool has_messages = j.find("messages") != nullptr;
    const int inputs =
        int{prompt != nullptr} + int{j.find("prompt_ids") != nullptr} + int{has_messages};
    if (inputs != 1) refuse_line("expected exactly one of prompt, prompt_ids and messages");
    // Each line draws a seed of its own.
    if (is_given_as(*values.app, "--seed", "-1")) request.sampling.seed = random_seed();
    expect_known_members(j, has_messages);
    const Json* biases = j.find("logit_bias");
    const Json biases_by_id =
        biases == nullptr ? Json() : with_token_ids(*biases, instance.tokenizer());
    for (const RequestField& field : request_fields()) {
      if ((field.places & place::kLine) == 0) continue;
      set_named_field(request, field, place::kLine, [&](std::string_view name) {
        const Json* value = j.find(name);
        return value == biases && value != nullptr ? &biases_by_id : value;
      });
    }
    std::optional<ConstraintSpec> spec = constraint_of_line(j);
    if (!spec) spec = values.constraint;
    if (has_messages) {
      read_chat(j, spec, request);
    } else if (spec) {
      constraints.constrain_text(*spec, request);
    }
    if (prompt != nullptr) {
      request.prompt = encode_prompt(instance, text_member("prompt", *prompt), read_options(j));
    } else if (j.find("special") != nullptr || j.find("suffix") != nullptr) {
      refuse_line("special and suffix need a prompt");
    }
    return request;
  }

  PromptOptions read_options(const Json& line) const {
    PromptOptions options = prompt_options(values);
    if (const Json* special = line.find("special")) {
      if (special->as_bool() == nullptr) {
        refuse_line(cat("special: is ", special->kind(), ", expected true or false"));
      }
      options.special = *special->as_bool();
    }
    if (const Json* suffix = line.find("suffix")) options.suffix = text_member("suffix", *suffix);
    return options;
  }
};

class Lines {
 public:
  Lines(const RunValues& values, OpenModel& model, TraceFile& trace)
      : values_(values), pool_(*model.pool), instance_(model.instance), trace_(trace) {}

  /// Reads all lines before the first step, so that all are planned together.
  void read() {
    const std::string input = read_stdin();
    Request defaults = values_.request;
    defaults.digest = true;
    LineReader reader{.values = values_,
                      .instance = instance_,
                      .now = local_time(),
                      .constraints = RunConstraints(instance_)};
    std::size_t number = 0;
    for (const std::string_view text : split_lines(without_byte_order_mark(input))) {
      interruption_point();
      ++number;
      if (!is_blank(text)) read_line(lines_.emplace_back(), text, number, reader, defaults);
    }
  }

  /// Runs all lines; returns the exit code.
  int run() {
    const std::int64_t limit = choose_context(instance_, values_.model, 0, kContextMax);
    refuse_what_does_not_fit(limit);
    for (const Line& line : lines_) {
      if (line.request) add_to_plan(*line.request, limit);
    }
    if (start_.sequences > 0) {
      start();
      choose_adapters();
      const auto speculation = start_drafts(values_.draft, pool_, instance_, start_);
      const auto engine =
          instance_.make_engine({.speculation = speculation, .observer = trace_.observer()});
      while (print_done()) step(*engine);
    }
    print_done();
    return failed_ ? kCheckFailed : kDone;
  }

 private:
  void read_line(Line& line, std::string_view text, std::size_t number, LineReader& reader,
                 const Request& defaults) {
    try {
      Request request = reader.parse(text, number, defaults, line.adapter);
      check_request(request, request_limits(instance_, values_.model.ctx));
      line.prompt = request.prompt;
      line.fields = {.text = instance_.tokenizer() != nullptr,
                     .logprobs = request.sampling.logprobs >= 0,
                     .prompt_logprobs = request.prompt_logprobs >= 0,
                     .drafts = is_given(*values_.app, "--draft"),
                     .seed = request.sampling.seed};
      line.request = std::move(request);
    } catch (const Error& error) {
      line.error = error.message();
    }
  }

  /// Maximum tokens of a request's prompt and text together.
  static std::int64_t tokens_of(const Request& request, std::int64_t limit) {
    return std::min(std::ssize(request.prompt) + request.max_tokens, limit);
  }

  void add_to_plan(const Request& request, std::int64_t limit) {
    start_.context = std::max(start_.context, tokens_of(request, limit));
    rows_ += std::ssize(request.prompt);
    start_.prompt_logprobs = std::max(start_.prompt_logprobs, request.prompt_logprobs);
    start_.sequences = std::min({start_.sequences + 1, values_.sequences, values_.step_rows});
  }

  /// The pool holds as many whole sequences as fit. If fewer fit than run at once, sequences
  /// preempt each other.
  void start() {
    start_.model.check_tensors = values_.model.check_tensors;
    start_.generates = true;
    start_.draft_rows = values_.draft.draft_rows(start_.sequences);
    start_.rows = static_cast<std::int32_t>(std::clamp<std::int64_t>(
        std::max<std::int64_t>(rows_, start_.sequences + start_.draft_rows), start_.sequences,
        values_.step_rows));
    shrink_step_to_fit(instance_, start_);
    start_.pool_sequences = instance_.fitting_pool(start_);
    start_with_progress(instance_, start_);
  }

  void choose_adapters() {
    AdapterStore& adapters = instance_.adapters();
    const auto usual = default_adapters(values_.model.adapters, adapters);
    for (Line& line : lines_) {
      if (!line.request) continue;
      line.request->adapters =
          line.adapter ? adapters_named(*line.adapter, adapters, kAdapter) : usual;
    }
  }

  /// Refuses lines that do not fit into memory even alone, so that they do not fail the others. If
  /// no line fits, `start` reports it.
  void refuse_what_does_not_fit(std::int64_t limit) {
    StartOptions least{.context = limit, .generates = true};
    for (const Line& line : lines_) {
      if (!line.request) continue;
      least.prompt_logprobs = std::max(least.prompt_logprobs, line.request->prompt_logprobs);
    }
    const MemoryPlan plan = instance_.plan(least);
    if (plan.fits || plan.max_context == 0) return;
    for (Line& line : lines_) {
      if (!line.request) continue;
      const std::int64_t tokens = tokens_of(*line.request, limit);
      if (tokens <= plan.max_context) continue;
      line.error = cat("max_tokens: prompt and text may take ", tokens,
                       " tokens, there is memory for ", plan.max_context);
      line.request.reset();
    }
  }

  void step(Engine& engine) {
    interruption_point();
    for (; next_ < lines_.size() && submit(engine, lines_[next_]); ++next_) {
      if (lines_[next_].stream) live_.push_back(&lines_[next_]);
    }
    engine.step();
    engine.require_alive();
    for (Line* line : live_) collect(*line->stream, line->reply);
    std::erase_if(live_, [](const Line* line) { return line->is_done(); });
  }

  /// False if the engine takes no more requests now.
  static bool submit(Engine& engine, Line& line) {
    if (!line.request) return true;
    try {
      line.stream = engine.submit(std::move(*line.request));
      if (!line.stream) return false;
    } catch (const Error& error) {
      line.error = error.message();
    }
    line.request.reset();
    return true;
  }

  /// Prints finished lines in the order of the input. Returns whether lines are left.
  bool print_done() {
    for (; printed_ < lines_.size() && lines_[printed_].is_done(); ++printed_) {
      Line& line = lines_[printed_];
      if (line.error.empty() && line.stream->outcome().error) {
        line.error = line.stream->outcome().error->message();
      }
      failed_ = failed_ || !line.error.empty();
      Json j = Json::object();
      if (line.error.empty()) {
        j = reply_json(line.prompt, line.reply, line.stream->outcome(), line.fields);
      } else {
        j.set("error", with_flags(line.error));
      }
      write_stdout(j.dump() + "\n");
      line = {};
    }
    return printed_ < lines_.size();
  }

  const RunValues& values_;
  ThreadPool& pool_;
  Instance& instance_;
  TraceFile& trace_;
  std::deque<Line> lines_;
  StartOptions start_{.sequences = 0, .rows = 0};
  std::int64_t rows_ = 0;    ///< rows of all prompts
  std::size_t next_ = 0;     ///< first line that was not submitted
  std::vector<Line*> live_;  ///< running lines; few, even if many wait to be printed
  std::size_t printed_ = 0;  ///< lines that were printed
  bool failed_ = false;
};

}  // namespace

int run_lines(const RunValues& values, OpenModel& model, TraceFile& trace) {
  Lines lines(values, model, trace);
  lines.read();
  return lines.run();
}

}  // namespace ingot
