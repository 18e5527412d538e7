// Prints template values as Python's str() and repr() do.
#include "text/jinja/print.h"

#include <utf8proc.h>

#include <charconv>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "text/jinja/code.h"
#include "text/jinja/library.h"

namespace ingot::jinja {

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  std::string out;
  if (text.front() == '-') {
    out = "-";
    text.remove_prefix(1);
  }
  const std::size_t e = text.find('e');
  std::string digits(1, text[0]);
  if (e > 2) digits += text.substr(2, e - 2);
  int exponent = 0;
  const std::size_t sign = text[e + 1] == '+' ? 1 : 0;
  std::from_chars(text.data() + e + 1 + sign, text.data() + text.size(), exponent);
  const int size = static_cast<int>(digits.size());
  // Python writes an exponent if it is below -4 or at least 16.
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1);
    if (size > 1) out += cat(".", digits.substr(1));
    const int magnitude = std::abs(exponent);
    return out + cat("e", exponent < 0 ? "-" : "+", magnitude < 10 ? "0" : "", magnitude);
  }
  if (exponent < 0) {
    return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  }
  if (size <= exponent + 1) {
    return out + digits + std::string(static_cast<std::size_t>(exponent + 1 - size), '0') + ".0";
  }
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

bool is_printable(char32_t code) {
  if (code == ' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

namespace {

std::string escaped(char32_t code) {
  constexpr char kHex[] = "0123456789abcdef";
  const int digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
  std::string out = digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
  for (int i = digits - 1; i >= 0; --i) out += kHex[(code >> (4 * i)) & 15];
  return out;
}

/// The escape of a character in repr() with the quote `quote`; empty if it needs none.
std::string repr_escape(char32_t code, char quote) {
  switch (code) {
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      if (code == static_cast<char32_t>(quote)) return std::string("\\") + quote;
      return is_printable(code) ? std::string() : escaped(code);
  }
}

class Printer {
 public:
  explicit Printer(TextBuilder& out) : out_(out) {}

  void str(const Value& value) {
    if (value.is_string()) {
      out_.append(value.string().text);
    } else if (!value.is_undefined()) {
      repr(value);
    }
  }

  void repr(const Value& value) {
    out_.heap().spend(1);
    switch (value.kind()) {
      case Kind::kNone:
        return put("None");
      case Kind::kUndefined:
        return put("Undefined");
      case Kind::kBool:
        return put(value.as_bool() ? "True" : "False");
      case Kind::kInt:
        return put(cat(value.as_int()));
      case Kind::kFloat:
        return put(python_float(value.as_float()));
      case Kind::kString:
        return string(value.string());
      case Kind::kSequence:
        return sequence(value.as<Sequence>());
      case Kind::kDict:
        return dict(value.as<Dict>());
      case Kind::kNamespace:
        put("<Namespace ");
        dict(value.as<Dict>());
        return put(">");
      case Kind::kFunction:
        return put(cat("<function ", value.as_function().name, ">"));
      default:
        return put(cat("<", type_name(value), ">"));
    }
  }

 private:
  void put(std::string_view text) { out_.append_data(text); }

  void string(const String& value) {
    const MarkedText& text = value.text;
    out_.heap().spend_bytes(text.bytes.size() * 4);
    const bool has_single = text.bytes.find('\'') != std::string::npos;
    const bool has_double = text.bytes.find('"') != std::string::npos;
    const char quote = has_single && !has_double ? '"' : '\'';
    if (value.markup) put("Markup(");
    put(std::string_view(&quote, 1));
    std::size_t copied = 0;
    for (std::size_t at = 0; at < text.bytes.size();) {
      const Utf8Char c = decode_utf8(std::string_view(text.bytes).substr(at));
      const std::string escape = repr_escape(c.code, quote);
      if (!escape.empty()) {
        out_.append(text, copied, at);
        out_.append(escape, text.origin(at));
        copied = at + c.size;
      }
      at += c.size;
    }
    out_.append(text, copied, text.bytes.size());
    put(std::string_view(&quote, 1));
    if (value.markup) put(")");
  }

  void items(const std::vector<Value>& values) {
    deeper();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) put(", ");
      repr(values[i]);
    }
    --depth_;
  }

  void sequence(const Sequence& value) {
    switch (value.flavor) {
      case Flavor::kTuple:
        put("(");
        items(value.items);
        return put(value.items.size() == 1 ? ",)" : ")");
      case Flavor::kRange:
        return range(value);
      case Flavor::kKeys:
      case Flavor::kValues:
      case Flavor::kItems:
        put(cat(type_name_of(value.flavor), "(["));
        items(value.items);
        return put("])");
      case Flavor::kGenerator:
        return put("<generator object>");
      case Flavor::kList:
        put("[");
        items(value.items);
        return put("]");
    }
  }

  static std::string_view type_name_of(Flavor flavor) {
    return flavor == Flavor::kKeys     ? "dict_keys"
           : flavor == Flavor::kValues ? "dict_values"
                                       : "dict_items";
  }

  void range(const Sequence& value) {
    const std::vector<Value>& v = value.items;
    if (v.empty()) return put("range(0, 0)");
    const std::int64_t start = v[0].as_int();
    const std::int64_t step = v.size() > 1 ? v[1].as_int() - start : 1;
    const std::int64_t stop = v.back().as_int() + step;
    put(step == 1 ? cat("range(", start, ", ", stop, ")")
                  : cat("range(", start, ", ", stop, ", ", step, ")"));
  }

  void dict(const Dict& value) {
    deeper();
    put("{");
    bool first = true;
    for (const auto& [key, member] : value.entries) {
      if (!std::exchange(first, false)) put(", ");
      repr(key);
      put(": ");
      repr(member);
    }
    put("}");
    --depth_;
  }

  /// Only a namespace can contain itself.
  void deeper() {
    if (++depth_ > kValueDepthMax) fail("a value that holds itself cannot be printed");
  }

  TextBuilder& out_;
  int depth_ = 0;
};

}  // namespace

void print(const Value& value, TextBuilder& out) { Printer(out).str(value); }

void print_repr(const Value& value, TextBuilder& out) { Printer(out).repr(value); }

Value to_string(Heap& heap, const Value& value) {
  if (value.is_string()) return value;
  TextBuilder out(heap);
  print(value, out);
  return out.take();
}

}  // namespace ingot::jinja
