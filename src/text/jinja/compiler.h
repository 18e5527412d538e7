// Compiler: compiles a Jinja template to instructions, in one pass over its tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/index.h"
#include "text/jinja/code.h"
#include "text/jinja/lexer.h"
#include "text/jinja/value.h"

namespace ingot::jinja {

/// The left side of an assignment in for, set or with: a name, an attribute or a tuple.
struct Target {
  enum class Kind : std::uint8_t { kName, kAttribute, kTuple };
  Kind kind = Kind::kName;
  std::int32_t name = 0;
  std::int32_t attribute = 0;
  std::vector<Target> parts;
};

/// Compiles one template. Make a new Compiler for each template.
class Compiler {
 public:
  /// Cuts `source` into tokens. Errors: SyntaxError for text that is not a token.
  explicit Compiler(std::string_view source) { tokenize(source, tokens_); }
  /// Compiles the template. Errors: SyntaxError.
  Code run();

 private:
  // Reading tokens.
  const Token& now() const { return tokens_.tokens[at_]; }
  const Token& ahead() const;
  /// Whether `token` is the name or operator `text`.
  static bool is(const Token& token, std::string_view text) {
    const bool is_word = token.kind == TokenKind::kName || token.kind == TokenKind::kOperator;
    return is_word && token.text == text;
  }
  bool is(std::string_view text) const { return is(now(), text); }
  bool skip(std::string_view text);
  void expect(std::string_view text);
  std::string_view any_name();
  void next() { ++at_; }
  [[noreturn]] void fail(std::string message) const;
  [[noreturn]] void unexpected(std::string_view wanted = {}) const;

  // Emitting code.
  std::size_t here() const { return code_.instructions.size(); }
  std::size_t emit(Op op, std::size_t a = 0, std::size_t b = 0);
  std::size_t emit_at(std::size_t source, Op op, std::size_t a = 0, std::size_t b = 0);
  /// Makes the jump at index `from` lead to the next instruction that is emitted.
  void land(std::size_t from);
  void jump_back(std::size_t to);
  std::size_t name(std::string_view text);
  std::size_t constant(Constant value);
  std::size_t text_constant(std::string_view text);
  std::size_t shape(CallShape value);
  void emit_sequence(std::size_t at, Flavor flavor, std::size_t count) {
    emit_at(at, Op::kSequence, count, to_size(flavor));
  }
  /// Emits kFail for an unknown filter or test. If the code always runs, also fills `unknown_`.
  void emit_unknown(std::size_t at, std::string_view what, std::string_view name);

  class Level;

  // Expressions (expression.cpp). The code of each expression pushes one value.
  void expression(bool conditional = true);
  /// Compiles the condition of `value if condition`, and moves its code in front of the value's
  /// code, which begins at index `chosen`. Returns the index of the jump that ends this code.
  std::size_t condition_of(std::size_t chosen);
  /// Compiles operands joined by operators of precedence `level` or higher.
  void binary(int level);
  /// Compiles an operator of at least `level` and the right operand; false if no operator follows.
  bool operation(int level);
  bool comparison();
  bool skip_comparison(Compare& found);
  bool concatenation();
  void unary(bool with_filters);
  void primary();
  void word();
  void postfix();
  void filters();
  void subscript();
  void bracketed();
  void slice_or_index();
  void dict();
  /// Calls `item` to compile each element of a list with commas, up to the operator `close`.
  /// Returns the number of elements.
  template <class Item>
  std::size_t items(std::string_view close, const Item& item) {
    std::size_t count = 0;
    for (; !is(close); ++count) {
      if (count > 0) expect(",");
      if (is(close)) break;
      item();
    }
    return count;
  }
  /// Compiles an expression, or a tuple: expressions separated by commas.
  void tuple(bool conditional, bool in_parentheses = false);
  bool tuple_ends(bool in_parentheses) const;
  std::size_t call_arguments();
  void call();
  void filter();
  void filter_chain();
  void test();
  std::string dotted_name();
  void refer(std::string_view variable);

  // Statements (statement.cpp).
  void body(std::initializer_list<std::string_view> ends);
  bool ends_with(std::initializer_list<std::string_view> ends) const;
  void statement();
  void end_block();
  /// Compiles the expression of {{ }} or {% print %}, up to the token `end`; errors call it `mark`.
  void print(TokenKind end, std::string_view mark);
  void if_statement();
  void for_statement();
  void for_filter(const Target& target);
  void loop_body(const Target& target, std::size_t entry, bool recursive);
  void loop_control(std::string_view word);
  void set_statement();
  void set_block(const Target& target);
  void macro_statement();
  /// Compiles a macro's parameters and the code that sets their defaults.
  void signature(std::size_t index);
  /// Compiles a macro's body up to the tag `end`. Makes the jump at index `over` skip the body.
  void macro_body(std::size_t index, std::size_t over, std::string_view end);
  void call_statement();
  void filter_statement();
  void with_statement();
  void block_statement();
  void generation_statement();
  /// Compiles a body in its own scope, up to the tag `end`.
  void scoped_body(std::string_view end);
  /// Moves the instructions [begin, middle) to the end of the code.
  void run_last(std::size_t begin, std::size_t middle);
  Target target(bool with_attributes);
  Target one_target(bool with_attributes);
  void assign(const Target& target);

  /// Calls `compile_part` as if outside all if statements, where unknown filters are errors.
  template <class Part>
  void inner(const Part& compile_part) {
    const int around = std::exchange(branches_, 0);
    compile_part();
    branches_ = around;
  }

  struct LoopPlace {
    std::vector<std::size_t> breaks;
    std::size_t next = 0;  ///< index of the loop's kForNext
    /// The scopes and buffers that a break or continue must leave. Each is one letter: 's' for a
    /// scope, 'b' for a buffer, 'f' for a buffer with filters.
    std::string open;
  };
  void open(char what);
  void close(char what);

  Tokens tokens_;
  std::size_t at_ = 0;
  Code code_;
  std::unordered_map<std::string, std::size_t> names_;
  int level_ = 0;
  int branches_ = 0;                 // number of enclosing if statements
  std::vector<std::size_t> macros_;  // enclosing macros, as indices into code_.macros
  std::vector<LoopPlace> loops_;     // enclosing loops inside the innermost macro
  /// Errors for unknown filters and tests in code that always runs. The first error is thrown.
  std::vector<SyntaxError> unknown_;
};

/// Each living object is one level of nesting. Errors: SyntaxError beyond kNestingMax levels.
class Compiler::Level {
 public:
  explicit Level(Compiler& compiler);
  ~Level() { --compiler_.level_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  Compiler& compiler_;
};

}  // namespace ingot::jinja
