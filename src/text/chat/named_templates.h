// Chooses among the chat templates of a model, which may have one of its own for chats with tools.
#pragma once

#include <optional>
#include <string>

#include "load/tokenizer/tokenizer_data.h"
#include "text/chat/chat_template.h"

namespace ingot {

/// Which chat template a user wants. At most one member is set; without any, the model's templates.
struct TemplateChoice {
  std::optional<std::string> source{};  ///< a built-in template or a file: see find_template
  std::optional<std::string> name{};    ///< one of the model's templates
};

/// The templates that the chats of a model use.
struct ChosenTemplates {
  NamedTemplate standard;                     ///< for chats without tools
  std::optional<NamedTemplate> with_tools{};  ///< for chats with tools; absent: `standard`
};

/// Returns the names of a model's templates: "default, rag, tool_use". "none" if there are none.
std::string template_names(const TemplateSet& templates);

/// Returns the template for chats without tools: "default", or else the only one. Null if there are
/// no templates, or several without a default.
const std::string* standard_template(const TemplateSet& templates);

/// Returns the template for chats with tools, "tool_use"; null if the model has none of its own.
const std::string* tools_template(const TemplateSet& templates);

/// Chooses the templates of `model`: the one with the name `name`; without a name,
/// tools_template for chats with tools if the model has it, and standard_template for others.
/// Returns nothing if the model has no templates.
///
/// Errors: Error{kInvalid} that lists the names, for a name that the model does not have, and for
///         several templates without a default if no name is given.
/// Source: Hugging Face's transformers, get_chat_template.
std::optional<ChosenTemplates> choose_templates(const TemplateSet& templates,
                                                const std::string& model,
                                                const std::optional<std::string>& name);

/// The parsed templates of a model.
class ChatTemplates {
 public:
  /// `tokenizer` must outlive this object. Errors: those of ChatTemplate's constructor.
  ChatTemplates(const ChosenTemplates& chosen, const Tokenizer& tokenizer);

  /// Returns the template for chats with or without tools.
  const ChatTemplate& get(bool has_tools) const {
    return has_tools && with_tools_ ? *with_tools_ : standard_;
  }
  /// Returns whether chats with tools have another template than others.
  bool differ() const { return with_tools_.has_value(); }

 private:
  ChatTemplate standard_;
  std::optional<ChatTemplate> with_tools_;
};

/// Returns whether a chat's `tools` hold at least one tool. Templates take an empty list for none.
bool has_tools(const Json* tools);

}  // namespace ingot
