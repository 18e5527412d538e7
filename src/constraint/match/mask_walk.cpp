// add_allowed: finds the tokens that threads can take.
#include "constraint/match/mask_walk.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/index.h"
#include "constraint/match/leaf_masks.h"
#include "constraint/match/used_tokens.h"

namespace ingot::match {
namespace {

/// A subtree with fewer nodes is walked; a leaf's mask for a larger one is looked up.
constexpr std::uint32_t kLeafMaskNodesMin = 64;
/// A state that takes fewer ASCII characters, and no others, is walked.
constexpr char32_t kBroadCharsMin = 16;
/// Alternatives kept behind a byte: fewer than a Matcher keeps, so that it takes what is allowed.
constexpr std::size_t kThreadsMax = 1024;
/// After this many steps of threads, less than a second, one alternative is kept behind each byte.
/// It can be finished, so some token is found.
constexpr std::size_t kStepsMax = 2'000'000;

/// Whether many tokens can follow in a state.
bool is_broad(const TextDfa* language, std::int32_t state) {
  if (language == nullptr || language->has_step(state, 0x80, CodePoints::kLast)) return true;
  char32_t chars = 0;
  for (const TextDfa::Arc& arc : language->arcs(state)) chars += arc.on.last - arc.on.first + 1;
  return chars >= kBroadCharsMin;
}

class MaskWalk {
 public:
  MaskWalk(Machine& machine, std::span<std::uint32_t> bits)
      : machine_(machine), trie_(machine.grammar().trie()), bits_(bits) {}

  void run(std::span<const Thread> threads) {
    std::vector<Thread> rest;
    for (Thread thread : threads) {
      if (!use_leaf_mask(thread, 0)) rest.push_back(thread);
    }
    walk(trie_.texts(), rest, Takers::kAll, true,
         [&](const ByteTree& tree, std::uint32_t node) { allow(tree.tokens_at(node)); });
    walk(trie_.markers(), threads, Takers::kTerminals, false,
         [&](const ByteTree& tree, std::uint32_t node) { allow(tree.tokens_at(node)); });
  }

 private:
  void allow(std::int32_t id) { at(bits_, id / 32) |= std::uint32_t{1} << (id % 32); }
  void allow(std::span<const std::int32_t> tokens) {
    for (const std::int32_t id : tokens) allow(id);
  }

  /// Walks a tree with threads at its root. Calls `found(tree, node)` for the nodes, except the
  /// root, that a thread reaches.
  template <class Found>
  void walk(const ByteTree& tree, std::span<const Thread> threads, Takers takers, bool is_texts,
            const Found& found) {
    std::vector<Thread> stack(threads.begin(), threads.end());
    std::vector<std::size_t> first{0};  // [depth] index in `stack` of the depth's threads
    if (threads.empty()) return;
    for (std::uint32_t node = 1; node < tree.size();) {
      const ByteTree::Node& at = tree.nodes[node];
      const std::size_t depth = at.depth;
      if (first.size() > depth) {
        stack.resize(first[depth]);
        first.resize(depth);
      }
      const std::size_t end = stack.size();
      first.push_back(end);
      step(stack, first[depth - 1], at.byte, takers);
      if (is_texts && at.end - node >= kLeafMaskNodesMin) use_leaf_masks(stack, end, node);
      if (stack.size() == end) {
        node = at.end;
        continue;
      }
      found(tree, node);
      ++node;
    }
  }

  /// Appends the threads that follow those from index `first` on.
  void step(std::vector<Thread>& threads, std::size_t first, std::uint8_t byte, Takers takers) {
    const std::size_t most = steps_ < kStepsMax ? kThreadsMax : 1;
    steps_ += machine_.step_all(threads, first, byte, takers, most).steps;
  }

  void use_leaf_masks(std::vector<Thread>& threads, std::size_t first, std::uint32_t node) {
    std::size_t kept = first;
    for (std::size_t i = first; i < threads.size(); ++i) {
      Thread thread = threads[i];
      if (!use_leaf_mask(thread, node)) threads[kept++] = thread;
    }
    threads.resize(kept);
  }

