// Machine: how each kind of leaf takes a byte.
#include <algorithm>

#include "base/index.h"
#include "constraint/match/escapes.h"
#include "constraint/match/machine.h"

namespace ingot::match {
namespace {

std::uint32_t utf8_size(char32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

}  // namespace

void Machine::step(const Thread& thread, std::uint8_t byte, Takers takers,
                   std::vector<Thread>& out) {
  if (!grammar_->trie().has_byte(byte)) return;
  const std::size_t first = out.size();
  const auto takes = [&](const Thread& leaf) {
    return takers == Takers::kAll || leaf.leaf == Leaf::kTerminal;
  };
  if (takes(thread)) step_leaf(thread, byte, out);
  NodeId node = kReturn;
  FrameId frame = thread.frame;
  if (thread.leaf == Leaf::kTerminal) {
    Thread then;
    if (!terminal_may_end(thread, then)) return;
    frame = then.frame;
  } else if (thread.leaf == Leaf::kArrayFirst) {
    node = kItem;
  } else if (thread.leaf == Leaf::kStart || thread.leaf == Leaf::kSpaceStart) {
    node = thread.node;
  } else {
    return;
  }
  const Continuation then = continuation(node, frame);
  for (std::uint32_t i = then.first; i < then.last; ++i) {
    const Thread begun = begun_[i];
    if (takes(begun)) step_leaf(begun, byte, out);
  }
  remove_repeated(out, first);
}

void Machine::step_leaf(Thread thread, std::uint8_t byte, std::vector<Thread>& out) {
  switch (thread.leaf) {
    case Leaf::kStart:
      return;
    case Leaf::kSpaceStart:
      if (byte != ' ' || !grammar_->has_space()) return;
      thread.leaf = Leaf::kStart;
      out.push_back(thread);
      return;
    case Leaf::kTerminal:
      return step_terminal(thread, byte, out);
    case Leaf::kStringOpen:
      if (byte != '"') return;
      thread.leaf = Leaf::kString;
      out.push_back(thread);
      return;
    case Leaf::kString:
      return step_string(thread, byte, out);
    case Leaf::kKey:
      return step_key(thread, byte, out);
    case Leaf::kArrayOpen:
    case Leaf::kArrayFirst:
    case Leaf::kArrayNext:
      return step_array(thread, byte, out);
    default:
      return step_object(thread, byte, out);
  }
}

void Machine::step_terminal(Thread thread, std::uint8_t byte, std::vector<Thread>& out) {
  char32_t c = 0;
  const Read read = read_utf8(thread.chars, byte, c);
  if (read == Read::kBad) return;
  if (read == Read::kPartial) {
    if (has_unused_text(thread, possible_chars(thread.chars).all())) out.push_back(thread);
    return;
  }
  const TextDfa& dfa = *language(thread);
  thread.state = dfa.step(thread.state, c);
  if (thread.state == TextDfa::kDead) return;
  if (thread.text != 0) {
    thread.text = append(thread.text, c);
    if (!has_unused_text(thread)) return;
  } else if (dfa.arcs(thread.state).empty()) {
    thread = {.frame = thread.frame, .node = kReturn};
  }
  out.push_back(thread);
}

bool Machine::terminal_may_end(const Thread& thread, Thread& then) {
  if (!thread.chars.is_between() || !language(thread)->accepts(thread.state)) return false;
  if (thread.text != 0 && is_used(frames_[thread.frame].used, thread.text)) return false;
  then = {.frame = frame_behind(thread, thread.text), .node = kReturn};
  return true;
}

FrameId Machine::frame_behind(const Thread& thread, TextId text) {
  if (thread.text == 0) return thread.frame;
  Frame frame = frames_[thread.frame];
  if (is_counted_value(frame.node, text)) ++frame.next;
  frame.used = lists_.intern({frame.used, text, lists_[frame.used].length + 1});
  return frames_.intern(frame);
}

/// Whether a value uses up the pool of the items that count as contained, where this matters.
bool Machine::is_counted_value(NodeId array, TextId text) const {
  const UniqueItems& unique = grammar_->unique_items(array);
  if (!unique.is_pool || unique.counted->count() == 0) return false;
  const bool is_plain_endless = unique.plain->count() == TextDfa::kInfinite;
  if (is_plain_endless && unique.counted->count() == TextDfa::kInfinite) return false;
  std::u32string value;
  for (; text != kEmptyText; text = texts_[text].before) value += texts_[text].last;
  std::reverse(value.begin(), value.end());
  return is_plain_endless ? unique.counted->contains(value) : !unique.plain->contains(value);
}

/// Whether a string of `count` characters in `state` can still reach a length within its bounds.
/// Its language has texts of all lengths from the shortest to the longest.
bool Machine::fits_length(const Thread& thread, std::uint64_t count, std::int32_t state) const {
  const auto& node = std::get<grammar::String>(grammar_->grammar().node(thread.node));
  if (node.length_max == kUnlimited && node.length_min == 0) return true;
  const TextDfa* dfa = language(thread);
  const std::uint64_t shortest = dfa == nullptr ? 0 : dfa->shortest(state);
  const std::uint64_t longest = dfa == nullptr ? TextDfa::kInfinite : dfa->longest(state);
  return shortest <= node.length_max - std::min(count, node.length_max) &&
         count <= node.length_max && longest >= node.length_min - std::min(count, node.length_min);
}

/// Whether a string with an unfinished character can be finished.
bool Machine::string_can_finish(const Thread& thread) const {
  const CodeRanges chars = possible_chars(thread.chars, escapes_in(thread));
  const auto& node = std::get<grammar::String>(grammar_->grammar().node(thread.node));
  if (node.length_max == kUnlimited && node.length_min == 0) {
    return has_unused_text(thread, chars.all());
  }
  const TextDfa* dfa = language(thread);
  if (dfa == nullptr) return fits_length(thread, std::uint64_t{thread.count} + 1, 0);
  for (const TextDfa::Arc& arc : dfa->arcs(thread.state)) {
    for (const CodePointRange& range : chars.all()) {
      const bool meets = range.first <= arc.on.last && arc.on.first <= range.last;
      if (meets && fits_length(thread, std::uint64_t{thread.count} + 1, arc.to)) return true;
    }
  }
  return false;
}

/// Reads a byte inside a JSON string. Escapes and wide characters that the vocabulary cannot finish
/// are bad.
Read Machine::read_inside(CharState& chars, std::uint8_t byte, char32_t& c) const {
  const bool is_escape = byte == '\\' && chars.is_between();
  if ((byte >= 0x80 && !grammar_->has_wide_chars()) || (is_escape && !grammar_->has_escapes())) {
    return Read::kBad;
  }
  return read_json(chars, byte, c);
}

/// How the next character of a String, or of a key that is not declared, may be written.
Escapes Machine::escapes_in(const Thread& thread) const {
  const TextDfa* dfa = thread.state == TextDfa::kDead ? nullptr : language(thread);
  return escapes_at(grammar_->trie(), dfa, thread.state);
}

void Machine::step_string(Thread thread, std::uint8_t byte, std::vector<Thread>& out) {
  const CharState before = thread.chars;
  char32_t c = 0;
  const Read read = read_inside(thread.chars, byte, c);
  if (read == Read::kBad) return;
  if (read == Read::kQuote) return close_quote(thread, out);
  if (read == Read::kPartial) {
    if (string_can_finish(thread)) out.push_back(thread);
    return;
  }
  if (is_needless_escape(before, c) && escapes_in(thread) == Escapes::kNeeded) return;
  const TextDfa* dfa = language(thread);
  if (dfa != nullptr) thread.state = dfa->step(thread.state, c);
  if (thread.state == TextDfa::kDead) return;
  const auto& node = std::get<grammar::String>(grammar_->grammar().node(thread.node));
  std::uint64_t count = std::uint64_t{thread.count} + 1;
  if (!fits_length(thread, count, thread.state)) return;
  if (node.length_max == kUnlimited) count = std::min(count, node.length_min);
  thread.count = static_cast<std::uint32_t>(count);
  if (thread.text != 0) {
    thread.text = append(thread.text, c);
    if (!has_unused_text(thread)) return;
  }
  out.push_back(thread);
}

void Machine::close_quote(const Thread& thread, std::vector<Thread>& out) {
  const TextDfa* dfa = thread.state == TextDfa::kDead ? nullptr : language(thread);
  if (thread.leaf == Leaf::kString) {
    const auto& node = std::get<grammar::String>(grammar_->grammar().node(thread.node));
    if (thread.count < node.length_min || (dfa != nullptr && !dfa->accepts(thread.state))) return;
    TextId text = thread.text;
    if (text != 0) {
      text = append(text, U'"');
      if (is_used(frames_[thread.frame].used, text)) return;
    }
    out.push_back({.frame = frame_behind(thread, text), .node = kReturn});
    return;
  }
  const ObjectRules& rules = grammar_->object(thread.node);
  const auto& object = std::get<grammar::Object>(grammar_->grammar().node(thread.node));
  if (thread.low < thread.high) {
    const ObjectRules::Name& name = rules.names()[thread.low];
    if (name.text.size() == thread.count &&
        choices(thread.frame).has_name(thread.low, thread.low + 1)) {
      out.push_back({.leaf = Leaf::kColon,
                     .frame = with_property(thread.frame, name.property),
                     .node = object.properties[name.property].value});
    }
  }
  if (dfa == nullptr || !dfa->accepts(thread.state)) return;
  if (is_used(frames_[thread.frame].used, thread.text)) return;
  out.push_back(behind_other_key(thread, thread.text, dfa->tag(thread.state)));
}

TextId Machine::unknown_text(const Thread& thread) {
  return append(thread.text, CodePoints::kLast + 1);
}

Thread Machine::behind_other_key(const Thread& thread, TextId text, std::int32_t tag) {
  const auto& object = std::get<grammar::Object>(grammar_->grammar().node(thread.node));
  return {.leaf = Leaf::kColon,
          .frame = with_other(thread.frame, text),
          .node = at(object.other_values, tag)};
}

/// Keeps the declared names whose next code point is in [first, last].
bool Machine::narrow_names(Thread& key, char32_t first, char32_t last) const {
  const auto& names = grammar_->object(key.node).names();
  const auto begin = names.begin() + key.low, end = names.begin() + key.high;
  const auto low = std::partition_point(begin, end, [&](const ObjectRules::Name& name) {
    return char_at(name.text, key.count) < static_cast<std::int64_t>(first);
  });
  const auto high = std::partition_point(low, end, [&](const ObjectRules::Name& name) {
    return char_at(name.text, key.count) <= static_cast<std::int64_t>(last);
  });
  key.low = static_cast<std::uint32_t>(low - names.begin());
  key.high = static_cast<std::uint32_t>(high - names.begin());
  return key.low < key.high;
}

void Machine::step_key(Thread thread, std::uint8_t byte, std::vector<Thread>& out) {
  const CharState before = thread.chars;
  char32_t c = 0;
  const Read read = read_inside(thread.chars, byte, c);
  if (read == Read::kBad) return;
  if (read == Read::kQuote) return close_quote(thread, out);
  if (read == Read::kPartial) {
    const CodeRanges other = possible_chars(thread.chars, escapes_in(thread));
    bool is_live = thread.state != TextDfa::kDead && has_unused_text(thread, other.all());
    const CodeRanges chars = possible_chars(thread.chars, escapes_of_names(grammar_->trie()));
    for (std::size_t i = 0; i < chars.count && !is_live && thread.low < thread.high; ++i) {
      Thread narrowed = thread;
      is_live = narrow_names(narrowed, chars.range[i].first, chars.range[i].last) &&
                choices(thread.frame).has_name(narrowed.low, narrowed.high);
    }
    if (is_live) out.push_back(thread);
    return;
  }
  const bool is_needless = is_needless_escape(before, c);
  const bool names_take = !is_needless || escapes_of_names(grammar_->trie()) == Escapes::kAll;
  const bool others_take = !is_needless || escapes_in(thread) == Escapes::kAll;
  if (names_take && thread.low < thread.high && narrow_names(thread, c, c) &&
      choices(thread.frame).has_name(thread.low, thread.high)) {
    thread.count += utf8_size(c);
  } else {
    thread.low = thread.high = thread.count = 0;
  }
  if (thread.state != TextDfa::kDead) {
    thread.state = others_take ? language(thread)->step(thread.state, c) : TextDfa::kDead;
    thread.text = append(thread.text, c);
    if (thread.state == TextDfa::kDead || !has_unused_text(thread)) {
      thread.state = TextDfa::kDead;
      thread.text = 0;
    }
  }
  if (thread.low < thread.high || thread.state != TextDfa::kDead) out.push_back(thread);
}

ArrayState Machine::array_state(const Frame& frame) const {
  ArrayState state{.count = frame.count, .contained = frame.extra};
  if (!grammar_->array(frame.node).is_pool()) return state;
  const UniqueItems& unique = grammar_->unique_items(frame.node);
  state.values_left = unique.plain->count();
  state.counted_left = unique.counted->count();
  const std::uint64_t counted = frame.next, plain = lists_[frame.used].length - counted;
  if (state.values_left != TextDfa::kInfinite) state.values_left -= plain;
  if (state.counted_left != TextDfa::kInfinite) state.counted_left -= counted;
  return state;
}

void Machine::step_array(Thread thread, std::uint8_t byte, std::vector<Thread>& out) {
  if (thread.leaf == Leaf::kArrayOpen) {
    if (byte != '[') return;
    out.push_back({.leaf = Leaf::kArrayFirst,
                   .frame = frames_.intern({.parent = thread.frame, .node = thread.node})});
    return;
  }
  if (byte != ']' && (byte != ',' || thread.leaf != Leaf::kArrayNext)) return;
  const Frame frame = frames_[thread.frame];
  const ArrayRules& rules = grammar_->array(frame.node);
  const ArrayState state = array_state(frame);
  if (byte == ']' && rules.can_close(state)) {
    out.push_back({.frame = frame.parent, .node = kReturn});
  } else if (byte == ',' && (rules.can_add(state, false) || rules.can_add(state, true))) {
    out.push_back({.leaf = Leaf::kSpaceStart, .frame = thread.frame, .node = kItem});
  }
}

void Machine::step_object(Thread thread, std::uint8_t byte, std::vector<Thread>& out) {
  switch (thread.leaf) {
    case Leaf::kObjectOpen:
      if (byte != '{') return;
      out.push_back({.leaf = Leaf::kObjectFirst, .frame = object_frame(thread.frame, thread.node)});
      return;
    case Leaf::kColon:
      if (byte != ':') return;
      out.push_back({.leaf = Leaf::kSpaceStart, .frame = thread.frame, .node = thread.node});
      return;
    case Leaf::kObjectComma:
    case Leaf::kObjectKey:
      if (byte == ' ' && thread.leaf == Leaf::kObjectComma && grammar_->has_space()) {
        out.push_back({.leaf = Leaf::kObjectKey, .frame = thread.frame});
      } else if (byte == '"') {
        out.push_back(key_thread(thread.frame, frames_[thread.frame].node));
      }
      return;
    default:
      break;
  }
  if (byte != '}' && byte != (thread.leaf == Leaf::kObjectFirst ? '"' : ',')) return;
  const ObjectChoices& next = choices(thread.frame);
  if (byte == '}') {
    if (next.can_close) out.push_back({.frame = frames_[thread.frame].parent, .node = kReturn});
  } else if (next.can_go_on()) {
    out.push_back(byte == ',' ? Thread{.leaf = Leaf::kObjectComma, .frame = thread.frame}
                              : key_thread(thread.frame, frames_[thread.frame].node));
  }
}

Thread Machine::key_thread(FrameId object, NodeId node) {
  const ObjectChoices& next = choices(object);
  Thread key{.leaf = Leaf::kKey, .frame = object, .node = node, .state = TextDfa::kDead};
  if (next.has_name(0, static_cast<std::uint32_t>(next.names_before.size() - 1))) {
    key.high = static_cast<std::uint32_t>(next.names_before.size() - 1);
  }
  if (next.can_take_other) {
    key.state = TextDfa::start();
    key.text = kEmptyText;
  }
  return key;
}

FrameId Machine::object_frame(FrameId parent, NodeId node) {
  const ObjectRules& rules = grammar_->object(node);
  Frame frame{.parent = parent, .node = node};
  if (rules.keeps_set()) {
    frame.extra = sets_.intern({std::vector<std::uint64_t>(rules.set_words())});
  }
  return frames_.intern(frame);
}

FrameId Machine::with_property(FrameId object, std::uint32_t property) {
  Frame frame = frames_[object];
  const ObjectRules& rules = grammar_->object(frame.node);
  frame.count = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::uint64_t{frame.count} + 1, rules.count_cap()));
  if (rules.keeps_set()) {
    PropertySet set = sets_[frame.extra];
    set.words[property / 64] |= std::uint64_t{1} << (property % 64);
    frame.extra = sets_.intern(set);
  }
  if (rules.keeps_order()) frame.next = property + 1;
  return frames_.intern(frame);
}

