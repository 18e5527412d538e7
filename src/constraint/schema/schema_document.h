// SchemaDocument: the subschemas of a JSON Schema document, and what its references refer to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "constraint/compile_budget.h"
#include "constraint/schema/schema_report.h"
#include "load/json.h"

namespace ingot::schema {

/// Index of a subschema in a SchemaDocument.
using SchemaId = std::int32_t;
inline constexpr SchemaId kNoSchema = -1;

/// The version of JSON Schema that a subschema is written in.
enum class Draft {
  kAny,  ///< no known $schema: each keyword has the meaning of the newest draft that has it
  k4,
  k6,
  k7,
  k2019,
  k2020,
};

/// Whether a draft is 4, 6 or 7, in which the siblings of $ref are ignored.
inline bool is_old(Draft draft) {
  return draft == Draft::k4 || draft == Draft::k6 || draft == Draft::k7;
}

/// The subschemas of a document by index. The document must outlive this.
///
/// A *context* is an index of the dynamic scope: which schema each dynamic anchor means.
class SchemaDocument {
 public:
  static constexpr int kDepthMax = 256;
  static constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 20;
  static constexpr std::size_t kUriMax = 4096;

  /// Errors: those of SchemaReport::fail for a document that is too deep or too large, or that has
  ///         an identifier of more than kUriMax bytes; those of CompileBudget.
  SchemaDocument(const Json& root, SchemaReport& report, CompileBudget& budget);

  static constexpr SchemaId kRoot = 0;
  /// The context at the root.
  int root_context() { return enter(0, kRoot); }

  const Json& json(SchemaId id) const { return *places_[static_cast<std::size_t>(id)].json; }
  Draft draft(SchemaId id) const;
  /// Returns the JSON pointer of a subschema, or of its member `keyword`.
  std::string pointer(SchemaId id, std::string_view keyword = {}) const;
  /// Returns the subschema at `json`, which must lie below `parent`, at the path `step`.
  SchemaId id_of(const Json& json, SchemaId parent, const std::string& step);
  /// Returns the subschema that the reference in `keyword` of `from` refers to.
  ///
  /// Errors: those of SchemaReport::fail if there is none, or if two subschemas have that
  ///         identifier.
  SchemaId resolve(SchemaId from, std::string_view keyword, const std::string& reference);
  /// Resolves $dynamicRef and $recursiveRef.
  SchemaId resolve_dynamic(SchemaId from, std::string_view keyword, const std::string& reference,
                           int context);
  /// Returns the context behind the step from `context` into the subschema `to`.
  int enter(int context, SchemaId to);
  /// Whether any subschema has unevaluatedProperties or unevaluatedItems.
  bool has_unevaluated() const { return has_unevaluated_; }

 private:
  /// In place of a subschema or resource: two have the same identifier.
  static constexpr SchemaId kAmbiguous = -2;

  struct Place {
    const Json* json = nullptr;
    SchemaId parent = kNoSchema;
    std::string step;  ///< path from the parent: "/properties/a"
    int resource = 0;
  };
  /// A part of the document with its own identifier.
  struct Resource {
    std::string uri;
    SchemaId root = kNoSchema;
    Draft draft = Draft::kAny;
    std::map<std::string, SchemaId, std::less<>> anchors{};
    std::map<int, SchemaId> dynamic_anchors{};  ///< by the index of the name
  };
  /// Names of dynamic anchors by index, ascending, and what they mean.
  using Scope = std::vector<std::pair<int, SchemaId>>;

  void measure(const Json& root);
  void index(const Json& json, SchemaId parent, std::string step, int resource);
  SchemaId add_place(const Json& json, SchemaId parent, std::string step, int resource);
  void read_identifiers(SchemaId id);
  void add_anchor(SchemaId id, const std::string& name);
  void add_dynamic_anchor(SchemaId id, const std::string& name);
  void begin_resource(SchemaId id, std::string uri);
  int add_scope(Scope scope);
  SchemaId find_pointer(int resource, std::string_view pointer);
  SchemaId find(SchemaId from, const std::string& reference);

  SchemaReport& report_;
  CompileBudget& budget_;
  std::vector<Place> places_;
  std::unordered_map<const Json*, SchemaId> by_json_;
  std::vector<Resource> resources_;
  std::map<std::string, int, std::less<>> by_uri_;
  std::map<std::string, int, std::less<>> anchor_names_;
  std::map<Scope, int> by_scope_;
  std::vector<const Scope*> scopes_;            ///< keys of by_scope_
  std::map<std::pair<int, int>, int> entered_;  ///< by context and resource
  bool has_unevaluated_ = false;
  bool has_dynamic_ = false;
};

}  // namespace ingot::schema
