// Json: parses JSON within limits (nlohmann's SAX parser), and writes JSON.
#include "load/json.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"

namespace ingot {

Json::Json(std::uint64_t u) : value_(u) {
  if (u <= static_cast<std::uint64_t>(INT64_MAX)) value_ = static_cast<std::int64_t>(u);
}

std::optional<std::uint64_t> Json::as_uint() const {
  if (const auto* u = std::get_if<std::uint64_t>(&value_)) return *u;
  const auto* i = as_int();
  if (i == nullptr || *i < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*i);
}

std::optional<double> Json::number() const {
  if (const auto* i = as_int()) return static_cast<double>(*i);
  if (const auto u = as_uint()) return static_cast<double>(*u);
  if (const auto* d = as_double()) return *d;
  return std::nullopt;
}

std::optional<std::int64_t> Json::whole() const {
  if (const auto* i = as_int()) return *i;
  const auto* d = as_double();
  constexpr double kExactMax = 0x1p53;
  if (d == nullptr || !(std::abs(*d) <= kExactMax) || *d != std::trunc(*d)) return std::nullopt;
  return static_cast<std::int64_t>(*d);
}

std::string_view Json::kind() const {
  constexpr std::string_view kNames[] = {"null",     "a boolean", "an integer", "an integer",
                                         "a number", "a string",  "an array",   "an object"};
  return kNames[value_.index()];
}

const Json* Json::find(std::string_view key) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  for (const auto& [name, member] : *object) {
    if (name == key) return &member;
  }
  return nullptr;
}

const std::string* Json::find_string(std::string_view key) const {
  const Json* member = find(key);
  return member == nullptr ? nullptr : member->as_string();
}

Json& Json::push(Json element) {
  Array* array = std::get_if<Array>(&value_);
  INGOT_CHECK(array != nullptr, "push to ", kind());
  return array->emplace_back(std::move(element));
}

Json& Json::set(std::string key, Json member) {
  Object* object = std::get_if<Object>(&value_);
  INGOT_CHECK(object != nullptr, "set in ", kind());
  return object->emplace_back(std::move(key), std::move(member)).second;
}

namespace {

void print_escaped(char c, std::string& out) {
  constexpr std::string_view kRaw = "\"\\\n\r\t";
  constexpr std::string_view kShort = "\"\\nrt";
  constexpr char kHex[] = "0123456789abcdef";
  if (const std::size_t at = kRaw.find(c); at != kRaw.npos) {
    out += {'\\', kShort[at]};
  } else {
    const auto byte = static_cast<unsigned char>(c);
    out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
  }
}

bool is_escaped(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

void print_string(std::string_view raw, std::string& out) {
  const bool valid = is_utf8(raw);
  const std::string repaired = valid ? std::string() : to_valid_utf8(raw);
  const std::string_view text = valid ? raw : std::string_view(repaired);
  out += '"';
  for (auto at = text.begin();;) {
    const auto plain = std::find_if(at, text.end(), is_escaped);
    out.append(at, plain);
    if (plain == text.end()) break;
    print_escaped(*plain, out);
    at = plain + 1;
  }
  out += '"';
}

/// Appends the shortest digits that read back as the same double. A whole number gets ".0", so that
/// it is not read as an integer.
void print_double(double d, std::string& out) {
  if (!std::isfinite(d)) {
    out += "null";
    return;
  }
  const std::string digits = cat(d);
  out += digits;
  if (digits.find_first_of(".e") == std::string::npos) out += ".0";
}

void break_line(int indent, int level, std::string& out) {
  if (indent <= 0) return;
  out += '\n';
  out.append(to_size(indent) * to_size(level), ' ');
}

/// `level` is the nesting of `value`. The parser limits it, and our own output nests little.
void print(const Json& value, int indent, int level, std::string& out) {
  if (const auto* array = value.as_array()) {
    out += '[';
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (i > 0) out += ',';
      break_line(indent, level + 1, out);
      print((*array)[i], indent, level + 1, out);
    }
    if (!array->empty()) break_line(indent, level, out);
    out += ']';
  } else if (const auto* object = value.as_object()) {
    out += '{';
    for (std::size_t i = 0; i < object->size(); ++i) {
      if (i > 0) out += ',';
      break_line(indent, level + 1, out);
      print_string((*object)[i].first, out);
      out += indent > 0 ? ": " : ":";
      print((*object)[i].second, indent, level + 1, out);
    }
    if (!object->empty()) break_line(indent, level, out);
    out += '}';
  } else if (const auto* text = value.as_string()) {
    print_string(*text, out);
  } else if (const auto* d = value.as_double()) {
    print_double(*d, out);
  } else if (const auto* i = value.as_int()) {
    out += cat(*i);
  } else if (const auto u = value.as_uint()) {
    out += cat(*u);
  } else if (const auto* b = value.as_bool()) {
    out += cat(*b);
  } else {
    out += "null";
  }
}

}  // namespace

void append_json(std::string& out, std::string_view text) { print_string(text, out); }

std::string Json::dump(int indent) const {
  std::string out;
  print(*this, indent, 0, out);
  return out;
}

