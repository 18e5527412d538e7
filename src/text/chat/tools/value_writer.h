// ValueWriter: writes the text of an argument as JSON: as a string, or as the JSON that it is.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "text/chat/tools/argument_types.h"
#include "text/chat/tools/arguments_out.h"
#include "text/chat/tools/call_syntax.h"
#include "text/chat/tools/json_reader.h"

namespace ingot {

/// Reads a text that may be JSON of some types, none of them a string. White space may stand
/// around.
class TypedJsonReader {
 public:
  explicit TypedJsonReader(JsonTypes types) : types_(types & ~json_type::kString) {}

  /// Returns false if the text is no such JSON, whatever follows.
  bool read(char c) {
    if ((!has_begun_ || has_ended_) && is_space(c)) return true;
    if (has_ended_) return false;
    if (!std::exchange(has_begun_, true) && !begin(c)) return false;
    const bool makes_fraction = is_number_ && (c == '.' || c == 'e' || c == 'E');
    if (makes_fraction && (types_ & json_type::kFraction) == 0) return false;
    const JsonValueReader::Step step = reader_.read(c);
    has_ended_ = step == JsonValueReader::Step::kLast || step == JsonValueReader::Step::kBefore;
    return step == JsonValueReader::Step::kBefore ? is_space(c)
                                                  : step != JsonValueReader::Step::kBad;
  }
  bool is_complete() const { return has_begun_ && (has_ended_ || reader_.is_complete()); }

 private:
  bool begin(char c) {
    is_number_ = c == '-' || (c >= '0' && c <= '9');
    const JsonTypes needed = c == '{'               ? json_type::kObject
                             : c == '['             ? json_type::kArray
                             : c == 'n'             ? json_type::kNull
                             : c == 't' || c == 'f' ? json_type::kBoolean
                             : is_number_           ? json_type::kInteger | json_type::kFraction
                                                    : 0U;
    return (types_ & needed) != 0;
  }

  JsonTypes types_;
  JsonValueReader reader_{};
  bool has_begun_ = false, has_ended_ = false, is_number_ = false;
};

/// Tells whether a value's text is inside a string of a JSON array or object. A tag there is text
/// and does not end the value.
class NestedStrings {
 public:
  explicit NestedStrings(JsonTypes types = 0) : types_(types) {}

  void add(char c) {
    if (!has_begun_) {
      if (is_space(c)) return;
      has_begun_ = true;
      types_ &= c == '[' ? json_type::kArray : c == '{' ? json_type::kObject : 0U;
    } else if (std::exchange(is_escape_, false) || types_ == 0) {
      return;
    } else if (c == '"') {
      is_inside_ = !is_inside_;
    } else {
      is_escape_ = is_inside_ && c == '\\';
    }
  }
  bool is_inside() const { return is_inside_; }

 private:
  JsonTypes types_;  ///< the types that the text may have
  bool has_begun_ = false, is_inside_ = false, is_escape_ = false;
};

/// Writes one value while it comes: decides whether it is a string or JSON.
class ValueWriter {
 public:
  explicit ValueWriter(JsonTypes types = json_type::kString) : types_(types), reader_(types) {}

  void add(std::string_view bytes, ArgumentsOut& out) {
    if (form_ == Form::kUnknown) {
      held_ += bytes;
      decide(bytes, out);
    } else if (form_ == Form::kString) {
      out.string_bytes(bytes);
    } else {
      out.json(bytes);
    }
  }
  /// Whether no text but white space has come, and nothing is written.
  bool is_all_space() const {
    return form_ == Form::kUnknown && std::all_of(held_.begin(), held_.end(), is_space);
  }
  void finish(ArgumentsOut& out) {
    if (form_ == Form::kUnknown) {
      if (has_strings() && reader_.is_complete()) return out.json(held_);
      for (const auto& [python, json] : kWords) {
        if (!has_strings() && held_ == python) return out.json(json);
      }
      begin_string(out);
    }
    if (form_ == Form::kString) out.end_string();
  }

 private:
  enum class Form { kUnknown, kString, kJson };
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"True", "true"}, {"False", "false"}, {"None", "null"}};

  bool has_strings() const { return (types_ & json_type::kString) != 0; }
  void decide(std::string_view bytes, ArgumentsOut& out) {
    if (types_ == json_type::kString) return begin_string(out);
    if (has_strings()) {
      // Only the new bytes: the text may be long.
      if (!std::all_of(bytes.begin(), bytes.end(), [this](char c) { return reader_.read(c); })) {
        begin_string(out);
      }
      return;
    }
    held_.erase(0, std::min(held_.find_first_not_of(" \t\r\n"), held_.size()));
    if (held_.empty()) return;
    if (std::string_view("{[\"-0123456789tfn").find(held_.front()) != std::string_view::npos) {
      form_ = Form::kJson;
      out.json(held_);
    } else if (std::none_of(std::begin(kWords), std::end(kWords),
                            [&](const auto& word) { return word.first.starts_with(held_); })) {
      begin_string(out);
    }
  }
  void begin_string(ArgumentsOut& out) {
    form_ = Form::kString;
    out.begin_string();
    out.string_bytes(held_);
    held_.clear();
  }

  JsonTypes types_;
  TypedJsonReader reader_;
  Form form_ = Form::kUnknown;
  std::string held_{};
};

}  // namespace ingot
