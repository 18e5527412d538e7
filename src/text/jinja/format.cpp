// Python's string formatting: format(), "..." % ... and "...".format(...).
#include "text/jinja/format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/strings.h"

namespace ingot::jinja {

namespace {

/// Most digits that a format may ask for.
constexpr std::size_t kPrecisionMax = 1000;

/// A parsed format spec: [[fill]align][sign][#][0][width][,][.precision][type].
struct Spec {
  std::string_view fill = " ";
  char align = 0;  ///< '<', '>', '^' or '='; 0: the type's default
  char sign = '-';
  bool alternate = false;
  std::size_t width = 0;
  char grouping = 0;
  std::optional<std::size_t> precision;
  char type = 0;
};

[[noreturn]] void bad_spec(std::string_view spec) {
  fail(cat("invalid format specifier '", printable(spec, 64), "'"));
}

std::size_t read_number(std::string_view text, std::size_t& at) {
  std::size_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = std::min<std::size_t>(value * 10 + to_size(text[at] - '0'), 1U << 30);
  }
  return value;
}

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

Spec parse_spec(std::string_view text) {
  Spec spec;
  std::size_t at = 0;
  const std::size_t fill = decode_utf8(text).size;
  if (fill > 0 && fill < text.size() && is_align(text[fill])) {
    spec.fill = text.substr(0, fill);
    spec.align = text[fill];
    at = fill + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[at++];
  }
  const auto skip = [&](std::string_view any) {
    return at < text.size() && any.find(text[at]) != std::string_view::npos ? text[at++] : '\0';
  };
  if (const char sign = skip("+- ")) spec.sign = sign;
  spec.alternate = skip("#") != 0;
  if (skip("0") != 0 && spec.align == 0) {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.width = read_number(text, at);
  spec.grouping = skip(",_");
  if (skip(".") != 0) {
    const std::size_t begin = at;
    spec.precision = read_number(text, at);
    if (at == begin || *spec.precision > kPrecisionMax) bad_spec(text);
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) bad_spec(text);
  return spec;
}

void group_digits(std::string& number, char mark, std::size_t size) {
  std::size_t end = number.find_first_not_of("0123456789abcdefABCDEF");
  if (end == std::string::npos) end = number.size();
  for (; end > size; end -= size) number.insert(end - size, 1, mark);
}

/// The digits of an integer without its sign; sets `prefix` to the prefix that # asks for.
std::string int_digits(std::uint64_t magnitude, const Spec& spec, std::string& prefix) {
  const char lower = static_cast<char>(spec.type | 0x20);
  const int base = lower == 'x' ? 16 : lower == 'o' ? 8 : lower == 'b' ? 2 : 10;
  char buffer[72];
  std::string digits(buffer, std::to_chars(buffer, buffer + sizeof buffer, magnitude, base).ptr);
  if (spec.type == 'X') {
    for (char& c : digits) c = c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  if (spec.alternate && base != 10) prefix = std::string("0") + spec.type;
  if (spec.grouping != 0) group_digits(digits, spec.grouping, base == 10 ? 3 : 4);
  return digits;
}

/// The digits of a float without its sign.
std::string float_digits(double magnitude, const Spec& spec) {
  const bool is_percent = spec.type == '%';
  if (std::isinf(magnitude) || std::isnan(magnitude)) {
    const bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
    const std::string_view word =
        std::isnan(magnitude) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
    return cat(word, is_percent ? "%" : "");
  }
  std::string digits;
  if (spec.type == 0 && !spec.precision) {
    digits = python_float(magnitude);
  } else {
    if (spec.alternate) fail("# in the format of a float is not supported");
    const char type = is_percent ? 'f' : static_cast<char>(spec.type | 0x20);
    const auto style = type == 'f'   ? std::chars_format::fixed
                       : type == 'e' ? std::chars_format::scientific
                                     : std::chars_format::general;
    std::vector<char> buffer(kPrecisionMax + 400);  // a double has at most 309 digits in front
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                   is_percent ? magnitude * 100 : magnitude, style,
                                   static_cast<int>(spec.precision.value_or(6)))
                         .ptr;
    digits.assign(buffer.data(), end);
    if (spec.type == 'E' || spec.type == 'G') {
      std::replace(digits.begin(), digits.end(), 'e', 'E');
    }
    const bool is_whole = digits.find_first_of(".e") == std::string::npos;
    if (spec.type == 0 && is_whole) digits += ".0";
  }
  if (spec.grouping != 0) group_digits(digits, spec.grouping, 3);
  return digits + (is_percent ? "%" : "");
}

Value aligned(const Value& text, const Spec& spec, char align) {
  const Side side = align == '<' ? Side::kRight : align == '^' ? Side::kBoth : Side::kLeft;
  const String& string = text.string();
  if (side != Side::kBoth) {
    return pad(string, static_cast<std::int64_t>(spec.width), spec.fill, side);
  }
  // Unlike str.center, format() always puts the odd fill character to the right.
  const std::size_t have = string.length();
  const std::size_t left = spec.width > have ? (spec.width - have) / 2 : 0;
  const Value padded = pad(string, static_cast<std::int64_t>(have + left), spec.fill, Side::kLeft);
  return pad(padded.string(), static_cast<std::int64_t>(spec.width), spec.fill, Side::kRight);
}

Value format_number(Environment& env, const Value& value, const Spec& spec) {
  const bool as_float = value.kind() == Kind::kFloat ||
                        std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
  const bool is_negative = as_float ? std::signbit(value.as_float()) : value.as_int() < 0;
  std::string prefix;
  std::string digits;
  if (as_float) {
    digits = float_digits(std::abs(value.as_float()), spec);
  } else {
    const auto bits = static_cast<std::uint64_t>(value.as_int());
    digits = int_digits(is_negative ? 0 - bits : bits, spec, prefix);
  }
  std::string sign = is_negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  sign += prefix;
  if (spec.align == '=') {
    const Value number = make_string(env.heap, digits);
    const auto width = static_cast<std::int64_t>(spec.width) - std::ssize(sign);
    TextBuilder out(env.heap);
    out.append_data(sign);
    out.append(pad(number.string(), width, spec.fill, Side::kLeft).string().text);
    return out.take();
  }
  return aligned(make_string(env.heap, sign + digits), spec, spec.align == 0 ? '>' : spec.align);
}

Value format_text(const Value& text, const Spec& spec) {
  if (spec.grouping != 0) fail(cat("cannot specify '", spec.grouping, "' with 's'"));
  if (spec.align == '=') fail("'=' alignment not allowed in string format specifier");
  Value cut = text;
  if (spec.precision) {
    cut = part_of(text.string(), 0, text.string().offset(*spec.precision));
  }
  return aligned(cut, spec, spec.align == 0 ? '<' : spec.align);
}

Value format_spec(Environment& env, const Value& value, const Spec& spec) {
  constexpr std::string_view kIntTypes = "bdoxXn";
  constexpr std::string_view kFloatTypes = "eEfFgGn%";
  const auto allows = [&](std::string_view types) {
    return spec.type == 0 || types.find(spec.type) != std::string_view::npos;
  };
  if (value.is_integer() && spec.type == 'c') {
    TextBuilder out(env.heap);
    if (value.as_int() < 0 || value.as_int() > 0x10FFFF) fail("%c arg not in range(0x110000)");
    out.append_code(static_cast<char32_t>(value.as_int()), Origin::kData);
    return aligned(out.take(), spec, spec.align == 0 ? '<' : spec.align);
  }
  const bool fits = value.is_integer()             ? allows(kIntTypes) || allows(kFloatTypes)
                    : value.kind() == Kind::kFloat ? allows(kFloatTypes)
                    : value.is_string()            ? allows("s")
                                                   : false;
  if (!fits) {
    fail(cat("unsupported format for an object of type '", type_name(value), "'"));
  }
  return value.is_string() ? format_text(value, spec) : format_number(env, value, spec);
}

}  // namespace

Value format_value(Environment& env, const Value& value, std::string_view text) {
  if (text.empty()) return to_string(env.heap, value);
  if (value.kind() == Kind::kBool && parse_spec(text).type == 0) {
    return format_spec(env, Value::integer(value.as_int()), parse_spec(text));
  }
  return format_spec(env, value, parse_spec(text));
}

namespace {

/// Runs the conversions of "..." % values in order.
class PercentFormat {
 public:
  PercentFormat(Environment& env, const String& format, const Value& values)
      : env_(env), format_(format), text_(format.text.bytes), values_(values), out_(env.heap) {}

