// Prints template values as JSON, as Python's json.dumps() does.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/strings.h"

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
        if (!v.is_sequence(Flavor::kTuple)) break;
        return bracketed("[", v.as<Sequence>().items, "]", [this](const Value& i) { value(i); });
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
    const auto escape = [this](char32_t code) { return json_escape(code, style_.ensure_ascii); };
    append_escaped(text, escape, out_);
    put("\"");
  }

  void line() {
    if (!style_.breaks_lines) return;
    put("\n");
    if (style_.indent.empty()) return;
    for (int i = 0; i < depth_; ++i) put(style_.indent);
  }

  template <class Items, class Each>
  void bracketed(std::string_view open, const Items& items, std::string_view close,
                 const Each& each) {
    put(open);
    ++depth_;
    bool first = true;
    for (const auto& item : items) {
      if (!std::exchange(first, false)) put(style_.item_separator);
      line();
      each(item);
    }
    --depth_;
    if (!items.empty()) line();
    put(close);
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
    bracketed("{", entries, "}", [this](Entry entry) {
      key(entry->first);
      put(style_.key_separator);
      value(entry->second);
    });
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
