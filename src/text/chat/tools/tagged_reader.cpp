// The call reader of arguments between tags: strings as they are, other values as JSON.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "text/chat/tools/call_body.h"
#include "text/chat/tools/mark_prefix.h"

namespace ingot {

namespace {

bool is_json_of_no_string(std::string_view text) {
  try {
    return parse_json(text, "argument", "").as_string() == nullptr;
  } catch (const Error&) {
    return false;
  }
}

/// Whether `text` can become JSON of another type than a string. For long texts, brackets
/// only.
bool may_be_json(std::string_view text) {
  if (text.empty() || text.front() == '{' || text.front() == '[') return true;
  for (const std::string_view word : {"true", "false", "null"}) {
    if (word.starts_with(text)) return true;
  }
  return text.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
}

/// Writes one value while it comes: decides whether it is a string or JSON.
class ValueWriter {
 public:
  explicit ValueWriter(ArgumentKind kind = ArgumentKind::kString) : kind_(kind) {}

  void add(std::string_view bytes, ArgumentsOut& out) {
    if (form_ == Form::kUnknown) {
      held_ += bytes;
      decide(out);
    } else if (form_ == Form::kString) {
      out.string_bytes(bytes);
    } else {
      out.json(bytes);
    }
  }
  void finish(ArgumentsOut& out) {
    if (form_ == Form::kUnknown) {
      if (kind_ == ArgumentKind::kEither && is_json_of_no_string(held_)) {
        out.json(held_);
        return;
      }
      for (const auto& [python, json] : kWords) {
        if (kind_ == ArgumentKind::kJson && held_ == python) return out.json(json);
      }
      begin_string(out);
    }
    if (form_ == Form::kString) out.end_string();
  }

 private:
  enum class Form { kUnknown, kString, kJson };
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"True", "true"}, {"False", "false"}, {"None", "null"}};