  Value run() {
    env_.heap.spend_bytes(text_.size());
    for (std::size_t at = text_.find('%'); at != std::string_view::npos;
         at = text_.find('%', at_)) {
      out_.append(format_.text, at_, at);
      at_ = at + 1;
      conversion();
    }
    out_.append(format_.text, at_, text_.size());
    // Python treats a value with elements as a mapping; not all its entries must be used.
    const bool is_mapping = values_.kind() == Kind::kDict || values_.is_undefined() ||
                            (values_.is_sequence() && !is_tuple());
    if (!is_mapping && used_ != count())
      fail("not all arguments converted during string formatting");
    return out_.take(format_.markup);
  }

 private:
  bool is_tuple() const { return values_.is_flavor(Flavor::kTuple); }
  std::size_t count() const { return is_tuple() ? values_.as<Sequence>().items.size() : 1; }

  Value next_value() {
    if (used_ >= count()) fail("not enough arguments for format string");
    const std::size_t i = used_++;
    return is_tuple() ? values_.as<Sequence>().items[i] : values_;
  }

  Value keyed() {
    const std::size_t end = text_.find(')', at_);
    if (end == std::string_view::npos) fail("incomplete format key");
    if (values_.kind() != Kind::kDict) fail("format requires a mapping");
    const Value* found = values_.as<Dict>().find(text_.substr(at_ + 1, end - at_ - 1));
    if (found == nullptr) fail("a key of the format is not in the mapping");
    at_ = end + 1;
    return *found;
  }

