// The global functions of Jinja templates: range, dict, namespace, strftime_now, ...
#include <algorithm>
#include <iomanip>
#include <locale>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "text/jinja/library.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"

namespace ingot::jinja {

namespace {

/// Most items of a range: the limit of Jinja's sandbox.
constexpr std::uint64_t kRangeMax = 100'000;
/// Most bytes of the message of raise_exception.
constexpr std::size_t kRaisedBytesMax = 200;
/// Most bytes of the result of strftime_now.
constexpr std::size_t kTimeBytesMax = 65536;

Value range(Environment& env, const Arguments& arguments) {
  const Parameters p("range", arguments, {"start", "stop", "step"}, 1);
  const bool has_stop = p[1] != nullptr;
  const std::int64_t start = has_stop ? p.integer(0, 0) : 0;
  const std::int64_t stop = has_stop ? p.integer(1, 0) : p.integer(0, 0);
  const std::int64_t step = p.integer(2, 1);
  if (step == 0) fail("range() arg 3 must not be zero");
  const bool is_empty = step > 0 ? start >= stop : start <= stop;
  if (is_empty) return make_sequence(env.heap, Flavor::kRange, {});
  const auto as_unsigned = [](std::int64_t i) { return static_cast<std::uint64_t>(i); };
  const std::uint64_t span =
      step > 0 ? as_unsigned(stop) - as_unsigned(start) : as_unsigned(start) - as_unsigned(stop);
  const std::uint64_t stride = step > 0 ? as_unsigned(step) : 0 - as_unsigned(step);
  const std::uint64_t count = (span - 1) / stride + 1;
  if (count > kRangeMax) {
    fail(cat("template budget: a range of ", count, " items, at most ", kRangeMax));
  }
  std::vector<Value> items = room_for(env.heap, count);
  for (std::uint64_t i = 0; i < count; ++i) {
    items.push_back(
        Value::integer(static_cast<std::int64_t>(as_unsigned(start) + i * as_unsigned(step))));
  }
  return make_sequence(env.heap, Flavor::kRange, std::move(items));
}

/// Fills a dict or a namespace from named arguments, and from at most one mapping or list of pairs.
void fill(Environment& env, Dict& dict, const Arguments& arguments) {
  if (arguments.positional.size() > 1) fail("expected at most 1 positional argument");
  if (arguments.positional.size() == 1) {
    const Value& from = arguments.positional[0];
    if (from.kind() == Kind::kDict) {
      for (const auto& [key, value] : from.as<Dict>().entries) {
        env.heap.spend(1);
        dict.set(key, value);
      }
    } else {
      for (const Value& pair : iterate(env.heap, from)) {
        const std::vector<Value> two = iterate(env.heap, pair);
        if (two.size() != 2) fail("a mapping is made of pairs");
        dict.set(two[0], two[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) {
    dict.set(make_string(env.heap, name, Origin::kTemplate), value);
  }
}

Value dict(Environment& env, const Arguments& arguments) {
  Value made(new Dict(env.heap));
  fill(env, made.as<Dict>(), arguments);
  return made;
}

Value make_namespace(Environment& env, const Arguments& arguments) {
  Value made(new Dict(env.heap, Kind::kNamespace));
  env.cyclic.push_back(made);
  fill(env, made.as<Dict>(), arguments);
  return made;
}

Value cycler(Environment& env, const Arguments& arguments) {
  if (arguments.positional.empty()) fail("cycler(): at least one item has to be provided");
  return Value(new Cycler(env.heap, std::vector<Value>(arguments.positional)));
}

Value joiner(Environment& env, const Arguments& arguments) {
  const Parameters p("joiner", arguments, {"sep"});
  return Value(new Joiner(
      env.heap, p[0] == nullptr ? make_string(env.heap, ", ", Origin::kTemplate) : *p[0]));
}

Value raise_exception(Environment& env, const Arguments& arguments) {
  const Parameters p("raise_exception", arguments, {"message"}, 1);
  const Value message = to_string(env.heap, *p[0]);
  fail(cat("the template refused: ", printable(message.text(), kRaisedBytesMax)));
}

/// The time in the C locale, for one directive of C's strftime or Python's %f; empty if unknown.
std::string directive_text(char directive, const std::tm& time) {
  constexpr std::string_view kDirectives = "%aAbBcCdDeFgGhHIjklmMnpPrRStTuUVwWxXyY";
  if (directive == 'f') return "000000";
  if (kDirectives.find(directive) == std::string_view::npos) return {};
  const char format[] = {'%', directive, '\0'};
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << std::put_time(&time, format);
  return out.str();
}

/// C's strftime in the C locale. %Z and %z give nothing, as in Python's datetime.now().
std::string format_time(std::string_view format, const std::tm& time) {
  std::string out;
  for (std::size_t i = 0; i < format.size() && out.size() <= kTimeBytesMax; ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    // glibc's flag that leaves out the padding.
    const bool unpadded = format[i + 1] == '-' && i + 2 < format.size();
    i += unpadded ? 2 : 1;
    if (format[i] == 'Z' || format[i] == 'z') continue;
    std::string text = directive_text(format[i], time);
    if (text.empty()) {
      fail(cat("strftime_now(): unknown directive '%", printable(format.substr(i, 1)), "'"));
    }
    if (unpadded) text.erase(0, std::min(text.find_first_not_of("0 "), text.size() - 1));
    out += text;
  }
  if (out.size() > kTimeBytesMax) fail("strftime_now(): the result is too long");
  return out;
}

Value strftime_now(Environment& env, const Arguments& arguments) {
  const Parameters p("strftime_now", arguments, {"format"}, 1);
  const auto format = p.text(0);
  if (!format) fail("strftime_now(): the format must be a str");
  return make_string(env.heap, format_time(*format, env.now));
}

constexpr FunctionInfo kFunctions[] = {
    {"cycler", cycler},
    {"dict", dict},
    {"joiner", joiner},
    {"namespace", make_namespace},
    {"raise_exception", raise_exception},
    {"range", range},
    {"strftime_now", strftime_now},
};

}  // namespace

const FunctionInfo* find_function(std::string_view name) { return find_named(kFunctions, name); }

}  // namespace ingot::jinja
