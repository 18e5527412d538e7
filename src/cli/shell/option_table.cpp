// Reads CLI11's declarations into a table of commands and options.
#include "cli/shell/option_table.h"

#include <CLI/CLI.hpp>

#include "base/text.h"

namespace ingot {

namespace {

std::vector<std::string> split_choices(const std::string& value) {
  std::vector<std::string> choices;
  if (value.find('|') == value.npos) return choices;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find('|', begin), value.size());
    choices.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return choices;
}

OptionInfo option_info(const CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  if (option.get_positional()) info.names.push_back(option.get_name(true));
  if (option.get_type_size_max() != 0) info.value = option.get_type_name();
  info.choices = split_choices(info.value);
  info.help = option.get_description();
  info.initial = option.get_default_str();
  info.is_required = option.get_required();
  info.is_repeatable = option.get_items_expected_max() > 1;
  return info;
}

void add_command(const CLI::App& app, std::vector<std::string> words,
                 std::vector<CommandInfo>& table) {
  CommandInfo command;
  command.words = std::move(words);
  command.help = app.get_description();
  command.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? command.positionals : command.options)
        .push_back(option_info(*option));
  }
  const auto children = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* child : children) command.children.push_back(child->get_name());
  table.push_back(command);
  for (const CLI::App* child : children) {
    std::vector<std::string> below = command.words;
    below.push_back(child->get_name());
    add_command(*child, std::move(below), table);
  }
}

}  // namespace

std::string CommandInfo::path(char between) const {
  std::string text;
  for (const std::string& word : words) text += cat(between, word);
  return text;
}

std::vector<CommandInfo> option_table(const CLI::App& app) {
  std::vector<CommandInfo> table;
  add_command(app, {}, table);
  return table;
}

}  // namespace ingot