  std::size_t star_or_number() {
    if (at_ < text_.size() && text_[at_] == '*') {
      ++at_;
      const Value width = next_value();
      if (!width.is_integer() || width.as_int() < 0) fail("* wants int");
      return to_size(width.as_int());
    }
    return read_number(text_, at_);
  }

  void conversion() {
    std::optional<Value> key;
    if (at_ < text_.size() && text_[at_] == '(') key = keyed();
    Spec spec;
    spec.align = '>';
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '-') spec.align = '<';
      if (c == '+' || (c == ' ' && spec.sign != '+')) spec.sign = c;
      if (c == '#') spec.alternate = true;
      if (c == '0' && spec.align == '>') {
        spec.fill = "0";
        spec.align = '=';
      }
      if (std::string_view("-+ #0").find(c) == std::string_view::npos) break;
    }
    if (spec.align == '<') spec.fill = " ";
    spec.width = star_or_number();
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      spec.precision = std::min(star_or_number(), kPrecisionMax);
    }
    if (at_ == text_.size()) fail("incomplete format");
    spec.type = text_[at_++];
    if (spec.type == '%') return out_.append_data("%");
    put(key ? *key : next_value(), spec);
  }

  void put(const Value& value, Spec& spec) {
    if (std::string_view("sra").find(spec.type) != std::string_view::npos) {
      TextBuilder shown(env_.heap);
      spec.type == 's' ? print(value, shown) : print_repr(value, shown);
      spec.type = 's';
      if (spec.align == '=') spec.align = '>';
      spec.fill = " ";
      return append(shown.take(), spec);
    }
    if (spec.type == 'c' && value.is_string()) {
      spec.type = 's';
      return append(value, spec);
    }
    expect_defined(value);
    const bool is_int_type = std::string_view("diuoxXc").find(spec.type) != std::string_view::npos;
    const bool is_float_type = std::string_view("eEfFgG").find(spec.type) != std::string_view::npos;
    if (!is_int_type && !is_float_type) {
      fail(cat("unsupported format character '", printable(std::string_view(&spec.type, 1)), "'"));
    }
    if (!value.is_number()) {
      fail(cat("%", std::string(1, spec.type), " format: a number is required, not ",
               type_name(value)));
    }
    const bool wants_integer = std::string_view("xXoc").find(spec.type) != std::string_view::npos;
    if (wants_integer && value.kind() == Kind::kFloat) {
      fail(cat("%", spec.type, " format: an integer is required, not float"));
    }
    if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
    append(is_int_type ? whole(value) : value, spec);
  }

  static Value whole(const Value& value) {
    if (value.is_integer()) return Value::integer(value.as_int());
    constexpr double kLimit = 9.2e18;
    if (!(std::abs(value.as_float()) < kLimit)) fail("an integer beyond 64 bits");
    return Value::integer(static_cast<std::int64_t>(value.as_float()));
  }

  void append(const Value& value, const Spec& spec) {
    out_.append(format_spec(env_, value, spec).string().text);
  }

  Environment& env_;
  const String& format_;
  std::string_view text_;
  const Value& values_;
  TextBuilder out_;
  std::size_t at_ = 0;
  std::size_t used_ = 0;
};

