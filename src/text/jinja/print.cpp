// Prints template values as Python's str() and repr() do.
#include "text/jinja/print.h"

#include <utf8proc.h>

#include <charconv>
#include <cmath>

#include "base/text.h"
#include "text/jinja/code.h"
#include "text/jinja/library.h"
#include "text/jinja/strings.h"

namespace ingot::jinja {

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // Python writes an exponent if it is below -4 or at least 16.
  const double magnitude = std::abs(value);
  const bool is_fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char buffer[64];
  const auto format = is_fixed ? std::chars_format::fixed : std::chars_format::scientific;
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, format).ptr);
  const bool is_whole = is_fixed && text.find('.') == std::string::npos;
  return is_whole ? text + ".0" : text;
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
        return sequence(value);
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
    append_escaped(
        text, [quote](char32_t code) { return repr_escape(code, quote); }, out_);
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

  void sequence(const Value& value) {
    const std::vector<Value>& all = value.as<Sequence>().items;
    switch (value.as<Sequence>().flavor) {
      case Flavor::kTuple:
        put("(");
        items(all);
        return put(all.size() == 1 ? ",)" : ")");
      case Flavor::kRange:
        return range(all);
      case Flavor::kKeys:
      case Flavor::kValues:
      case Flavor::kItems:
        put(cat(type_name(value), "(["));
        items(all);
        return put("])");
      case Flavor::kGenerator:
        return put("<generator object>");
      case Flavor::kList:
        put("[");
        items(all);
        return put("]");
    }
  }

  void range(const std::vector<Value>& v) {
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

Value printed(Heap& heap, const Value& value, bool markup) {
  TextBuilder out(heap);
  print(value, out);
  return out.take(markup);
}

Value to_string(Heap& heap, const Value& value) {
  return value.is_string() ? value : printed(heap, value);
}

}  // namespace ingot::jinja
