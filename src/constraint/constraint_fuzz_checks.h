// Checks for fuzz targets of constraints: a walk through a grammar that the input's bytes choose. A
// failed check ends the process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "constraint/constraint.h"
#include "constraint/constraint_message.h"

namespace ingot::testing {

/// A fuzz input: a text, a NUL, and bytes that choose tokens.
struct FuzzInput {
  std::string_view text;
  std::string_view choices;
};

/// Splits an input at its first NUL.
inline FuzzInput split_fuzz_input(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = all.find('\0');
  if (end == all.npos) return {all, {}};
  return {all.substr(0, end), all.substr(end + 1)};
}

/// Returns a vocabulary of all bytes and of some texts that span several parts of a grammar.
inline const std::shared_ptr<const TokenTrie>& fuzz_trie() {
  static const std::shared_ptr<const TokenTrie> trie = [] {
    std::vector<std::string> tokens;
    for (int b = 0; b < 256; ++b) tokens.push_back(std::string(1, static_cast<char>(b)));
    for (const char* text : {"{\"", "\":", "\": ", ", \"", "\"}", "}}", "]]", "},", "true", "null",
                             "\\u00", "\\n", "12", "-1", ".5", "e+", "\u00e9", "\u20ac", "ab"}) {
      tokens.push_back(text);
    }
    return std::make_shared<const TokenTrie>(
        static_cast<std::int32_t>(tokens.size()), [&](std::int32_t id) {
          return TokenTrie::Token{tokens[static_cast<std::size_t>(id)], TokenUse::kText};
        });
  }();
  return trie;
}

/// A text that a walk made.
struct WalkedText {
  std::string text;
  bool is_complete = false;
};

/// Walks through a grammar and checks each state on the way.
class FuzzWalk {
 public:
  explicit FuzzWalk(std::shared_ptr<const MatcherGrammar> grammar)
      : grammar_(std::move(grammar)), matcher_(grammar_) {}

  /// Walks as `choices` say; then towards a short end.
  WalkedText run(std::string_view choices) {
    constexpr std::size_t kChoicesMax = 64;
    constexpr int kEndStepsMax = 64;
    for (const char choice : choices.substr(0, kChoicesMax)) {
      if (!step(static_cast<std::uint8_t>(choice))) break;
    }
    for (int i = 0; i < kEndStepsMax && !matcher_.is_complete(); ++i) step(std::nullopt);
    check_again();
    check_truncation();
    return {text_, matcher_.is_complete()};
  }

 private:
  /// Takes a token: the one that `choice` chooses, or one that leads to an end. Returns false if no
  /// token is allowed.
  bool step(std::optional<std::uint8_t> choice) {
    const auto mask = matcher_.mask();
    INGOT_CHECK(mask.size() == fuzz_trie()->mask_words(), "words of the mask");
    std::vector<std::int32_t> allowed;
    std::int32_t refused = -1;
    for (std::int32_t id = 0; id < fuzz_trie()->ids(); ++id) {
      const auto bit = static_cast<std::uint32_t>(id);
      if ((mask[bit / 32] >> (bit % 32) & 1U) != 0) {
        allowed.push_back(id);
      } else if (refused < 0 || (choice && id % 256 <= *choice)) {
        refused = id;
      }
    }
    INGOT_CHECK(matcher_.is_complete() || !allowed.empty(), "a dead end behind: ", text_);
    INGOT_CHECK(matcher_.may_continue() || allowed.empty(), "tokens behind the end: ", text_);
    if (refused >= 0) {
      INGOT_CHECK(!matcher_.accept(refused), "token ", refused, " is not in the mask: ", text_);
    }
    if (allowed.empty()) return false;
    const std::int32_t id = choice ? allowed[*choice % allowed.size()]
                                   : *std::min_element(allowed.begin(), allowed.end(),
                                                       [](std::int32_t a, std::int32_t b) {
                                                         return distance(a) < distance(b);
                                                       });
    INGOT_CHECK(matcher_.accept(id), "token ", id, " of the mask is refused: ", text_);
    ids_.push_back(id);
    text_ += fuzz_trie()->bytes(id);
    return true;
  }

  /// A smaller number for tokens that tend to end a text.
  static std::size_t distance(std::int32_t id) {
    constexpr std::string_view kEnders = "\"]}):0123456789 ,";
    const std::string_view bytes = fuzz_trie()->bytes(id);
    const std::size_t at = bytes.size() == 1 ? kEnders.find(bytes[0]) : kEnders.npos;
    return at == kEnders.npos ? kEnders.size() + static_cast<std::size_t>(id) : at;
  }

  /// The tokens' bytes lead to an equal state.
  void check_again() {
    Matcher again(grammar_);
    for (const std::int32_t id : ids_) {
      INGOT_CHECK(again.accept_bytes(fuzz_trie()->bytes(id)), "refused when read again: ", text_);
    }
    check_equal_state(again);
  }

  /// Tokens that were removed lead back to an equal state.
  void check_truncation() {
    Matcher copy = matcher_;
    const std::size_t kept = ids_.size() / 3;
    copy.truncate(std::ssize(ids_) - static_cast<std::int64_t>(kept));
    for (std::size_t i = kept; i < ids_.size(); ++i) {
      INGOT_CHECK(copy.accept(ids_[i]), "refused behind truncate: ", text_);
    }
    check_equal_state(copy);
  }

  void check_equal_state(Matcher& other) {
    INGOT_CHECK(other.is_complete() == matcher_.is_complete(), "another state behind: ", text_);
    const auto mask = matcher_.mask();
    INGOT_CHECK(std::ranges::equal(mask, other.mask()), "another mask behind: ", text_);
  }

  std::shared_ptr<const MatcherGrammar> grammar_;
  Matcher matcher_;
  std::vector<std::int32_t> ids_;
  std::string text_;
};

/// Steps of compiling: a tenth of those of a request, because sanitizers make them slow.
inline constexpr std::uint64_t kFuzzSteps = CompileBudget::kStepsMax / 10;

/// Compiles a spec. Only an error of one line that begins with the spec's name may be thrown; then
/// the result is null.
inline std::shared_ptr<const Constraint> compile_or_refuse(const ConstraintSpec& spec) {
  try {
    Grammar grammar;
    std::vector<SchemaNote> notes;
    CompileBudget budget(kFuzzSteps);
    grammar.set_root(add_constraint(grammar, spec, notes, budget));
    return make_constraint(std::move(grammar), std::move(notes), fuzz_trie(), budget);
  } catch (const Error& error) {
    const std::string message = named_constraint_message(spec.name, error.message());
    INGOT_CHECK(error.code() == ErrorCode::kInvalid, message);
    INGOT_CHECK(message.starts_with(spec.name), message);
    INGOT_CHECK(message.find('\n') == message.npos && message.size() < 1000, message);
    return nullptr;
  }
}

}  // namespace ingot::testing