FrameId Machine::with_other(FrameId object, TextId key) {
  Frame frame = frames_[object];
  const ObjectRules& rules = grammar_->object(frame.node);
  frame.count = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::uint64_t{frame.count} + 1, rules.count_cap()));
  frame.used = lists_.intern({frame.used, key, lists_[frame.used].length + 1});
  if (rules.keeps_order()) {
    frame.next = static_cast<std::uint32_t>(
        std::get<grammar::Object>(grammar_->grammar().node(frame.node)).properties.size());
  }
  return frames_.intern(frame);
}

const ObjectChoices& Machine::choices(FrameId id) {
  const std::uint64_t hash = mixed(id, 0);
  const std::uint32_t known =
      choices_table_.find(hash, [&](std::uint32_t i) { return choices_[i].first == id; });
  if (known != ChainTable::kNone) return choices_[known].second;
  const Frame& frame = frames_[id];
  const ObjectRules& rules = grammar_->object(frame.node);
  ObjectState state{.next = frame.next, .count = frame.count, .others = lists_[frame.used].length};
  if (rules.keeps_set()) state.taken = sets_[frame.extra].words;
  choices_table_.add(hash);
  choices_names_ += rules.names().size() + 1;
  choices_.emplace_back(id, rules.choices(state));
  return choices_.back().second;
}

}  // namespace ingot::match
