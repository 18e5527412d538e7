// Methods of strings in Jinja templates, as in Python: split, strip, startswith, replace, ...
#include <utf8proc.h>

#include <algorithm>

#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "text/jinja/format.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/strings.h"

namespace ingot::jinja {

namespace {

template <Casing casing>
Value cased(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters none("str method", arguments, {});
  return change_case(self.string(), casing);
}

template <Side side>
Value stripped(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters p("strip", arguments, {"chars"});
  const auto chars = p.text(0);
  return strip(self.string(), chars ? &*chars : nullptr, side);
}

template <Side side>
Value padded(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters p("padding", arguments, {"width", "fillchar"}, 1);
  const std::string_view fill = p.text(1).value_or(" ");
  if (fill.empty() || decode_utf8(fill).size != fill.size()) {
    fail("the fill character must be exactly one character long");
  }
  return pad(self.string(), p.integer(0, 0), fill, side);
}

template <bool from_right>
Value split_method(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("split", arguments, {"sep", "maxsplit"});
  const auto separator = p.text(0);
  return make_sequence(
      env.heap, Flavor::kList,
      split(self.string(), separator ? &*separator : nullptr, p.integer(1, -1), from_right));
}

Value splitlines(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("splitlines", arguments, {"keepends"});
  return make_sequence(env.heap, Flavor::kList, split_lines(self.string(), p.flag(0, false)));
}

template <bool from_right>
Value partition(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("partition", arguments, {"sep"}, 1);
  const std::string_view text = self.text();
  const std::string_view separator = p.text(0).value_or("");
  if (separator.empty()) fail("empty separator");
  env.heap.spend_search(text.size(), separator.size());
  const std::size_t at = from_right ? text.rfind(separator) : text.find(separator);
  std::vector<Value> parts;
  if (at == std::string_view::npos) {
    const Value empty = make_string(env.heap, std::string_view());
    parts = {self, empty, empty};
    if (from_right) std::reverse(parts.begin(), parts.end());
  } else {
    const String& string = self.string();
    const std::size_t behind = at + separator.size();
    parts = {part_of(string, 0, at), part_of(string, at, behind),
             part_of(string, behind, text.size())};
  }
  return make_sequence(env.heap, Flavor::kTuple, std::move(parts));
}

/// The bytes of a string that the arguments start and stop select.
TextSpan selected(const String& string, const Parameters& p, std::size_t first) {
  const auto size = static_cast<std::int64_t>(string.length());
  const auto offset = [&](std::size_t i, std::int64_t fallback) {
    const std::int64_t at = p.some(i) == nullptr ? fallback : p.integer(i, fallback);
    return string.offset(to_size(std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size)));
  };
  return {offset(first, 0), offset(first + 1, size)};
}

enum class Find { kFirst, kLast };

template <Find which, bool must>
Value find(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("find", arguments, {"sub", "start", "end"}, 1);
  const String& string = self.string();
  const TextSpan span = selected(string, p, 1);
  std::size_t at = std::string_view::npos;
  if (span.begin <= span.end) {
    const std::string_view text = self.text().substr(0, span.end);
    const std::string_view sub = p.text(0).value_or("");
    env.heap.spend_search(text.size(), sub.size());
    at = which == Find::kFirst ? text.find(sub, span.begin) : text.rfind(sub);
    if (at < span.begin) at = std::string_view::npos;
  }
  if (at != std::string_view::npos) return Value::integer(index_of(string, at));
  if (must) fail("substring not found");
  return Value::integer(-1);
}

Value count(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("count", arguments, {"sub", "start", "end"}, 1);
  const String& string = self.string();
  const TextSpan span = selected(string, p, 1);
  if (span.begin > span.end) return Value::integer(0);
  const std::string_view text = self.text().substr(span.begin, span.end - span.begin);
  const std::string_view sub = p.text(0).value_or("");
  env.heap.spend_search(text.size(), sub.size());
  if (sub.empty()) {
    return Value::integer(index_of(string, span.end) - index_of(string, span.begin) + 1);
  }
  std::int64_t found = 0;
  for (std::size_t at = text.find(sub); at != std::string_view::npos;
       at = text.find(sub, at + sub.size())) {
    ++found;
  }
  return Value::integer(found);
}

template <bool at_end>
Value has_affix(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p(at_end ? "endswith" : "startswith", arguments, {"affix", "start", "end"}, 1);
  const TextSpan span = selected(self.string(), p, 1);
  if (span.begin > span.end) return Value::boolean(false);
  const std::string_view text = self.text().substr(span.begin, span.end - span.begin);
  const auto matches = [&](const Value& affix) {
    expect_defined(affix);
    if (!affix.is_string()) {
      fail(cat(at_end ? "endswith" : "startswith", "() needs a str or a tuple of str, not ",
               type_name(affix)));
    }
    env.heap.spend_bytes(affix.text().size());
    return at_end ? text.ends_with(affix.text()) : text.starts_with(affix.text());
  };
  const Value& affix = *p[0];
  if (!affix.is_flavor(Flavor::kTuple)) return Value::boolean(matches(affix));
  const auto& items = affix.as<Sequence>().items;
  return Value::boolean(std::any_of(items.begin(), items.end(), matches));
}

template <bool at_end>
Value remove_affix(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters p(at_end ? "removesuffix" : "removeprefix", arguments, {"affix"}, 1);
  const std::string_view text = self.text();
  const std::string_view affix = p.text(0).value_or("");
  if (at_end ? !text.ends_with(affix) : !text.starts_with(affix)) return self;
  return part_of(self.string(), at_end ? 0 : affix.size(),
                 text.size() - (at_end ? affix.size() : 0));
}

Value replace_method(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters p("replace", arguments, {"old", "new", "count"}, 2);
  static_cast<void>(p.text(0));
  static_cast<void>(p.text(1));
  if (!p[0]->is_string() || !p[1]->is_string()) fail("replace() needs two str");
  return replace(self.string(), p[0]->string().text, p[1]->string().text, p.integer(2, -1));
}

Value join_method(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("join", arguments, {"iterable"}, 1);
  expect_defined(*p[0]);
  const std::vector<Value> parts = iterate(env.heap, *p[0]);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].is_string()) continue;
    fail(cat("sequence item ", i, ": expected str instance, ", type_name(parts[i]), " found"));
  }
  return join(env.heap, self, parts);
}

