// ingot man: prints its manual pages.
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/shell/completion_scripts.h"
#include "cli/shell/man_page.h"

namespace ingot {

namespace {

struct ManValues {
  std::vector<std::string> command;
  std::optional<std::string> out;
  bool request_fields = false;
};

void write_pages(const std::string& folder, const std::vector<CommandInfo>& commands) {
  for (const CommandInfo& command : commands) {
    OutputFile file(cat(folder, "/", man_page_name(command), ".1"));
    file.write(man_page(command, commands));
    file.commit();
  }
}

void man(const ManValues& values, const std::vector<CommandInfo>& commands) {
  if (values.request_fields) return write_stdout(field_table());
  if (values.out) return write_pages(*values.out, commands);
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const CommandInfo& one) {
    return one.words == values.command;
  });
  if (found == commands.end()) {
    throw bad_option("COMMAND", joined(values.command), "ingot --help lists the commands");
  }
  write_stdout(man_page(*found, commands));
}

}  // namespace

Command add_man_command(CLI::App& app) {
  auto values = std::make_shared<ManValues>();
  CLI::App& sub = add_command(app, "man", "Print the manual page of a command");
  add_words(sub, values->command, "COMMAND", "The command; none for ingot itself", 8, false);
  add_text(sub, values->out, "--out", "Write the pages of all commands into this folder instead");
  add_switch(sub, values->request_fields, "--request-fields",
             "Print the table of request fields as Markdown instead");
  set_footer(sub, "To read one: ingot man run | man -l -");
  return make_command(
      sub, [&app, values] { man(*values, option_table(app)); }, "ingot man run | man -l -");
}

}  // namespace ingot
