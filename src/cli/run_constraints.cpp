// Compiles the constraints of `ingot run` and `ingot chat -p`.
#include "cli/run_constraints.h"

#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "cli/log.h"
#include "cli/options/model_options.h"
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

/// Compiles the replies whose content obeys a constraint.
std::shared_ptr<const Constraint> compile_reply(const ConstraintSpec& spec,
                                                const ToolDialect& dialect, const ReplyBegin& begin,
                                                std::shared_ptr<const TokenTrie> trie) {
  Grammar grammar;
  std::vector<SchemaNote> notes;  // stays empty: schemas are strict
  CompileBudget budget;
  const NodeId content = add_constraint(grammar, spec, notes, budget);
  grammar.set_root(dialect.add_content_reply(grammar, begin, content, budget));
  return make_constraint(std::move(grammar), std::move(notes), std::move(trie), budget);
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

const RunConstraints::Replies& RunConstraints::replies(const ChatTemplate& chat) {
  Replies& replies = replies_[&chat];
  if (!replies.dialect) {
    auto dialect = find_tool_dialect(chat);
    replies.cache = make_cache(instance_, dialect->markers());
    replies.markers = marker_tokens(*instance_.tokenizer(), dialect->markers(),
                                    instance_.sampled_ids(), kMarkersMax);
    replies.dialect = std::move(dialect);
  }
  return replies;
}

void RunConstraints::constrain_reply(const ConstraintSpec& spec, const ChatTemplate& chat,
                                     std::string_view prompt, Request& request) {
  warn_of_stops(request);
  const Replies& replies = this->replies(chat);
  const ToolDialect& dialect = *replies.dialect;
  const ReplyBegin begin = dialect.begin_of(prompt);
  const std::string key =
      cat("reply:", begin.in_reasoning, ",", begin.can_reason, ",", spec.cache_key());
  request.constraint = replies.cache->get(
      key, [&] { return compile_reply(spec, dialect, begin, replies.cache->trie()); });
  request.markers = replies.markers;
}

}  // namespace ingot
