// Makes a pattern's automaton deterministic: subset construction with assertions and lookarounds.
#include "constraint/language/pattern_subsets.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/index.h"
#include "constraint/language/class_dfa.h"
#include "constraint/language/obligations.h"
#include "constraint/language/pattern_escape.h"
#include "constraint/language/state_tuple.h"

namespace ingot {
namespace {

using Node = PatternNfa::Node;

/// The character behind the place where assertions are checked.
enum class RightContext { kTextEnd, kWord, kOther, kAnyCharacter };

/// A node that the automaton may be in, if the rest of the text meets obligations.
struct Config {
  std::int32_t node = 0;
  std::int32_t obligations = 0;
  friend auto operator<=>(const Config&, const Config&) = default;
};

/// Returns an alphabet that tells apart what sets, lookarounds and word boundaries tell apart.
Alphabet alphabet_of(const PatternPart& part, CompileBudget& budget) {
  std::vector<Alphabet::Labelled> ranges;
  std::uint64_t label = 0;
  const auto add = [&](const CodePoints& set) {
    for (const CodePointRange& range : set.ranges()) ranges.push_back({range, label});
    ++label;
  };
  add(CodePoints::all());
  if (part.needs_words) add(word_characters());
  std::vector<char> is_used(part.tree.sets.size());
  for (const Node& node : part.nfa.nodes) {
    if (node.kind != Node::Kind::kSet || std::exchange(at(is_used, node.index), char{1})) continue;
    add(at(part.tree.sets, node.index));
  }
  for (const TextDfa& language : part.languages) {
    for (std::int32_t state = 0; state < language.size(); ++state) {
      for (const TextDfa::Arc& arc : language.arcs(state)) {
        ranges.push_back({arc.on, label + static_cast<std::uint32_t>(arc.to)});
      }
      label += to_size(language.size());
    }
  }
  return Alphabet(ranges, budget);
}

/// Follows the nodes that read nothing, from a set of configurations.
class Closure {
 public:
  Closure(const PatternPart& part, Obligations& obligations, CompileBudget& budget)
      : part_(part), obligations_(obligations), budget_(budget), seen_at_(part.nfa.nodes.size()) {}

  /// Begins anew. `behinds` holds a state of each lookbehind's language.
  void begin(LeftContext left, RightContext right, std::span<const std::int32_t> behinds) {
    left_ = left;
    right_ = right;
    behinds_ = behinds;
    readers_.clear();
    ends_.clear();
    depends_on_end_ = false;
    seen_with_obligations_.clear();
    ++time_;
  }
  void add(Config config) {
    visit(config);
    while (!open_.empty()) {
      const Config next = open_.back();
      open_.pop_back();
      follow(next);
    }
  }

  /// Configurations whose node reads a code point.
  const std::vector<Config>& readers() const { return readers_; }
  /// Obligations with which the match is done.
  const std::vector<std::int32_t>& ends() const { return ends_; }
  /// Whether the end of the text on the right would change the result.
  bool depends_on_end() const { return depends_on_end_; }

 private:
  void visit(Config config) {
    budget_.spend();
    if (config.obligations == Obligations::kNone) {
      if (std::exchange(at(seen_at_, config.node), time_) != time_) open_.push_back(config);
      return;
    }
    const std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(config.node)} << 32 |
                              static_cast<std::uint32_t>(config.obligations);
    if (seen_with_obligations_.insert(key).second) open_.push_back(config);
  }
  void follow(Config config);
  void look(Config config, const Node& node);
  bool is_boundary() const {
    return (left_ == LeftContext::kWord) != (right_ == RightContext::kWord);
  }

