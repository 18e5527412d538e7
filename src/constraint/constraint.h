// Constraint: what a request demands of its text, as users write it, and its compiled form.
#pragma once

#include <cstddef>
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

/// Limits on a constraint as a user wrote it. GbnfLimits has the limits on grammars.
struct ConstraintLimits {
  static constexpr std::size_t kSchemaBytesMax = 1 << 20;  ///< without white space
  static constexpr std::int32_t kSchemaDepthMax = 256;
  static constexpr std::size_t kRegexBytesMax = 65'536;
  static constexpr std::size_t kTextsMax = 4096;         ///< texts of a OneOf
  static constexpr std::size_t kTextBytesMax = 1 << 20;  ///< bytes of all texts of a OneOf
  static constexpr std::size_t kTagsMax = 256;           ///< tags, and triggers, of StructuralTags
  static constexpr std::size_t kTagBytesMax = 4096;      ///< bytes of a begin, end or trigger
};

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
      std::string begin;  ///< "<function=get_weather>"
      Json schema;        ///< describes the text between begin and end
      std::string end;    ///< "</function>"
    };
    std::vector<Tag> tags;
    /// Free text ends where a trigger occurs. Each trigger begins the begin of a tag, and each
    /// begin begins with a trigger.
    std::vector<std::string> triggers;
  };
  std::variant<AnyJson, JsonSchema, Regex, OneOf, Gbnf, StructuralTags> form;
  std::string name = "schema";  ///< where the request holds it, for messages: "response_format"

  /// Checks ConstraintLimits and that texts are valid UTF-8.
  ///
  /// Errors: Error{kInvalid} whose message begins with `name`.
  void check_limits() const;
  /// Returns the key for caches. Specs with equal keys compile to equal constraints, and their
  /// errors have equal messages.
  std::string cache_key() const;
};

/// A compiled constraint. Immutable, shared by all requests with the same spec.
struct Constraint {
  std::shared_ptr<const MatcherGrammar> grammar;
  std::vector<SchemaNote> notes;  ///< what is not enforced
  std::size_t bytes = 0;          ///< memory of the grammar, for ConstraintCache
};

/// Makes the constraint of a grammar that has its root. For grammars that no spec describes, such
/// as those of replies with calls of tools.
///
/// Errors: those of `make_matcher_grammar`.
std::shared_ptr<const Constraint> make_constraint(Grammar grammar, std::vector<SchemaNote> notes,
                                                  std::shared_ptr<const TokenTrie> trie,
                                                  CompileBudget& budget);

/// Adds the texts of a spec to a grammar and returns their node.
///
/// Errors: those of `compile_constraint`.
NodeId add_constraint(Grammar& grammar, const ConstraintSpec& spec, std::vector<SchemaNote>& notes,
                      CompileBudget& budget);

/// Compiles a constraint. Runs in the caller's thread; never in the engine's.
///
/// Errors: Error{kInvalid} whose message begins with `spec.name`: malformed or too large a spec, a
///         constraint that allows no text, one that is too complex, and those of the spec's form.
std::shared_ptr<const Constraint> compile_constraint(const ConstraintSpec& spec,
                                                     std::shared_ptr<const TokenTrie> trie);

/// Compiled constraints by key: each is compiled once, also if many threads ask at the same time.
/// Thread-safe. Keeps at most kCountMax constraints with kBytesMax bytes; evicts the least recently
/// used. A constraint that a request still uses lives on after its eviction.
class ConstraintCache {
 public:
  static constexpr std::size_t kCountMax = 64;
  static constexpr std::size_t kBytesMax = std::size_t{64} << 20;

  explicit ConstraintCache(std::shared_ptr<const TokenTrie> trie);
  ~ConstraintCache();
  ConstraintCache(const ConstraintCache&) = delete;
  ConstraintCache& operator=(const ConstraintCache&) = delete;

  /// Returns the constraint of `spec`; compiles it in this thread if it is new.
  ///
  /// Errors: those of `compile_constraint`, for every caller that waits for it. They are not kept:
  ///         the next call compiles again.
  std::shared_ptr<const Constraint> get(const ConstraintSpec& spec);
  /// Returns the constraint under `key`; calls `compile` if it is new. `compile` may not call `get`
  /// with the same key. Keys must not equal those of `ConstraintSpec::cache_key`, which begin with
  /// "spec:".
  ///
  /// Errors: those of `compile`, for every caller that waits for it. Other exceptions become
  ///         Error{kDoesNotFit} or Error{kInternal}.
  std::shared_ptr<const Constraint> get(
      const std::string& key, const std::function<std::shared_ptr<const Constraint>()>& compile);
  const std::shared_ptr<const TokenTrie>& trie() const;
  /// Return the number of constraints that are kept, and their bytes.
  std::size_t count() const;
  std::size_t bytes() const;

 private:
  struct Entries;
  std::unique_ptr<Entries> entries_;
};

}  // namespace ingot
