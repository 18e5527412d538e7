// Compiler: statements (for, if, set, macro, call, filter, with, block, ...).
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "text/jinja/compiler.h"

namespace ingot::jinja {

bool Compiler::ends_with(std::initializer_list<std::string_view> ends) const {
  const Token& word = ahead();
  return now().kind == TokenKind::kBlockBegin && word.kind == TokenKind::kName &&
         std::find(ends.begin(), ends.end(), word.text) != ends.end();
}

/// Compiles up to a tag that begins with one of `ends`, and steps behind this word.
void Compiler::body(std::initializer_list<std::string_view> ends) {
  const Level guard(*this);
  for (;;) {
    if (!unknown_.empty()) throw SyntaxError(unknown_.front());
    if (now().kind == TokenKind::kText) {
      emit(Op::kText, text_constant(now().text));
      next();
    } else if (now().kind == TokenKind::kPrintBegin) {
      print(TokenKind::kPrintEnd, "}}");
    } else if (ends_with(ends)) {
      next();
      return;
    } else if (now().kind == TokenKind::kBlockBegin) {
      next();
      statement();
    } else if (ends.size() == 0) {
      return;
    } else {
      unexpected(*(ends.end() - 1));
    }
  }
}

void Compiler::end_block() {
  if (now().kind != TokenKind::kBlockEnd) unexpected("%}");
  next();
}

void Compiler::print(TokenKind end, std::string_view mark) {
  next();
  tuple(true);
  emit(Op::kEmit);
  if (now().kind != end) unexpected(mark);
  next();
}

void Compiler::statement() {
  using Statement = void (Compiler::*)();
  static constexpr std::pair<std::string_view, Statement> kStatements[] = {
      {"if", &Compiler::if_statement},
      {"for", &Compiler::for_statement},
      {"set", &Compiler::set_statement},
      {"macro", &Compiler::macro_statement},
      {"call", &Compiler::call_statement},
      {"filter", &Compiler::filter_statement},
      {"with", &Compiler::with_statement},
      {"block", &Compiler::block_statement},
      {"generation", &Compiler::generation_statement},
  };
  static constexpr std::string_view kForbidden[] = {"include", "import", "from", "extends",
                                                    "autoescape"};
  if (now().kind != TokenKind::kName) unexpected("a name");
  const std::string_view word = now().text;
  for (const auto& [name, compile_it] : kStatements) {
    if (word != name) continue;
    next();
    return (this->*compile_it)();
  }
  if (word == "break" || word == "continue") return loop_control(word);
  if (word == "print") return print(TokenKind::kBlockEnd, "%}");
  if (std::find(std::begin(kForbidden), std::end(kForbidden), word) != std::end(kForbidden)) {
    fail(cat("'", word, "' is not supported: a chat template stands alone"));
  }
  fail(cat("unknown tag '", printable(word, 64), "'"));
}

void Compiler::open(char what) {
  emit(what == 's' ? Op::kScopePush : Op::kBufferPush);
  if (!loops_.empty()) loops_.back().open += what;
}

void Compiler::close(char what) {
  emit(what == 's' ? Op::kScopePop : Op::kBufferPop);
  if (!loops_.empty()) loops_.back().open.pop_back();
}

void Compiler::scoped_body(std::string_view end) {
  open('s');
  inner([&] { body({end}); });
  close('s');
  next();
}

void Compiler::if_statement() {
  std::vector<std::size_t> ends;
  ++branches_;
  for (;;) {
    tuple(false);
    const std::size_t skip = emit(Op::kJumpIfFalse);
    end_block();
    body({"elif", "else", "endif"});
    const bool is_last = is("endif");
    if (!is_last) ends.push_back(emit(Op::kJump));
    land(skip);
    if (is_last || is("else")) break;
    next();
  }
  if (skip("else")) {
    end_block();
    body({"endif"});
  }
  --branches_;
  next();
  end_block();
  for (const std::size_t end : ends) land(end);
}

Target Compiler::one_target(bool with_attributes) {
  if (skip("(")) {
    Target found = target(with_attributes);
    expect(")");
    return found;
  }
  constexpr std::array<std::string_view, 6> kConstants = {"true", "false", "none",
                                                          "True", "False", "None"};
  const std::string_view text = any_name();
  if (std::find(kConstants.begin(), kConstants.end(), text) != kConstants.end()) {
    fail(cat("cannot assign to '", text, "'"));
  }
  Target found;
  found.name = static_cast<std::int32_t>(name(text));
  if (with_attributes && skip(".")) {
    found.kind = Target::Kind::kAttribute;
    found.attribute = static_cast<std::int32_t>(name(any_name()));
  }
  return found;
}

Target Compiler::target(bool with_attributes) {
  const Level guard(*this);
  Target first = one_target(with_attributes);
  if (!is(",")) return first;
  Target all{.kind = Target::Kind::kTuple, .parts = {}};
  all.parts.push_back(std::move(first));
  while (skip(",")) {
    if (now().kind != TokenKind::kName && !is("(")) break;
    if (is("in")) break;
    all.parts.push_back(one_target(with_attributes));
  }
  return all;
}

void Compiler::assign(const Target& target) {
  const auto name = to_size(target.name);
  switch (target.kind) {
    case Target::Kind::kName:
      emit(Op::kStore, name);
      return;
    case Target::Kind::kAttribute:
      emit(Op::kStoreAttribute, name, to_size(target.attribute));
      return;
    case Target::Kind::kTuple:
      emit(Op::kUnpack, target.parts.size());
      for (const Target& part : target.parts) assign(part);
  }
}

void Compiler::for_filter(const Target& target) {
  emit(Op::kFilterBegin);
  const std::size_t begin = emit(Op::kFilterNext);
  assign(target);
  expression();
  const std::size_t keep = emit(Op::kFilterKeep);
  code_.instructions[keep].b = -static_cast<std::int32_t>(keep - begin);
  land(begin);
  emit(Op::kFilterEnd);
}

void Compiler::for_statement() {
  const Target variables = target(false);
  expect("in");
  tuple(false);
  const std::size_t entry = here();
  inner([&] {
    if (skip("if")) for_filter(variables);
    const bool recursive = skip("recursive");
    end_block();
    loop_body(variables, entry, recursive);
  });
}

void Compiler::loop_body(const Target& target, std::size_t entry, bool recursive) {
  const std::size_t begin = emit(Op::kForBegin, 0, recursive ? 1 : 0);
  code_.instructions[begin].a = -static_cast<std::int32_t>(begin - entry);
  const std::size_t item = emit(Op::kForNext);
  loops_.push_back({.breaks = {}, .next = item, .open = {}});
  assign(target);
  body({"else", "endfor"});
  emit(Op::kScopePop);
  jump_back(item);
  land(item);
  for (const std::size_t jump : loops_.back().breaks) land(jump);
  loops_.pop_back();
  const std::size_t end = emit(Op::kForEnd);
  if (skip("else")) {
    end_block();
    open('s');
    body({"endfor"});
    close('s');
  }
  next();
  end_block();
  land(end);
  if (recursive) {
    const std::size_t last = emit(Op::kLoopReturn);
    code_.instructions[last].a = -static_cast<std::int32_t>(last - entry);
  }
}

void Compiler::loop_control(std::string_view word) {
  if (loops_.empty()) fail(cat("'", word, "' outside of a loop"));
  next();
  LoopPlace& loop = loops_.back();
  if (loop.open.find('f') != std::string::npos) {
    fail(cat("'", word, "' out of a block that is filtered is not supported"));
  }
  for (auto what = loop.open.rbegin(); what != loop.open.rend(); ++what) {
    emit(*what == 's' ? Op::kScopePop : Op::kBufferDrop);
  }
  emit(Op::kScopePop);
  if (word == "break") {
    loop.breaks.push_back(emit(Op::kJump));
  } else {
    jump_back(loop.next);
  }
  end_block();
}

void Compiler::run_last(std::size_t begin, std::size_t middle) {
  auto& code = code_.instructions;
  const auto first = code.begin() + static_cast<std::ptrdiff_t>(begin);
  std::rotate(first, first + static_cast<std::ptrdiff_t>(middle - begin), code.end());
}

void Compiler::set_block(const Target& target) {
  const std::size_t filters = here();
  if (skip("|")) filter_chain();
  const std::size_t begin = here();
  end_block();
  const char buffer = begin == filters ? 'b' : 'f';
  open(buffer);
  scoped_body("endset");
  close(buffer);
  run_last(filters, begin);
  assign(target);
}

void Compiler::set_statement() {
  const Target variables = target(true);
  if (skip("=")) {
    tuple(true);
    assign(variables);
  } else {
    set_block(variables);
  }
  end_block();
}

void Compiler::signature(std::size_t index) {
  macros_.push_back(index);
  std::vector<std::int32_t> parameters;
  std::size_t required = 0;
  expect("(");
  items(")", [&] {
    if (parameters.size() == kParametersMax) fail(cat("more than ", kParametersMax, " parameters"));
    const auto parameter = static_cast<std::int32_t>(name(any_name()));
    if (std::find(parameters.begin(), parameters.end(), parameter) != parameters.end()) {
      fail("two parameters of the same name");
    }
    parameters.push_back(parameter);
    if (skip("=")) {
      const std::size_t skip = emit(Op::kDefault, parameters.size() - 1);
      expression();
      emit(Op::kStore, to_size(parameter));
      land(skip);
    } else if (++required != parameters.size()) {
      fail("a parameter without a default behind one that has one");
    }
  });
  next();
  macros_.pop_back();
  code_.macros[index].parameters = std::move(parameters);
}

void Compiler::macro_body(std::size_t index, std::size_t over, std::string_view end) {
  std::vector<LoopPlace> around = std::exchange(loops_, {});
  macros_.push_back(index);
  inner([&] { body({end}); });
  macros_.pop_back();
  loops_ = std::move(around);
  next();
  emit(Op::kReturn);
  land(over);
}

void Compiler::macro_statement() {
  const std::size_t macro = name(any_name());
  const std::size_t index = code_.macros.size();
  code_.macros.push_back({.name = static_cast<std::int32_t>(macro), .parameters = {}});
  emit(Op::kMacro, index);
  const std::size_t over = emit(Op::kJump);
  signature(index);
  end_block();
  macro_body(index, over, "endmacro");
  emit(Op::kStore, macro);
  end_block();
}

void Compiler::call_statement() {
  const std::size_t index = code_.macros.size();
  code_.macros.emplace_back();
  const std::size_t first = here();
  if (is("(")) signature(index);
  const std::size_t middle = here();
  if (now().kind != TokenKind::kName) unexpected("a call");
  primary();
  postfix();
  auto& code = code_.instructions;
  const Instruction call = code.back();
  if (call.op != Op::kCall) unexpected("a call");
  code.pop_back();
  // Order of the code: callee and arguments, then the caller's defaults and body, then the call.
  const std::size_t over = first + (here() - middle) + 1;
  run_last(first, middle);
  const auto at = code.begin() + static_cast<std::ptrdiff_t>(over - 1);
  code.insert(at, {{.op = Op::kMacro, .at = call.at, .a = static_cast<std::int32_t>(index)},
                   {.op = Op::kJump, .at = call.at}});
  end_block();
  macro_body(index, over, "endcall");
  CallShape arguments = code_.shapes[to_size(call.b)];
  arguments.arguments.push_back(
      {CallShape::Passing::kNamed, static_cast<std::int32_t>(name("caller"))});
  emit_at(call.at, Op::kCall, 0, shape(std::move(arguments)));
  emit(Op::kEmit);
  end_block();
}

void Compiler::with_statement() {
  std::vector<Target> targets;
  while (now().kind != TokenKind::kBlockEnd) {
    if (!targets.empty()) expect(",");
    targets.push_back(one_target(false));
    expect("=");
    expression();
  }
  end_block();
  open('s');
  for (auto t = targets.rbegin(); t != targets.rend(); ++t) assign(*t);
  inner([&] { body({"endwith"}); });
  close('s');
  next();
  end_block();
}

void Compiler::block_statement() {
  const std::string_view block = any_name();
  while (is("scoped") || is("required")) next();
  end_block();
  scoped_body("endblock");
  if (now().kind == TokenKind::kName && any_name() != block) {
    fail(cat("expected the end of block '", printable(block, 64), "'"));
  }
  end_block();
}

void Compiler::generation_statement() {
  end_block();
  scoped_body("endgeneration");
  end_block();
}

void Compiler::filter_statement() {
  const std::size_t filters = here();
  filter_chain();
  const std::size_t begin = here();
  end_block();
  open('f');
  scoped_body("endfilter");
  close('f');
  run_last(filters, begin);
  emit(Op::kEmit);
  end_block();
}

}  // namespace ingot::jinja
