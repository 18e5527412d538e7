// LeafMasks: which tokens stay inside a Terminal or a string, and which ones leave it and how.
#include "constraint/match/leaf_masks.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/index.h"
#include "constraint/match/arena.h"
#include "constraint/token_trie.h"

namespace ingot {
namespace {

using match::CharState;
using match::Read;

/// More tokens are kept as a bit set.
constexpr std::size_t kListMax = 1024;

/// Tokens that a string without restrictions cannot take, or that stay inside it.
constexpr std::uint16_t kNever = 0xFFFF, kInside = 0xFFFE;

/// Makes a LeafMask by a walk over the vocabulary's tree.
class LeafMaskMaker {
 public:
  LeafMaskMaker(const TokenTrie& trie, const LeafMasks::Key& key)
      : trie_(trie), tree_(trie.texts()), key_(key), base_(tree_.nodes[key.node].depth) {}

  LeafMask make() {
    path_.push_back(beginning());
    const std::uint32_t end = tree_.nodes[key_.node].end;
    if (key_.node != 0) add_inside(key_.node, path_[0]);
    for (std::uint32_t node = key_.node + 1; node < end;) {
      const ByteTree::Node& at = tree_.nodes[node];
      const std::size_t depth = at.depth - base_;
      path_.resize(depth);
      Place place = path_.back();
      if (step(place, at.byte, node)) {
        if (is_free(place)) {
          add_free(node, place);
          node = at.end;
          continue;
        }
        add_inside(node, place);
        path_.push_back(place);
        ++node;
      } else {
        if (!key_.is_string) leave_raw(node);
        node = at.end;
      }
    }
    finish();
    return std::move(mask_);
  }

 private:
  struct Place {
    std::int32_t state = 0;
    CharState chars{};
    std::uint16_t length = 0;                                  // characters since the beginning
    std::uint64_t shortest = 0, longest = TextDfa::kInfinite;  // the rest's characters
  };
  struct Leaving {
    std::int32_t tag;
    std::string_view rest;
    std::int32_t token;
    std::uint16_t length;
  };

  Place beginning() const {
    Place place{.state = key_.state, .chars = key_.chars};
    if (!place.chars.is_between()) {
      has_char(place);
    } else if (key_.language != nullptr && key_.has_lengths) {
      place.shortest = key_.language->shortest(place.state);
      place.longest = key_.language->longest(place.state);
    }
    return place;
  }

  /// Takes a byte. Returns false if the leaf cannot, or if the byte ends it.
  bool step(Place& place, std::uint8_t byte, std::uint32_t node) {
    char32_t c = 0;
    const Read read = key_.is_string ? match::read_json(place.chars, byte, c)
                                     : match::read_utf8(place.chars, byte, c);
    if (read == Read::kBad) return false;
    if (read == Read::kQuote) {
      if (key_.language == nullptr || key_.language->accepts(place.state)) leave(node, place);
      return false;
    }
    if (read == Read::kPartial) return has_char(place);
    place.length = static_cast<std::uint16_t>(place.length + 1);
    place.shortest = 0;
    if (key_.language == nullptr) return true;
    place.state = key_.language->step(place.state, c);
    if (place.state == TextDfa::kDead) return false;
    if (key_.has_lengths) {
      place.shortest = key_.language->shortest(place.state);
      place.longest = key_.language->longest(place.state);
    }
    return true;
  }

  /// Whether the unfinished character can be finished.
  bool has_char(Place& place) const {
    const match::CodeRanges chars = match::possible_chars(place.chars);
    if (key_.language == nullptr) {
      place.shortest = 1;
      return chars.count > 0;
    }
    if (!key_.has_lengths) {
      return std::any_of(chars.all().begin(), chars.all().end(), [&](const CodePointRange& range) {
        return key_.language->has_step(place.state, range.first, range.last);
      });
    }
    bool is_live = false;
    place.shortest = TextDfa::kInfinite;
    place.longest = TextDfa::kInfinite;
    for (const TextDfa::Arc& arc : key_.language->arcs(place.state)) {
      for (const CodePointRange& range : chars.all()) {
        if (range.first > arc.on.last || arc.on.first > range.last) continue;
        is_live = true;
        place.shortest = std::min(place.shortest, key_.language->shortest(arc.to) + 1);
        // One finite way makes the token uncertain.
        place.longest = std::min(place.longest, key_.language->longest(arc.to));
      }
    }
    return is_live;
  }