  const PatternPart& part_;
  Obligations& obligations_;
  CompileBudget& budget_;
  LeftContext left_ = LeftContext::kTextStart;
  RightContext right_ = RightContext::kTextEnd;
  std::span<const std::int32_t> behinds_;
  std::uint32_t time_ = 0;
  std::vector<std::uint32_t> seen_at_;  ///< [node] last time it was met without obligations
  std::unordered_set<std::uint64_t> seen_with_obligations_;
  std::vector<Config> open_, readers_;
  std::vector<std::int32_t> ends_;
  bool depends_on_end_ = false;
};

void Closure::follow(Config config) {
  const Node& node = at(part_.nfa.nodes, config.node);
  switch (node.kind) {
    case Node::Kind::kSet:
    case Node::Kind::kAny:
      readers_.push_back(config);
      break;
    case Node::Kind::kSplit:
      visit({node.next, config.obligations});
      visit({node.other, config.obligations});
      break;
    case Node::Kind::kStart:
      if (left_ == LeftContext::kTextStart) visit({node.next, config.obligations});
      break;
    case Node::Kind::kEnd:
      depends_on_end_ = true;
      if (right_ == RightContext::kTextEnd) visit({node.next, config.obligations});
      break;
    case Node::Kind::kBoundary:
      depends_on_end_ = true;
      if (is_boundary() != node.is_negated) visit({node.next, config.obligations});
      break;
    case Node::Kind::kLook:
      look(config, node);
      break;
    case Node::Kind::kDone:
      depends_on_end_ = true;
      ends_.push_back(config.obligations);
      break;
  }
}

void Closure::look(Config config, const Node& node) {
  const PatternNode& tree_node = at(part_.tree.nodes, at(part_.nfa.lookarounds, node.index));
  const std::size_t language = 3 * to_size(node.index);
  if (tree_node.kind == PatternNode::Kind::kLookbehind) {
    const std::int32_t state = at(behinds_, node.index);
    const bool holds = state != TextDfa::kDead && part_.languages[language].accepts(state);
    if (holds != tree_node.is_negated) visit({node.next, config.obligations});
    return;
  }
  const std::int32_t obligations =
      obligations_.with_start(config.obligations, language + to_size(left_));
  if (obligations != Obligations::kBroken) visit({node.next, obligations});
}

/// The subset construction. A state is a tuple: the left context, a state of each lookaround's
/// language (used for lookbehinds), then nodes with obligations.
class Subsets {
 public:
  Subsets(const PatternPart& part, CompileBudget& budget)
      : part_(part),
        budget_(budget),
        obligations_(part.languages, prepare_alphabet(), budget),
        closure_(part, obligations_, budget) {}

  TextDfa build();

 private:
  const Alphabet& prepare_alphabet();
  void prepare_steps();
  std::int32_t number(StateTuple tuple);
  void expand(const StateTuple& tuple);
  /// Returns whether the state accepts.
  bool read(const StateTuple& tuple, RightContext right);
  void close(const StateTuple& tuple, RightContext right);
  void step_all(RightContext right);
  void step(Config config, std::int32_t next, std::int32_t on);
  bool accepts_at_end() const;
  StateTuple tuple_after(const StateTuple& tuple, std::int32_t on);
  void simplify(std::vector<Config>& configs) const;
  std::span<const std::int32_t> behinds(const StateTuple& tuple) const {
    return std::span(tuple).subspan(1, part_.nfa.lookarounds.size());
  }
  /// A state in which every rest is accepted.
  static StateTuple everything() { return {-1}; }

