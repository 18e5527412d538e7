// Prints template values as JSON, as Python's json.dumps() does.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"

namespace ingot::jinja {

namespace {

std::string hex_escape(char32_t unit) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\\u";
  for (int i = 3; i >= 0; --i) out += kHex[(unit >> (4 * i)) & 15];
  return out;
}

/// The escape of a character in a JSON string; empty if it needs none.
std::string json_escape(char32_t code, bool ensure_ascii) {
  constexpr std::string_view kCodes = "\"\\\n\r\t\f\b";
  constexpr std::string_view kLetters = "\"\\nrtfb";
  if (code < 0x80) {
    const std::size_t i = kCodes.find(static_cast<char>(code));
    if (i != std::string_view::npos) return std::string("\\") + kLetters[i];
  }
  if (code < 0x20) return hex_escape(code);
  if (code < 0x7F || !ensure_ascii) return {};
  if (code == 0x7F) return {};
  if (code < 0x10000) return hex_escape(code);
  const char32_t rest = code - 0x10000;
  return hex_escape(0xD800 + (rest >> 10)) + hex_escape(0xDC00 + (rest & 0x3FF));
}

class JsonPrinter {
 public:
  JsonPrinter(const JsonStyle& style, TextBuilder& out) : style_(style), out_(out) {}

  void value(const Value& v) {
    out_.heap().spend(1);
    switch (v.kind()) {
      case Kind::kNone:
        return put("null");
      case Kind::kBool:
        return put(v.as_bool() ? "true" : "false");
      case Kind::kInt:
        return put(cat(v.as_int()));
      case Kind::kFloat:
        return put(number(v.as_float()));
      case Kind::kString:
        return string(v.string().text);
      case Kind::kDict:
        return dict(v.as<Dict>());
      case Kind::kSequence:
        if (v.as<Sequence>().flavor <= Flavor::kTuple) return list(v.as<Sequence>());
        break;
      default:
        break;
    }
    fail(cat("Object of type ", type_name(v), " is not JSON serializable"));
  }

 private:
  void put(std::string_view text) { out_.append_data(text); }

  static std::string number(double d) {
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
    return python_float(d);
  }

  void string(const MarkedText& text) {
    out_.heap().spend_bytes(text.bytes.size() * 4);
    put("\"");
    std::size_t copied = 0;
    for (std::size_t at = 0; at < text.bytes.size();) {
      const Utf8Char c = decode_utf8(std::string_view(text.bytes).substr(at));
      const std::string escape = json_escape(c.code, style_.ensure_ascii);
      if (!escape.empty()) {
        out_.append(text, copied, at);
        out_.append(escape, text.origin(at));
        copied = at + c.size;
      }
      at += c.size;
    }
    out_.append(text, copied, text.bytes.size());
    put("\"");
  }

  void line() {
    if (!style_.breaks_lines) return;
    put("\n");
    if (style_.indent.empty()) return;
    for (int i = 0; i < depth_; ++i) put(style_.indent);
  }

  void separate(bool& first) {
    if (!std::exchange(first, false)) put(style_.item_separator);
    line();
  }

  void list(const Sequence& sequence) {
    put("[");
    ++depth_;
    bool first = true;
    for (const Value& item : sequence.items) {
      separate(first);
      value(item);
    }
    --depth_;
    if (!sequence.items.empty()) line();
    put("]");
  }

  void key(const Value& k) {
    if (k.is_string()) return string(k.string().text);
    if (!k.is_none() && !k.is_number()) {
      fail(cat("keys must be str, int, float, bool or None, not ", type_name(k)));
    }
    put("\"");
    value(k);
    put("\"");
  }

  void dict(const Dict& dict) {
    using Entry = const std::pair<Value, Value>*;
    std::vector<Entry> entries;
    out_.heap().expect(dict.entries.size(), sizeof(Entry));
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [this](const auto* a, const auto* b) {
        return is_less(out_.heap(), a->first, b->first);
      });
    }
    put("{");
    ++depth_;
    bool first = true;
    for (const auto* entry : entries) {
      separate(first);
      key(entry->first);
      put(style_.key_separator);
      value(entry->second);
    }
    --depth_;
    if (!entries.empty()) line();
    put("}");
  }

  const JsonStyle& style_;
  TextBuilder& out_;
  int depth_ = 0;
};

}  // namespace

void print_json(const Value& value, const JsonStyle& style, TextBuilder& out) {
  JsonPrinter(style, out).value(value);
}

}  // namespace ingot::jinja
