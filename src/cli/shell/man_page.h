// Manual pages, made from the table of options.
#pragma once

#include <span>
#include <string>

#include "cli/shell/option_table.h"

namespace ingot {

/// The page of a command, as man(7) text. `commands` is the whole table, for cross-references.
std::string man_page(const CommandInfo& command, std::span<const CommandInfo> commands);

/// The name of a page: "ingot-run".
std::string man_page_name(const CommandInfo& command);

/// The table of request fields as Markdown, for the docs.
std::string field_table();

}  // namespace ingot
