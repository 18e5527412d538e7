// Manual pages: writes roff text from the table of options.
#include "cli/shell/man_page.h"

#include "base/text.h"
#include "cli/shell/completion_scripts.h"

namespace ingot {

namespace {

/// `text` escaped for roff: backslashes and hyphens are escaped, and no line is a roff request.
std::string escaped(std::string_view text) {
  std::string out;
  bool is_line_start = true;
  for (const char c : text) {
    if (is_line_start && (c == '.' || c == '\'')) out += "\\&";
    is_line_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '|') {
      out += "|\\:";  // where a long list of values may be broken
    } else {
      out += c;
    }
  }
  return out;
}

/// Makes a sentence from a phrase of the table.
std::string sentence(std::string_view help) {
  std::string text(help);
  if (!text.empty() && !text.ends_with('.')) text += '.';
  return escaped(text);
}

/// An option's heading: "\fB\-p\fR, \fB\-\-prompt\fR \fITEXT\fR".
std::string option_heading(const OptionInfo& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += cat(text.empty() ? "" : ", ", "\\fB", escaped(name), "\\fR");
  }
  return option.value.empty() ? text : cat(text, " \\fI", escaped(option.value), "\\fR");
}

std::string entry(const OptionInfo& option, const std::string& heading) {
  std::string text = cat(".TP\n", heading, "\n", sentence(option.help), "\n");
  if (!option.initial.empty()) text += cat("Default: ", escaped(option.initial), ".\n");
  return text;
}

std::string synopsis(const CommandInfo& command) {
  std::string text = cat("\\fBingot", escaped(command.path(' ')), "\\fR [\\fIOPTIONS\\fR]");
  for (const OptionInfo& positional : command.positionals) {
    const std::string name = cat("\\fI", escaped(positional.names.front()), "\\fR");
    text += positional.is_required ? cat(" ", name) : cat(" [", name, "]");
    if (positional.is_repeatable) text += "...";
  }
  if (command.children.empty()) return text;
  // A subcommand in place of arguments needs a line of its own.
  if (!command.positionals.empty()) {
    text += cat("\n.br\n\\fBingot", escaped(command.path(' ')), "\\fR");
  }
  return cat(text, " \\fICOMMAND\\fR ...");
}

std::string children_section(const CommandInfo& command, std::span<const CommandInfo> commands) {
  std::string text;
  for (const CommandInfo& child : commands) {
    if (child.words.size() != command.words.size() + 1) continue;
    if (!child.path(' ').starts_with(command.path(' '))) continue;
    text +=
        cat(".TP\n\\fB", escaped(man_page_name(child)), "\\fR(1)\n", sentence(child.help), "\n");
  }
  return text.empty() ? text : ".SH COMMANDS\n" + text;
}

/// The footer's lines, unchanged because they may be lists.
std::string notes_section(const CommandInfo& command) {
  if (command.footer.empty()) return {};
  std::string text = ".SH NOTES\n";
  std::string_view rest = command.footer;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    const bool is_entry = line.starts_with("  ");
    text += cat(is_entry ? ".br\n" : ".PP\n", escaped(is_entry ? line.substr(2) : line), "\n");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text;
}

}  // namespace

std::string man_page_name(const CommandInfo& command) { return "ingot" + command.path('-'); }

std::string man_page(const CommandInfo& command, std::span<const CommandInfo> commands) {
  std::string title = man_page_name(command);
  for (char& c : title) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string text =
      cat(".TH ", title, " 1 \"\" \"ingot " INGOT_VERSION "\" \"ingot\"\n", ".SH NAME\n",
          escaped(man_page_name(command)), " \\- ", escaped(command.help), "\n.SH SYNOPSIS\n",
          synopsis(command), "\n.SH DESCRIPTION\n", sentence(command.help), "\n");
  for (const OptionInfo& positional : command.positionals) {
    const std::string value =
        positional.choices.empty() ? "" : cat(": ", escaped(joined(positional.choices, ", ")));
    text += entry(positional, cat("\\fI", escaped(positional.names.front()), "\\fR", value));
  }
  text += children_section(command, commands);
  text += ".SH OPTIONS\n";
  for (const OptionInfo& option : command.options) text += entry(option, option_heading(option));
  text += notes_section(command);
  if (!command.words.empty()) text += ".SH SEE ALSO\n\\fBingot\\fR(1)\n";
  return text;
}

}  // namespace ingot
