// Compiler: expressions. Precedence in Jinja, from the loosest: or, and, not, comparisons, + -, ~,
// * / // %, **, signs, filters and tests, calls and subscripts.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "text/jinja/compiler.h"
#include "text/jinja/library.h"

namespace ingot::jinja {

namespace {

/// Levels of operator precedence, from the loosest.
enum BinaryLevel : int { kOr, kAnd, kNot, kComparison, kSum, kConcat, kProduct, kPower };

struct Operation {
  std::string_view text;
  BinaryLevel level;
  Binary binary;
};

constexpr Operation kOperations[] = {
    {"+", kSum, Binary::kAdd},           {"-", kSum, Binary::kSub},
    {"*", kProduct, Binary::kMul},       {"/", kProduct, Binary::kDiv},
    {"//", kProduct, Binary::kFloorDiv}, {"%", kProduct, Binary::kMod},
    {"**", kPower, Binary::kPow}};

struct Comparison {
  std::string_view text;
  Compare compare;
};

constexpr Comparison kComparisons[] = {{"==", Compare::kEq}, {"!=", Compare::kNe},
                                       {"<", Compare::kLt},  {"<=", Compare::kLe},
                                       {">", Compare::kGt},  {">=", Compare::kGe}};

}  // namespace

void Compiler::expression(bool conditional) {
  const std::size_t unknown = unknown_.size();
  const std::size_t begin = here();
  binary(kOr);
  std::vector<std::size_t> ends;
  for (std::size_t chosen = begin; conditional && skip("if");) {
    ends.push_back(condition_of(chosen));
    if (!skip("else")) {
      emit(Op::kConst, text_constant("the inline if was false and has no else"), 1);
      break;
    }
    chosen = here();
    binary(kOr);
  }
  if (!ends.empty()) unknown_.resize(unknown);
  for (const std::size_t end : ends) land(end);
}

std::size_t Compiler::condition_of(std::size_t chosen) {
  // In `a if b`, b must run first, but it is compiled after a.
  const std::size_t condition = here();
  binary(kOr);
  run_last(chosen, condition);
  const std::size_t jump = chosen + (here() - condition);
  auto& code = code_.instructions;
  code.insert(code.begin() + static_cast<std::ptrdiff_t>(jump),
              {.op = Op::kJumpIfFalse, .at = static_cast<std::uint32_t>(now().at)});
  const std::size_t end = emit(Op::kJump);
  land(jump);
  return end;
}

void Compiler::binary(int level) {
  const Level guard(*this);
  const std::size_t at = now().at;
  if (level <= kNot && skip("not")) {
    binary(kNot);
    emit_at(at, Op::kNot);
  } else {
    unary(true);
  }
  while (operation(level)) {
  }
}

bool Compiler::operation(int level) {
  const bool is_or = level <= kOr && is("or");
  if (is_or || (level <= kAnd && is("and"))) {
    const std::size_t jump = emit(Op::kJumpKeep, 0, is_or ? 1 : 0);
    next();
    binary(is_or ? kAnd : kNot);
    land(jump);
    return true;
  }
  if (level <= kComparison && comparison()) return true;
  if (level <= kConcat && concatenation()) return true;
  const auto* found =
      std::find_if(std::begin(kOperations), std::end(kOperations),
                   [&](const Operation& o) { return o.level >= level && is(o.text); });
  if (found == std::end(kOperations)) return false;
  const std::size_t at = now().at;
  next();
  binary(found->level + 1);
  emit_at(at, Op::kBinary, to_size(found->binary));
  return true;
}

bool Compiler::skip_comparison(Compare& found) {
  for (const Comparison& c : kComparisons) {
    if (!skip(c.text)) continue;
    found = c.compare;
    return true;
  }
  if (skip("in")) {
    found = Compare::kIn;
    return true;
  }
  if (is("not") && is(ahead(), "in")) {
    next();
    next();
    found = Compare::kNotIn;
    return true;
  }
  return false;
}

bool Compiler::comparison() {
  std::vector<std::size_t> jumps;
  std::size_t last = 0;
  Compare compare{};
  for (std::size_t at = now().at; skip_comparison(compare); at = now().at) {
    if (last != 0) {  // a < b < c: the previous comparison is not the last
      code_.instructions[last].op = Op::kCompareChain;
      jumps.push_back(last);
    }
    binary(kSum);
    last = emit_at(at, Op::kCompare, to_size(compare));
  }
  for (const std::size_t jump : jumps) land(jump);
  return last != 0;
}

bool Compiler::concatenation() {
  const std::size_t at = now().at;
  std::size_t count = 1;
  for (; skip("~"); ++count) binary(kProduct);
  if (count > 1) emit_at(at, Op::kConcat, count);
  return count > 1;
}

void Compiler::unary(bool with_filters) {
  const bool is_minus = is("-");
  if (is_minus || is("+")) {
    const Level guard(*this);
    const std::size_t at = now().at;
    next();
    unary(false);
    emit_at(at, is_minus ? Op::kNegate : Op::kPlus);
  } else {
    primary();
  }
  postfix();
  if (with_filters) filters();
}

void Compiler::primary() {
  const Token& token = now();
  switch (token.kind) {
    case TokenKind::kName:
      return word();
    case TokenKind::kString: {
      std::string text;
      for (; now().kind == TokenKind::kString; next()) text += now().text;
      emit_at(token.at, Op::kConst, text_constant(text));
      return;
    }
    case TokenKind::kInt:
      next();
      emit_at(token.at, Op::kConst, constant(token.integer));
      return;
    case TokenKind::kFloat:
      next();
      emit_at(token.at, Op::kConst, constant(token.real));
      return;
    default:
      return bracketed();
  }
}

void Compiler::word() {
  const std::size_t at = now().at;
  const std::string_view text = any_name();
  const bool is_true = text == "true" || text == "True";
  if (is_true || text == "false" || text == "False") {
    emit_at(at, Op::kConst, constant(is_true));
  } else if (text == "none" || text == "None") {
    emit_at(at, Op::kConst, constant({}));
  } else {
    refer(text);
    emit_at(at, Op::kLoad, name(text));
  }
}

void Compiler::bracketed() {
  if (skip("(")) {
    tuple(true, true);
    expect(")");
  } else if (skip("[")) {
    const std::size_t count = items("]", [&] { expression(); });
    emit_sequence(now().at, Flavor::kList, count);
    next();
  } else if (skip("{")) {
    dict();
  } else {
    unexpected();
  }
}

void Compiler::dict() {
  const std::size_t count = items("}", [&] {
    expression();
    expect(":");
    expression();
  });
  emit(Op::kDict, count);
  next();
}

bool Compiler::tuple_ends(bool in_parentheses) const {
  const TokenKind kind = now().kind;
  if (kind == TokenKind::kPrintEnd || kind == TokenKind::kBlockEnd) return true;
  return in_parentheses && is(")");
}

void Compiler::tuple(bool conditional, bool in_parentheses) {
  if (in_parentheses && is(")")) {
    return emit_sequence(now().at, Flavor::kTuple, 0);
  }
  expression(conditional);
  std::size_t count = 1;
  bool is_tuple = false;
  for (; skip(","); ++count) {
    is_tuple = true;
    if (tuple_ends(in_parentheses)) break;
    expression(conditional);
  }
  if (is_tuple) emit_sequence(now().at, Flavor::kTuple, count);
}

void Compiler::postfix() {
  for (;;) {
    if (is(".") || is("[")) {
      subscript();
    } else if (is("(")) {
      call();
    } else {
      return;
    }
  }
}

void Compiler::filters() {
  for (;;) {
    if (skip("|")) {
      filter();
    } else if (is("is")) {
      test();
    } else if (is("(")) {
      call();
    } else {
      return;
    }
  }
}

void Compiler::subscript() {
  const std::size_t at = now().at;
  if (skip(".")) {
    if (now().kind == TokenKind::kInt) {
      primary();
      emit_at(at, Op::kItem);
    } else {
      const std::size_t attribute = name(any_name());
      emit_at(at, Op::kAttribute, attribute);
    }
    return;
  }
  next();
  slice_or_index();
}

void Compiler::slice_or_index() {
  const std::size_t at = now().at;
  const auto absent = [&] { emit(Op::kConst, constant({})); };
  if (is(":")) {
    absent();
  } else {
    expression();
  }
  if (!is(":")) {
    std::size_t count = 1;
    for (; skip(","); ++count) expression();
    if (count > 1) emit_sequence(at, Flavor::kTuple, count);
    expect("]");
    emit_at(at, Op::kItem);
    return;
  }
  for (int part = 0; part < 2; ++part) {
    const bool is_there = skip(":") && !is(":") && !is("]");
    is_there ? expression() : absent();
  }
  expect("]");
  emit_at(at, Op::kSlice);
}

std::size_t Compiler::call_arguments() {
  using Passing = CallShape::Passing;
  CallShape call;
  expect("(");
  bool named = false;
  items(")", [&] {
    CallShape::Argument argument;
    if (skip("**")) {
      argument.passing = Passing::kUnpackedDict;
      named = true;
    } else if (skip("*")) {
      argument.passing = Passing::kUnpackedList;
    } else if (now().kind == TokenKind::kName && is(ahead(), "=")) {
      argument = {Passing::kNamed, static_cast<std::int32_t>(name(any_name()))};
      next();
      named = true;
    } else if (named) {
      fail("a positional argument behind a named one");
    }
    expression();
    call.arguments.push_back(argument);
  });
  next();
  return shape(std::move(call));
}

void Compiler::call() {
  const std::size_t at = now().at;
  const std::size_t arguments = call_arguments();
  emit_at(at, Op::kCall, 0, arguments);
}

std::string Compiler::dotted_name() {
  std::string text(any_name());
  while (skip(".")) text += cat(".", any_name());
  return text;
}

void Compiler::filter() {
  const std::size_t at = now().at;
  const std::string text = dotted_name();
  const std::size_t arguments = is("(") ? call_arguments() : shape({});
  if (const auto found = find_filter(text)) {
    emit_at(at, Op::kFilter, *found, arguments);
  } else {
    emit_unknown(at, "filter", text);
  }
}

void Compiler::emit_unknown(std::size_t at, std::string_view what, std::string_view name) {
  if (branches_ == 0) unknown_.push_back({cat("no ", what, " named '", name, "'"), at});
  const std::string message = cat("no ", what, " named '", printable(name, 64), "'");
  emit_at(at, Op::kFail, text_constant(message));
}

void Compiler::filter_chain() {
  filter();
  while (skip("|")) filter();
}

void Compiler::test() {
  next();
  const bool is_negated = skip("not");
  const std::size_t at = now().at;
  const std::string text = dotted_name();
  CallShape one;
  std::size_t arguments = 0;
  const TokenKind kind = now().kind;
  const bool starts_value = kind == TokenKind::kName || kind == TokenKind::kString ||
                            kind == TokenKind::kInt || kind == TokenKind::kFloat || is("[") ||
                            is("{");
  if (is("(")) {
    arguments = call_arguments();
  } else if (starts_value && !is("else") && !is("or") && !is("and")) {
    if (is("is")) fail("tests cannot be chained with is");
    const Level guard(*this);
    primary();
    postfix();
    one.arguments.emplace_back();
    arguments = shape(std::move(one));
  } else {
    arguments = shape({});
  }
  if (const auto found = find_test(text)) {
    emit_at(at, Op::kTest, *found, arguments);
  } else {
    emit_unknown(at, "test", text);
  }
  if (is_negated) emit_at(at, Op::kNot);
}

}  // namespace ingot::jinja
