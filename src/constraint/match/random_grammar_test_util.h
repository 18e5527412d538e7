// Random small grammars, and all their texts by a method of its own. For tests only.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "constraint/grammar.h"

namespace ingot {

/// Lists the texts of a grammar by recursion over its nodes, without a matcher.
class TextLister {
 public:
  using Texts = std::set<std::string>;

  explicit TextLister(const Grammar& grammar) : grammar_(grammar) {
    pieces_ = {""};
    for (std::size_t i = 0; pieces_[i].size() < 4; ++i) {
      for (const char c : {'a', 'b', '1'}) pieces_.push_back(pieces_[i] + c);
    }
  }

  /// Returns all texts of a node with at most `bytes_max` bytes.
  const Texts& list(NodeId node, int bytes_max) {
    static const Texts kNone;
    if (bytes_max < 0 || node == kNoNode) return kNone;
    const auto key = std::pair(node, bytes_max);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    known_[key] = {};  // what a left recursion finds
    Texts found;
    std::visit([&](const auto& contents) { add(contents, bytes_max, found); }, grammar_.node(node));
    return known_[key] = std::move(found);
  }

 private:
  std::vector<std::string> language(std::uint32_t index, int bytes_max) const {
    std::vector<std::string> found;
    for (const std::string& piece : pieces_) {
      if (static_cast<int>(piece.size()) > bytes_max) break;
      if (grammar_.language(index).contains(piece)) found.push_back(piece);
    }
    return found;
  }

  void add(const grammar::Terminal& node, int bytes_max, Texts& out) {
    for (const std::string& text : language(node.language, bytes_max)) out.insert(text);
  }

  void add(const grammar::String& node, int bytes_max, Texts& out) {
    for (const std::string& piece : pieces_) {
      if (static_cast<int>(piece.size()) > bytes_max - 2) break;
      const bool fits = piece.size() >= node.length_min && piece.size() <= node.length_max;
      const bool is_in = node.language == grammar::String::kAny ||
                         grammar_.language(node.language).contains(piece);
      if (fits && is_in) out.insert('"' + piece + '"');
    }
  }

  /// Appends `node`'s texts to each of `before`.
  Texts joined(const Texts& before, NodeId node, int bytes_max) {
    Texts all;
    for (const std::string& text : before) {
      for (const std::string& more : list(node, bytes_max - static_cast<int>(text.size()))) {
        all.insert(text + more);
      }
    }
    return all;
  }

  void add(const grammar::Sequence& node, int bytes_max, Texts& out) {
    Texts texts{""};
    for (const NodeId part : node.parts) texts = joined(texts, part, bytes_max);
    out.merge(texts);
  }

  void add(const grammar::Choice& node, int bytes_max, Texts& out) {
    for (const NodeId part : node.alternatives) {
      const Texts& texts = list(part, bytes_max);
      out.insert(texts.begin(), texts.end());
    }
  }

  void add(const grammar::Repeat& node, int bytes_max, Texts& out) {
    Texts texts{""};
    const int most = bytes_max + static_cast<int>(node.count_min) + 2;
    for (int count = 0; count <= most; ++count) {
      const auto parts = static_cast<std::uint64_t>(count);
      if (parts >= node.count_min && parts <= node.count_max) {
        out.insert(texts.begin(), texts.end());
      }
      if (parts >= node.count_max) break;
      if (count > 0 && node.separator != kNoNode) texts = joined(texts, node.separator, bytes_max);
      texts = joined(texts, node.part, bytes_max);
    }
  }

  struct Partial {
    std::string text;
    std::vector<std::string> parts;  // values of an array, keys of an object
    std::uint64_t contained = 0;
    std::uint64_t declared_end = 0;  // in order: the next declared property
    bool has_other = false;
  };

  std::vector<std::string> spaces() const {
    if (grammar_.space == JsonSpace::kNone) return {""};
    return {"", " "};
  }