  void decide(ArgumentsOut& out) {
    if (kind_ == ArgumentKind::kString) return begin_string(out);
    if (kind_ == ArgumentKind::kEither) {
      if (!may_be_json(held_)) begin_string(out);
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

  ArgumentKind kind_;
  Form form_ = Form::kUnknown;
  std::string held_{};
};

class TaggedReader : public CallReader {
 public:
  TaggedReader(const CallSyntax& syntax, const KnownTools& tools)
      : syntax_(syntax), tools_(tools), frame_(syntax.arguments_begin) {}

  Step read(char c, std::size_t offset) override {
    switch (state_) {
      case State::kName:
        return read_name(c, offset);
      case State::kNext:
        return read_next(c, offset);
      case State::kKey:
        return read_key(c, offset);
      case State::kKeyEnd:
        return read_key_end(c, offset);
      case State::kValue:
        break;
    }
    return read_value(c, offset);
  }
  bool is_call() const override { return is_call_; }

 private:
  enum class State { kName, kNext, kKey, kKeyEnd, kValue };

  Step read_name(char c, std::size_t offset) {
    const NameReader::Step step = frame_.read(c, offset, name_, span_);
    if (step == NameReader::Step::kFailed) return Step::kFailed;
    if (step == NameReader::Step::kMore) return Step::kMore;
    state_ = State::kNext;
    span_.arguments_begin = offset + 1;
    return step == NameReader::Step::kDoneBefore ? read_next(c, offset) : Step::kMore;
  }

  Step read_next(char c, std::size_t offset) {
    held_ += c;
    const Fit key = fit(syntax_.key_begin, held_);
    const Fit end = fit(syntax_.arguments_end, held_);
    if (key == Fit::kNo && end == Fit::kNo) return Step::kFailed;
    if (key != Fit::kWhole && end != Fit::kWhole) return Step::kMore;
    held_.clear();
    begin_call();
    if (end == Fit::kWhole) {
      out_.end_arguments();
      out_.json("}");
      return Step::kDone;
    }
    state_ = State::kKey;
    key_.clear();
    span_.arguments.push_back({.key_begin = offset + 1});
    return Step::kMore;
  }
  void begin_call() {
    if (is_call_) return;
    is_call_ = true;
    tool_ = tools_.find(name_);
    out_ = ArgumentsOut(tool_ != nullptr && tool_->kind == Tool::Kind::kCustom);
    out_.json("{");
  }

  Step read_key(char c, std::size_t offset) {
    if (c != syntax_.key_end.front()) {
      key_ += c;
      return Step::kMore;
    }
    span_.arguments.back().key_end = offset;
    state_ = State::kKeyEnd;
    return read_key_end(c, offset);
  }

  Step read_key_end(char c, std::size_t offset) {
    held_ += c;
    const Fit fits = fit(syntax_.key_end, held_);
    if (fits == Fit::kNo) return Step::kFailed;
    if (fits == Fit::kBegun) return Step::kMore;
    out_.key(key_);
    value_ = ValueWriter(kind());
    held_.clear();
    state_ = State::kValue;
    is_value_begin_ = true;
    may_be_raw_ = !syntax_.raw_begin.empty();
    end_ = syntax_.value_end;
    span_.arguments.back().value_begin = offset + 1;
    return Step::kMore;
  }
  /// How the argument is written: by its tag if this tells the type, else by the tool's schema.
  ArgumentKind kind() const {
    if (out_.is_custom()) return ArgumentKind::kString;
    if (syntax_.key_end.find("%s") != std::string_view::npos) {
      const std::size_t type = held_.rfind("=\"");
      const std::string_view rest = std::string_view(held_).substr(type + 2);
      const bool is_string = rest.starts_with("true\"") || rest.starts_with("string\"");
      return is_string ? ArgumentKind::kString : ArgumentKind::kJson;
    }
    return tool_ == nullptr ? ArgumentKind::kEither : argument_kind(tool_->parameters, key_);
  }

  Step read_value(char c, std::size_t offset) {
    const bool is_first = is_value_begin_;
    is_value_begin_ = false;
    if (is_first && syntax_.has_value_lines && c == '\n') {
      span_.arguments.back().value_begin = offset + 1;
      return Step::kMore;
    }
    held_ += c;
    if (may_be_raw_) {
      if (held_ == syntax_.raw_begin) {
        end_ = cat(syntax_.raw_end, syntax_.value_end);
        held_.clear();
      }
      may_be_raw_ = !held_.empty() && syntax_.raw_begin.starts_with(held_);
      if (held_.empty() || may_be_raw_) return Step::kMore;
    }
    const std::string_view end = end_;
    if (held_.ends_with(end)) {
      held_.resize(held_.size() - end.size());
      CallSpan::Argument& argument = span_.arguments.back();
      argument.value_end = offset + 1 - end.size();
      if (syntax_.has_value_lines && held_.ends_with('\n')) {
        held_.pop_back();
        --argument.value_end;
      }
      value_.add(held_, out_);
      value_.finish(out_);
      held_.clear();
      span_.arguments_end = offset + 1;
      state_ = State::kNext;
      return Step::kMore;
    }
    std::size_t kept = begun_mark(held_, end);
    if (syntax_.has_value_lines && held_.size() > kept && held_[held_.size() - kept - 1] == '\n') {
      ++kept;
    }
    value_.add(std::string_view(held_).substr(0, held_.size() - kept), out_);
    held_.erase(0, held_.size() - kept);
    return Step::kMore;
  }

  const CallSyntax& syntax_;
  const KnownTools& tools_;
  NameReader frame_;
  State state_ = State::kName;
  bool is_call_ = false, is_value_begin_ = false;
  bool may_be_raw_ = false;  // the value may begin with `raw_begin`
  std::string end_{};        // ends the value
  const Tool* tool_ = nullptr;
  std::string held_, key_;
  ValueWriter value_;
};

/// Returns the part of a schema that a reference within it names; null if there is none.
const Json* resolve(const Json& root, std::string_view reference) {
  if (!reference.starts_with("#/")) return nullptr;
  const Json* at = &root;
  reference.remove_prefix(2);
  while (at != nullptr) {
    const std::size_t end = std::min(reference.find('/'), reference.size());
    at = at->find(reference.substr(0, end));
    if (end == reference.size()) return at;
    reference.remove_prefix(end + 1);
  }
  return nullptr;
}

/// Which types of values a schema allows, as far as this matters between tags.
struct Types {
  bool string = false;
  bool other = false;
};

Types type_of(const Json& value) {
  return {.string = value.as_string() != nullptr, .other = value.as_string() == nullptr};
}

Types types_of(const Json& root, const Json& first) {
  Types found;
  std::vector<const Json*> open = {&first};
  constexpr std::size_t kSchemasMax = 256;
  for (std::size_t i = 0; i < open.size() && i < kSchemasMax; ++i) {
    const Json& schema = *open[i];
    const auto add = [&](Types types) {
      found.string = found.string || types.string;
      found.other = found.other || types.other;
    };
    if (const std::string* reference = schema.find_string("$ref")) {
      const Json* target = resolve(root, *reference);
      if (target == nullptr) return {true, true};
      open.push_back(target);
    } else if (const Json* type = schema.find("type")) {
      if (const auto* name = type->as_string()) add({*name == "string", *name != "string"});
      if (const auto* names = type->as_array()) {
        for (const Json& n : *names)
          add({n.as_string() && *n.as_string() == "string",
               !n.as_string() || *n.as_string() != "string"});
      }
    } else if (const Json* constant = schema.find("const")) {
      add(type_of(*constant));
    } else if (const Json* values = schema.find("enum"); values && values->as_array()) {
      for (const Json& value : *values->as_array()) add(type_of(value));
    } else {
      const Json* list = nullptr;
      for (const std::string_view key : {"anyOf", "oneOf", "allOf"}) {
        if (list == nullptr) list = schema.find(key);
      }
      if (list == nullptr || list->as_array() == nullptr) return {true, true};
      for (const Json& alternative : *list->as_array()) open.push_back(&alternative);
    }
  }
  return found;
}

}  // namespace

ArgumentKind argument_kind(const Json& schema, std::string_view key) {
  const Json* properties = schema.find("properties");
  const Json* property = properties == nullptr ? nullptr : properties->find(key);
  if (property == nullptr) property = schema.find("additionalProperties");
  if (property == nullptr || property->as_object() == nullptr) return ArgumentKind::kEither;
  const Types types = types_of(schema, *property);
  if (types.string && !types.other) return ArgumentKind::kString;
  return types.string || !types.other ? ArgumentKind::kEither : ArgumentKind::kJson;
}

std::unique_ptr<CallReader> make_tagged_reader(const CallSyntax& syntax, const KnownTools& tools) {
  return std::make_unique<TaggedReader>(syntax, tools);
}

}  // namespace ingot