  void add_inside(std::uint32_t node, const Place& place) {
    for (const std::int32_t token : tree_.tokens_at(node)) {
      if (key_.has_lengths && place.longest != TextDfa::kInfinite) {
        mask_.uncertain.push_back(token);
        continue;
      }
      inside_.push_back(token);
      if (key_.has_lengths) needs_.push_back(place.length + place.shortest);
    }
  }

  /// Whether every text may follow, as in a string without restrictions at the same token.
  bool is_free(const Place& place) const {
    if (!key_.is_string || key_.has_lengths || key_.language == nullptr || key_.node != 0) {
      return false;
    }
    if (!key_.chars.is_between() || !place.chars.is_between()) return false;
    const TextDfa& dfa = *key_.language;
    std::uint32_t chars = 0;
    for (const TextDfa::Arc& arc : dfa.arcs(place.state)) {
      if (arc.to != place.state) return false;
      chars += arc.on.last - arc.on.first + 1;
    }
    return dfa.accepts(place.state) && chars >= CodePoints::kLast + 1 - 0x800;
  }

  /// Adds the tokens at and below a node by the mask of a string without restrictions.
  void add_free(std::uint32_t node, const Place& place) {
    if (free_ == nullptr) find_free();
    const std::int32_t tag = key_.has_tags ? key_.language->tag(place.state) : 0;
    for (const std::int32_t token : tree_.tokens_below(node)) {
      const std::uint16_t rest = at(free_rests_, token);
      if (rest == kInside) {
        inside_.push_back(token);
      } else if (rest != kNever) {
        const std::string_view bytes = trie_.bytes(token);
        leaving_.push_back({tag, bytes.substr(bytes.size() - rest), token, 0});
      }
    }
  }

  void find_free() {
    free_ = trie_.string_masks().find(trie_, {.is_string = true});
    free_rests_.assign(to_size(trie_.ids()), kNever);
    for (const LeafMask::Exit& exit : free_->exits) {
      for (std::uint32_t node = 0; node < exit.tree.size(); ++node) {
        for (const std::int32_t token : exit.tree.tokens_at(node)) {
          at(free_rests_, token) = exit.tree.nodes[node].depth;
        }
      }
    }
    for (const std::int32_t token : free_->tokens) at(free_rests_, token) = kInside;
    for (std::int32_t id = 0; id < trie_.ids() && !free_->bits.empty(); ++id) {
      if ((at(free_->bits, id / 32) >> (id % 32) & 1) != 0) at(free_rests_, id) = kInside;
    }
  }

  /// Adds the tokens below a closing quote.
  void leave(std::uint32_t quote, const Place& place) {
    const std::size_t behind = tree_.nodes[quote].depth;
    const std::int32_t tag =
        key_.has_tags && key_.language != nullptr ? key_.language->tag(place.state) : 0;
    for (const std::int32_t token : tree_.tokens_below(quote)) {
      leaving_.push_back({tag, trie_.bytes(token).substr(behind), token, place.length});
    }
  }

  /// Adds the tokens below a byte that raw text cannot take, for each place before where it may
  /// end.
  void leave_raw(std::uint32_t node) {
    for (std::size_t depth = 1; depth < path_.size(); ++depth) {
      const Place& place = path_[depth];
      if (!place.chars.is_between() || !key_.language->accepts(place.state)) continue;
      for (const std::int32_t token : tree_.tokens_below(node)) {
        const std::string_view rest = trie_.bytes(token).substr(base_ + depth);
        const auto byte = static_cast<std::uint8_t>(rest[0]);
        if ((key_.follow[byte / 64] >> (byte % 64) & 1) == 0) break;  // equal for all of them
        leaving_.push_back({0, rest, token, 0});
      }
    }
  }