namespace {

/// Feeds nlohmann's parser, and records its position, because its callbacks do not give it.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    const Cursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

/// Builds the value from the events of nlohmann's SAX interface. A vector holds the open values,
/// not the call stack.
class Builder {
 public:
  Builder(std::string_view text, const std::string& file, const std::string& section,
          const JsonLimits& limits, std::uint64_t base_offset)
      : text_(text),
        furthest_(text.data()),
        file_(file),
        section_(section),
        limits_(limits),
        base_offset_(base_offset) {}

  Cursor begin() { return {text_.data(), &furthest_}; }
  Cursor end() { return {text_.data() + text_.size(), &furthest_}; }
  Json take() { return std::move(root_); }

  [[noreturn]] void fail_at(std::uint64_t offset, std::string_view reason) const {
    throw model_error(file_, section_, base_offset_ + offset, reason);
  }

  // nlohmann's interface defines the names of the functions below.
  bool null() { return add(Json()); }
  bool boolean(bool b) { return add(Json(b)); }
  /// Called only for numbers with a sign. -0 becomes a double, because integers have no -0.
  bool number_integer(std::int64_t i) { return add(i == 0 ? Json(-0.0) : Json(i)); }
  bool number_unsigned(std::uint64_t u) { return add(Json(u)); }
  bool number_float(double d, const std::string&) {
    if (!std::isfinite(d)) fail("a number is beyond the range of a double");
    return add(Json(d));
  }
  bool string(std::string& s) {
    check_string(s);
    return add(Json(std::move(s)));
  }
  template <class Binary>
  bool binary(Binary&) {
    fail("binary values are not JSON");
  }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool key(std::string& s) {
    check_string(s);
    open_.back().key = std::move(s);
    return true;
  }
  bool end_object() {
    check_keys(*open_.back().value.as_object());
    return close();
  }
  bool end_array() { return close(); }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) {
    constexpr int kOutOfRange = 406;
    const std::size_t offset = std::min(position == 0 ? 0 : position - 1, text_.size());
    if (error.id == kOutOfRange) fail_at(offset, "a number is beyond the range of a double");
    if (position > text_.size()) fail_at(text_.size(), "the JSON text ends too early");
    fail_at(offset, cat("malformed JSON near '", printable(token, 32), "'"));
  }

 private:
  struct Open {
    Json value;
    std::string key;  ///< in an object: key of the next member
  };

  [[noreturn]] void fail(std::string_view reason) const {
    fail_at(static_cast<std::uint64_t>(furthest_ - text_.data()), reason);
  }

  void check_string(const std::string& s) const {
    if (s.size() > limits_.string_bytes_max) {
      fail(cat("a string has ", s.size(), " bytes, at most ", limits_.string_bytes_max,
               " are accepted"));
    }
  }

  void count_node() {
    if (++nodes_ > limits_.nodes_max) {
      fail(cat("more than ", limits_.nodes_max, " JSON values"));
    }
  }

  bool add(Json value) {
    count_node();
    place(std::move(value));
    return true;
  }

  bool open(Json value) {
    count_node();
    if (std::ssize(open_) >= limits_.depth_max) {
      fail(cat("JSON is nested deeper than ", limits_.depth_max));
    }
    open_.push_back({std::move(value), {}});
    return true;
  }

  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    place(std::move(value));
    return true;
  }

  void place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.as_array() != nullptr) {
      open_.back().value.push(std::move(value));
    } else {
      open_.back().value.set(std::move(open_.back().key), std::move(value));
    }
  }

  /// Refuses equal keys: JSON readers differ in which one counts.
  void check_keys(const Json::Object& members) {
    keys_.clear();
    for (const auto& [key, value] : members) keys_.push_back(key);
    std::sort(keys_.begin(), keys_.end());
    const auto twin = std::adjacent_find(keys_.begin(), keys_.end());
    if (twin != keys_.end()) fail(cat("duplicate key '", printable(*twin, 64), "'"));
  }

  std::string_view text_;
  const char* furthest_;
  const std::string& file_;
  const std::string& section_;
  const JsonLimits& limits_;
  std::uint64_t base_offset_;
  std::uint64_t nodes_ = 0;
  std::vector<Open> open_;
  std::vector<std::string_view> keys_;
  Json root_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& file, const std::string& section,
                const JsonLimits& limits, std::uint64_t base_offset) {
  Builder builder(text, file, section, limits, base_offset);
  if (text.size() > limits.bytes_max) {
    builder.fail_at(0, cat("the JSON text has ", text.size(), " bytes, at most ", limits.bytes_max,
                           " are accepted"));
  }
  if (text.starts_with("\xef\xbb\xbf")) builder.fail_at(0, "JSON begins with a byte order mark");
  // nlohmann's parser takes a NUL as the end of its input.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    builder.fail_at(nul, "a NUL byte in JSON");
  }
  const bool done = nlohmann::json::sax_parse(builder.begin(), builder.end(), &builder);
  INGOT_CHECK(done, "the JSON tokenizer stopped without an error");
  return builder.take();
}

Json parse_json_file(std::string_view text, const std::string& file, const std::string& section,
                     const JsonLimits& limits) {
  const std::string_view rest = without_byte_order_mark(text);
  return parse_json(rest, file, section, limits, text.size() - rest.size());
}

}  // namespace ingot