Value zero_fill(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("zfill", arguments, {"width"}, 1);
  const String& string = self.string();
  const std::string_view text = self.text();
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  if (!has_sign) return pad(string, p.integer(0, 0), "0", Side::kLeft);
  const Value digits = part_of(string, 1, text.size());
  const Value filled = pad(digits.string(), p.integer(0, 0) - 1, "0", Side::kLeft);
  TextBuilder out(env.heap);
  out.append(string.text, 0, 1);
  out.append(filled.string().text);
  return out.take(string.markup);
}

Value expand_tabs(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("expandtabs", arguments, {"tabsize"});
  const auto size = to_size(std::clamp<std::int64_t>(p.integer(0, 8), 0, 1 << 20));
  TextBuilder out(env.heap);
  std::size_t column = 0;
  const String& string = self.string();
  env.heap.spend_characters(self.text().size());
  for (std::size_t at = 0; at < self.text().size();) {
    const Utf8Char c = decode_utf8(self.text().substr(at));
    if (c.code == '\t') {
      const std::size_t fill = size == 0 ? 0 : size - column % size;
      env.heap.spend_bytes(fill);
      out.append(std::string(fill, ' '), string.text.origin(at));
      column += fill;
    } else {
      out.append(string.text, at, at + c.size);
      column = c.code == '\n' || c.code == '\r' ? 0 : column + 1;
    }
    at += c.size;
  }
  return out.take(string.markup);
}