  /// Allows the tokens below `node` that begin inside the leaf of a thread. Returns false if some
  /// remain to be found; then `thread` is the one to find them with.
  bool use_leaf_mask(Thread& thread, std::uint32_t node) {
    switch (thread.leaf) {
      case Leaf::kString:
        return use_string_mask(thread, node);
      case Leaf::kKey:
        return use_key_mask(thread, node);
      case Leaf::kTerminal:
        return use_terminal_mask(thread, node);
      default:
        return false;
    }
  }

  /// Whether the texts that the thread must not repeat are only ever a matter of the closing quote.
  bool is_free(const Thread& thread, std::uint32_t language) {
    return thread.text == 0 || machine_.frame(thread.frame).used == 0 ||
           machine_.grammar().is_endless(language);
  }

  /// Masks of every text are the same for all grammars.
  std::uint64_t owner(const TextDfa* language) const {
    return language == nullptr ? 0 : machine_.grammar().id();
  }

  bool use_string_mask(const Thread& thread, std::uint32_t node) {
    const TextDfa* language = machine_.language(thread);
    const auto& string = std::get<grammar::String>(machine_.grammar().grammar().node(thread.node));
    if (!is_broad(language, thread.state)) return false;
    if (language != nullptr && !is_free(thread, string.language)) return false;
    if (!machine_.grammar().has_escapes() || !machine_.grammar().has_wide_chars()) return false;
    const bool has_lengths = string.length_min != 0 || string.length_max != kUnlimited;
    const LeafMasks::Key key{.grammar = owner(language),
                             .language = language,
                             .state = thread.state,
                             .chars = thread.chars,
                             .node = node,
                             .is_string = true,
                             .has_lengths = has_lengths};
    const auto mask = trie_.leaf_masks().find(key);
    Lengths lengths;
    if (has_lengths) {
      lengths.missing =
          string.length_min - std::min<std::uint64_t>(string.length_min, thread.count);
      if (string.length_max != kUnlimited) lengths.left = string.length_max - thread.count;
      allow_inside(*mask, lengths);
      for (const std::int32_t id : mask->uncertain) try_token(thread, node, id);
    } else {
      allow_inside(*mask);
    }
    for (const LeafMask::Exit& exit : mask->exits) {
      const FrameId behind = machine_.frame_behind(thread, machine_.unknown_text(thread));
      const Thread then{.frame = behind, .node = kReturn};
      leave(thread, node, then, exit, lengths);
    }
    return true;
  }

  bool use_key_mask(Thread& thread, std::uint32_t node) {
    if (thread.state == TextDfa::kDead) return false;
    const auto& object = std::get<grammar::Object>(machine_.grammar().grammar().node(thread.node));
    const TextDfa* language = machine_.language(thread);
    if (!is_broad(language, thread.state) || !is_free(thread, object.other_keys)) return false;
    if (!machine_.grammar().has_escapes() || !machine_.grammar().has_wide_chars()) return false;
    const auto mask = trie_.leaf_masks().find({.grammar = owner(language),
                                               .language = language,
                                               .state = thread.state,
                                               .chars = thread.chars,
                                               .node = node,
                                               .is_string = true,
                                               .has_tags = true});
    allow_inside(*mask);
    for (const LeafMask::Exit& exit : mask->exits) {
      const TextId key = machine_.unknown_text(thread);
      leave(thread, node, machine_.behind_other_key(thread, key, exit.tag), exit, {});
    }
    if (thread.low >= thread.high) return true;
    thread.state = TextDfa::kDead;
    thread.text = 0;
    return false;
  }

  bool use_terminal_mask(Thread& thread, std::uint32_t node) {
    const TextDfa* language = machine_.language(thread);
    if (thread.text != 0 || !is_broad(language, thread.state)) return false;
    const auto mask = trie_.leaf_masks().find({.grammar = owner(language),
                                               .language = language,
                                               .state = thread.state,
                                               .chars = thread.chars,
                                               .node = node,
                                               .follow = first_bytes(thread.frame)});
    allow_inside(*mask);
    const Thread then{.frame = thread.frame, .node = kReturn};
    for (const LeafMask::Exit& exit : mask->exits) leave(thread, node, then, exit, {});
    Thread now;
    if (!machine_.terminal_may_end(thread, now)) return true;
    thread = now;
    return false;
  }

  /// Characters that a string still needs and may have.
  struct Lengths {
    std::uint64_t missing = 0;
    std::uint64_t left = kUnlimited;
  };

