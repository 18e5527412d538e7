// Compiler: reading tokens, emitting instructions, tables of names and constants.
#include "text/jinja/compiler.h"

#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot::jinja {

namespace {

/// A token as error messages show it.
std::string shown(const Token& token) {
  constexpr std::string_view kMarks[] = {"text", "'{%'", "'%}'", "'{{'", "'}}'"};  // by TokenKind
  const auto kind = to_size(token.kind);
  if (kind < std::size(kMarks)) return std::string(kMarks[kind]);
  if (token.kind == TokenKind::kEnd) return "the end of the template";
  return cat("'", printable(token.text, 64), "'");
}

}  // namespace

Compiler::Level::Level(Compiler& compiler) : compiler_(compiler) {
  if (++compiler_.level_ > kNestingMax) {
    --compiler_.level_;
    compiler_.fail(cat("blocks and expressions are nested deeper than ", kNestingMax));
  }
}

Code Compiler::run() {
  body({});
  emit(Op::kEnd);
  code_.source = std::move(tokens_.source);
  return std::move(code_);
}

const Token& Compiler::ahead() const {
  return tokens_.tokens[at_ + 1 < tokens_.tokens.size() ? at_ + 1 : at_];
}

bool Compiler::skip(std::string_view text) {
  if (!is(text)) return false;
  next();
  return true;
}

void Compiler::expect(std::string_view text) {
  if (!skip(text)) unexpected(text);
}

std::string_view Compiler::any_name() {
  if (now().kind != TokenKind::kName) unexpected("a name");
  const std::string_view text = now().text;
  next();
  return text;
}

void Compiler::fail(std::string message) const { throw SyntaxError{std::move(message), now().at}; }

void Compiler::unexpected(std::string_view wanted) const {
  if (wanted.empty()) fail(cat("unexpected ", shown(now())));
  const bool is_word = wanted.find(' ') != std::string_view::npos;
  fail(cat("expected ", is_word ? "" : "'", wanted, is_word ? "" : "'", ", got ", shown(now())));
}

std::size_t Compiler::emit(Op op, std::size_t a, std::size_t b) {
  return emit_at(now().at, op, a, b);
}

std::size_t Compiler::emit_at(std::size_t source, Op op, std::size_t a, std::size_t b) {
  code_.instructions.push_back({.op = op,
                                .at = static_cast<std::uint32_t>(source),
                                .a = static_cast<std::int32_t>(a),
                                .b = static_cast<std::int32_t>(b)});
  return here() - 1;
}

void Compiler::land(std::size_t from) {
  Instruction& jump = code_.instructions[from];
  const auto distance = static_cast<std::int32_t>(here() - from);
  const bool in_b = jump.op == Op::kCompareChain || jump.op == Op::kDefault;
  (in_b ? jump.b : jump.a) = distance;
}

void Compiler::jump_back(std::size_t to) {
  const std::size_t from = emit(Op::kJump);
  code_.instructions[from].a = -static_cast<std::int32_t>(from - to);
}

std::size_t Compiler::name(std::string_view text) {
  const auto [at, is_new] = names_.emplace(std::string(text), code_.names.size());
  if (is_new) code_.names.emplace_back(text);
  return at->second;
}

std::size_t Compiler::constant(Constant value) {
  code_.constants.push_back(std::move(value));
  return code_.constants.size() - 1;
}

std::size_t Compiler::text_constant(std::string_view text) { return constant(std::string(text)); }

std::size_t Compiler::shape(CallShape value) {
  code_.shapes.push_back(std::move(value));
  return code_.shapes.size() - 1;
}

void Compiler::refer(std::string_view variable) {
  for (const std::size_t index : macros_) {
    MacroCode& macro = code_.macros[index];
    macro.uses_caller = macro.uses_caller || variable == "caller";
    macro.uses_kwargs = macro.uses_kwargs || variable == "kwargs";
    macro.uses_varargs = macro.uses_varargs || variable == "varargs";
  }
}

Code compile(std::string_view source) { return Compiler(source).run(); }

}  // namespace ingot::jinja
