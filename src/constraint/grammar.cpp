// Grammar: what texts a constraint allows, as a graph of nodes that a Matcher walks.
#include "constraint/grammar.h"

#include "base/text.h"

namespace ingot {
namespace {

/// Memory of a node's lists, in bytes.
std::size_t list_bytes(const GrammarNode& node) {
  if (const auto* sequence = std::get_if<grammar::Sequence>(&node)) {
    return sequence->parts.capacity() * sizeof(NodeId);
  }
  if (const auto* choice = std::get_if<grammar::Choice>(&node)) {
    return choice->alternatives.capacity() * sizeof(NodeId);
  }
  if (const auto* array = std::get_if<grammar::Array>(&node)) {
    return array->first.capacity() * sizeof(grammar::Array::Item);
  }
  const auto* object = std::get_if<grammar::Object>(&node);
  if (object == nullptr) return 0;
  std::size_t bytes = object->properties.capacity() * sizeof(grammar::Object::Property) +
                      object->other_values.capacity() * sizeof(NodeId) +
                      object->dependencies.capacity() * sizeof(object->dependencies[0]);
  for (const grammar::Object::Property& property : object->properties) {
    bytes += property.name.capacity();
  }
  return bytes;
}

}  // namespace

NodeId Grammar::add(GrammarNode node) {
  if (nodes_.size() >= kNodesMax) {
    throw Error(ErrorCode::kInvalid,
                cat("is too complex: it needs more than ", kNodesMax, " parts"));
  }
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId Grammar::reserve() { return add(grammar::Choice{}); }

void Grammar::set(NodeId node, GrammarNode contents) { nodes_[node] = std::move(contents); }

std::uint32_t Grammar::add_language(TextDfa language) {
  languages_.push_back(std::move(language));
  return static_cast<std::uint32_t>(languages_.size() - 1);
}

NodeId Grammar::literal(std::string_view text, CompileBudget& budget) {
  return terminal(TextDfa::literal(text, budget));
}

std::size_t Grammar::bytes() const {
  std::size_t bytes = nodes_.capacity() * sizeof(GrammarNode);
  for (const GrammarNode& node : nodes_) bytes += list_bytes(node);
  for (const TextDfa& language : languages_) bytes += language.bytes();
  return bytes;
}

}  // namespace ingot
