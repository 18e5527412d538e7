// Compiles constraints of every form, and names the request's member in all errors.
#include "constraint/constraint.h"

#include <utility>

#include "base/error.h"
#include "constraint/constraint_message.h"
#include "constraint/gbnf.h"
#include "constraint/language/pattern.h"
#include "constraint/structural_tags.h"

namespace ingot {
namespace {

/// Adds the node of each form.
struct FormCompiler {
  Grammar& grammar;
  const std::string& name;
  std::vector<SchemaNote>& notes;
  CompileBudget& budget;

  NodeId operator()(const ConstraintSpec::AnyJson& form) const {
    return add_any_json(grammar, form.is_object, budget);
  }
  NodeId operator()(const ConstraintSpec::JsonSchema& form) const {
    const SchemaOptions options{
        .is_strict = form.is_strict, .any_order = form.any_order, .name = name};
    return add_json_schema(grammar, form.schema, options, notes, budget);
  }
  NodeId operator()(const ConstraintSpec::Regex& form) const {
    return grammar.terminal(compile_pattern(form.pattern, Anchoring::kWhole, budget));
  }
  NodeId operator()(const ConstraintSpec::OneOf& form) const {
    return grammar.terminal(TextDfa::any_of(form.texts, budget));
  }
  NodeId operator()(const ConstraintSpec::Gbnf& form) const {
    return add_gbnf(grammar, form.text, budget);
  }
  NodeId operator()(const ConstraintSpec::StructuralTags& form) const {
    return add_structural_tags(grammar, form, name, notes, budget);
  }
};

/// Calls `work`. Puts the member's name in front of the message of an error that does not have it.
template <class Work>
auto with_name(const std::string& name, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.code(), named_constraint_message(name, error.message()));
  }
}

}  // namespace

std::shared_ptr<const Constraint> make_constraint(Grammar grammar, std::vector<SchemaNote> notes,
                                                  std::shared_ptr<const TokenTrie> trie,
                                                  CompileBudget& budget) {
  auto constraint = std::make_shared<Constraint>();
  constraint->bytes = sizeof(Constraint) + grammar.bytes();
  for (const SchemaNote& note : notes) {
    constraint->bytes += sizeof(note) + note.pointer.size() + note.reason.size();
  }
  constraint->notes = std::move(notes);
  constraint->grammar = make_matcher_grammar(std::move(grammar), std::move(trie), budget);
  return constraint;
}

NodeId add_constraint(Grammar& grammar, const ConstraintSpec& spec, std::vector<SchemaNote>& notes,
                      CompileBudget& budget) {
  spec.check_limits();
  return with_name(spec.name, [&] {
    return std::visit(FormCompiler{grammar, spec.name, notes, budget}, spec.form);
  });
}

std::shared_ptr<const Constraint> compile_constraint(const ConstraintSpec& spec,
                                                     std::shared_ptr<const TokenTrie> trie) {
  Grammar grammar;
  std::vector<SchemaNote> notes;
  CompileBudget budget;
  grammar.set_root(add_constraint(grammar, spec, notes, budget));
  return with_name(spec.name, [&] {
    return make_constraint(std::move(grammar), std::move(notes), std::move(trie), budget);
  });
}

}  // namespace ingot
