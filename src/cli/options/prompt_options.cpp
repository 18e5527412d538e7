// Declares the options that give a prompt, and reads the prompt.
#include "cli/options/prompt_options.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/input.h"
#include "cli/options/options.h"

namespace ingot {

namespace {

/// More text than any context holds: a token has about four bytes.
constexpr std::uint64_t kPromptBytesMax = std::uint64_t{1} << 28;
constexpr std::string_view kDash = "-";

}  // namespace

void add_prompt_options(CLI::App& app, PromptValues& values, const std::string& text_help) {
  add_text(app, values.word, "INPUT", "-: the prompt is on standard input, as with -f -");
  add_text(app, values.text, "-p,--prompt", text_help);
  add_text(
      app, values.file, "-f,--file",
      "A file with the prompt in place of -p (-: standard input); one line break at its end is "
      "not part of the prompt");
  mark_inputs(app, {"--file"});
}

void settle_prompt(PromptValues& values, ModelOptionValues& model) {
  if (model.path == kDash) {
    if (values.word) throw bad_option("MODEL", kDash, "expected MODEL and then -");
    std::swap(values.word, model.path);
  }
  if (!values.word) return;
  if (values.word != kDash) {
    throw bad_option("INPUT", *values.word,
                     "expected - (standard input); -p TEXT and -f FILE give a prompt");
  }
  if (values.file) throw Error(ErrorCode::kInvalid, "expected one of -f and -, not both");
  claim_stdin(kDash);
  values.file = values.word;
}

std::optional<std::string> read_prompt(const PromptValues& values) {
  if (!values.file) return values.text;
  const std::string bytes = read_input(*values.file, kPromptBytesMax).text;
  std::string_view text = without_byte_order_mark(bytes);
  if (text.ends_with('\n')) {
    text.remove_suffix(1);
    if (text.ends_with('\r')) text.remove_suffix(1);
  }
  return std::string(text);
}

}  // namespace ingot
