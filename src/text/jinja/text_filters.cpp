// Jinja filters on texts: case, indentation, wrapping, replacing.
#include <algorithm>

#include "base/index.h"
#include "base/text.h"
#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/strings.h"
#include "text/unicode/char_class.h"

namespace ingot::jinja {

namespace {

template <Casing casing>
Value cased_text(Environment& env, const Value& value, const Arguments& arguments) {
  constexpr std::string_view kName = casing == Casing::kLower   ? "lower"
                                     : casing == Casing::kUpper ? "upper"
                                                                : "capitalize";
  const Parameters none(kName, arguments, {});
  return change_case(to_string(env.heap, value).string(), casing);
}

Value filter_title(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("title", arguments, {});
  return title_words(to_string(env.heap, value).string());
}

Value filter_center(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("center", arguments, {"width"});
  return pad(to_string(env.heap, value).string(), p.integer(0, 80), " ", Side::kBoth);
}

Value filter_trim(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("trim", arguments, {"chars"});
  const auto chars = p.text(0);
  return strip(to_string(env.heap, value).string(), chars ? &*chars : nullptr, Side::kBoth);
}

Value filter_format(Environment& env, const Value& value, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    fail("format(): either positional or named arguments");
  }
  const Value format = to_string(env.heap, value);
  if (arguments.named.empty()) {
    return format_percent(
        env, format,
        make_sequence(env.heap, Flavor::kTuple, std::vector<Value>(arguments.positional)));
  }
  Value values(new Dict(env.heap));
  for (const auto& [name, member] : arguments.named) {
    values.as<Dict>().set(make_string(env.heap, name), member);
  }
  return format_percent(env, format, values);
}

Value filter_indent(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("indent", arguments, {"width", "first", "blank"});
  if (!value.is_string()) {
    expect_defined(value);
    fail(cat("indent(): unsupported operand type for +: '", type_name(value), "' and 'str'"));
  }
  Value indent;
  if (p[0] != nullptr && p[0]->is_string()) {
    indent = *p[0];
  } else {
    const std::int64_t width = p.integer(0, 4);
    env.heap.expect(to_size(std::max<std::int64_t>(width, 0)));
    indent = make_string(env.heap, std::string(to_size(std::max<std::int64_t>(width, 0)), ' '),
                         Origin::kTemplate);
  }
  TextBuilder whole(env.heap);
  whole.append(value.string().text);
  whole.append_own("\n");
  const Value text = whole.take();
  const std::vector<Value> lines = split_lines(text.string(), false);
  TextBuilder out(env.heap);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.append_own("\n");
    const bool wanted = i == 0 ? p.flag(1, false) : p.flag(2, false) || is_true(lines[i]);
    if (wanted) out.append(indent.string().text);
    out.append(lines[i].string().text);
  }
  return out.take(value.string().markup);
}

Value filter_replace(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("replace", arguments, {"old", "new", "count"}, 2);
  const Value text = printed(env.heap, value);
  const Value from = printed(env.heap, *p[0]);
  const Value to = printed(env.heap, *p[1]);
  const std::int64_t limit = p.some(2) == nullptr ? -1 : p.integer(2, -1);
  return replace(text.string(), from.string().text, to.string().text, limit);
}

Value filter_truncate(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("truncate", arguments, {"length", "killwords", "end", "leeway"});
  if (value.is_undefined()) return value;  // its length is 0
  if (!value.is_string()) {
    if (length(env.heap, value) <= p.integer(0, 255)) return value;
    fail(cat("truncate(): ", type_name(value), " is no str"));
  }
  const String& string = value.string();
  const Value end = p[2] == nullptr ? make_string(env.heap, "...", Origin::kTemplate)
                                    : to_string(env.heap, *p[2]);
  constexpr std::int64_t kLeeway = 5;
  const std::int64_t wanted = p.integer(0, 255);
  const std::int64_t leeway = p.some(3) == nullptr ? kLeeway : p.integer(3, kLeeway);
  const auto end_size = static_cast<std::int64_t>(end.string().length());
  if (wanted < end_size) fail(cat("truncate(): expected length >= ", end_size, ", got ", wanted));
  if (leeway < 0) fail(cat("truncate(): expected leeway >= 0, got ", leeway));
  const auto have = static_cast<std::int64_t>(string.length());
  if (have - leeway <= wanted) return value;
  std::size_t cut = string.offset(to_size(wanted - end_size));
  if (!p.flag(1, false)) {
    const std::size_t space = value.text().substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  TextBuilder out(env.heap);
  out.append(string.text, 0, cut);
  out.append(end.string().text);
  return out.take(string.markup);
}

void quote(const MarkedText& text, bool keeps_slash, TextBuilder& out) {
  constexpr std::string_view kKept = "_.-~";
  constexpr char kHex[] = "0123456789ABCDEF";
  out.heap().spend_characters(text.bytes.size());
  for (std::size_t at = 0; at < text.bytes.size(); ++at) {
    const char c = text.bytes[at];
    const auto byte = static_cast<unsigned char>(c);
    const bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_word || kKept.find(c) != std::string_view::npos || (c == '/' && keeps_slash)) {
      out.append(text, at, at + 1);
    } else if (c == ' ' && !keeps_slash) {
      out.append_data("+");
    } else {
      const char escape[] = {'%', kHex[byte >> 4], kHex[byte & 15]};
      out.append_data(std::string_view(escape, 3));
    }
  }
}

Value filter_urlencode(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("urlencode", arguments, {});
  TextBuilder out(env.heap);
  if (value.is_string() || value.is_number() || value.is_none()) {
    quote(to_string(env.heap, value).string().text, true, out);
    return out.take();
  }
  const bool is_dict = value.kind() == Kind::kDict;
  const Value pairs = is_dict ? filter_items(env, value, {}) : value;
  bool first = true;
  for (const Value& pair : iterate(env.heap, pairs)) {
    const std::vector<Value> two = iterate(env.heap, pair);
    if (two.size() != 2) fail("urlencode(): expected pairs");
    if (!std::exchange(first, false)) out.append_data("&");
    quote(to_string(env.heap, two[0]).string().text, false, out);
    out.append_data("=");
    quote(to_string(env.heap, two[1]).string().text, false, out);
  }
  return out.take();
}

Value filter_wordcount(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("wordcount", arguments, {});
  const Value text = to_string(env.heap, value);
  std::int64_t words = 0;
  bool in_word = false;
  each_character(text.string(), [&](char32_t code, std::size_t) {
    const bool is_word = code == '_' || (char_class(code) & (kLetter | kNumber)) != 0;
    if (is_word && !in_word) ++words;
    in_word = is_word;
  });
  return Value::integer(words);
}

constexpr FilterInfo kTextFilters[] = {
    {"capitalize", cased_text<Casing::kCapitalize>},
    {"center", filter_center},
    {"format", filter_format},
    {"indent", filter_indent},
    {"lower", cased_text<Casing::kLower>},
    {"replace", filter_replace},
    {"title", filter_title},
    {"trim", filter_trim},
    {"truncate", filter_truncate},
    {"upper", cased_text<Casing::kUpper>},
    {"urlencode", filter_urlencode},
    {"wordcount", filter_wordcount},
};

}  // namespace

std::span<const FilterInfo> text_filters() { return kTextFilters; }

}  // namespace ingot::jinja
