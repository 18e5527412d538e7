// Helpers for tests that render Jinja templates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "load/json.h"
#include "text/jinja/jinja.h"

namespace ingot::testing {

/// Renders `source` with the members of the JSON object `context` as variables.
inline MarkedText render_marked(std::string_view source, std::string_view context = "{}",
                                const JinjaOptions& options = {}) {
  const Json json = parse_json(context, "test", "context");
  std::vector<JinjaVariable> variables;
  for (const auto& [name, value] : *json.as_object()) {
    const bool is_messages = name == "messages";
    variables.push_back(
        {.name = name,
         .value = &value,
         .origin = is_messages ? VariableOrigin::kMessages : VariableOrigin::kData});
  }
  return JinjaTemplate(source, "test").render(variables, options);
}

inline std::string render(std::string_view source, std::string_view context = "{}",
                          const JinjaOptions& options = {}) {
  return render_marked(source, context, options).bytes;
}

/// Compiles and renders `source`. Returns the error message; "no error" if both succeed.
inline std::string error_of(std::string_view source, std::string_view context = "{}",
                            const JinjaOptions& options = {}) {
  try {
    static_cast<void>(render(source, context, options));
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

/// Returns a text's bytes, with a dot for each byte that the template did not write.
inline std::string own_bytes(const MarkedText& text) {
  std::string shown(text.bytes.size(), '.');
  for (const TextSpan& span : text.own) {
    shown.replace(span.begin, span.end - span.begin, text.bytes, span.begin, span.end - span.begin);
  }
  return shown;
}

}  // namespace ingot::testing
