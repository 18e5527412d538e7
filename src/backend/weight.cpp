// Weight: checks which kinds of formats its segments have.
#include "backend/weight.h"

#include <algorithm>

#include "quant/formats.h"

namespace ingot {

namespace {

bool has_segment(const Weight& w, bool dense) {
  return std::any_of(w.segments.begin(), w.segments.end(),
                     [&](const Segment& s) { return format_info(s.format).dense == dense; });
}

}  // namespace

bool Weight::has_blocks() const { return has_segment(*this, false); }

bool Weight::has_dense() const { return has_segment(*this, true); }

bool Weight::rounds_rows() const {
  return std::any_of(segments.begin(), segments.end(),
                     [](const Segment& s) { return s.rounds_rows; });
}

}  // namespace ingot