  const PatternPart& part_;
  CompileBudget& budget_;
  ClassDfa dfa_;
  std::vector<std::vector<std::int32_t>> classes_of_set_;
  std::vector<std::int32_t> all_classes_;
  std::vector<char> is_word_;             ///< [class]
  std::vector<ClassSteps> behind_steps_;  ///< [lookaround] empty for lookaheads
  Obligations obligations_;
  Closure closure_;
  std::unordered_map<StateTuple, std::int32_t, StateTupleHash> numbers_;
  std::vector<const StateTuple*> tuples_;     // keys of `numbers_`, which do not move
  std::vector<std::vector<Config>> targets_;  ///< [class] of the state that is expanded
  std::vector<char> reaches_everything_;      ///< [class]
};

const Alphabet& Subsets::prepare_alphabet() {
  dfa_.alphabet = alphabet_of(part_, budget_);
  return dfa_.alphabet;
}

void Subsets::prepare_steps() {
  classes_of_set_.resize(part_.tree.sets.size());
  for (const Node& node : part_.nfa.nodes) {
    if (node.kind != Node::Kind::kSet || !at(classes_of_set_, node.index).empty()) continue;
    at(classes_of_set_, node.index) = dfa_.alphabet.classes_in(at(part_.tree.sets, node.index));
    budget_.spend(dfa_.alphabet.intervals().size() / 8);
  }
  const CodePoints words = word_characters();
  for (const char32_t c : dfa_.alphabet.representatives()) {
    all_classes_.push_back(static_cast<std::int32_t>(all_classes_.size()));
    is_word_.push_back(words.contains(c));
  }
  for (std::size_t i = 0; i < part_.nfa.lookarounds.size(); ++i) {
    behind_steps_.emplace_back(part_.languages[3 * i], dfa_.alphabet, budget_);
  }
  targets_.resize(all_classes_.size());
  reaches_everything_.resize(all_classes_.size());
}

std::int32_t Subsets::number(StateTuple tuple) {
  const auto [found, is_new] =
      numbers_.try_emplace(std::move(tuple), static_cast<std::int32_t>(tuples_.size()));
  if (is_new) {
    budget_.spend(1 + found->first.size());
    if (tuples_.size() == kRawStatesMax) {
      throw Error(ErrorCode::kInvalid, "is too complex: use a simpler one");
    }
    tuples_.push_back(&found->first);
  }
  return found->second;
}

TextDfa Subsets::build() {
  prepare_steps();
  StateTuple start{static_cast<std::int32_t>(part_.left)};
  for (std::size_t i = 0; i < part_.nfa.lookarounds.size(); ++i) {
    start.push_back(part_.languages[3 * i].is_empty() ? TextDfa::kDead : TextDfa::start());
  }
  start.push_back(part_.nfa.start);
  start.push_back(Obligations::kNone);
  number(std::move(start));
  for (std::size_t i = 0; i < tuples_.size(); ++i) expand(*tuples_[i]);
  return TextDfa(dfa_, budget_);
}

void Subsets::expand(const StateTuple& tuple) {
  if (tuple == everything()) {
    const std::int32_t self = number(tuple);
    for (const std::int32_t on : all_classes_) dfa_.edges.push_back({on, self});
    return dfa_.finish_state(0);
  }
  for (std::vector<Config>& configs : targets_) configs.clear();
  std::fill(reaches_everything_.begin(), reaches_everything_.end(), char{0});
  bool depends_on_end = false;
  const auto rights = part_.needs_words ? std::vector{RightContext::kWord, RightContext::kOther}
                                        : std::vector{RightContext::kAnyCharacter};
  for (const RightContext right : rights) {
    close(tuple, right);
    depends_on_end = depends_on_end || closure_.depends_on_end();
    step_all(right);
  }
  if (depends_on_end) close(tuple, RightContext::kTextEnd);
  const bool accepts = depends_on_end && accepts_at_end();
  for (const std::int32_t on : all_classes_) {
    if (at(reaches_everything_, on)) {
      dfa_.edges.push_back({on, number(everything())});
    } else if (!at(targets_, on).empty()) {
      dfa_.edges.push_back({on, number(tuple_after(tuple, on))});
    }
  }
  budget_.spend(all_classes_.size() / 4);
  dfa_.finish_state(accepts ? 0 : ClassDfa::kRejects);
}

void Subsets::close(const StateTuple& tuple, RightContext right) {
  closure_.begin(static_cast<LeftContext>(tuple[0]), right, behinds(tuple));
  for (std::size_t i = 1 + part_.nfa.lookarounds.size(); i < tuple.size(); i += 2) {
    closure_.add({tuple[i], tuple[i + 1]});
  }
}

/// Moves what the closure found over each class of the right context.
void Subsets::step_all(RightContext right) {
  const auto is_right = [&](std::int32_t on) {
    return right == RightContext::kAnyCharacter ||
           (right == RightContext::kWord) == (at(is_word_, on) != 0);
  };
  const auto step_over = [&](Config config, std::int32_t next,
                             const std::vector<std::int32_t>& classes) {
    for (const std::int32_t on : classes) {
      if (is_right(on)) step(config, next, on);
    }
  };
  if (part_.ends_anywhere) {
    for (const std::int32_t obligations : closure_.ends()) {
      step_over({PatternNfa::kDone, obligations}, PatternNfa::kDone, all_classes_);
    }
  }
  for (const Config& config : closure_.readers()) {
    const Node& node = at(part_.nfa.nodes, config.node);
    const bool is_any = node.kind == Node::Kind::kAny;
    step_over(config, node.next, is_any ? all_classes_ : at(classes_of_set_, node.index));
  }
}

void Subsets::step(Config config, std::int32_t next, std::int32_t on) {
  if (at(reaches_everything_, on)) return;
  budget_.spend();
  const std::int32_t obligations = obligations_.step(config.obligations, on);
  if (obligations == Obligations::kBroken) return;
  const bool is_everything =
      part_.ends_anywhere && next == PatternNfa::kDone && obligations == Obligations::kNone;
  if (is_everything) {
    at(reaches_everything_, on) = 1;
  } else {
    at(targets_, on).push_back({next, obligations});
  }
}

bool Subsets::accepts_at_end() const {
  return std::any_of(closure_.ends().begin(), closure_.ends().end(), [&](std::int32_t obligations) {
    return obligations_.is_met_at_end(obligations);
  });
}

StateTuple Subsets::tuple_after(const StateTuple& tuple, std::int32_t on) {
  std::vector<Config>& configs = at(targets_, on);
  simplify(configs);
  const bool is_word = part_.needs_words && at(is_word_, on);
  StateTuple after{static_cast<std::int32_t>(is_word ? LeftContext::kWord : LeftContext::kOther)};
  for (std::size_t i = 0; i < part_.nfa.lookarounds.size(); ++i) {
    const bool is_behind =
        at(part_.tree.nodes, part_.nfa.lookarounds[i]).kind == PatternNode::Kind::kLookbehind;
    const std::int32_t state = tuple[1 + i];
    after.push_back(is_behind && state != TextDfa::kDead ? behind_steps_[i].step(state, on)
                                                         : TextDfa::kDead);
  }
  for (const Config& config : configs) {
    after.push_back(config.node);
    after.push_back(config.obligations);
  }
  return after;
}

/// Sorts configurations, and removes each that demands more than another with the same node.
void Subsets::simplify(std::vector<Config>& configs) const {
  std::sort(configs.begin(), configs.end());
  configs.erase(std::unique(configs.begin(), configs.end()), configs.end());
  std::vector<Config> kept;
  std::size_t first = 0;  // in `kept`, of the same node
  for (const Config& config : configs) {
    if (kept.empty() || kept.back().node != config.node) first = kept.size();
    budget_.spend(kept.size() - first);
    const bool is_implied = std::any_of(
        kept.begin() + static_cast<std::ptrdiff_t>(first), kept.end(), [&](const Config& other) {
          return obligations_.is_subset(other.obligations, config.obligations);
        });
    if (!is_implied) kept.push_back(config);
  }
  configs = std::move(kept);
}

}  // namespace

TextDfa make_deterministic(const PatternPart& part, CompileBudget& budget) {
  return Subsets(part, budget).build();
}

}  // namespace ingot
