// Chooses among the chat templates of a model, which may have one of its own for chats with tools.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
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
  std::optional<NamedTemplate> standard{};    ///< for chats without tools
  std::optional<NamedTemplate> with_tools{};  ///< for chats with tools; absent: `standard`
  std::string no_standard{};                  ///< why `standard` is absent
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
/// Returns nothing if the model has no templates. `standard` is absent if there are several
/// templates without a default.
///
/// Errors: Error{kInvalid} that lists the names, for a name that the model does not have.
/// Source: Hugging Face's transformers, get_chat_template.
std::optional<ChosenTemplates> choose_templates(const TemplateSet& templates,
                                                const std::string& model,
                                                const std::optional<std::string>& name);

/// The parsed templates of a model. One that cannot be used refuses only the chats that need it.
template <class Template>
class ParsedTemplates {
 public:
  /// `parse(text, name)` returns a Template. Errors: those of `parse` for the standard template.
  template <class Parse>
  ParsedTemplates(const ChosenTemplates& chosen, Parse parse)
      : no_standard_(ErrorCode::kInvalid, chosen.no_standard) {
    if (chosen.standard) standard_.emplace(parse(chosen.standard->text, chosen.standard->name));
    if (!chosen.with_tools) return;
    try {
      with_tools_.emplace(parse(chosen.with_tools->text, chosen.with_tools->name));
    } catch (const Error& error) {
      tools_error_ = error;
    }
  }

  /// Returns the template for chats with or without tools. Errors: those of its parser;
  /// Error{kInvalid} if the model has several templates without a default.
  const Template& get(bool has_tools) const {
    if (const Template* found = find(has_tools)) return *found;
    throw has_tools && tools_error_ ? *tools_error_ : no_standard_;
  }
  /// Works as `get`; returns null in place of an error.
  const Template* find(bool has_tools) const {
    if (has_tools && tools_error_) return nullptr;
    if (has_tools && with_tools_) return &*with_tools_;
    return standard_ ? &*standard_ : nullptr;
  }
  /// Returns whether chats with tools have another template than others.
  bool differ() const { return with_tools_ || tools_error_; }
  /// Returns why chats with tools are refused, and only these; empty if they are not.
  const std::optional<Error>& tools_error() const { return tools_error_; }
  /// Returns why chats without tools are refused; empty if they are not.
  std::string no_standard() const { return standard_ ? std::string() : no_standard_.message(); }

 private:
  std::optional<Template> standard_;
  std::optional<Template> with_tools_;
  Error no_standard_;
  std::optional<Error> tools_error_;
};

using ChatTemplates = ParsedTemplates<ChatTemplate>;

/// Parses the templates. `tokenizer` must outlive them. Errors: those of ChatTemplate's constructor
/// for the standard template.
ChatTemplates parse_templates(const ChosenTemplates& chosen, const Tokenizer& tokenizer);

/// Returns whether a chat takes the template for tools: `tools` hold at least one, or `messages`
/// have calls of tools or their results. Either may be null.
bool takes_tools(const Json* tools, const Json* messages);

}  // namespace ingot
