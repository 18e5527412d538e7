// ChatTemplate: renders chat messages to a model's prompt, as text and as tokens.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "load/json.h"
#include "text/chat/system_rule.h"
#include "text/jinja/jinja.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// `check_chat` accepts up to kMessagesMax messages, kMessagesMax documents and kToolsMax tools.
inline constexpr std::size_t kMessagesMax = 4096;
inline constexpr std::size_t kToolsMax = 128;

/// The input of a chat template.
struct ChatInput {
  Json messages = Json::array();  ///< an array of objects, each with a "role"
  Json tools{};                   ///< an array of objects, or null
  Json documents{};               ///< an array of objects, or null
  /// True if the prompt must end with the header of the assistant's reply.
  bool add_generation_prompt = true;
  /// True if the model must continue the last message. Not allowed with add_generation_prompt.
  bool continue_final_message = false;
  /// More template variables; each name must be one of `chat_arguments`.
  std::vector<std::pair<std::string, Json>> arguments{};
  std::tm now{};  ///< local time
};

/// Returns the names of the variables that a request may set, such as enable_thinking. The values
/// must be scalars. A request cannot set variables on which templates rely, such as bos_token.
std::span<const std::string_view> chat_arguments();

/// Checks a chat's types, sizes and argument names. Errors: Error{kInvalid} that names the member.
void check_chat(const ChatInput& input);

/// Returns the limits for rendering a chat of `input_bytes` bytes: the defaults, except that the
/// prompt has at most 4 * `input_bytes` + 256 KiB bytes.
jinja::Limits chat_limits(std::size_t input_bytes);

/// A model's chat template with its tokenizer. Immutable.
///
/// Users cannot inject special tokens: a special token is parsed only if the template wrote all of
/// its bytes. Each byte of each string has an origin: the template (literals, text between tags,
/// bos_token, common roles) or the request. Concatenation, slices, filters and methods keep the
/// origins. A message's text is ordinary text, even if it completes a special token that the
/// template began. Ordinary text is tokenized as one text, whatever its origins.
class ChatTemplate {
 public:
  /// `source` is the template's text. `tokenizer` must outlive this object.
  ///
  /// Errors: those of JinjaTemplate's constructor, which name `file`.
  ChatTemplate(std::string_view source, const std::string& file, const Tokenizer& tokenizer);

  /// Renders the prompt as text, with the ranges that the template wrote.
  ///
  /// Errors:  Error{kInvalid}, from `check_chat` and JinjaTemplate::render.
  MarkedText render(const ChatInput& input) const;
  /// Renders the prompt as tokens. Puts a BOS in front if the tokenizer adds a BOS and the
  /// template wrote no BOS. Adds no EOS.
  ///
  /// Errors:  those of `render`; Error{kInvalid} for a prompt without tokens.
  std::vector<std::int32_t> encode(const ChatInput& input) const { return encode(render(input)); }
  /// Returns the tokens of a rendered prompt.
  std::vector<std::int32_t> encode(const MarkedText& prompt) const;
  /// Returns the template's text.
  const std::string& source() const { return source_; }
  /// Returns what the template does with system messages.
  const SystemRule& system_rule() const { return system_rule_; }

 private:
  std::string source_;
  JinjaTemplate template_;
  const Tokenizer& tokenizer_;
  std::vector<std::pair<std::string_view, Json>> tokens_;  // variables such as bos_token
  SystemRule system_rule_;
};

/// Returns the built-in template with this name; nothing if there is none.
std::optional<NamedTemplate> builtin_template(std::string_view name);
/// Returns the built-in templates' names for error and help texts: "chatml, gemma, ...".
std::string builtin_template_names();
/// Returns the error for a model without a template. The message tells the user what to do.
Error no_template(const std::string& model);

}  // namespace ingot
