// forced_run: follows a matcher through masks whose tokens all begin one text.
#include "runtime/draft/forced_run.h"

#include <bit>
#include <string_view>

#include "base/index.h"

namespace ingot {

namespace {

/// Removes the tokens that a matcher accepted during the guard's life, also after an exception.
class AcceptedGuard {
 public:
  explicit AcceptedGuard(Matcher& matcher) : matcher_(matcher), before_(matcher.tokens()) {}
  ~AcceptedGuard() { matcher_.truncate(matcher_.tokens() - before_); }
  AcceptedGuard(const AcceptedGuard&) = delete;
  AcceptedGuard& operator=(const AcceptedGuard&) = delete;

 private:
  Matcher& matcher_;
  std::int64_t before_;
};

}  // namespace

std::int32_t forced_token(std::span<const std::uint32_t> mask, const TokenTrie& trie) {
  std::int32_t longest = -1;
  std::string_view text;
  for (std::int64_t word = 0; word < std::ssize(mask); ++word) {
    for (std::uint32_t bits = at(mask, word); bits != 0; bits &= bits - 1) {
      const auto id = static_cast<std::int32_t>(32 * word) + std::countr_zero(bits);
      const std::string_view other = trie.bytes(id);
      if (longest >= 0 && text.starts_with(other)) continue;
      if (!other.starts_with(text)) return -1;
      longest = id;
      text = other;
    }
  }
  return longest;
}

std::int64_t forced_run(Matcher& matcher, const TokenTrie& trie, std::span<std::int32_t> out) {
  const AcceptedGuard guard(matcher);
  std::int64_t count = 0;
  while (count < std::ssize(out) && !matcher.is_complete()) {
    const std::int32_t id = forced_token(matcher.mask(), trie);
    if (id < 0 || !matcher.accept(id)) break;
    at(out, count++) = id;
  }
  return count;
}

}  // namespace ingot