  void add(const grammar::Array& node, int bytes_max, Texts& out) {
    std::vector<Partial> open{{"[", {}}};
    while (!open.empty()) {
      const Partial now = open.back();
      open.pop_back();
      const std::uint64_t count = now.parts.size();
      const int left = bytes_max - static_cast<int>(now.text.size());
      if (left < 1) continue;
      if (count >= node.count_min && count <= node.count_max &&
          now.contained >= node.contained_min && now.contained <= node.contained_max) {
        out.insert(now.text + "]");
      }
      if (count >= node.count_max) continue;
      const grammar::Array::Item& item = count < node.first.size() ? node.first[count] : node.rest;
      for (const std::string& space : count == 0 ? std::vector<std::string>{""} : spaces()) {
        const std::string separator = count == 0 ? "" : "," + space;
        for (const bool is_counted : {false, true}) {
          const NodeId value = is_counted ? item.counted : item.value;
          for (const std::string& text : list(value, left - static_cast<int>(separator.size()))) {
            if (node.is_unique &&
                std::find(now.parts.begin(), now.parts.end(), text) != now.parts.end()) {
              continue;
            }
            Partial next = now;
            next.text += separator + text;
            next.parts.push_back(text);
            next.contained += is_counted ? 1u : 0u;
            open.push_back(std::move(next));
          }
        }
      }
    }
  }

  static bool is_valid(const grammar::Object& node, const Partial& object) {
    const auto has = [&](const std::string& key) {
      return std::find(object.parts.begin(), object.parts.end(), key) != object.parts.end();
    };
    for (const auto& property : node.properties) {
      if (property.is_required && !has(property.name)) return false;
    }
    for (const auto& [a, b] : node.dependencies) {
      if (has(node.properties[a].name) && !has(node.properties[b].name)) return false;
    }
    return object.parts.size() >= node.count_min && object.parts.size() <= node.count_max;
  }

  void add(const grammar::Object& node, int bytes_max, Texts& out) {
    std::vector<Partial> open{{"{", {}}};
    while (!open.empty()) {
      const Partial now = open.back();
      open.pop_back();
      const int left = bytes_max - static_cast<int>(now.text.size());
      if (left < 1) continue;
      if (is_valid(node, now)) out.insert(now.text + "}");
      const auto try_key = [&](const std::string& key, NodeId value, Partial next) {
        if (std::find(now.parts.begin(), now.parts.end(), key) != now.parts.end()) return;
        next.parts.push_back(key);
        const auto gaps = now.parts.empty() ? std::vector<std::string>{""} : spaces();
        for (const std::string& gap : gaps) {
          for (const std::string& space : spaces()) {
            const std::string begin =
                (now.parts.empty() ? "" : ",") + gap + '"' + key + "\":" + space;
            for (const std::string& text : list(value, left - static_cast<int>(begin.size()))) {
              Partial made = next;
              made.text += begin + text;
              open.push_back(std::move(made));
            }
          }
        }
      };
      for (std::size_t i = 0; i < node.properties.size(); ++i) {
        if (!node.any_order && (now.has_other || i < now.declared_end)) continue;
        Partial next = now;
        next.declared_end = i + 1;
        try_key(node.properties[i].name, node.properties[i].value, next);
      }
      if (node.other_keys == grammar::Object::kNone) continue;
      const TextDfa& keys = grammar_.language(node.other_keys);
      for (const std::string& key : language(node.other_keys, left)) {
        std::int32_t state = TextDfa::start();
        for (const char c : key) state = keys.step(state, static_cast<unsigned char>(c));
        Partial next = now;
        next.has_other = true;
        try_key(key, node.other_values[static_cast<std::size_t>(keys.tag(state))], next);
      }
    }
  }

  const Grammar& grammar_;
  std::vector<std::string> pieces_;
  std::map<std::pair<NodeId, int>, Texts> known_;
};

/// Makes random grammars over the characters a, b and 1.
class RandomGrammar {
 public:
  /// `has_free_strings`: some strings have every text, instead of texts of a, b and 1.
  RandomGrammar(unsigned seed, bool has_free_strings)
      : random_(seed), has_free_strings_(has_free_strings) {}

