// SchemaEmitter: writes planned shapes as nodes of a Grammar.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "constraint/schema/shape_plan.h"

namespace ingot::schema {

/// Writes nodes. Each formula becomes one node, so that recursive schemas become cycles.
class SchemaEmitter {
 public:
  SchemaEmitter(const AlgebraParts& parts, const SchemaOptions& options, Planner& planner,
                Grammar& grammar)
      : parts_(parts), options_(options), planner_(planner), grammar_(grammar) {}

  /// Returns the node of a planned formula that has a value.
  NodeId emit(FormulaId root);

 private:
  NodeId node(FormulaId formula);
  NodeId scalar_node(FormulaId formula, bool one_spelling);
  NodeId string_node(const StringSet& set);
  /// The node of an item of an array without equal items.
  NodeId unique_node(FormulaId formula);
  void write(FormulaId formula);
  grammar::Array array(const PlannedArray& planned);
  grammar::Array array(const PlannedArray& planned, bool is_unique);
  grammar::Object object(const PlannedObject& planned);
  void write_other_keys(const PlannedObject& planned, grammar::Object& object);
  std::uint32_t language(TextSetId texts);

  AlgebraParts parts_;
  const SchemaOptions& options_;
  Planner& planner_;
  Grammar& grammar_;
  std::unordered_map<FormulaId, NodeId> nodes_;
  std::unordered_map<FormulaId, NodeId> unique_nodes_;
  std::vector<FormulaId> open_;  ///< formulas whose node has no contents yet
  std::map<TextSetId, std::uint32_t> languages_;
  std::map<std::vector<TextSetId>, std::uint32_t> key_languages_;
  std::map<std::vector<std::uint64_t>, NodeId> strings_;
  std::map<std::pair<std::string, bool>, NodeId> scalars_;
};

}  // namespace ingot::schema
