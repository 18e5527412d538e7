// Jinja templates: compiled once, rendered any number of times.
#pragma once

#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "load/json.h"
#include "text/chat/marked_text.h"
#include "text/jinja/heap.h"

namespace ingot {

namespace jinja {
struct Code;
}

/// Whose text a variable's strings are.
enum class VariableOrigin {
  kData,
  kTemplate,
  kMessages,  ///< data, but for the roles that chats have: those name tokens, and say nothing else
};

/// A variable of a render.
struct JinjaVariable {
  std::string_view name;
  const Json* value = nullptr;
  VariableOrigin origin = VariableOrigin::kData;
};

/// Bounds and clock of a render.
struct JinjaOptions {
  jinja::Limits limits{};
  std::tm now{};  ///< local time, for strftime_now
};

/// A template of Jinja2 3.1 with the settings that chat templates assume: trim_blocks and
/// lstrip_blocks, loop controls, generation blocks, the immutable sandbox, no autoescape; functions
/// raise_exception and strftime_now; tojson as json.dumps. Nothing of the host can be reached, and
/// include, import and extends are errors.
///
/// Immutable: renders may run in several threads at once. Each has its own copy of the variables.
class JinjaTemplate {
 public:
  /// Errors:  model_error(file, "chat template", offset, "line 3, column 5: ...").
  JinjaTemplate(std::string_view source, const std::string& file);
  ~JinjaTemplate();
  JinjaTemplate(JinjaTemplate&&) noexcept;
  JinjaTemplate& operator=(JinjaTemplate&&) noexcept;

  /// Cost:    at most the options' steps, memory and output, whatever the template; no recursion
  ///          over its or the variables' depth.
  /// Errors:  Error{kInvalid} "chat template, line 3, column 5: ..." for what the template does
  ///          wrong or refuses, and for a budget that is used up ("template budget").
  MarkedText render(std::span<const JinjaVariable> variables,
                    const JinjaOptions& options = {}) const;

  /// Whether the template's code names the variable (or attribute) at all.
  bool names(std::string_view name) const;

 private:
  std::unique_ptr<const jinja::Code> code_;
};

}  // namespace ingot
