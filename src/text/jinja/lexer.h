// Cuts a template into tokens: the text between tags, and names, literals and operators in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::jinja {

/// What a token is.
enum class TokenKind : std::uint8_t {
  kText,        ///< outside of tags; `text` is what is left after trimming, never empty
  kBlockBegin,  ///< {%
  kBlockEnd,    ///< %}
  kPrintBegin,  ///< {{
  kPrintEnd,    ///< }}
  kName,
  kString,  ///< `text` with its escapes resolved
  kInt,
  kFloat,
  kOperator,
  kEnd,  ///< of the template; always the last token
};

/// A piece of a template.
struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  std::size_t at = 0;  ///< offset in the source
  std::int64_t integer = 0;
  double real = 0;
};

/// A template cut up. The tokens' texts are views into it.
struct Tokens {
  std::string source;  ///< with \n for every kind of line end, without the last one
  std::deque<std::string> strings;
  std::vector<Token> tokens;
};

/// Where a template is malformed, and how.
struct SyntaxError {
  std::string message;
  std::size_t at = 0;
};

/// Bytes of a template, at most.
inline constexpr std::size_t kTemplateBytesMax = std::size_t{1} << 20;

/// Cuts `source` as Jinja does with trim_blocks and lstrip_blocks: a line break behind a block or
/// comment is dropped, and so is white space before one that starts its line.
///
/// Errors:  SyntaxError.
/// Source:  jinja.palletsprojects.com/en/3.1.x/templates, "Whitespace Control".
void tokenize(std::string_view source, Tokens& out);

/// `text` with \n for every kind of line end, and without the last one: what offsets point into.
std::string normal_lines(std::string_view text);

/// "line 3, column 14" of the offset `at` in `source`; columns count code points.
std::string place_of(std::string_view source, std::size_t at);

}  // namespace ingot::jinja
