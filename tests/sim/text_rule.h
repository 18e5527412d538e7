// TextRule: a constraint of the simulated world, and what it allows, without a Matcher.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "constraint/constraint.h"
#include "runtime/request.h"

namespace ingot::sim {

/// The texts that repeat a pattern. At each position of the pattern some of the 32 tokens fit.
struct TextRule {
  std::vector<std::uint32_t> sets;  ///< tokens that fit, by position in the pattern: bit i, token i
  std::int64_t least = 0, most = 0;  ///< bounds on the number of repetitions
  std::shared_ptr<const Constraint> constraint;

  std::int64_t period() const { return std::ssize(sets); }
  bool is_complete(std::int64_t tokens) const {
    return tokens % period() == 0 && tokens >= least * period() && tokens <= most * period();
  }
  bool is_over(std::int64_t tokens) const { return tokens == most * period(); }
  /// The tokens that continue a text.
  std::uint32_t text_at(std::int64_t tokens) const {
    return is_over(tokens) ? 0 : sets[static_cast<std::size_t>(tokens % period())];
  }
  /// The tokens that may come next. `ends`: tokens that end the text, before `min_tokens` only if
  /// no other fits.
  std::uint32_t next(std::int64_t tokens, std::uint32_t ends, std::int64_t min_tokens) const {
    const std::uint32_t text = text_at(tokens);
    if (!is_complete(tokens)) return text;
    if (tokens >= min_tokens) return text | ends;
    return (text & ~ends) != 0 ? text & ~ends : ends;
  }
};

/// All rules of the simulated world.
std::span<const TextRule> text_rules();
/// The rule of a request; null without one.
const TextRule* rule_of(const Request& request);

}  // namespace ingot::sim