/// Runs the replacement fields of "...".format() in order.
class BraceFormat {
 public:
  BraceFormat(Environment& env, const String& format, const Arguments& arguments)
      : env_(env), format_(format), arguments_(arguments), out_(env.heap) {}

  Value run() {
    const std::string_view text = format_.text.bytes;
    env_.heap.spend_bytes(text.size());
    std::size_t copied = 0;
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] != '{' && text[at] != '}') {
        ++at;
        continue;
      }
      const bool is_pair = at + 1 < text.size() && text[at + 1] == text[at];
      out_.append(format_.text, copied, at + (is_pair ? 1 : 0));
      if (is_pair) {
        at += 2;
      } else {
        if (text[at] == '}') fail("single '}' encountered in format string");
        const std::size_t end = text.find('}', at);
        if (end == std::string_view::npos) fail("expected '}' before end of string");
        field(text.substr(at + 1, end - at - 1));
        at = end + 1;
      }
      copied = at;
    }
    out_.append(format_.text, copied, text.size());
    return out_.take(format_.markup);
  }

 private:
  void field(std::string_view text) {
    if (text.find('{') != std::string_view::npos) {
      fail("a format within a format is not supported");
    }
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view spec = text.substr(std::min(colon + 1, text.size()));
    std::string_view name = text.substr(0, colon);
    char conversion = 0;
    if (const std::size_t mark = name.find('!'); mark != std::string_view::npos) {
      if (mark + 2 != name.size()) fail("a conversion is one letter behind the !");
      conversion = name[mark + 1];
      name = name.substr(0, mark);
    }
    Value value = resolve(name);
    if (conversion != 0) value = converted(value, conversion);
    out_.append(format_value(env_, value, spec).string().text);
  }

  Value converted(const Value& value, char conversion) {
    if (conversion != 's' && conversion != 'r') fail("a conversion is !s or !r");
    TextBuilder shown(env_.heap);
    conversion == 's' ? print(value, shown) : print_repr(value, shown);
    return shown.take();
  }

  Value resolve(std::string_view path) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    Value value = argument(path.substr(0, end));
    path.remove_prefix(end);
    while (!path.empty()) {
      const bool is_attribute = path[0] == '.';
      const std::size_t close =
          is_attribute ? std::min(path.find_first_of(".[", 1), path.size()) : path.find(']');
      if (close == std::string_view::npos) fail("missing ']' in format string");
      const std::string_view name = path.substr(1, close - 1);
      if (is_attribute) {
        value = attribute(env_.heap, value, make_string(env_.heap, name));
      } else {
        value = item(env_.heap, value, key(name));
      }
      path.remove_prefix(close + (is_attribute ? 0 : 1));
    }
    return value;
  }

  static bool is_index(std::string_view name) {
    return !name.empty() && name.size() < 10 &&
           name.find_first_not_of("0123456789") == std::string_view::npos;
  }

  Value key(std::string_view name) {
    std::size_t at = 0;
    if (is_index(name)) return Value::integer(static_cast<std::int64_t>(read_number(name, at)));
    return make_string(env_.heap, name);
  }

  Value argument(std::string_view name) {
    if (name.empty() || is_index(name)) {
      std::size_t at = 0;
      const std::size_t index = name.empty() ? next_++ : read_number(name, at);
      if (index >= arguments_.positional.size()) {
        fail(cat("replacement index ", index, " out of range for positional arguments"));
      }
      return arguments_.positional[index];
    }
    for (const auto& [known, value] : arguments_.named) {
      if (known == name) return value;
    }
    fail(cat("the format names '", printable(name, 64), "', which is not given"));
  }

  Environment& env_;
  const String& format_;
  const Arguments& arguments_;
  TextBuilder out_;
  std::size_t next_ = 0;
};

}  // namespace

Value format_percent(Environment& env, const Value& format, const Value& values) {
  return PercentFormat(env, format.string(), values).run();
}

Value format_braces(Environment& env, const Value& format, const Arguments& arguments) {
  return BraceFormat(env, format.string(), arguments).run();
}

}  // namespace ingot::jinja