  Grammar make(CompileBudget& budget) {
    Grammar grammar;
    grammar.space = below(3) == 0 ? JsonSpace::kOptional : JsonSpace::kNone;
    add_languages(grammar, budget);
    const int nodes = 2 + below(7);
    for (int i = 0; i < nodes; ++i) grammar.reserve();
    for (int i = 0; i < nodes; ++i) {
      // Later nodes are simpler, so that most grammars have texts.
      grammar.set(static_cast<NodeId>(i), node(static_cast<NodeId>(i), nodes, budget, grammar));
    }
    grammar.set_root(0);
    return grammar;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void add_languages(Grammar& grammar, CompileBudget& budget) {
    const auto add = [&](std::vector<std::string> texts) {
      grammar.add_language(TextDfa::any_of(texts, budget));
    };
    add({"a"});
    add({"b", "1"});
    add({"a", "b", "ab"});
    add({"", "a"});
    add({"aa", "ab", "b", "1a"});
    every_text_ = static_cast<std::uint32_t>(grammar.languages());
    if (has_free_strings_) {
      add_broad_languages(grammar, budget);
    } else {
      add_narrow_languages(grammar, budget);
    }
    languages_ = static_cast<int>(grammar.languages());
  }

  /// Languages over a, b and 1; the first has all of these texts.
  static void add_narrow_languages(Grammar& grammar, CompileBudget& budget) {
    grammar.add_language(
        TextDfa({{.arcs = {{{U'a', U'b'}, 0}, {{U'1', U'1'}, 0}}, .accepts = true}}, budget));
    // (a|b)*, a1* and 1*b?
    grammar.add_language(TextDfa({{.arcs = {{{U'a', U'b'}, 0}}, .accepts = true}}, budget));
    grammar.add_language(TextDfa(
        {{.arcs = {{{U'a', U'a'}, 1}}}, {.arcs = {{{U'1', U'1'}, 1}}, .accepts = true}}, budget));
    grammar.add_language(TextDfa({{.arcs = {{{U'1', U'1'}, 0}, {{U'b', U'b'}, 1}}, .accepts = true},
                                  {.arcs = {}, .accepts = true}},
                                 budget));
  }

  /// Languages with characters of all kinds; the first has every text.
  static void add_broad_languages(Grammar& grammar, CompileBudget& budget) {
    const TextDfa all = TextDfa::all(budget);
    grammar.add_language(all);
    grammar.add_language(all.without_texts_of(
        TextDfa::any_of(std::vector<std::string>{"", "a", "ab", "b\u00e9"}, budget), budget));
    grammar.add_language(all.with_length(1, 3, budget));
    grammar.add_language(TextDfa::without(std::vector<std::string>{"ab", "\"1", "}"}, budget));
    grammar.add_language(TextDfa::until("1,", budget));
  }

  std::uint32_t some_language() { return static_cast<std::uint32_t>(below(languages_)); }

  NodeId below_node(NodeId id, int nodes) {
    // Mostly a later node; sometimes any, which can be a cycle.
    if (below(6) == 0) return static_cast<NodeId>(below(nodes));
    const int later = nodes - static_cast<int>(id) - 1;
    return static_cast<NodeId>(static_cast<int>(id) + (later > 0 ? 1 + below(later) : 0));
  }

  void bounds(std::uint64_t& low, std::uint64_t& high) {
    low = below(3) == 0 ? static_cast<std::uint64_t>(below(3)) : 0;
    if (below(3) == 0) high = low + static_cast<std::uint64_t>(below(3));
  }

  GrammarNode node(NodeId id, int nodes, CompileBudget& budget, Grammar& grammar) {
    const bool is_last = static_cast<int>(id) + 1 >= nodes;
    switch (is_last ? below(2) : below(9)) {
      case 0:
        return grammar::Terminal{some_language()};
      case 1:
        return string();
      case 2: {
        grammar::Sequence made;
        for (int i = below(4); i > 0; --i) made.parts.push_back(below_node(id, nodes));
        return made;
      }
      case 3: {
        grammar::Choice made;
        for (int i = 1 + below(3); i > 0; --i) made.alternatives.push_back(below_node(id, nodes));
        return made;
      }
      case 4: {
        grammar::Repeat made{.part = below_node(id, nodes)};
        bounds(made.count_min, made.count_max);
        if (below(2) == 0) made.separator = below_node(id, nodes);
        return made;
      }
      case 5:
      case 6:
        return array(id, nodes, budget, grammar);
      default:
        return object(id, nodes, budget, grammar);
    }
  }

  grammar::String string() {
    grammar::String made{.language = has_free_strings_ ? grammar::String::kAny : every_text_};
    if (below(3) != 0) made.language = some_language();
    if (below(3) == 0) bounds(made.length_min, made.length_max);
    return made;
  }

  NodeId maybe_node(NodeId id, int nodes) {
    return below(3) == 0 ? kNoNode : below_node(id, nodes);
  }

  GrammarNode array(NodeId id, int nodes, CompileBudget& budget, Grammar& grammar) {
    grammar::Array made;
    made.is_unique = below(2) == 0;
    const auto item = [&] {
      if (!made.is_unique) {
        return grammar::Array::Item{maybe_node(id, nodes),
                                    below(3) == 0 ? below_node(id, nodes) : kNoNode};
      }
      // Values that do not overlap: strings and raw texts without quotes.
      grammar::Array::Item unique;
      if (below(3) != 0) unique.value = plain(grammar);
      if (below(3) == 0) {
        const std::string text(1, 'b');
        unique.counted = grammar.terminal(TextDfa::literal(text, budget));
      }
      return unique;
    };
    for (int i = below(3); i > 0; --i) made.first.push_back(item());
    made.rest = item();
    bounds(made.count_min, made.count_max);
    if (below(3) == 0) bounds(made.contained_min, made.contained_max);
    return made;
  }

  /// A string, or a string or the raw text a.
  NodeId plain(Grammar& grammar) {
    grammar::String text{.language = has_free_strings_ ? grammar::String::kAny : every_text_};
    if (below(4) != 0) text.language = some_language();
    const NodeId string = grammar.add(text);
    if (below(2) == 0) return string;
    return grammar.choice({string, grammar.add(grammar::Terminal{0})});
  }

  GrammarNode object(NodeId id, int nodes, CompileBudget& budget, Grammar& grammar) {
    grammar::Object made;
    std::vector<std::string> names{"a", "b", "ab", "1"};
    std::shuffle(names.begin(), names.end(), random_);
    names.resize(static_cast<std::size_t>(below(5)));
    for (const std::string& name : names) {
      made.properties.push_back(
          {name, below(8) == 0 ? kNoNode : below_node(id, nodes), below(4) == 0});
    }
    made.any_order = below(3) == 0;
    if (below(2) == 0) {
      const TextDfa declared = TextDfa::any_of(names, budget);
      const std::uint32_t base = some_language();
      const TextDfa keys = grammar.language(base).without_texts_of(declared, budget);
      const TextDfa tagged = TextDfa::any_of(std::vector<std::string>{"aa", "b"}, budget)
                                 .intersected(keys, budget)
                                 .united(keys, budget);
      made.other_keys = grammar.add_language(tagged);
      for (int i = 0; i < 4; ++i) made.other_values.push_back(below_node(id, nodes));
    }
    bounds(made.count_min, made.count_max);
    for (int i = below(3); i > 0 && names.size() > 1; --i) {
      const auto count = static_cast<int>(names.size());
      made.dependencies.emplace_back(below(count), below(count));
    }
    return made;
  }

  std::mt19937 random_;
  bool has_free_strings_ = false;
  int languages_ = 0;
  std::uint32_t every_text_ = 0;
};

}  // namespace ingot
