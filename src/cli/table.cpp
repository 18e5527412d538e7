// Formats tables with aligned columns.
#include "cli/table.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

std::string table(const Cells& cells, const Frame& frame) {
  std::vector<std::size_t> widths(cells.front().size());
  for (const auto& line : cells) {
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string out;
  for (const auto& line : cells) {
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const std::string space(widths[c] - line[c].size(), ' ');
      out += c == 0 ? cat(frame.begin, line[c], space) : cat(frame.between, space, line[c]);
    }
    out += cat(frame.end, "\n");
    if (!frame.ruled || &line != &cells.front()) continue;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const std::string dashes(widths[c] - 1, '-');
      out += c == 0 ? cat(frame.begin, "-", dashes) : cat(frame.between, dashes, ":");
    }
    out += cat(frame.end, "\n");
  }
  return out;
}

std::string settings_text(const Settings& settings) {
  std::string out;
  for (const auto& [name, value] : settings) {
    out += cat(out.empty() ? "" : "; ", name, " ", printable(value.dump(), 4096));
  }
  return out + "\n";
}

Json settings_json(const Settings& settings) {
  Json j = Json::object();
  for (const auto& [name, value] : settings) j.set(name, value);
  return j;
}

}  // namespace ingot
