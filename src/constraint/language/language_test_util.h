// Draws texts of languages, for tests.
#pragma once

#include <random>
#include <string>

#include "base/utf8.h"
#include "constraint/language/text_dfa.h"

namespace ingot {

/// Returns a number below `limit`.
inline std::size_t below(std::mt19937_64& random, std::size_t limit) { return random() % limit; }

/// Walks through a language that is not empty. Ends where a text may end, more likely from
/// `length` code points on; then takes a shortest way.
inline std::string random_text(const TextDfa& dfa, std::size_t length, std::mt19937_64& random) {
  std::string text;
  std::int32_t state = TextDfa::start();
  for (std::size_t steps = 0;; ++steps) {
    const auto arcs = dfa.arcs(state);
    if (dfa.accepts(state) && (arcs.empty() || steps >= length || below(random, 8) == 0)) break;
    const TextDfa::Arc* arc = &arcs[below(random, arcs.size())];
    for (const TextDfa::Arc& other : arcs) {
      if (steps >= length && dfa.shortest(other.to) < dfa.shortest(arc->to)) arc = &other;
    }
    const std::size_t width = arc->on.last - arc->on.first + 1;
    const std::size_t offset = below(random, 4) == 0
                                   ? below(random, width)
                                   : below(random, std::min<std::size_t>(width, 96));
    append_utf8(text, static_cast<char32_t>(arc->on.first + offset));
    state = arc->to;
  }
  return text;
}

/// Changes, inserts or removes a few characters of a valid UTF-8 text.
inline std::string mutated(std::string text, std::mt19937_64& random) {
  static constexpr const char* kPieces[] = {"a", "Z",      "0",  "9", "-", "_", ".",  "/",
                                            ":", " ",      "\n", "@", "e", "+", "T",  "é",
                                            "😀", "\u2028", "\r", "=", "1", "{", "\\", "\t"};
  for (std::size_t i = 1 + below(random, 2); i > 0; --i) {
    std::size_t place = below(random, text.size() + 1);
    while (place < text.size() && (text[place] & 0xC0) == 0x80) ++place;
    const std::size_t size = place < text.size() ? utf8_step(text, place) : 0;
    const std::string piece = kPieces[below(random, std::size(kPieces))];
    switch (below(random, 3)) {
      case 0:
        text.insert(place, piece);
        break;
      case 1:
        text.replace(place, size, piece);
        break;
      default:
        text.erase(place, size);
        break;
    }
  }
  return text;
}

}  // namespace ingot
