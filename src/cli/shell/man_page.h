// Manual pages, made from the table of options.
#pragma once

#include <span>
#include <string>

#include "cli/shell/option_table.h"

namespace ingot {

/// Returns a command's page as man(7) text. `commands` has all commands, for cross-references.
std::string man_page(const CommandInfo& command, std::span<const CommandInfo> commands);

/// Returns the name of a command's page: "ingot-run".
std::string man_page_name(const CommandInfo& command);

/// Returns the table of request fields as Markdown, for the docs.
std::string field_table();

}  // namespace ingot
