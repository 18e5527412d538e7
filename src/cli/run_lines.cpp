// ingot run --jsonl: the lines of stdin as one batch.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "cli/run.h"

namespace ingot {

namespace {

/// Everything is read before the first step: what is run together is planned together.
constexpr std::size_t kInputBytesMax = std::size_t{1} << 28;
constexpr std::size_t kLinesMax = 65536;
constexpr JsonLimits kLineLimits{.bytes_max = std::uint64_t{1} << 24, .depth_max = 8};

/// A line of input and what became of it.
struct Line {
  std::optional<Request> request;  ///< until it is submitted
  std::vector<std::int32_t> prompt;
  ReplyFields fields;
  std::optional<Stream> stream;
  Reply reply;
  std::string error;

  bool is_done() const { return !error.empty() || (stream && stream->finished()); }
};

std::string read_stdin() {
  std::string all;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);
    if (n == 0) return all;
    interruption_point();
    if (n < 0 && errno != EINTR) {
      throw Error(ErrorCode::kIo, cat("stdin: cannot read: ", errno_text(errno)));
    }
    all.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (all.size() > kInputBytesMax) {
      throw Error(ErrorCode::kInvalid,
                  cat("stdin: more than ", kInputBytesMax, " bytes, run it in parts"));
    }
  }
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (lines.size() > kLinesMax) {
      throw Error(ErrorCode::kInvalid,
                  cat("stdin: more than ", kLinesMax, " lines, run them in parts"));
    }
  }
  return lines;
}

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::kInvalid, message); }

/// Errors: Error{kInvalid} or Error{kModel} with what is wrong with the line.
Request parse_line(std::string_view text, std::size_t number, const Instance& instance,
                   Request request) {
  const Json j = parse_json(text, "stdin", cat("line ", number), kLineLimits);
  if (j.as_object() == nullptr) refuse(cat("expected an object, got ", j.kind()));
  const Json* prompt = j.find("prompt");
  if ((prompt == nullptr) == (j.find("prompt_ids") == nullptr)) {
    refuse("expected exactly one of prompt and prompt_ids");
  }
  for (const auto& [name, value] : *j.as_object()) {
    if (name == "prompt" || set_member(request, name, value)) continue;
    refuse(cat("unknown member ", printable(name)));
  }
  if (prompt != nullptr) {
    if (prompt->as_string() == nullptr)
      refuse(cat("prompt: is ", prompt->kind(), ", expected a string"));
    request.prompt = encode_prompt(instance, *prompt->as_string());
  }
  return request;
}

class Lines {
 public:
  Lines(const RunValues& values, Instance& instance) : values_(values), instance_(instance) {}

  void read() {
    const std::string input = read_stdin();
    Request defaults = make_request(values_.request, instance_.sampled_ids());
    defaults.digest = true;
    std::size_t number = 0;
    for (const std::string_view text : split_lines(input)) {
      interruption_point();
      read_line(lines_.emplace_back(), text, ++number, defaults);
    }
  }

  /// Returns the exit code.
  int run() {
    for (const Line& line : lines_) {
      if (line.request) add_to_plan(*line.request);
    }
    if (start_.sequences > 0) {
      start();
      const auto engine = instance_.make_engine();
      while (print_done()) step(*engine);
    }
    print_done();
    return failed_ ? kCheckFailed : kDone;
  }

 private:
  void read_line(Line& line, std::string_view text, std::size_t number, const Request& defaults) {
    try {
      Request request = parse_line(text, number, instance_, defaults);
      check_request(request, request_limits(instance_, values_.model.ctx));
      line.prompt = request.prompt;
      line.fields = {.text = instance_.tokenizer() != nullptr,
                     .logprobs = request.sampling.logprobs >= 0,
                     .prompt_logprobs = request.prompt_logprobs >= 0};
      line.request = std::move(request);
    } catch (const Error& error) {
      line.error = error.message();
    }
  }

  void add_to_plan(const Request& request) {
    const std::int64_t length = std::ssize(request.prompt);
    needed_ = std::max(needed_, length + request.max_tokens);
    rows_ += length;
    start_.prompt_logprobs = std::max(start_.prompt_logprobs, request.prompt_logprobs);
    start_.sequences = std::min({start_.sequences + 1, values_.sequences, values_.step_rows});
  }

  /// The pool holds as many whole sequences as fit; where that is fewer than run at once, they make
  /// room for each other.
  void start() {
    start_.model.check_tensors = values_.model.check_tensors;
    start_.generates = true;
    start_.context = choose_context(instance_, values_.model, 0, needed_);
    start_.rows = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(rows_, start_.sequences, values_.step_rows));
    refuse_what_does_not_fit();
    start_.pool_sequences = instance_.fitting_pool(start_);
    start_with_progress(instance_, start_);
  }

  /// Lines for which there is no memory, however few run at once: they must not fail the others.
  void refuse_what_does_not_fit() {
    StartOptions one = start_;
    one.pool_sequences = 1;
    const MemoryPlan plan = instance_.plan(one);
    if (plan.fits || plan.max_context == 0) return;
    start_.context = 1;
    for (Line& line : lines_) {
      if (!line.request) continue;
      const std::int64_t tokens =
          std::min(std::ssize(line.prompt) + line.request->max_tokens, one.context);
      if (tokens <= plan.max_context) {
        start_.context = std::max(start_.context, tokens);
        continue;
      }
      line.error = cat("max_tokens: prompt and text may take ", tokens,
                       " tokens, there is memory for ", plan.max_context);
      line.request.reset();
    }
  }

  void step(Engine& engine) {
    interruption_point();
    while (next_ < lines_.size() && submit(engine, lines_[next_])) ++next_;
    engine.step();
    for (std::size_t i = printed_; i < next_; ++i) {
      if (lines_[i].stream) collect(*lines_[i].stream, lines_[i].reply);
    }
  }

  /// False when the engine takes no more for now.
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

  /// Prints what is done and has nothing undone before it; returns whether lines are left.
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
        j.set("error", line.error);
      }
      write_stdout(j.dump() + "\n");
      line = {};
    }
    return printed_ < lines_.size();
  }

  const RunValues& values_;
  Instance& instance_;
  std::deque<Line> lines_;
  StartOptions start_{.sequences = 0, .rows = 0};
  std::int64_t needed_ = 0;  ///< tokens of the longest sequence
  std::int64_t rows_ = 0;    ///< of all prompts
  std::size_t next_ = 0;     ///< the first line that the engine has not got
  std::size_t printed_ = 0;  ///< lines that are printed
  bool failed_ = false;
};

}  // namespace

int run_lines(const RunValues& values, Instance& instance) {
  Lines lines(values, instance);
  lines.read();
  return lines.run();
}

}  // namespace ingot
