// JinjaTemplate: compiles a Jinja chat template once and renders it many times.
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

/// The origin of all strings in a variable.
enum class VariableOrigin {
  kData,
  kTemplate,
  kMessages,  ///< kData, except that common values of a message's "role" get kTemplate
};

/// A variable that a template can read.
struct JinjaVariable {
  std::string_view name;
  const Json* value = nullptr;
  VariableOrigin origin = VariableOrigin::kData;
};

/// Limits and time of a render.
struct JinjaOptions {
  jinja::Limits limits{};
  std::tm now{};  ///< local time, for strftime_now
};

/// A Jinja2 3.1 template with the settings that chat templates assume: trim_blocks, lstrip_blocks,
/// loop controls, generation blocks, the immutable sandbox, no autoescape. Adds the functions
/// raise_exception and strftime_now. tojson writes as Python's json.dumps does. A template can read
/// only its variables and the time. include, import and extends are errors.
///
/// Immutable. Several threads can render at once: each render copies its variables.
class JinjaTemplate {
 public:
  /// Errors:  model_error(file, "chat template", offset, "line 3, column 5: ...") for bad syntax.
  JinjaTemplate(std::string_view source, const std::string& file);
  ~JinjaTemplate();
  JinjaTemplate(JinjaTemplate&&) noexcept;
  JinjaTemplate& operator=(JinjaTemplate&&) noexcept;

  /// Renders the template. `options.limits` bound the cost; kValueDepthMax bounds recursion.
  /// Errors:  Error{kInvalid} "chat template, line 3, column 5: ..." if an operation fails, the
  ///          template calls raise_exception, or a limit is exceeded ("template budget: ...").
  MarkedText render(std::span<const JinjaVariable> variables,
                    const JinjaOptions& options = {}) const;

  /// Whether the template mentions a variable or an attribute of this name.
  bool names(std::string_view name) const;

 private:
  std::unique_ptr<const jinja::Code> code_;
};

}  // namespace ingot