  void allow_inside(const LeafMask& mask) {
    for (std::size_t i = 0; i < mask.bits.size(); ++i) bits_[i] |= mask.bits[i];
    allow(mask.tokens);
  }

  void allow_inside(const LeafMask& mask, const Lengths& lengths) {
    const std::uint64_t needs = mask.need_first.size() - 1;
    if (lengths.left >= needs - 1) return allow_inside(mask);
    const std::size_t fitting = mask.need_first[static_cast<std::size_t>(lengths.left) + 1];
    const auto tokens = std::span(mask.by_need);
    if (mask.bits.empty() || fitting < tokens.size() / 2) return allow(tokens.first(fitting));
    scratch_ = mask.bits;
    for (const std::int32_t id : tokens.subspan(fitting)) {
      at(scratch_, id / 32) &= ~(std::uint32_t{1} << (id % 32));
    }
    for (std::size_t i = 0; i < scratch_.size(); ++i) bits_[i] |= scratch_[i];
  }

  /// Allows a token if `thread`, which has taken the bytes above `node`, takes the others.
  void try_token(const Thread& thread, std::uint32_t node, std::int32_t id) {
    std::vector<Thread> now{thread};
    for (const char byte : trie_.bytes(id).substr(trie_.texts().nodes[node].depth)) {
      const auto before = std::ssize(now);
      step(now, 0, static_cast<std::uint8_t>(byte), Takers::kAll);
      now.erase(now.begin(), now.begin() + before);
      if (now.empty()) return;
    }
    allow(id);
  }

  /// Allows the tokens that leave the leaf of `thread`, so that `then` takes the rest.
  void leave(const Thread& thread, std::uint32_t node, const Thread& then,
             const LeafMask::Exit& exit, const Lengths& lengths) {
    std::vector<std::int32_t> used;
    if (thread.text != 0) used = tokens_of_used_texts(machine_, thread, node);
    const auto allow_at = [&](const ByteTree& tree, std::uint32_t at) {
      const std::size_t first = tree.nodes[at].first_token;
      const auto tokens = tree.tokens_at(at);
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::uint64_t length = exit.lengths[first + i];
        if (length < lengths.missing || length > lengths.left) continue;
        if (thread.text == 0) {
          allow(tokens[i]);
        } else if (has_text_behind(tree, at)) {
          try_token(thread, node, tokens[i]);
        } else if (!std::binary_search(used.begin(), used.end(), tokens[i])) {
          allow(tokens[i]);
        }
      }
    };
    allow_at(exit.tree, 0);
    walk(exit.tree, {&then, 1}, Takers::kAll, false, allow_at);
  }

  /// Whether the path to a node can have a whole string or key, which must differ from the one
  /// before.
  static bool has_text_behind(const ByteTree& tree, std::uint32_t node) {
    return tree.nodes[node].depth > 2;
  }

  /// Returns the bytes that can begin what follows a frame's current part, and perhaps others.
  std::array<std::uint64_t, 4> first_bytes(FrameId frame) {
    std::array<std::uint64_t, 4> found{};
    const auto add = [&](char32_t first, char32_t last) {
      for (char32_t byte = first; byte <= last && byte < 0x80; ++byte) {
        found[byte / 64] |= std::uint64_t{1} << (byte % 64);
      }
      if (last >= 0x80) found[2] = found[3] = ~std::uint64_t{0};
    };
    const Machine::Continuation then = machine_.continuation(kReturn, frame);
    for (std::uint32_t i = then.first; i < then.last; ++i) {
      const Thread thread = machine_.continuation_thread(i);
      if (thread.leaf == Leaf::kTerminal) {
        for (const TextDfa::Arc& arc : machine_.language(thread)->arcs(thread.state)) {
          add(arc.on.first, arc.on.last);
        }
      } else {
        for (const char byte : std::string_view("\"[]{},")) {
          add(static_cast<unsigned char>(byte), static_cast<unsigned char>(byte));
        }
      }
    }
    return found;
  }

  Machine& machine_;
  const TokenTrie& trie_;
  std::span<std::uint32_t> bits_;
  std::vector<std::uint32_t> scratch_;
  std::size_t steps_ = 0;  ///< steps of single threads so far
};

}  // namespace

void add_allowed(Machine& machine, std::span<const Thread> threads, std::span<std::uint32_t> bits) {
  MaskWalk(machine, bits).run(threads);
}

}  // namespace ingot::match
