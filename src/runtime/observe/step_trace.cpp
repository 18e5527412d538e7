// StepTrace: writes steps and requests as events of the Trace Event Format.
#include "runtime/observe/step_trace.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <new>
#include <utility>

#include "base/text.h"
#include "load/json.h"

namespace ingot {

namespace {

constexpr std::string_view kBegin =
    R"({"displayTimeUnit":"ms","traceEvents":[
{"ph":"M","name":"process_name","pid":1,"tid":1,"args":{"name":"ingot"}},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"engine"}})";

std::int64_t nanoseconds(double seconds) {
  return std::isfinite(seconds) ? std::llround(seconds * 1e9) : 0;
}

/// A time span in nanoseconds since the engine was made.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  /// Removes the first `seconds` from the span and returns them as a span.
  Span take(double seconds) {
    const std::int64_t from = begin;
    begin = std::min(end, begin + std::max<std::int64_t>(0, nanoseconds(seconds)));
    return {from, begin};
  }
};

using Args = std::initializer_list<std::pair<std::string_view, std::int64_t>>;

/// Appends trace events as JSON to a text. Names and categories need no escapes.
class Events {
 public:
  explicit Events(std::string& out) : out_(out) {}

  /// Appends a slice. Viewers show a slice below another one that contains its time.
  void slice(std::string_view name, std::string_view category, Span span, Args args = {}) {
    begin('X', name, category, span.begin);
    append(",\"dur\":");
    append_microseconds(span.end - span.begin);
    end(args);
  }
  void counter(std::string_view name, std::int64_t at, Args args) {
    begin('C', name, "counter", at);
    end(args);
  }
  /// Appends an event of request `id`. `phase` is b (begin), n (mark) or e (end).
  void request(char phase, std::string_view name, std::uint64_t id, std::int64_t at,
               Args args = {}) {
    begin(phase, name, "request", at);
    append(",\"id\":\"", id, "\"");
    end(args);
  }

 private:
  template <class... Values>
  void append(const Values&... values) {
    (detail::append(out_, values), ...);
  }
  void append_microseconds(std::int64_t ns) {
    const std::int64_t below = ns % 1000;
    append(ns / 1000, below < 10 ? ".00" : below < 100 ? ".0" : ".", below);
  }
  void begin(char phase, std::string_view name, std::string_view category, std::int64_t at) {
    append(",\n{\"ph\":\"", phase, "\",\"name\":\"", name, "\",\"cat\":\"", category);
    append("\",\"pid\":1,\"tid\":1,\"ts\":");
    append_microseconds(std::max<std::int64_t>(0, at));
  }
  void end(Args args) {
    append(",\"args\":{");
    std::string_view comma;
    for (const auto& [name, value] : args) {
      append(comma, "\"", name, "\":", value);
      comma = ",";
    }
    append("}}");
  }

  std::string& out_;
};

void write_phases(Events& events, const StepRecord& r, Span step) {
  events.slice("plan", "phase", step.take(r.plan_seconds));
  Span forward = step.take(r.forward_seconds);
  events.slice("forward", "phase", forward);
  events.slice("sample", "phase", step.take(r.sample_seconds));
  events.slice("deliver", "phase", step.take(r.deliver_seconds));
  events.slice("commit", "phase", step.take(r.commit_seconds));
  if (!r.profiled) return;
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    if (r.op_seconds[k] <= 0) continue;
    events.slice(to_string(static_cast<OpKind>(k)), "ops", forward.take(r.op_seconds[k]));
  }
}

void write_events(std::string& text, const StepRecord& r) {
  Events events(text);
  const std::int64_t begin = nanoseconds(r.start_seconds);
  const Span step{begin, begin + std::max<std::int64_t>(0, nanoseconds(r.seconds))};
  events.slice("step", "step", step,
               {{"number", static_cast<std::int64_t>(r.number)},
                {"rows", r.rows()},
                {"row_budget", r.row_budget},
                {"decode_rows", r.decode_rows},
                {"prefill_rows", r.prefill_rows},
                {"verify_rows", r.verify_rows},
                {"drafts", r.drafts.drafts},
                {"accepted_drafts", r.drafts.accepted},
                {"output_rows", r.output_rows},
                {"scored_rows", r.scored_rows},
                {"sequences", r.sequences},
                {"preemptions", r.preemptions},
                {"cached_tokens", r.cached_tokens}});
  write_phases(events, r, step);
  events.counter(
      "rows", step.begin,
      {{"decode", r.decode_rows}, {"prefill", r.prefill_rows}, {"verify", r.verify_rows}});
  events.counter("blocks", step.end,
                 {{"referenced", r.blocks_referenced},
                  {"evictable", r.blocks_evictable},
                  {"free", r.blocks_free}});
  events.counter("requests", step.end,
                 {{"running", r.running}, {"waiting", r.waiting}, {"paused", r.paused}});
}

/// Clamps times, so that no part of a request begins before the part in front of it ends.
void write_events(std::string& text, const RequestRecord& r) {
  Events events(text);
  const std::int64_t queued = nanoseconds(r.queued_seconds);
  const std::int64_t end = std::max(queued, nanoseconds(r.end_seconds));
  const auto within = [&](const std::optional<double>& at, std::int64_t from) {
    return at ? std::clamp(nanoseconds(*at), from, end) : end;
  };
  const std::int64_t start = within(r.start_seconds, queued);
  const std::int64_t first = within(r.first_token_seconds, start);
  const auto part = [&](std::string_view name, std::int64_t from, std::int64_t to) {
    events.request('b', name, r.id, from);
    events.request('e', name, r.id, to);
  };
  events.request('b', "request", r.id, queued,
                 {{"prompt_tokens", r.prompt_tokens}, {"cached_tokens", r.cached_tokens}});
  part("waiting", queued, start);
  if (r.start_seconds) part("prompt", start, first);
  if (r.start_seconds && r.miss.reason != MissReason::kNone) {
    events.request('n', cat("prefix miss: ", to_string(r.miss.reason)), r.id, start,
                   {{"token", r.miss.token}});
  }
  if (r.adapters != nullptr) {
    std::string names;
    append_json(names, names_of(r.adapters));
    events.request('n', cat("adapters: ", names.substr(1, names.size() - 2)), r.id, start);
  }
  if (r.first_token_seconds) part("tokens", first, end);
  if (r.finish) events.request('n', to_string(*r.finish), r.id, end);
  events.request('e', "request", r.id, end, {{"generated_tokens", r.generated_tokens}});
}

}  // namespace

StepTrace::StepTrace(const std::string& path, std::int64_t bytes_max)
    : file_(path), bytes_left_(bytes_max) {
  file_.write(kBegin);
}

void StepTrace::add(const StepRecord& step) { write(step); }
void StepTrace::add(const RequestRecord& request) { write(request); }

template <class Record>
void StepTrace::write(const Record& record) {
  if (bytes_left_ < 0 || failed_) {
    ++dropped_;
    return;
  }
  try {
    text_.clear();
    write_events(text_, record);
    bytes_left_ -= std::ssize(text_);
    if (bytes_left_ < 0) {
      ++dropped_;
    } else {
      file_.write(text_);
    }
  } catch (...) {
    failed_ = std::current_exception();
    ++dropped_;
  }
}

void StepTrace::finish() {
  if (failed_) std::rethrow_exception(failed_);
  file_.write(cat("\n],\"otherData\":{\"dropped_records\":", dropped_, "}}\n"));
  file_.commit();
}

}  // namespace ingot
