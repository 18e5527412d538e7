// JinjaTemplate: a Jinja template, compiled once and rendered many times.
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

/// The origin of a variable's strings.
enum class VariableOrigin {
  kData,
  kTemplate,
  kMessages,  ///< data, except the roles of a chat, which count as the template's
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
/// raise_exception and strftime_now; tojson as json.dumps. A template cannot reach the host;
/// include, import and extends are errors.
///
/// Immutable: renders may run in several threads at once, each with its own copy of the variables.
class JinjaTemplate {
 public:
  /// Errors:  model_error(file, "chat template", offset, "line 3, column 5: ...").
  JinjaTemplate(std::string_view source, const std::string& file);
  ~JinjaTemplate();
  JinjaTemplate(JinjaTemplate&&) noexcept;
  JinjaTemplate& operator=(JinjaTemplate&&) noexcept;

  /// Cost:    at most the options' steps, memory and output for any template; no recursion over its
  ///          depth or that of the variables.
  /// Errors:  Error{kInvalid} "chat template, line 3, column 5: ..." for a failing operation, a
  ///          refusal by the template, or an exhausted budget ("template budget").
  MarkedText render(std::span<const JinjaVariable> variables,
                    const JinjaOptions& options = {}) const;

  /// Whether the template's code names the variable (or attribute) at all.
  bool names(std::string_view name) const;

 private:
  std::unique_ptr<const jinja::Code> code_;
};

}  // namespace ingot
