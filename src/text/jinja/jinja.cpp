// JinjaTemplate: converts JSON variables to template values, and runs the interpreter.
#include "text/jinja/jinja.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "text/jinja/code.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/value.h"

namespace ingot {

namespace {

using jinja::Heap;
using jinja::Value;

/// Roles of the common chat formats, which count as the template's text. Other roles are data.
constexpr std::array<std::string_view, 12> kRoles = {
    "system", "user",     "assistant", "tool",    "developer",   "function",
    "model",  "document", "documents", "ipython", "observation", "environment"};

/// Copies JSON to template values. Errors: RunError beyond kValueDepthMax levels.
class Copier {
 public:
  Copier(Heap& heap, VariableOrigin origin) : heap_(heap), origin_(origin) {}

  // NOLINTNEXTLINE(misc-no-recursion): kValueDepthMax levels
  Value copy(const Json& json, int depth = 0) {
    if (depth > jinja::kValueDepthMax) {
      jinja::fail(cat("a variable is nested deeper than ", jinja::kValueDepthMax));
    }
    if (const auto* b = json.as_bool()) return Value::boolean(*b);
    if (const auto* i = json.as_int()) return Value::integer(*i);
    if (const auto* d = json.as_double()) return Value::real(*d);
    if (const auto* s = json.as_string()) {
      const bool own = origin_ == VariableOrigin::kTemplate;
      return jinja::make_string(heap_, *s, own ? Origin::kTemplate : Origin::kData);
    }
    if (const auto* array = json.as_array()) {
      std::vector<Value> items;
      items.reserve(array->size());
      for (const Json& item : *array) items.push_back(copy(item, depth + 1));
      return jinja::make_sequence(heap_, jinja::Flavor::kList, std::move(items));
    }
    return json.as_object() != nullptr ? object(*json.as_object(), depth) : Value();
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): kValueDepthMax levels
  Value object(const Json::Object& members, int depth) {
    Value made(new jinja::Dict(heap_));
    for (const auto& [key, member] : members) {
      const bool is_role = origin_ == VariableOrigin::kMessages && depth == 1 && key == "role";
      made.as<jinja::Dict>().set(jinja::make_string(heap_, key),
                                 is_role ? role(member) : copy(member, depth + 1));
    }
    return made;
  }

  Value role(const Json& json) {
    const std::string* text = json.as_string();
    const bool is_known =
        text != nullptr && std::find(kRoles.begin(), kRoles.end(), *text) != kRoles.end();
    return is_known ? jinja::make_string(heap_, *text, Origin::kTemplate) : copy(json, 2);
  }

  Heap& heap_;
  VariableOrigin origin_;
};

}  // namespace

JinjaTemplate::JinjaTemplate(std::string_view source, const std::string& file) {
  try {
    code_ = std::make_unique<const jinja::Code>(jinja::compile(source));
  } catch (const jinja::SyntaxError& error) {
    throw model_error(
        file, "chat template", error.at,
        cat(jinja::place_of(jinja::normal_lines(source), error.at), ": ", error.message));
  }
}

JinjaTemplate::~JinjaTemplate() = default;
JinjaTemplate::JinjaTemplate(JinjaTemplate&&) noexcept = default;
JinjaTemplate& JinjaTemplate::operator=(JinjaTemplate&&) noexcept = default;

MarkedText JinjaTemplate::render(std::span<const JinjaVariable> variables,
                                 const JinjaOptions& options) const {
  jinja::Interpreter interpreter(*code_, options.limits, options.now);
  try {
    for (const JinjaVariable& variable : variables) {
      if (!interpreter.names(variable.name)) continue;
      Copier copier(interpreter.heap(), variable.origin);
      interpreter.define(variable.name, copier.copy(*variable.value));
    }
    return interpreter.run();
  } catch (const jinja::RunError& error) {
    throw Error(ErrorCode::kInvalid,
                cat("chat template, ", jinja::place_of(code_->source, interpreter.place()), ": ",
                    error.message));
  }
}

bool JinjaTemplate::names(std::string_view name) const {
  return std::find(code_->names.begin(), code_->names.end(), name) != code_->names.end();
}

}  // namespace ingot
