// Call readers of the forms whose arguments are JSON, and what all readers share.
#include "text/chat/tools/call_body.h"

#include <algorithm>

#include "text/chat/tools/json_reader.h"

namespace ingot {

namespace {

constexpr std::size_t kNameMax = 256;

/// Reads {"name": "f", "arguments": {...}}, with the members in any order.
///
/// A bare object is a call only if it begins with the name of a tool and an object as arguments;
/// "type": "function" may stand before. Escapes are not allowed there. This makes beginnings of
/// calls a regular language, which grammars exclude from free text.
class ObjectReader : public CallReader {
 public:
  ObjectReader(const CallSyntax& syntax, const KnownTools& tools)
      : syntax_(syntax), tools_(tools) {}

  Step read(char c, std::size_t offset) override {
    if (members_ended_) return Step::kFailed;
    using Member = JsonObjectReader::Step;
    if (is_strict() && c == '\\') return Step::kFailed;
    const Member step = members_.read(c);
    if (step == Member::kFirst) begin_value(c, offset);
    if (step == Member::kValue || step == Member::kLast) go_on(c, offset, step == Member::kLast);
    if (step == Member::kNone || step == Member::kEnd) end_scalar(offset);
    if (step == Member::kBad || (is_strict() && !may_have_key())) return Step::kFailed;
    if (step != Member::kEnd) return is_broken_ ? Step::kFailed : Step::kMore;
    members_ended_ = true;
    if (!has_name_ || (syntax_.is_bare && !has_arguments_)) return Step::kFailed;
    is_call_ = true;
    if (!has_arguments_) out_.json("{}");
    return Step::kDone;
  }
  bool is_call() const override { return is_call_; }

 private:
  enum class Value { kOther, kType, kName, kArguments };

  /// Whether this may still turn out to be no call, but a bare object.
  bool is_strict() const { return syntax_.is_bare && !has_arguments_; }
  bool may_have_key() const {
    if (!members_.is_in_key()) return true;
    const auto begins = [this](std::string_view key) { return key.starts_with(members_.key()); };
    if (has_name_) return begins("arguments") || begins("parameters");
    return begins(syntax_.name_key) || (!has_type_ && begins("type"));
  }

  void begin_value(char c, std::size_t offset) {
    value_ = Value::kOther;
    if (is_strict() && !has_name_ && !has_type_ && members_.key() == "type") {
      value_ = Value::kType;
      has_type_ = true;
      is_broken_ = c != '"';
    } else if (members_.key() == syntax_.name_key && !has_name_) {
      value_ = Value::kName;
      is_broken_ = c != '"';
      decoder_ = {};
      span_.name_begin = offset + 1;
    } else if (is_arguments_key() && !has_arguments_ && (has_name_ || !syntax_.is_bare)) {
      value_ = Value::kArguments;
      has_arguments_ = true;
      // A bare object is a call only if its arguments are an object.
      is_broken_ = syntax_.is_bare && c != '{';
      span_.arguments_begin = offset;
      if (has_name_ && !is_broken_) is_call_ = true;
      arguments(c);
    } else if (is_strict()) {
      is_broken_ = true;
    }
  }
  bool is_arguments_key() const {
    const std::string& key = members_.key();
    return key == syntax_.arguments_key || key == "arguments" || key == "parameters";
  }
  void go_on(char c, std::size_t offset, bool is_last) {
    if (value_ == Value::kArguments) {
      arguments(c);
      span_.arguments_end = offset + 1;
    }
    constexpr std::string_view kType = "function\"";
    if (value_ == Value::kType) is_broken_ = type_size_ >= kType.size() || c != kType[type_size_++];
    if (value_ != Value::kName) return;
    if (!is_last) {
      decoder_.add(c, name_);
      is_broken_ = name_.size() > kNameMax || (syntax_.is_bare && !tools_.has_prefix(name_));
      return;
    }
    span_.name_end = offset;
    const KnownTools::Entry* tool = tools_.find(name_);
    is_broken_ = name_.empty() || (syntax_.is_bare && tool == nullptr);
    if (is_broken_) return;
    has_name_ = true;
    is_call_ = !syntax_.is_bare || has_arguments_;
    out_ = ArgumentsOut(tool != nullptr && tool->is_custom);
    for (const char held : held_) reader_.read(held, out_);
    held_.clear();
  }
  void end_scalar(std::size_t offset) {
    if (value_ == Value::kArguments && span_.arguments_end == 0) span_.arguments_end = offset;
  }
  /// Adds a byte of the arguments; before the name is known, holds it.
  void arguments(char c) {
    if (has_name_) {
      reader_.read(c, out_);
    } else {
      held_ += c;
    }
  }

  const CallSyntax& syntax_;
  const KnownTools& tools_;
  JsonObjectReader members_;
  JsonArgumentsReader reader_;
  StringDecoder decoder_;
  Value value_ = Value::kOther;
  bool has_type_ = false, has_name_ = false, has_arguments_ = false;
  std::size_t type_size_ = 0;
  bool is_call_ = false, is_broken_ = false, members_ended_ = false;
  std::string held_;
};

/// Reads the name, a frame, and JSON.
class NamedReader : public CallReader {
 public:
  NamedReader(const CallSyntax& syntax, const KnownTools& tools)
      : syntax_(syntax), tools_(tools), frame_(syntax.arguments_begin) {}

