// LeafMasks: which tokens stay inside a Terminal or a string, and which ones leave it and how.
#include "constraint/match/leaf_masks.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/index.h"
#include "constraint/match/arena.h"
#include "constraint/match/escapes.h"
#include "constraint/token_trie.h"

namespace ingot {

/// The tokens of a JSON string that takes every text, at a place between two characters.
struct LeafMasks::AnyString {
  /// A token with a quote that closes the string.
  struct Leaving {
    std::uint32_t place = 0;  ///< in the tokens of TokenTrie::texts
    std::uint32_t rank = 0;   ///< among all, by the bytes behind the quote
    std::uint16_t rest = 0;   ///< how many bytes these are
  };
  std::vector<std::uint32_t> inside;  ///< bit set of the tokens without a closing quote
  std::vector<Leaving> leaving;       ///< by place
};

namespace {

using match::CharState;
using match::Read;

/// More tokens are kept as a bit set.
constexpr std::size_t kListMax = 1024;

/// Makes a LeafMask by a walk over the vocabulary's tree.
class LeafMaskMaker {
 public:
  /// `any` is null for texts other than JSON strings from the root and between characters.
  LeafMaskMaker(const TokenTrie& trie, const LeafMasks::Key& key, const LeafMasks::AnyString* any)
      : trie_(trie),
        tree_(trie.texts()),
        key_(key),
        any_(any),
        base_(tree_.nodes[key.node].depth) {}

  LeafMask make() {
    path_.push_back(beginning());
    if (is_unrestricted(path_[0])) {
      add_unrestricted(0, path_[0]);
    } else {
      walk();
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
    std::uint32_t rank = 0;  // by `rest`, if it is known
  };

  void walk() {
    const std::uint32_t end = tree_.nodes[key_.node].end;
    if (key_.node != 0) add_inside(key_.node, path_[0]);
    for (std::uint32_t node = key_.node + 1; node < end;) {
      const ByteTree::Node& at = tree_.nodes[node];
      path_.resize(at.depth - base_);
      Place place = path_.back();
      const bool is_inside = step(place, at.byte, node);
      if (is_inside && !is_unrestricted(place)) {
        add_inside(node, place);
        path_.push_back(place);
        ++node;
        continue;
      }
      if (is_inside) {
        add_unrestricted(node, place);
      } else if (any_ != nullptr) {
        dead_nodes_.push_back(node);
      } else if (!key_.is_string) {
        leave_raw(node);
      }
      node = at.end;
    }
  }

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
    const CharState before = place.chars;
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
    if (match::is_needless_escape(before, c) && escapes_at(place) == match::Escapes::kNeeded) {
      return false;
    }
    place.state = key_.language->step(place.state, c);
    if (place.state == TextDfa::kDead) return false;
    if (key_.has_lengths) {
      place.shortest = key_.language->shortest(place.state);
      place.longest = key_.language->longest(place.state);
    }
    return true;
  }

  match::Escapes escapes_at(const Place& place) const {
    return match::escapes_at(trie_, key_.language, place.state);
  }

