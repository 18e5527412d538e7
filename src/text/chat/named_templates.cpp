// Chooses a model's templates by name, or by whether a chat has tools.
#include "text/chat/named_templates.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::string_view kDefaultName = "default";
constexpr std::string_view kToolsName = "tool_use";

/// The text of a template; null if there is no template of this name.
const std::string* text_of(const TemplateSet& templates, std::string_view name) {
  if (name == kDefaultName && templates.standard) return &*templates.standard;
  const auto found = std::find_if(templates.named.begin(), templates.named.end(),
                                  [&](const NamedTemplate& one) { return one.name == name; });
  return found == templates.named.end() ? nullptr : &found->text;
}

/// A template, named for messages: the model's own name, or that with the template's name.
NamedTemplate named_template(const std::string& model, std::string_view name,
                             const std::string& text) {
  return {name == kDefaultName ? model : cat(model, " (", printable(name), ")"), text};
}

}  // namespace

std::string template_names(const TemplateSet& templates) {
  std::string names(templates.standard ? kDefaultName : "");
  for (const NamedTemplate& one : templates.named) {
    names += cat(names.empty() ? "" : ", ", printable(one.name));
  }
  return names.empty() ? "none" : names;
}

const std::string* standard_template(const TemplateSet& templates) {
  if (templates.standard) return &*templates.standard;
  return templates.named.size() == 1 ? &templates.named.front().text : nullptr;
}

const std::string* tools_template(const TemplateSet& templates) {
  return text_of(templates, kToolsName);
}

std::optional<ChosenTemplates> choose_templates(const TemplateSet& templates,
                                                const std::string& model,
                                                const std::optional<std::string>& name) {
  if (name) {
    const std::string* text = text_of(templates, *name);
    if (text == nullptr) {
      throw Error(ErrorCode::kInvalid,
                  cat("--template-name: ", printable(model, 256), " has no chat template '",
                      printable(*name), "'; it has: ", template_names(templates)));
    }
    return ChosenTemplates{named_template(model, *name, *text)};
  }
  if (!templates.standard && templates.named.empty()) return std::nullopt;
  ChosenTemplates chosen;
  const std::string* standard = standard_template(templates);
  if (standard != nullptr) {
    chosen.standard = named_template(model, kDefaultName, *standard);
  } else {
    chosen.no_standard =
        cat(printable(model, 256), " has no default chat template; name one with --template-name: ",
            template_names(templates));
  }
  const std::string* tools = tools_template(templates);
  if (tools != nullptr && (standard == nullptr || *tools != *standard)) {
    chosen.with_tools = named_template(model, kToolsName, *tools);
  }
  return chosen;
}

ChatTemplates parse_templates(const ChosenTemplates& chosen, const Tokenizer& tokenizer) {
  return {chosen, [&](const std::string& text, const std::string& name) {
            return ChatTemplate(text, name, tokenizer);
          }};
}

bool takes_tools(const Json* tools, const Json* messages) {
  const auto is_filled = [](const Json* list) {
    return list != nullptr && list->as_array() != nullptr && !list->as_array()->empty();
  };
  if (is_filled(tools)) return true;
  if (!is_filled(messages)) return false;
  const Json::Array& all = *messages->as_array();
  return std::any_of(all.begin(), all.end(), [&](const Json& message) {
    if (message.as_object() == nullptr) return false;
    const std::string* role = message.find_string("role");
    return is_filled(message.find("tool_calls")) || (role != nullptr && *role == "tool");
  });
}

}  // namespace ingot