  void finish() {
    if (key_.has_lengths) sort_by_need();
    if (inside_.size() <= kListMax) {
      inside_.shrink_to_fit();
      mask_.tokens = std::move(inside_);
    } else {
      mask_.bits.resize(trie_.mask_words());
      for (const std::int32_t id : inside_) {
        at(mask_.bits, id / 32) |= std::uint32_t{1} << (id % 32);
      }
    }
    std::sort(leaving_.begin(), leaving_.end(), [](const Leaving& a, const Leaving& b) {
      return std::tie(a.tag, a.rest) < std::tie(b.tag, b.rest);
    });
    for (std::size_t first = 0; first < leaving_.size();) {
      std::size_t last = first;
      while (last < leaving_.size() && leaving_[last].tag == leaving_[first].tag) ++last;
      add_exit(first, last);
      first = last;
    }
  }

  void add_exit(std::size_t first, std::size_t last) {
    std::vector<std::pair<std::string_view, std::int32_t>> sorted;
    LeafMask::Exit exit{.tag = leaving_[first].tag, .tree = {}, .lengths = {}};
    for (std::size_t i = first; i < last; ++i) {
      sorted.emplace_back(leaving_[i].rest, leaving_[i].token);
      exit.lengths.push_back(leaving_[i].length);
    }
    exit.tree = make_byte_tree(sorted);
    mask_.exits.push_back(std::move(exit));
  }

  void sort_by_need() {
    std::uint64_t most = 0;
    for (const std::uint64_t need : needs_) most = std::max(most, need);
    // A need is a token's characters and a path through the automaton: it is small.
    mask_.need_first.assign(static_cast<std::size_t>(most) + 2, 0);
    for (const std::uint64_t need : needs_) ++mask_.need_first[need + 1];
    for (std::size_t i = 1; i < mask_.need_first.size(); ++i) {
      mask_.need_first[i] += mask_.need_first[i - 1];
    }
    std::vector<std::uint32_t> next(mask_.need_first.begin(), mask_.need_first.end() - 1);
    mask_.by_need.resize(inside_.size());
    for (std::size_t i = 0; i < inside_.size(); ++i) {
      mask_.by_need[next[needs_[i]]++] = inside_[i];
    }
  }

  const TokenTrie& trie_;
  const ByteTree& tree_;
  const LeafMasks::Key& key_;
  std::size_t base_;
  std::vector<Place> path_;  // [depth - base_]
  std::vector<std::int32_t> inside_;
  std::vector<std::uint64_t> needs_;  // [inside_], with lengths
  std::vector<Leaving> leaving_;
  std::shared_ptr<const LeafMask> free_;
  std::vector<std::uint16_t> free_rests_;  // [ids] bytes behind the quote, or one of the constants
  LeafMask mask_;
};

}  // namespace

std::size_t LeafMask::bytes() const {
  std::size_t sum = sizeof(LeafMask) + bits.capacity() * 4 + tokens.capacity() * 4 +
                    by_need.capacity() * 4 + need_first.capacity() * 4 + uncertain.capacity() * 4;
  for (const Exit& exit : exits) {
    sum += sizeof(Exit) + exit.tree.bytes() + exit.lengths.capacity() * sizeof(std::uint16_t);
  }
  return sum;
}

std::size_t LeafMasks::Hash::operator()(const Key& key) const {
  std::uint64_t h = reinterpret_cast<std::uintptr_t>(key.language);
  h = match::mixed(h, std::uint64_t{static_cast<std::uint32_t>(key.state)} << 32 | key.node);
  h = match::mixed(h, static_cast<std::uint64_t>(key.chars.phase) << 48 |
                          std::uint64_t{key.chars.left} << 40 | key.chars.bits);
  h = match::mixed(
      h, (key.is_string ? 1u : 0u) | (key.has_lengths ? 2u : 0u) | (key.has_tags ? 4u : 0u));
  for (const std::uint64_t word : key.follow) h = match::mixed(h, word);
  return static_cast<std::size_t>(h);
}

std::shared_ptr<const LeafMask> LeafMasks::find(const TokenTrie& trie, const Key& key) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = masks_.find(key);
    if (found != masks_.end()) return found->second;
  }
  auto made = std::make_shared<const LeafMask>(LeafMaskMaker(trie, key).make());
  const std::lock_guard lock(mutex_);
  if (bytes_ + made->bytes() > kBytesMax) {
    masks_.clear();
    bytes_ = 0;
  }
  const auto [place, is_new] = masks_.emplace(key, std::move(made));
  if (is_new) bytes_ += place->second->bytes();
  return place->second;
}

}  // namespace ingot
