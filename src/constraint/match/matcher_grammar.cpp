// MatcherGrammar: a checked grammar with what its matchers look up.
#include "constraint/match/matcher_grammar.h"

#include <atomic>

#include "constraint/match/restrict_vocabulary.h"
#include "constraint/matcher.h"

namespace ingot {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

MatcherGrammar::MatcherGrammar(Grammar grammar, std::shared_ptr<const TokenTrie> trie,
                               CompileBudget& budget)
    : grammar_(std::move(grammar)), trie_(std::move(trie)), id_(next_id()) {
  const match::TypableChars typable = match::restrict_vocabulary(grammar_, *trie_, budget);
  has_wide_chars_ = typable.has_wide;
  has_escapes_ = typable.has_escapes;
  check_grammar(grammar_, budget);
  index_.resize(grammar_.size());
  for (NodeId id = 0; id < grammar_.size(); ++id) add_rules(id, budget);
  for (std::uint32_t i = 0; i < grammar_.languages(); ++i) {
    const TextDfa& language = grammar_.language(i);
    bool is_endless = true;
    for (std::int32_t state = 0; state < language.size() && is_endless; ++state) {
      is_endless = language.count(state) == TextDfa::kInfinite;
    }
    is_endless_.push_back(is_endless);
  }
}

void MatcherGrammar::add_rules(NodeId id, CompileBudget& budget) {
  const GrammarNode& node = grammar_.node(id);
  if (const auto* object = std::get_if<grammar::Object>(&node)) {
    std::vector<bool> possible;
    for (const auto& property : object->properties) possible.push_back(property.value != kNoNode);
    std::uint64_t others = 0;
    if (object->other_keys != grammar::Object::kNone) {
      const TextDfa& keys = grammar_.language(object->other_keys);
      others = keys.is_empty() ? 0 : keys.count(TextDfa::start());
    }
    index_[id] = static_cast<std::uint32_t>(objects_.size());
    objects_.push_back(std::make_unique<match::ObjectRules>(*object, possible, others, budget));
  } else if (const auto* array = std::get_if<grammar::Array>(&node)) {
    match::UniqueItems unique;
    if (array->is_unique) unique = match::find_unique_items(grammar_, *array, budget);
    if (unique.is_narrower) throw Error(ErrorCode::kInvalid, std::string(match::kSharedItems));
    index_[id] = static_cast<std::uint32_t>(arrays_.size());
    arrays_.push_back({match::ArrayRules(*array, unique.count_max, unique.is_pool), unique});
  }
}

std::shared_ptr<const MatcherGrammar> make_matcher_grammar(Grammar grammar,
                                                           std::shared_ptr<const TokenTrie> trie,
                                                           CompileBudget& budget) {
  return std::make_shared<const MatcherGrammar>(std::move(grammar), std::move(trie), budget);
}

}  // namespace ingot