  /// Whether the unfinished character can be finished.
  bool has_char(Place& place) const {
    const match::CodeRanges chars = match::possible_chars(place.chars, escapes_at(place));
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

  /// Whether what follows stays inside wherever it stays inside a string without restrictions.
  bool is_unrestricted(const Place& place) const {
    return any_ != nullptr && !key_.has_lengths && place.chars.is_between() &&
           key_.language->is_unrestricted(place.state);
  }

  /// Adds the tokens at and below a node whose place is unrestricted.
  void add_unrestricted(std::uint32_t node, const Place& place) {
    unrestricted_nodes_.push_back(node);
    unrestricted_tokens_ += tree_.tokens_below(node).size();
    leave_behind(node, place);
  }

  /// Adds the tokens at and below a node with a quote behind a text that the language accepts.
  void leave_behind(std::uint32_t node, const Place& place) {
    const auto& all = any_->leaving;
    const std::uint32_t end = tree_.nodes[tree_.nodes[node].end].first_token;
    auto found = std::partition_point(all.begin(), all.end(), [&](const auto& leaving) {
      return leaving.place < tree_.nodes[node].first_token;
    });
    for (; found != all.end() && found->place < end; ++found) {
      const std::int32_t token = tree_.tokens[found->place];
      const std::string_view bytes = trie_.bytes(token);
      const std::string_view rest = bytes.substr(bytes.size() - found->rest);
      const std::size_t quote = bytes.size() - rest.size() - 1;
      const std::size_t depth = std::min<std::size_t>(tree_.nodes[node].depth, quote);
      const std::int32_t state = behind(place, bytes.substr(depth, quote - depth));
      if (!key_.language->accepts(state)) continue;
      const std::int32_t tag = key_.has_tags ? key_.language->tag(state) : 0;
      leaving_.push_back({tag, rest, token, place.length, found->rank});
    }
  }

  /// Returns the state behind bytes that such a place takes.
  std::int32_t behind(Place place, std::string_view bytes) const {
    for (const char byte : bytes) {
      char32_t c = 0;
      if (match::read_json(place.chars, static_cast<std::uint8_t>(byte), c) == Read::kChar) {
        place.state = key_.language->step(place.state, c);
      }
    }
    return place.state;
  }

  /// Adds the tokens below a closing quote.
  void leave(std::uint32_t quote, const Place& place) {
    if (any_ != nullptr) return leave_behind(quote, place);
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
    if (unrestricted_tokens_ > tree_.tokens.size() / 2) {
      take_from_any();
    } else {
      collect_inside();
    }
    std::sort(leaving_.begin(), leaving_.end(), [](const Leaving& a, const Leaving& b) {
      return std::tie(a.tag, a.rank, a.rest) < std::tie(b.tag, b.rank, b.rest);
    });
    for (std::size_t first = 0; first < leaving_.size();) {
      std::size_t last = first;
      while (last < leaving_.size() && leaving_[last].tag == leaving_[first].tag) ++last;
      add_exit(first, last);
      first = last;
    }
  }

  /// Makes the bits from those of a string without restrictions, which has all tokens found here.
  void take_from_any() {
    mask_.bits = any_->inside;
    for (const std::uint32_t node : dead_nodes_) {
      for (const std::int32_t id : tree_.tokens_below(node)) {
        at(mask_.bits, id / 32) &= ~(std::uint32_t{1} << (id % 32));
      }
    }
  }

  void collect_inside() {
    for (const std::uint32_t node : unrestricted_nodes_) {
      for (const std::int32_t id : tree_.tokens_below(node)) {
        if ((at(any_->inside, id / 32) >> (id % 32) & 1) != 0) inside_.push_back(id);
      }
    }
    if (inside_.size() <= kListMax) {
      inside_.shrink_to_fit();
      mask_.tokens = std::move(inside_);
      return;
    }
    mask_.bits.resize(trie_.mask_words());
    for (const std::int32_t id : inside_) {
      at(mask_.bits, id / 32) |= std::uint32_t{1} << (id % 32);
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
  const LeafMasks::AnyString* any_;
  std::size_t base_;
  std::vector<Place> path_;  // [depth - base_]
  std::vector<std::int32_t> inside_;
  std::vector<std::uint64_t> needs_;  // [inside_], with lengths
  std::vector<Leaving> leaving_;
  std::vector<std::uint32_t> dead_nodes_, unrestricted_nodes_;  // where the walk stopped
  std::size_t unrestricted_tokens_ = 0;                         // at and below unrestricted_nodes_
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

LeafMasks::LeafMasks(const TokenTrie& trie) : trie_(trie) {}
LeafMasks::~LeafMasks() = default;

std::size_t LeafMasks::Hash::operator()(const Key& key) const {
  std::uint64_t h = match::mixed(key.grammar, reinterpret_cast<std::uintptr_t>(key.language));
  h = match::mixed(h, std::uint64_t{static_cast<std::uint32_t>(key.state)} << 32 | key.node);
  h = match::mixed(h, static_cast<std::uint64_t>(key.chars.phase) << 48 |
                          std::uint64_t{key.chars.left} << 40 | key.chars.bits);
  h = match::mixed(
      h, (key.is_string ? 1u : 0u) | (key.has_lengths ? 2u : 0u) | (key.has_tags ? 4u : 0u));
  for (const std::uint64_t word : key.follow) h = match::mixed(h, word);
  return static_cast<std::size_t>(h);
}

const LeafMasks::AnyString& LeafMasks::any_string() {
  std::call_once(any_once_, [this] {
    const LeafMask mask = LeafMaskMaker(trie_, {.is_string = true}, nullptr).make();
    auto any = std::make_unique<AnyString>();
    any->inside = mask.bits;
    any->inside.resize(trie_.mask_words());
    for (const std::int32_t id : mask.tokens) {
      at(any->inside, id / 32) |= std::uint32_t{1} << (id % 32);
    }
    std::vector<std::uint32_t> places(to_size(trie_.ids()));
    const std::vector<std::int32_t>& tokens = trie_.texts().tokens;
    for (std::uint32_t i = 0; i < tokens.size(); ++i) at(places, tokens[i]) = i;
    for (const LeafMask::Exit& exit : mask.exits) {
      for (std::uint32_t node = 0; node < exit.tree.size(); ++node) {
        for (const std::int32_t token : exit.tree.tokens_at(node)) {
          const auto rank = static_cast<std::uint32_t>(any->leaving.size());
          any->leaving.push_back({at(places, token), rank, exit.tree.nodes[node].depth});
        }
      }
    }
    std::sort(any->leaving.begin(), any->leaving.end(),
              [](const auto& a, const auto& b) { return a.place < b.place; });
    any_ = std::move(any);
  });
  return *any_;
}

std::shared_ptr<const LeafMask> LeafMasks::find(const Key& key) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found != places_.end()) {
      masks_.splice(masks_.begin(), masks_, found->second);
      return found->second->mask;
    }
  }
  const bool is_string_start = key.is_string && key.node == 0 && key.chars.is_between();
  const AnyString* const any = is_string_start && key.language != nullptr ? &any_string() : nullptr;
  auto made = std::make_shared<const LeafMask>(LeafMaskMaker(trie_, key, any).make());
  add(key, made);
  return made;
}

void LeafMasks::add(const Key& key, std::shared_ptr<const LeafMask> mask) {
  const std::lock_guard lock(mutex_);
  if (places_.contains(key)) return;
  masks_.push_front({key, std::move(mask)});
  try {
    places_.emplace(key, masks_.begin());
  } catch (...) {
    masks_.pop_front();
    throw;
  }
  bytes_ += masks_.front().bytes();
  while (bytes_ > kBytesMax) {
    bytes_ -= masks_.back().bytes();
    places_.erase(masks_.back().key);
    masks_.pop_back();
  }
}

}  // namespace ingot
