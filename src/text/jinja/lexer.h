// Lexer: cuts a Jinja template into tokens: text, tags, and the names and operators inside tags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::jinja {

/// The kind of a template token.
enum class TokenKind : std::uint8_t {
  kText,        ///< text outside tags, after trimming of white space; never empty
  kBlockBegin,  ///< {%
  kBlockEnd,    ///< %}
  kPrintBegin,  ///< {{
  kPrintEnd,    ///< }}
  kName,
  kString,  ///< a string literal; in Token::text the escapes are resolved
  kInt,
  kFloat,
  kOperator,
  kEnd,  ///< end of the template; always the last token
};

/// A token of a template.
struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  std::size_t at = 0;  ///< byte offset in the source
  std::int64_t integer = 0;
  double real = 0;
};

/// A template's tokens. Their texts are views into `source` and `strings`.
struct Tokens {
  std::string source;  ///< the template with \n as line ends, without a final line end
  std::deque<std::string> strings;
  std::vector<Token> tokens;
};

/// A syntax error of a template, thrown by the lexer and the compiler.
struct SyntaxError {
  std::string message;
  std::size_t at = 0;
};

/// Most bytes of a template. Real templates have up to 20 KB.
inline constexpr std::size_t kTemplateBytesMax = std::size_t{1} << 20;

/// Cuts `source` into tokens, with Jinja's trim_blocks and lstrip_blocks: drops a line break behind
/// a block or comment, and white space between a line's start and a block or comment.
///
/// Errors:  SyntaxError.
/// Source:  jinja.palletsprojects.com/en/3.1.x/templates, "Whitespace Control".
void tokenize(std::string_view source, Tokens& out);

/// Returns `text` with \n as line ends and without a final line end. The offsets of tokens and
/// errors are offsets in this result.
std::string normal_lines(std::string_view text);

/// Returns the place of byte `at` in `source`: "line 3, column 14". Columns count code points.
std::string place_of(std::string_view source, std::size_t at);

}  // namespace ingot::jinja
