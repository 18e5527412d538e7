// Reads the formats of custom tools: text, regular expressions and grammars.
#include "server/common/custom_tool_format.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "constraint/gbnf.h"
#include "constraint/lark.h"
#include "server/common/api_error.h"
#include "server/common/message_text.h"

namespace ingot {

namespace {

/// Steps to translate one grammar and to try it: less than compiling may take.
constexpr std::uint64_t kTrialSteps = 400'000;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// Returns the definition of the rule "start" if a lark grammar has no other rule.
std::string_view only_rule(std::string_view grammar) {
  grammar = trimmed(grammar);
  constexpr std::string_view kStart = "start";
  if (!grammar.starts_with(kStart)) return {};
  grammar = trimmed(grammar.substr(kStart.size()));
  if (!grammar.starts_with(':') || grammar.find('\n') != std::string_view::npos) return {};
  return trimmed(grammar.substr(1));
}

/// Returns the expression in /expression/; nothing if `rule` is no such terminal, or if an escape
/// has other characters in Lark than in ECMA-262.
std::optional<std::string> lark_expression(std::string_view rule) {
  if (rule.size() < 3 || rule.front() != '/' || rule.back() != '/') return std::nullopt;
  const std::string_view inner = rule.substr(1, rule.size() - 2);
  std::string expression;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] == '/') return std::nullopt;
    if (inner[i] == '\\' && i + 1 < inner.size()) {
      if (std::string_view("WDSsbB").find(inner[i + 1]) != std::string_view::npos) {
        return std::nullopt;
      }
      if (inner[i + 1] != '/') expression += '\\';
      ++i;
    }
    expression += inner[i];
  }
  return expression;
}

/// Sets the grammar of a tool from a lark grammar: one expression, or what GBNF can say. Any other
/// gives free text.
void set_lark(Params& params, const std::string& place, const std::string& definition, Tool& tool,
              CompileBudget& budget) {
  if (auto expression = lark_expression(only_rule(definition))) {
    tool.grammar_kind = Tool::Grammar::kRegex;
    tool.grammar = std::move(*expression);
    return;
  }
  const std::uint64_t steps = std::min(kTrialSteps, budget.left());
  CompileBudget trial(steps);
  try {
    LarkTranslation made = translate_lark(definition, trial);
    Grammar grammar;
    add_gbnf(grammar, made.gbnf, trial);
    tool.grammar_kind = Tool::Grammar::kGbnf;
    tool.grammar = std::move(made.gbnf);
    for (const std::string& note : made.notes) params.warn(place, "not_enforced", note);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalid) throw;
    params.warn(place, "not_enforced", cat("the text is free: ", error.message()));
  }
  budget.spend(steps - trial.left());
}

}  // namespace

void read_custom_format(Params& params, const std::string& place, const Json& format, Tool& tool,
                        CompileBudget& budget) {
  if (format.as_object() == nullptr) {
    refuse_at(place, cat("is ", format.kind(), ", expected an object"));
  }
  const std::string& type = part_type(place, format);
  if (type == "text") return;
  if (type != "grammar") {
    refuse_at(cat(place, ".type"), cat("is ", printable(type, 64), ", possible are text, grammar"));
  }
  const Json* inner = format.find("grammar");
  const bool has_inner = inner != nullptr && inner->as_object() != nullptr;
  const Json& body = has_inner ? *inner : format;
  const std::string at = has_inner ? cat(place, ".grammar") : place;
  const std::string syntax = part_string(at, body, "syntax");
  const std::string definition = part_string(at, body, "definition");
  if (syntax == "lark") return set_lark(params, cat(at, ".definition"), definition, tool, budget);
  if (syntax != "regex" && syntax != "gbnf") {
    refuse_at(cat(at, ".syntax"),
              cat("is ", printable(syntax, 64), ", possible are regex, gbnf, lark"));
  }
  tool.grammar_kind = syntax == "regex" ? Tool::Grammar::kRegex : Tool::Grammar::kGbnf;
  tool.grammar = definition;
}

}  // namespace ingot
