// ElementSchema: what arrays and objects must fit that are written as elements. The grammar writes
// by it, and the parser reads by it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constraint/compile_budget.h"
#include "load/json.h"
#include "text/chat/tools/argument_types.h"

namespace ingot {

/// The most bytes of a tag, "</name>", that the parser reads.
inline constexpr std::size_t kElementTagMax = 256;
/// Whether a tag can hold a name.
bool is_element_name(std::string_view name);

/// The schemas that the arrays, or the objects, of one schema must all fit: itself, those behind
/// references and in allOf, and one alternative of each anyOf and oneOf.
class ElementSchema {
 public:
  struct Part {
    const Json* schema = nullptr;
    std::string pointer{};     ///< where it is: in the first part, or in the document
    bool is_absolute = false;  ///< in the document
  };
  /// A keyword that the parts below do not express.
  struct Lost {
    std::size_t part = 0;  ///< number of the part that has it
    std::string pointer{};
  };
  /// A name that objects may or must have.
  struct Member {
    std::string_view name;
    const Json* schema = nullptr;
    bool is_required = false;
    std::size_t part = 0;   ///< number of the part that has `schema`
    std::string pointer{};  ///< where it is in the part
  };

  ElementSchema() = default;
  /// A single schema, without the schemas that it refers to.
  explicit ElementSchema(const Json& schema) : parts_{{.schema = &schema}} {}
  /// `type`: json_type::kArray or kObject.
  ///
  /// Errors: those of CompileBudget.
  ElementSchema(const Json& root, const Json& schema, JsonTypes type,
                CompileBudget* budget = nullptr);

  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<Lost>& lost() const { return lost_; }

  /// Returns the schema of a member's value, as `members` has it.
  const Json& property(std::string_view name) const;
  /// Returns the schema of items. `part`: receives the number of the part that has it.
  const Json& items(std::size_t* part = nullptr) const;

  /// Returns declared and required names, in the schema's order. A name that some part does not
  /// allow has the schema false. Adds to `lost` what no single schema can say.
  ///
  /// Errors: those of CompileBudget.
  std::vector<Member> members(CompileBudget& budget);
  /// Adds schemas of items to `lost` that are not enforced.
  void lose_items();
  void lose(std::size_t part, std::string pointer) { lost_.push_back({part, std::move(pointer)}); }

 private:
  struct Alternatives {
    std::size_t part;
    std::string_view keyword;
  };
  class Walk;
  class Joined;

  std::vector<Part> parts_{};
  std::vector<Lost> lost_{};
};

}  // namespace ingot
