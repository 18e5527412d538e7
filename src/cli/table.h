// Formats benchmark results as aligned tables, with the settings of the measurement.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load/json.h"

namespace ingot {

/// The lines of a table. Each line has the same number of cells; the first line names the columns.
using Cells = std::vector<std::vector<std::string>>;

/// Texts before, between and after a line's cells. `ruled`: dashes follow the first line.
struct Frame {
  std::string_view begin, between, end;
  bool ruled = false;
};

inline constexpr Frame kPlainFrame{.begin = "", .between = "  ", .end = ""};
inline constexpr Frame kMarkdownFrame{.begin = "| ", .between = " | ", .end = " |", .ruled = true};

/// Formats a table as text. Aligns the first column to the left and all others to the right.
std::string table(const Cells& cells, const Frame& frame);

/// A measurement's settings: pairs of name and value.
using Settings = std::vector<std::pair<std::string, Json>>;

/// Returns the settings on one line: "name value; name value".
std::string settings_text(const Settings& settings);
/// Returns the settings as a JSON object.
Json settings_json(const Settings& settings);

}  // namespace ingot