  Step read(char c, std::size_t offset) override {
    if (!has_name_) {
      const NameReader::Step step = frame_.read(c, offset, name_, span_);
      if (step == NameReader::Step::kFailed) return Step::kFailed;
      if (step == NameReader::Step::kMore) return Step::kMore;
      has_name_ = true;
      const KnownTools::Entry* tool = tools_.find(name_);
      if (syntax_.is_bare && tool == nullptr) return Step::kFailed;
      out_ = ArgumentsOut(tool != nullptr && tool->is_custom);
      if (step == NameReader::Step::kDone) return Step::kMore;
    }
    if (!has_begun_ && is_space(c)) return Step::kMore;
    if (!has_begun_) {
      // Arguments are an object, or a string that holds one. Anything else is no call.
      if (c != '{' && c != '"') return Step::kFailed;
      is_call_ = true;
      span_.arguments_begin = offset;
    }
    has_begun_ = true;
    span_.arguments_end = offset + 1;
    const JsonValueReader::Step step = reader_.read(c, out_);
    if (step == JsonValueReader::Step::kBad) return Step::kFailed;
    return step == JsonValueReader::Step::kLast ? Step::kDone : Step::kMore;
  }
  bool is_call() const override { return is_call_; }

 private:
  const CallSyntax& syntax_;
  const KnownTools& tools_;
  NameReader frame_;
  JsonArgumentsReader reader_;
  bool has_name_ = false, is_call_ = false, has_begun_ = false;
};

}  // namespace

KnownTools::KnownTools(std::span<const Tool> tools, bool has_tags, bool has_elements) {
  for (const Tool& tool : tools) {
    tools_.push_back({.name = tool.name,
                      .is_custom = tool.kind == Tool::Kind::kCustom,
                      .types = has_tags ? ArgumentTypes(tool.parameters) : ArgumentTypes(),
                      .parameters = has_elements ? tool.parameters : Json()});
  }
}

const KnownTools::Entry* KnownTools::find(std::string_view name) const {
  const auto found =
      std::find_if(tools_.begin(), tools_.end(), [&](const Entry& t) { return t.name == name; });
  return found == tools_.end() ? nullptr : &*found;
}

bool KnownTools::has_prefix(std::string_view text) const {
  return std::any_of(tools_.begin(), tools_.end(),
                     [&](const Entry& t) { return t.name.starts_with(text); });
}

NameReader::Step NameReader::read(char c, std::size_t offset, std::string& name, CallSpan& span) {
  if (!is_behind_) {
    if (name.empty() && is_space(c)) return Step::kMore;
    if (name.empty()) span.name_begin = offset;
    const bool ends = is_space(c) || c == '<' || (!behind_.empty() && c == behind_.front());
    if (!ends) {
      const bool is_bad = static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '{' || c == '>';
      name += c;
      return is_bad || name.size() > kNameMax ? Step::kFailed : Step::kMore;
    }
    if (name.empty()) return Step::kFailed;
    span.name_end = offset;
    if (behind_.empty()) return Step::kDoneBefore;
    is_behind_ = true;
  }
  held_ += c;
  const Fit fits = fit(behind_, held_);
  return fits == Fit::kNo ? Step::kFailed : fits == Fit::kWhole ? Step::kDone : Step::kMore;
}

CallReader::Step TagReader::read_name(char c, std::size_t offset) {
  const NameReader::Step step = frame_.read(c, offset, name_, span_);
  if (step == NameReader::Step::kFailed) return Step::kFailed;
  if (step == NameReader::Step::kMore) return Step::kMore;
  span_.arguments_begin = offset + 1;
  return step == NameReader::Step::kDone ? Step::kDone : Step::kDoneBefore;
}

void TagReader::begin_call() {
  if (is_call_) return;
  is_call_ = true;
  tool_ = tools_.find(name_);
  out_ = ArgumentsOut(tool_ != nullptr && tool_->is_custom);
  out_.json("{");
}

CallReader::Step TagReader::end_call() {
  begin_call();
  out_.end_arguments();
  out_.json("}");
  return Step::kDone;
}

std::unique_ptr<CallReader> make_object_reader(const CallSyntax& syntax, const KnownTools& tools) {
  return std::make_unique<ObjectReader>(syntax, tools);
}

std::unique_ptr<CallReader> make_named_reader(const CallSyntax& syntax, const KnownTools& tools) {
  return std::make_unique<NamedReader>(syntax, tools);
}

std::unique_ptr<CallReader> make_call_reader(const CallSyntax& syntax, const KnownTools& tools) {
  switch (syntax.body) {
    case CallBody::kObject:
      return make_object_reader(syntax, tools);
    case CallBody::kNamed:
      return make_named_reader(syntax, tools);
    case CallBody::kTagged:
      return make_tagged_reader(syntax, tools);
    case CallBody::kElements:
      return make_element_reader(syntax, tools);
    case CallBody::kLiteral:
      break;
  }
  return make_literal_reader(syntax, tools);
}

}  // namespace ingot
