// ElementArguments: grammars of arguments that are elements: text, or elements inside.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/chat/tools/argument_texts.h"
#include "text/chat/tools/element_schema.h"

namespace ingot {

/// Adds elements of one tool's arguments. An element of a name and a schema is added once, and
/// refers to itself where schemas do. Nothing here recurses: schemas may refer to each other in
/// long chains.
class ElementArguments {
 public:
  /// `texts` must outlive this.
  explicit ElementArguments(ArgumentTexts& texts) : texts_(texts) {}

  /// Adds the element of an argument. `pointer`: where its schema is. Its texts come with `finish`.
  NodeId add(std::string_view name, const Json& schema, std::string pointer);
  /// Adds the texts of all elements, and of those inside.
  ///
  /// Errors: Error{kInvalid} if the tool is strict and a keyword cannot be enforced; those of
  ///         SchemaParts and CompileBudget.
  void finish();
  /// Whether an element has a text. Only behind `finish`.
  bool has_text(NodeId element) const;

 private:
  /// Where a schema is: behind another place. Its pointer is written only for notes.
  struct Place {
    const Place* before = nullptr;
    std::string step{};
  };
  struct Element {
    std::string name;
    const Json* schema = nullptr;
    const Place* place = nullptr;
    NodeId node = kNoNode;
    /// Each way to write it: numbers of the elements that are in it at least.
    std::vector<std::vector<std::size_t>> ways{};
    bool has_text = false;
  };
  /// What the elements inside an element share.
  struct Inside {
    JsonTypes types;      ///< types that the element may have
    NodeId end;           ///< the end tag
    std::size_t element;  ///< its number
    std::vector<NodeId>& values;
  };

  static std::string pointer_of(const Place* place);
  const Place* add_place(const Place* before, std::string step);
  std::size_t number_of(std::string name, const Json& schema, const Place* place);
  void build(std::size_t number);
  void add_items(const Inside& inside);
  void add_members(const Inside& inside);
  void add_value(const Inside& inside, NodeId value, std::vector<std::size_t> needs);
  std::vector<const Place*> places_of(const ElementSchema& schema, const Place* place);
  void note(const ElementSchema& schema, const std::vector<const Place*>& places,
            const std::vector<std::string_view>& keywords);
  void find_texts();

  ArgumentTexts& texts_;
  std::vector<Element> elements_{};
  std::map<std::pair<const Json*, std::string>, std::size_t> known_{};
  std::map<NodeId, std::size_t> by_node_{};
  std::deque<Place> places_{};
};

}  // namespace ingot
