// restrict_vocabulary: removes the texts of a grammar that a vocabulary cannot spell.
#include "constraint/match/restrict_vocabulary.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace ingot::match {
namespace {

class Restrictor {
 public:
  Restrictor(Grammar& grammar, const TokenTrie& trie, CompileBudget& budget)
      : grammar_(grammar), trie_(trie), budget_(budget) {}

  TypableChars run() {
    const bool has_ascii = has_range(0, 0x7F);
    has_inner_ = has_range(0x80, 0xBF);
    found_.has_wide = has_inner_ && has_range(0xC2, 0xF4);
    found_.has_escapes = has_all("\\u0123456789") && (has_all("abcdef") || has_all("ABCDEF"));
    if (has_ascii && found_.has_wide) return found_;
    raw_ = star(raw_chars(false));
    inside_ = star(raw_chars(true));
    for (NodeId id = 0; id < grammar_.size(); ++id) restrict_node(id);
    return found_;
  }

 private:
  bool has_range(unsigned first, unsigned last) const {
    for (unsigned byte = first; byte <= last; ++byte) {
      if (!trie_.has_byte(static_cast<std::uint8_t>(byte))) return false;
    }
    return true;
  }

  bool has_all(std::string_view bytes) const {
    return std::all_of(bytes.begin(), bytes.end(),
                       [&](char c) { return trie_.has_byte(static_cast<std::uint8_t>(c)); });
  }

  /// The code points that single bytes spell: everywhere, or inside a string without escapes.
  CodePoints raw_chars(bool in_string) const {
    std::vector<CodePointRange> ranges;
    for (char32_t c = in_string ? 0x20 : 0; c < 0x80; ++c) {
      if (in_string && (c == U'"' || c == U'\\')) continue;
      if (trie_.has_byte(static_cast<std::uint8_t>(c))) ranges.push_back({c, c});
    }
    if (in_string) {
      if (found_.has_wide) ranges.push_back({0x80, CodePoints::kLast});
      return CodePoints(std::move(ranges));
    }
    for (unsigned lead = 0xC2; has_inner_ && lead <= 0xF4; ++lead) {
      if (!trie_.has_byte(static_cast<std::uint8_t>(lead))) continue;
      const char32_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      const char32_t shift = 6 * (size - 1);
      const char32_t first = (lead & (0x7F >> size)) << shift;
      const char32_t least = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
      const char32_t last =
          std::min<char32_t>(first + (char32_t{1} << shift) - 1, CodePoints::kLast);
      ranges.push_back({std::max(first, least), last});
    }
    return CodePoints(std::move(ranges));
  }

  TextDfa star(const CodePoints& chars) {
    std::vector<TextDfa::State> states(1);
    states[0].accepts = true;
    for (const CodePointRange& range : chars.ranges()) states[0].arcs.push_back({range, 0});
    return TextDfa(std::move(states), budget_);
  }

  bool is_spelled(std::string_view name) const {
    return found_.has_escapes || inside_.contains(name);
  }

  void restrict_language(std::uint32_t& language, const TextDfa& to) {
    language = grammar_.add_language(grammar_.language(language).intersected(to, budget_));
  }

  void restrict_node(NodeId id) {
    budget_.spend(1);
    GrammarNode node = grammar_.node(id);
    if (auto* terminal = std::get_if<grammar::Terminal>(&node)) {
      restrict_language(terminal->language, raw_);
    } else if (auto* string = std::get_if<grammar::String>(&node)) {
      if (!has_all("\"")) {
        node = grammar::Choice{};
      } else if (!found_.has_escapes) {
        if (string->language == grammar::String::kAny) {
          string->language = grammar_.add_language(inside_);
        } else {
          restrict_language(string->language, inside_);
        }
      }
    } else if (auto* array = std::get_if<grammar::Array>(&node)) {
      if (!has_all(",")) array->count_max = std::min<std::uint64_t>(array->count_max, 1);
      if (!has_all("[]")) node = grammar::Choice{};
    } else if (auto* object = std::get_if<grammar::Object>(&node)) {
      if (has_all("{}")) {
        restrict_object(*object);
      } else {
        node = grammar::Choice{};
      }
    } else {
      return;
    }
    grammar_.set(id, std::move(node));
  }

  void restrict_object(grammar::Object& object) {
    if (!has_all("\":")) object.count_max = 0;
    if (!has_all(",")) object.count_max = std::min<std::uint64_t>(object.count_max, 1);
    for (auto& property : object.properties) {
      if (!is_spelled(property.name)) property.value = kNoNode;
    }
    if (object.other_keys != grammar::Object::kNone && !found_.has_escapes) {
      restrict_language(object.other_keys, inside_);
    }
  }

  Grammar& grammar_;
  const TokenTrie& trie_;
  CompileBudget& budget_;
  bool has_inner_ = false;
  TypableChars found_;
  TextDfa raw_, inside_;
};

}  // namespace

TypableChars restrict_vocabulary(Grammar& grammar, const TokenTrie& trie, CompileBudget& budget) {
  return Restrictor(grammar, trie, budget).run();
}

}  // namespace ingot::match
