// ConstraintSpec: limits and keys of constraints as users write them.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "constraint/constraint.h"
#include "constraint/constraint_message.h"
#include "constraint/gbnf.h"

namespace ingot {

std::string named_constraint_message(const std::string& name, const std::string& message) {
  if (message.starts_with(name)) return message;
  for (const std::string_view verb : {"is ", "has ", "allows ", "nests "}) {
    if (message.starts_with(verb)) return cat(name, " ", message);
  }
  return cat(name, ": ", message);
}

namespace {

/// Refuses a spec that exceeds limits.
class LimitChecker {
 public:
  explicit LimitChecker(const std::string& name) : name_(name) {}

  void operator()(const ConstraintSpec::AnyJson& /*form*/) const {}
  void operator()(const ConstraintSpec::JsonSchema& form) const { check_schema(form.schema); }
  void operator()(const ConstraintSpec::Regex& form) const {
    check_bytes(form.pattern.size(), ConstraintLimits::kRegexBytesMax);
    check_utf8(form.pattern);
  }
  void operator()(const ConstraintSpec::OneOf& form) const {
    if (form.texts.empty()) refuse("has no texts to choose from");
    check_count(form.texts.size(), ConstraintLimits::kTextsMax, "texts");
    std::size_t bytes = 0;
    for (const std::string& text : form.texts) {
      check_utf8(text);
      bytes += text.size();
    }
    check_bytes(bytes, ConstraintLimits::kTextBytesMax);
  }
  void operator()(const ConstraintSpec::Gbnf& form) const {
    check_bytes(form.text.size(), GbnfLimits::kBytesMax);
    check_utf8(form.text);
  }
  void operator()(const ConstraintSpec::StructuralTags& form) const {
    check_count(form.tags.size(), ConstraintLimits::kTagsMax, "tags");
    check_count(form.triggers.size(), ConstraintLimits::kTagsMax, "triggers");
    for (const std::string& trigger : form.triggers) check_tag_text(trigger);
    for (const auto& tag : form.tags) {
      check_tag_text(tag.begin);
      check_tag_text(tag.end);
      check_schema(tag.schema);
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw Error(ErrorCode::kInvalid, named_constraint_message(name_, reason));
  }
  void check_bytes(std::size_t bytes, std::size_t bytes_max) const {
    check_count(bytes, bytes_max, "bytes");
  }
  void check_count(std::size_t count, std::size_t count_max, std::string_view what) const {
    if (count > count_max) {
      refuse(cat("has ", count, " ", what, "; at most ", count_max, " are possible"));
    }
  }
  void check_utf8(std::string_view text) const {
    if (!is_utf8(text)) refuse("is not valid UTF-8");
  }
  void check_tag_text(std::string_view text) const {
    check_bytes(text.size(), ConstraintLimits::kTagBytesMax);
    check_utf8(text);
  }
  void check_schema(const Json& schema) const {
    check_depth(schema);
    check_bytes(schema.dump().size(), ConstraintLimits::kSchemaBytesMax);
  }
  void check_depth(const Json& schema) const {
    struct Level {
      const Json* value = nullptr;
      std::int32_t depth = 0;
    };
    std::vector<Level> open = {{&schema, 0}};
    while (!open.empty()) {
      const Level level = open.back();
      open.pop_back();
      if (level.depth > ConstraintLimits::kSchemaDepthMax) {
        refuse(cat("nests deeper than ", ConstraintLimits::kSchemaDepthMax));
      }
      if (const auto* array = level.value->as_array()) {
        for (const Json& item : *array) open.push_back({&item, level.depth + 1});
      } else if (const auto* object = level.value->as_object()) {
        for (const auto& member : *object) open.push_back({&member.second, level.depth + 1});
      }
    }
  }

  const std::string& name_;
};

/// Appends parts of a key, each behind its length, so that different lists of parts give different
/// keys.
class KeyWriter {
 public:
  explicit KeyWriter(std::string& out) : out_(out) {}

  void add(std::string_view part) { out_ += cat(part.size(), ":", part); }
  void add(bool flag) { out_ += flag ? '1' : '0'; }
  void add(const std::vector<std::string>& parts) {
    out_ += cat(parts.size(), ":");
    for (const std::string& part : parts) add(std::string_view(part));
  }

  void operator()(const ConstraintSpec::AnyJson& form) { add(form.is_object); }
  void operator()(const ConstraintSpec::JsonSchema& form) {
    add(form.is_strict);
    add(form.any_order);
    add(std::string_view(form.schema.dump()));
  }
  void operator()(const ConstraintSpec::Regex& form) { add(std::string_view(form.pattern)); }
  void operator()(const ConstraintSpec::OneOf& form) { add(form.texts); }
  void operator()(const ConstraintSpec::Gbnf& form) { add(std::string_view(form.text)); }
  void operator()(const ConstraintSpec::StructuralTags& form) {
    add(form.triggers);
    out_ += cat(form.tags.size(), ":");
    for (const auto& tag : form.tags) {
      add(std::string_view(tag.begin));
      add(std::string_view(tag.schema.dump()));
      add(std::string_view(tag.end));
    }
  }

 private:
  std::string& out_;
};

}  // namespace

void ConstraintSpec::check_limits() const { std::visit(LimitChecker(name), form); }

std::string ConstraintSpec::cache_key() const {
  std::string key = cat("spec:", form.index(), ":");
  KeyWriter writer(key);
  writer.add(std::string_view(name));
  std::visit(writer, form);
  return key;
}

}  // namespace ingot