utf8proc_category_t category(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool is_letter(char32_t c) {
  const auto k = category(c);
  return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }
bool is_numeric(char32_t c) {
  const auto k = category(c);
  return k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO;
}
/// Digits, including superscripts, subscripts and similar characters.
///
/// Source:  Unicode's Numeric_Type=Digit below U+2800; above it Digit and Numeric are not
///          distinguished.
bool is_digit(char32_t c) {
  if (is_decimal(c)) return true;
  return c == 0xB2 || c == 0xB3 || c == 0xB9 || c == 0x2070 || (c >= 0x2074 && c <= 0x2079) ||
         (c >= 0x2080 && c <= 0x2089) || (c >= 0x2460 && c <= 0x2468) ||
         (c >= 0x2474 && c <= 0x247C) || (c >= 0x2488 && c <= 0x2490);
}
bool is_alnum(char32_t c) { return is_letter(c) || is_numeric(c); }
bool is_ascii_char(char32_t c) { return c < 0x80; }
bool is_name_char(char32_t c) { return c == '_' || is_alnum(c); }

/// Whether all code points have a property; stops at the first one that has not.
template <class Holds>
bool all_characters(const String& string, const Holds& holds) {
  const std::string_view text = string.text.bytes;
  string.heap().spend_characters(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text.substr(at));
    if (!holds(c.code)) return false;
    at += c.size;
  }
  return true;
}

template <bool (*holds)(char32_t), bool when_empty>
Value all_are(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters none("str test", arguments, {});
  const bool all = all_characters(self.string(), holds);
  return Value::boolean(all && (when_empty || !self.text().empty()));
}

Value is_identifier(Environment& env, const Value& self, const Arguments& arguments) {
  const std::string_view text = self.text();
  if (!text.empty() && is_numeric(decode_utf8(text).code)) return Value::boolean(false);
  return all_are<is_name_char, false>(env, self, arguments);
}

template <bool upper>
Value is_in_case(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters none("str test", arguments, {});
  return Value::boolean(has_case(self.string(), upper));
}

Value is_title(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters none("istitle", arguments, {});
  bool in_word = false;
  bool any = false;
  const bool all = all_characters(self.string(), [&](char32_t c) {
    const bool starts = is_cased(c) && !is_lower(c);
    if (starts == in_word && is_cased(c)) return false;
    in_word = is_cased(c);
    any = any || in_word;
    return true;
  });
  return Value::boolean(all && any);
}

Value format_method(Environment& env, const Value& self, const Arguments& arguments) {
  return format_braces(env, self, arguments);
}

constexpr MethodInfo kMethods[] = {
    {"capitalize", cased<Casing::kCapitalize>},
    {"casefold", cased<Casing::kFold>},
    {"center", padded<Side::kBoth>},
    {"count", count},
    {"endswith", has_affix<true>},
    {"expandtabs", expand_tabs},
    {"find", find<Find::kFirst, false>},
    {"format", format_method},
    {"index", find<Find::kFirst, true>},
    {"isalnum", all_are<is_alnum, false>},
    {"isalpha", all_are<is_letter, false>},
    {"isascii", all_are<is_ascii_char, true>},
    {"isdecimal", all_are<is_decimal, false>},
    {"isdigit", all_are<is_digit, false>},
    {"isidentifier", is_identifier},
    {"islower", is_in_case<false>},
    {"isnumeric", all_are<is_numeric, false>},
    {"isprintable", all_are<is_printable, true>},
    {"isspace", all_are<is_python_space, false>},
    {"istitle", is_title},
    {"isupper", is_in_case<true>},
    {"join", join_method},
    {"ljust", padded<Side::kRight>},
    {"lower", cased<Casing::kLower>},
    {"lstrip", stripped<Side::kLeft>},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace_method},
    {"rfind", find<Find::kLast, false>},
    {"rindex", find<Find::kLast, true>},
    {"rjust", padded<Side::kLeft>},
    {"rpartition", partition<true>},
    {"rsplit", split_method<true>},
    {"rstrip", stripped<Side::kRight>},
    {"split", split_method<false>},
    {"splitlines", splitlines},
    {"startswith", has_affix<false>},
    {"strip", stripped<Side::kBoth>},
    {"swapcase", cased<Casing::kSwap>},
    {"title", cased<Casing::kTitle>},
    {"upper", cased<Casing::kUpper>},
    {"zfill", zero_fill},
};

}  // namespace

bool has_case(const String& string, bool upper) {
  bool any = false;
  const bool all = all_characters(string, [&](char32_t c) {
    any = any || is_cased(c);
    return !is_cased(c) || (upper ? is_upper(c) : is_lower(c));
  });
  return all && any;
}

std::span<const MethodInfo> string_methods() { return kMethods; }

}  // namespace ingot::jinja
