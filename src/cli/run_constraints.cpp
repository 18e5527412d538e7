// Compiles the constraints of `ingot run`.
#include "cli/run_constraints.h"

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "cli/log.h"
#include "cli/options/chat_input.h"
#include "cli/options/model_options.h"
#include "constraint/gbnf.h"
#include "constraint/language/pattern.h"
#include "text/chat/constraint_tokens.h"
#include "text/chat/marker_tokens.h"

namespace ingot {

namespace {

std::unique_ptr<ConstraintCache> make_cache(const Instance& instance,
                                            std::span<const std::string> markers) {
  const Tokenizer& tokenizer = require_tokenizer(instance, ": a constraint needs one");
  const auto ids = static_cast<std::int32_t>(instance.sampled_ids());
  return std::make_unique<ConstraintCache>(make_token_trie(tokenizer, ids, markers));
}

/// Adds the texts of a constraint.
struct FormAdder {
  Grammar& grammar;
  const std::string& name;
  CompileBudget& budget;

  NodeId operator()(const ConstraintSpec::AnyJson& any) const {
    return add_any_json(grammar, any.is_object, budget);
  }
  NodeId operator()(const ConstraintSpec::JsonSchema& form) const {
    std::vector<SchemaNote> notes;  // stays empty: the schema is strict
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
  NodeId operator()(const ConstraintSpec::StructuralTags&) const {
    throw Error(ErrorCode::kInvalid, cat(name, ": structural tags have no option"));
  }
};

/// Compiles the replies whose content obeys a constraint.
std::shared_ptr<const Constraint> compile_reply(const ConstraintSpec& spec,
                                                const ToolDialect& dialect, const ReplyBegin& begin,
                                                std::shared_ptr<const TokenTrie> trie) {
  Grammar grammar;
  CompileBudget budget;
  const NodeId content = std::visit(FormAdder{grammar, spec.name, budget}, spec.form);
  grammar.set_root(dialect.add_content_reply(grammar, begin, content, budget));
  return std::make_shared<const Constraint>(Constraint{
      .grammar = make_matcher_grammar(std::move(grammar), std::move(trie), budget), .notes = {}});
}

/// The engine finds no stop strings in constrained text.
void warn_of_stops(const Request& request) {
  if (!request.stop.empty()) log_warning("--stop: does not end text that is constrained");
}

}  // namespace

void RunConstraints::constrain_text(const ConstraintSpec& spec, Request& request) {
  warn_of_stops(request);
  if (!texts_) texts_ = make_cache(instance_, {});
  request.constraint = texts_->get(spec);
}

const ToolDialect& RunConstraints::dialect(const ChatTemplate& chat) {
  if (!dialect_) {
    const auto source = choose_template(instance_, template_name_);
    dialect_ = find_tool_dialect(chat, source ? source->text : std::string());
  }
  return *dialect_;
}

void RunConstraints::constrain_reply(const ConstraintSpec& spec, const ChatTemplate& chat,
                                     std::string_view prompt, Request& request) {
  warn_of_stops(request);
  const ToolDialect& dialect = this->dialect(chat);
  if (!replies_) {
    replies_ = make_cache(instance_, dialect.markers());
    markers_ = marker_tokens(*instance_.tokenizer(), dialect.markers());
  }
  const ReplyBegin begin = dialect.begin_of(prompt);
  const std::string key = cat(begin.in_reasoning, ",", begin.can_reason, ",", spec.cache_key());
  request.constraint =
      replies_->get(key, [&] { return compile_reply(spec, dialect, begin, replies_->trie()); });
  request.markers = markers_;
}

}  // namespace ingot
