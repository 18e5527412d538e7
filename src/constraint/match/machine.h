// Machine: moves threads through a grammar, one byte at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "constraint/match/arena.h"
#include "constraint/match/matcher_grammar.h"
#include "constraint/match/thread.h"

namespace ingot::match {

/// Which leaves may take a byte.
enum class Takers : std::uint8_t { kAll, kTerminals };

/// The arenas of one matcher, and the steps of its threads. Every thread that it makes can be
/// finished.
class Machine {
 public:
  /// `grammar` must outlive the machine.
  explicit Machine(const MatcherGrammar& grammar);

  /// The thread of the empty text.
  Thread start() const;
  /// Appends the threads that follow `thread` and `byte`, each once.
  void step(const Thread& thread, std::uint8_t byte, Takers takers, std::vector<Thread>& out);
  /// Removes threads from index `first` on that occur before, and joins threads that differ only in
  /// the frames below: one thread then has them all below it. So alternatives of nested values add
  /// up and do not multiply.
  void join(std::vector<Thread>& threads, std::size_t first);
  /// What `step_all` did: threads that it left out, and its work in single threads.
  struct Stepped {
    std::size_t left_out = 0, steps = 0;
  };
  /// Appends the threads that follow those from index `first` on, joined, and at most `most`.
  Stepped step_all(std::vector<Thread>& threads, std::size_t first, std::uint8_t byte,
                   Takers takers, std::size_t most);
  /// Whether the whole text may end.
  bool may_end(const Thread& thread);
  /// Whether a byte may follow.
  bool may_go_on(const Thread& thread);

  /// Threads that may begin when a leaf ends.
  struct Continuation {
    std::uint32_t first = 0, last = 0;  ///< in the machine's list of threads
    bool can_end = false;               ///< nothing at all: the whole text
    NodeId node = 0;
    FrameId frame = 0;
  };
  Continuation continuation(NodeId node, FrameId frame);
  /// A copy: steps may move the list.
  Thread continuation_thread(std::uint32_t index) const { return begun_[index]; }

  /// Whether a Terminal's text may end behind `thread`; then `then` is the thread of what follows.
  bool terminal_may_end(const Thread& thread, Thread& then);
  /// The thread behind the quote of the key `text` of `other_keys`, which has this tag.
  Thread behind_other_key(const Thread& thread, TextId text, std::int32_t tag);
  /// A text that begins like the thread's and differs from all others.
  TextId unknown_text(const Thread& thread);
  /// The frame of a String or Terminal whose text has ended.
  FrameId frame_behind(const Thread& thread, TextId text);

  const ObjectChoices& choices(FrameId frame);
  const MatcherGrammar& grammar() const { return *grammar_; }
  /// The language of a Terminal, String or key; null: every text.
  const TextDfa* language(const Thread& thread) const;
  const Frame& frame(FrameId id) const { return frames_[id]; }
  /// Returns the texts of `list` that begin with `prefix`, without it.
  void rests(ListId list, TextId prefix, std::vector<std::u32string>& out) const;

  /// How much the arenas hold. `shrink` returns to an earlier state.
  struct Marks {
    std::uint32_t frames = 0, texts = 0, lists = 0, sets = 0, continuations = 0, begun = 0,
                  choices = 0;
    std::uint32_t memo = 0;  ///< how often `trim` has cleared
  };
  Marks marks() const;
  void shrink(const Marks& marks);
  /// Forgets what can be computed again if it is much.
  void trim();

 private:
  struct PropertySet {
    std::vector<std::uint64_t> words;
    friend bool operator==(const PropertySet&, const PropertySet&) = default;
    std::uint64_t hash() const;
  };
  struct Begin {
    NodeId node = 0;
    FrameId frame = 0;
    TextId text = 0;
    friend bool operator==(const Begin&, const Begin&) = default;
    std::uint64_t hash() const { return mixed(mixed(frame, node), text); }
  };

  void step_leaf(Thread thread, std::uint8_t byte, std::vector<Thread>& out);
  void step_terminal(Thread thread, std::uint8_t byte, std::vector<Thread>& out);
  Read read_inside(CharState& chars, std::uint8_t byte, char32_t& c) const;
  Escapes escapes_in(const Thread& thread) const;
  void step_string(Thread thread, std::uint8_t byte, std::vector<Thread>& out);
  void step_key(Thread thread, std::uint8_t byte, std::vector<Thread>& out);
  /// Appends the threads behind the quote of a key or String, if it may follow `thread`.
  void close_quote(const Thread& thread, std::vector<Thread>& out);
  void step_array(Thread thread, std::uint8_t byte, std::vector<Thread>& out);
  void step_object(Thread thread, std::uint8_t byte, std::vector<Thread>& out);

  void shrink_memo(const Marks& marks);
  void begin(const Begin& what, std::vector<Begin>& open, Continuation& found);
  void begin_frame(FrameId frame, std::vector<Begin>& open, Continuation& found);
  void begin_items(FrameId frame, std::vector<Begin>& open);
  void add_repeat(FrameId parent, NodeId node, std::uint64_t count, std::vector<Begin>& open);

  bool joins_parents(const Thread& thread) const;
  FrameId any_of(std::vector<std::uint64_t>& frames, int levels);
  FrameId frame_of(std::vector<std::uint64_t> members, int levels);
  void add_members(FrameId frame, std::vector<std::uint64_t>& members) const;

  bool rest_behind(TextId text, TextId prefix, std::u32string& rest) const;
  /// How many texts the thread's array or object has: a bound on `used_texts`.
  std::uint32_t used_length(const Thread& thread) const {
    return lists_[frames_[thread.frame].used].length;
  }
  bool has_unused_text(const Thread& thread) const;
  bool has_unused_text(const Thread& thread, std::span<const CodePointRange> next) const;
  std::uint64_t used_texts(const Thread& thread, std::span<const CodePointRange> next,
                           bool with_next) const;
  bool fits_length(const Thread& thread, std::uint64_t count, std::int32_t state) const;
  bool string_can_finish(const Thread& thread) const;
  bool is_used(ListId list, TextId text) const;
  bool is_counted_value(NodeId array, TextId text) const;
  TextId append(TextId text, char32_t c);

  ArrayState array_state(const Frame& frame) const;
  FrameId object_frame(FrameId parent, NodeId node);
  FrameId with_property(FrameId object, std::uint32_t property);
  FrameId with_other(FrameId object, TextId key);
  bool narrow_names(Thread& key, char32_t first, char32_t last) const;
  Thread key_thread(FrameId object, NodeId node);

  const MatcherGrammar* grammar_;
  Arena<Frame> frames_;
  Arena<TextNode> texts_;
  Arena<ListNode> lists_;
  Arena<PropertySet> sets_;
  ChainTable continuation_table_;
  std::vector<Continuation> continuations_;
  std::vector<Thread> begun_;
  ChainTable choices_table_;
  std::vector<std::pair<FrameId, ObjectChoices>> choices_;
  std::size_t choices_names_ = 0;  ///< about how many names `choices_` has
  std::uint32_t memo_ = 0;
};

/// Removes threads from index `first` on that occur before.
void remove_repeated(std::vector<Thread>& threads, std::size_t first);

}  // namespace ingot::match
