// The table of Jinja filters, and filters on single values (default, int, round, tojson, ...).
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/library.h"
#include "text/jinja/literal.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/strings.h"

namespace ingot::jinja {

namespace {

Value absolute(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters none("abs", arguments, {});
  expect_defined(value);
  if (!value.is_number()) fail(cat("bad operand type for abs(): '", type_name(value), "'"));
  if (value.kind() == Kind::kFloat) return Value::real(std::abs(value.as_float()));
  return value.as_int() < 0 ? negate(value) : Value::integer(value.as_int());
}

Value attr(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("attr", arguments, {"name"}, 1);
  expect_defined(value);
  const Value name = to_string(env.heap, *p[0]);
  if (value.kind() == Kind::kDict && find_method(value, name.text()) == nullptr) {
    return Value::undefined(Missing::kAttribute, name, value);
  }
  return attribute(env.heap, value, name);
}

Value default_value(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("default", arguments, {"default_value", "boolean"});
  const bool is_absent = value.is_undefined() || (p.flag(1, false) && !is_true(value));
  if (!is_absent) return value;
  return p[0] == nullptr ? make_string(env.heap, std::string_view()) : *p[0];
}

Value to_float(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters p("float", arguments, {"default"});
  expect_defined(value);
  if (value.is_number()) return Value::real(value.as_float());
  const auto parsed = value.is_string() ? parse_float(value.text()) : std::nullopt;
  if (parsed) return Value::real(*parsed);
  return p[0] == nullptr ? Value::real(0.0) : *p[0];
}

Value to_int(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters p("int", arguments, {"default", "base"});
  expect_defined(value);
  if (value.is_integer()) return Value::integer(value.as_int());
  std::optional<double> real;
  if (value.kind() == Kind::kFloat) real = value.as_float();
  if (value.is_string()) {
    if (const auto whole = parse_int(value.text(), p.integer(1, 10))) {
      return Value::integer(*whole);
    }
    real = parse_float(value.text());
  }
  if (real && std::isfinite(*real)) {
    constexpr double kLimit = 9.2e18;
    if (std::abs(*real) > kLimit) fail("an integer beyond 64 bits");
    return Value::integer(static_cast<std::int64_t>(*real));
  }
  return p[0] == nullptr ? Value::integer(0) : *p[0];
}

Value round_number(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters p("round", arguments, {"precision", "method"});
  expect_defined(value);
  const std::int64_t precision = p.integer(0, 0);
  const std::string_view method = p.text(1).value_or("common");
  if (!value.is_number()) fail(cat("round(): ", type_name(value), " is no number"));
  if (precision < -300 || precision > 300) fail("round(): the precision is not within 300");
  if (method == "common") {
    if (value.is_integer() && precision >= 0) return Value::integer(value.as_int());
    if (value.is_integer()) {
      return Value::integer(static_cast<std::int64_t>(
          round_half_even(static_cast<double>(value.as_int()), static_cast<int>(precision))));
    }
    return Value::real(round_half_even(value.as_float(), static_cast<int>(precision)));
  }
  if (method != "ceil" && method != "floor") fail("method must be common, ceil or floor");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = value.as_float() * scale;
  const double whole = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  return Value::real((whole + 0.0) / scale);  // + 0.0: Python has integers here, without -0
}

Value file_size(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("filesizeformat", arguments, {"binary"});
  const bool binary = p.flag(0, false);
  const double base = binary ? 1024 : 1000;
  expect_defined(value);
  std::optional<double> parsed;
  if (value.is_number()) parsed = value.as_float();
  if (value.is_string()) parsed = parse_float(value.text());
  if (!parsed) fail(cat("filesizeformat(): ", type_name(value), " is no number"));
  const double bytes = *parsed;
  if (bytes == 1) return make_string(env.heap, "1 Byte");
  if (bytes < base) {
    return make_string(env.heap, cat(static_cast<std::int64_t>(bytes), " Bytes"));
  }
  constexpr std::array<std::string_view, 8> kUnits = {"k", "M", "G", "T", "P", "E", "Z", "Y"};
  double unit = base;
  std::size_t i = 0;
  for (; i + 1 < kUnits.size() && bytes >= unit * base; ++i) unit *= base;
  const Value number = format_value(env, Value::real(bytes / unit), ".1f");
  const std::string_view name = binary && i == 0 ? std::string_view("K") : kUnits[i];
  return make_string(env.heap, cat(number.text(), " ", name, binary ? "iB" : "B"));
}

Value safe(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("safe", arguments, {});
  return printed(env.heap, value, true);
}

Value escape(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("escape", arguments, {});
  return escape_html(env.heap, value);
}

Value force_escape(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("forceescape", arguments, {});
  TextBuilder plain(env.heap);
  print(value, plain);
  return escape_html(env.heap, plain.take());
}

Value string(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("string", arguments, {});
  return to_string(env.heap, value);
}

std::string indent_of(const Value& indent) {
  if (indent.is_string()) return std::string(indent.text());
  if (!indent.is_integer()) fail("tojson(): indent is an int, a str or None");
  constexpr std::int64_t kIndentMax = 1000;
  if (indent.as_int() > kIndentMax) fail(cat("tojson(): indent beyond ", kIndentMax));
  return std::string(to_size(std::max<std::int64_t>(indent.as_int(), 0)), ' ');
}

Value to_json(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  const Value* indent = p.some(1);
  JsonStyle style{.ensure_ascii = p.flag(0, false),
                  .sort_keys = p.flag(3, false),
                  .breaks_lines = indent != nullptr,
                  .indent = indent == nullptr ? std::string() : indent_of(*indent),
                  .item_separator = indent == nullptr ? ", " : ","};
  if (const Value* separators = p.some(2)) {
    const std::vector<Value> pair = iterate(env.heap, *separators);
    if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      fail("tojson(): separators are two str");
    }
    style.item_separator = pair[0].text();
    style.key_separator = pair[1].text();
  }
  TextBuilder out(env.heap);
  print_json(value, style, out);
  return out.take();
}

constexpr FilterInfo kFilters[] = {
    {"abs", absolute},
    {"attr", attr},
    {"d", default_value},
    {"default", default_value},
    {"e", escape},
    {"escape", escape},
    {"filesizeformat", file_size},
    {"float", to_float},
    {"forceescape", force_escape},
    {"int", to_int},
    {"round", round_number},
    {"safe", safe},
    {"string", string},
    {"tojson", to_json},
};

const std::vector<FilterInfo>& all_filters() {
  static const std::vector<FilterInfo> all = [] {
    std::vector<FilterInfo> filters(std::begin(kFilters), std::end(kFilters));
    for (const auto table : {text_filters(), sequence_filters(), select_filters()}) {
      filters.insert(filters.end(), table.begin(), table.end());
    }
    return filters;
  }();
  return all;
}

}  // namespace

std::optional<std::size_t> find_filter(std::string_view name) {
  const auto* at = find_named(all_filters(), name);
  if (at == nullptr) return std::nullopt;
  return to_size(at - all_filters().data());
}

const FilterInfo& filter_at(std::size_t index) { return all_filters()[index]; }

}  // namespace ingot::jinja
