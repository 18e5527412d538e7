// MarkedText: appends texts, and joins adjacent ranges of the template.
#include "text/chat/marked_text.h"

#include <algorithm>

namespace ingot {

namespace {

/// The first range of `own` that ends behind `at`.
std::vector<TextSpan>::const_iterator first_behind(const std::vector<TextSpan>& own,
                                                   std::size_t at) {
  return std::upper_bound(own.begin(), own.end(), at,
                          [](std::size_t place, const TextSpan& s) { return place < s.end; });
}

}  // namespace

void MarkedText::mark(std::size_t begin, std::size_t end) {
  if (begin == end) return;
  if (!own.empty() && own.back().end == begin) {
    own.back().end = end;
  } else {
    own.push_back({begin, end});
  }
}

void MarkedText::append(std::string_view text, Origin origin) {
  const std::size_t begin = bytes.size();
  bytes += text;
  if (origin == Origin::kTemplate) mark(begin, bytes.size());
}

void MarkedText::append(const MarkedText& text, std::size_t begin, std::size_t end) {
  const std::size_t base = bytes.size();
  bytes.append(text.bytes, begin, end - begin);
  for (auto s = first_behind(text.own, begin); s != text.own.end() && s->begin < end; ++s) {
    mark(base + std::max(s->begin, begin) - begin, base + std::min(s->end, end) - begin);
  }
}

Origin MarkedText::origin(std::size_t at) const {
  const auto s = first_behind(own, at);
  return s != own.end() && s->begin <= at ? Origin::kTemplate : Origin::kData;
}

}  // namespace ingot
