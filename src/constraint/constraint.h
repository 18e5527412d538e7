// Constraint: what a request demands of its text, as users write it, and its compiled form.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "constraint/matcher.h"
#include "constraint/schema/json_schema.h"
#include "load/json.h"

namespace ingot {

/// A constraint as a user wrote it.
struct ConstraintSpec {
  struct AnyJson {
    bool is_object = true;  ///< `json_object`; false: any JSON value
  };
  struct JsonSchema {
    Json schema;
    bool is_strict = false;
    bool any_order = false;
  };
  struct Regex {
    std::string pattern;
  };
  struct OneOf {
    std::vector<std::string> texts;
  };
  struct Gbnf {
    std::string text;
  };
  /// Free text in which tags hold constrained text (vLLM's and xgrammar's structural tags).
  struct StructuralTags {
    struct Tag {
      std::string begin;     ///< "<function=get_weather>"
      Json schema;           ///< of the text between begin and end
      std::string end;       ///< "</function>"
    };
    std::vector<Tag> tags;
    std::vector<std::string> triggers;  ///< free text ends where a trigger occurs; prefixes of begins
  };
  std::variant<AnyJson, JsonSchema, Regex, OneOf, Gbnf, StructuralTags> form;
  std::string name = "schema";  ///< where the request holds it, for messages: "response_format"

  /// A key that equals another's only if both compile to the same. For caches.
  std::string cache_key() const;
};

/// A compiled constraint. Immutable, shared by all requests with the same spec.
struct Constraint {
  std::shared_ptr<const MatcherGrammar> grammar;
  std::vector<SchemaNote> notes;  ///< what is not enforced
};

/// Compiles a constraint. Runs in the caller's thread; never in the engine's.
///
/// Errors: Error{kInvalid} whose message begins with `spec.name`.
std::shared_ptr<const Constraint> compile_constraint(const ConstraintSpec& spec,
                                                     std::shared_ptr<const TokenTrie> trie);

/// Compiled constraints by key: each is compiled once, also if many threads ask at the same time.
/// Thread-safe. Keeps at most 64 constraints; evicts the least recently used.
class ConstraintCache {
 public:
  explicit ConstraintCache(std::shared_ptr<const TokenTrie> trie);
  ~ConstraintCache();
  /// Returns the constraint of `spec`; compiles it in this thread if it is new.
  ///
  /// Errors: those of `compile_constraint`, for every caller that waits for it.
  std::shared_ptr<const Constraint> get(const ConstraintSpec& spec);
  /// Returns the constraint under `key`; calls `compile` if it is new.
  std::shared_ptr<const Constraint> get(
      const std::string& key, const std::function<std::shared_ptr<const Constraint>()>& compile);
  const std::shared_ptr<const TokenTrie>& trie() const;

 private:
  struct Entries;
  std::unique_ptr<Entries> entries_;
};

}  // namespace ingot
