// The lexer: cuts a template into text, and the names, literals and operators inside tags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::jinja {

/// The kind of a token.
enum class TokenKind : std::uint8_t {
  kText,        ///< text outside tags, after trimming; never empty
  kBlockBegin,  ///< {%
  kBlockEnd,    ///< %}
  kPrintBegin,  ///< {{
  kPrintEnd,    ///< }}
  kName,
  kString,  ///< `text` with its escapes resolved
  kInt,
  kFloat,
  kOperator,
  kEnd,  ///< end of the template; always the last token
};

/// A piece of a template.
struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  std::size_t at = 0;  ///< offset in the source
  std::int64_t integer = 0;
  double real = 0;
};

/// A template's tokens; their texts are views into `source`.
struct Tokens {
  std::string source;  ///< with \n for every kind of line end, and without a final one
  std::deque<std::string> strings;
  std::vector<Token> tokens;
};

/// The place and message of a syntax error.
struct SyntaxError {
  std::string message;
  std::size_t at = 0;
};

/// Most bytes of a template; real ones have up to some 20 KB.
inline constexpr std::size_t kTemplateBytesMax = std::size_t{1} << 20;

/// Cuts `source` as Jinja does with trim_blocks and lstrip_blocks: it drops a line break behind a
/// block or comment, and white space in front of one that starts its line.
///
/// Errors:  SyntaxError.
/// Source:  jinja.palletsprojects.com/en/3.1.x/templates, "Whitespace Control".
void tokenize(std::string_view source, Tokens& out);

/// `text` with \n for every kind of line end and without a final one; offsets point into the
/// result.
std::string normal_lines(std::string_view text);

/// "line 3, column 14" of the offset `at` in `source`; columns count code points.
std::string place_of(std::string_view source, std::size_t at);

}  // namespace ingot::jinja
