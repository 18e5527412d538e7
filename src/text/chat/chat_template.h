// Chat templates: messages to the prompt that a model was trained on, as text and as tokens.
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
#include "text/jinja/jinja.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Most messages, and most tools, of one chat.
inline constexpr std::size_t kMessagesMax = 4096;
inline constexpr std::size_t kToolsMax = 128;

/// The input of a chat template.
struct ChatInput {
  Json messages = Json::array();  ///< objects with a role each
  Json tools{};                   ///< an array, or null
  Json documents{};               ///< an array, or null
  /// Ends the prompt with the header of a reply.
  bool add_generation_prompt = true;
  /// Ends the prompt inside the last message, which the model continues. Excludes the header.
  bool continue_final_message = false;
  /// Further variables; `check_chat` limits their names.
  std::vector<std::pair<std::string, Json>> arguments{};
  std::tm now{};  ///< local time
};

/// Names of variables that a request may set: scalars that templates of common models read.
/// Variables that a template's author relies on (messages, bos_token, ...) are excluded.
std::span<const std::string_view> chat_arguments();

/// Checks a chat's shape, numbers and names. Errors: Error{kInvalid} that names the member.
void check_chat(const ChatInput& input);

/// The limits of rendering `input_bytes` of JSON: the defaults, and a text of four times the input
/// plus 256 KiB.
jinja::Limits chat_limits(std::size_t input_bytes);

/// The template of a model, with its tokenizer's special tokens. Immutable.
///
/// Only bytes of the template may become special tokens. Every string knows, byte by byte, whether
/// the template wrote it (literals, the text between tags, bos_token, the common roles) or a
/// request did. Concatenation, slices, filters and methods keep that. A special token is parsed
/// only where all of its bytes are the template's. A message's text is ordinary text, even where it
/// completes or extends the template's text. Ordinary text merges across these borders as in a
/// single text.
class ChatTemplate {
 public:
  /// `tokenizer` must outlive this.
  ///
  /// Errors: those of JinjaTemplate.
  ChatTemplate(std::string_view source, const std::string& file, const Tokenizer& tokenizer);

  /// The prompt as text, with the ranges that the template wrote.
  ///
  /// Errors:  Error{kInvalid}: those of check_chat and JinjaTemplate::render.
  MarkedText render(const ChatInput& input) const;
  /// The prompt as tokens: exactly one BOS if the template or the tokenizer adds one, and only
  /// the EOS tokens that the template writes.
  ///
  /// Errors:  those of render; Error{kInvalid} for a prompt without tokens.
  std::vector<std::int32_t> encode(const ChatInput& input) const { return encode(render(input)); }
  /// The tokens of a rendered prompt.
  std::vector<std::int32_t> encode(const MarkedText& prompt) const;

 private:
  JinjaTemplate template_;
  const Tokenizer& tokenizer_;
  std::vector<std::pair<std::string_view, Json>> tokens_;  // bos_token and its like
};

/// The built-in template called `name_or_file`, else the file of that path.
///
/// Errors:  Error{kModel}, those of File, with the names of the built-in templates.
NamedTemplate find_template(const std::string& name_or_file);
/// "chatml, gemma, ...": the names that find_template knows.
std::string builtin_template_names();
/// The error for a model without a template; it says what to do.
Error no_template(const std::string& model);

}  // namespace ingot
