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

/// Messages of one chat, at most, and tools.
inline constexpr std::size_t kMessagesMax = 4096;
inline constexpr std::size_t kToolsMax = 128;

/// What a chat template is given.
struct ChatInput {
  Json messages = Json::array();  ///< objects with a role each
  Json tools{};                   ///< an array, or null
  Json documents{};               ///< an array, or null
  /// Ends with what stands in front of a reply.
  bool add_generation_prompt = true;
  /// Ends within the last message, which the model continues. Excludes the other.
  bool continue_final_message = false;
  /// Further variables, `check_chat` says which.
  std::vector<std::pair<std::string, Json>> arguments{};
  std::tm now{};  ///< local time
};

/// Names of variables that a request may set beside its messages: scalars that templates of common
/// models read. What the template's author relies on (messages, bos_token, ...) is not among them.
std::span<const std::string_view> chat_arguments();

/// Checks a chat for its shape, numbers and names. Errors: Error{kInvalid} that names what is
/// wrong.
void check_chat(const ChatInput& input);

/// The bounds on rendering from `input_bytes` of JSON: so many steps, else the defaults, and four
/// times the input and 256 KiB of text.
jinja::Limits chat_limits(std::size_t input_bytes,
                          std::uint64_t steps_max = jinja::Limits().steps_max);

/// The template of a model, with its tokenizer's special tokens. Immutable.
///
/// Which bytes may become special tokens: every string knows, byte by byte, whether the template
/// wrote it (literals, the text between tags, bos_token and its like, the common roles) or a
/// request did. Concatenation, slices, filters and methods keep that, so that a special token is
/// parsed where all of its bytes are the template's. Whatever a message holds is encoded as
/// ordinary text, also where it completes or lengthens what the template wrote, and ordinary text
/// is merged across the borders as it would be in the whole.
class ChatTemplate {
 public:
  /// `tokenizer` must outlive this. A prompt takes at most `steps_max` of the template's steps.
  ///
  /// Errors: as of JinjaTemplate.
  ChatTemplate(std::string_view source, const std::string& file, const Tokenizer& tokenizer,
               std::uint64_t steps_max = jinja::Limits().steps_max);

  /// The prompt as text, with the template's own stretches.
  ///
  /// Errors:  Error{kInvalid}: as of check_chat and JinjaTemplate::render.
  MarkedText render(const ChatInput& input) const;
  /// The prompt as tokens, with exactly one BOS where the template or the tokenizer adds one, and
  /// no EOS that the template does not write.
  ///
  /// Errors:  as of render, and for a prompt without tokens.
  std::vector<std::int32_t> encode(const ChatInput& input) const { return encode(render(input)); }
  /// The same for a prompt that was rendered.
  std::vector<std::int32_t> encode(const MarkedText& prompt) const;

 private:
  JinjaTemplate template_;
  const Tokenizer& tokenizer_;
  std::uint64_t steps_max_;
  std::vector<std::pair<std::string_view, Json>> tokens_;  // bos_token and its like
};

/// The template that `name_or_file` means: a built-in one, else the file of that path.
///
/// Errors:  Error{kModel} as of File, with the names of those that are built in.
NamedTemplate find_template(const std::string& name_or_file);
/// "chatml, gemma, ...": the names that find_template knows.
std::string builtin_template_names();
/// The error for a model without a template: what it is and what to do.
Error no_template(const std::string& model);

}  // namespace ingot
