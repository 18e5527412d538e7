// Interpreter: for loops, and calls of macros, caller() and loop().
#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "text/jinja/interpreter.h"

namespace ingot::jinja {

void Interpreter::filter_begin(const Instruction&) {
  const Value over = pop();
  loops_.push_back({.loop = Value(new Loop(heap_, iterate(heap_, over), 0)), .kept = {}});
}

bool Interpreter::next_item(const Instruction& at) {
  Loop& loop = running();
  if (loop.next == loop.items.size()) {
    jump(at.a);
    return false;
  }
  scope_ = enter_scope(scope_);
  push(loop.items[loop.next++]);
  return true;
}

void Interpreter::filter_keep(const Instruction& at) {
  const Loop& loop = running();
  if (is_true(pop())) loops_.back().kept.push_back(loop.items[loop.next - 1]);
  leave_scope();
  jump(at.b);
}

void Interpreter::filter_end(const Instruction&) {
  push(make_sequence(heap_, Flavor::kList, std::move(loops_.back().kept)));
  loops_.pop_back();
}

bool Interpreter::is_called_loop(std::size_t entry) const {
  if (frames_.empty()) return false;
  const Frame& frame = frames_.back();
  return frame.is_loop && frame.entry == entry && frame.loops == loops_.size();
}

void Interpreter::for_begin(const Instruction& at) {
  const Value over = pop();
  const std::size_t entry = from_here(at.a);
  const int nesting = is_called_loop(entry) ? frames_.back().nesting : 0;
  auto* loop = new Loop(heap_, iterate(heap_, over), nesting);
  loops_.push_back({.loop = Value(loop), .kept = {}});
  if (at.b == 0) return;
  loop->recursive = true;
  loop->entry = entry;
  loop->scope = scope_;
  capture(scope_);
}

void Interpreter::for_next(const Instruction& at) {
  if (next_item(at) && loop_name_ >= 0) set(*scope_, loop_name_, loops_.back().loop);
}

void Interpreter::for_end(const Instruction& at) {
  const bool ran = running().next > 0;
  loops_.pop_back();
  if (ran) jump(at.a);
}

void Interpreter::loop_return(const Instruction& at) {
  if (is_called_loop(from_here(at.a))) return_text();
}

void Interpreter::macro(const Instruction& at) {
  capture(scope_);
  const MacroCode& code = code_.macros[to_size(at.a)];
  push(Value(new Macro(heap_, code, pc_ + 1, *scope_)));
}

void Interpreter::parameter_default(const Instruction& at) {
  if ((frames_.back().given >> at.a & 1) != 0) jump(at.b);
}

void Interpreter::return_macro(const Instruction&) {
  leave_scope();
  return_text();
}

void Interpreter::enter_frame(const Frame& frame, std::size_t entry) {
  if (std::ssize(frames_) >= heap_.limits().calls_max) {
    fail(cat("template budget: calls nested deeper than ", heap_.limits().calls_max));
  }
  frames_.push_back(frame);
  buffers_.emplace_back(heap_);
  pc_ = entry;
}

void Interpreter::return_text() {
  push(buffers_.back().take());
  buffers_.pop_back();
  pc_ = frames_.back().return_to;
  scope_ = frames_.back().scope;
  frames_.pop_back();
}

Arguments Interpreter::take_arguments(std::int32_t index) {
  using Passing = CallShape::Passing;
  const CallShape& shape = at(code_.shapes, index);
  Arguments all;
  if (shape.arguments.empty()) return all;
  std::vector<Value> values = pop_many(shape.arguments.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const CallShape::Argument& argument = shape.arguments[i];
    Value& value = values[i];
    if (argument.passing == Passing::kPositional) {
      all.positional.push_back(std::move(value));
    } else if (argument.passing == Passing::kNamed) {
      all.named.emplace_back(at(code_.names, argument.name), std::move(value));
    } else if (argument.passing == Passing::kUnpackedList) {
      for (Value& item : iterate(heap_, value)) all.positional.push_back(std::move(item));
    } else {
      if (value.kind() != Kind::kDict) fail("the argument behind ** is no mapping");
      for (const auto& [key, member] : value.as<Dict>().entries) {
        if (!key.is_string()) fail("keywords must be strings");
        heap_.spend(1);
        all.named.emplace_back(key.text(), member);
      }
      all.held.push_back(std::move(value));
    }
  }
  return all;
}

void Interpreter::bind_extra(const MacroCode& macro, Scope& scope, const Arguments& arguments) {
  const std::string name = macro.name < 0 ? "caller" : printable(at(code_.names, macro.name), 64);
  const std::size_t taken = std::min(arguments.positional.size(), macro.parameters.size());
  if (macro.uses_varargs) {
    std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(taken),
                            arguments.positional.end());
    set(scope, varargs_name_, make_sequence(heap_, Flavor::kTuple, std::move(rest)));
  } else if (arguments.positional.size() > taken) {
    fail(cat("macro '", name, "' takes not more than ", macro.parameters.size(), " argument(s)"));
  }
  if (macro.uses_caller) {
    set(scope, caller_name_,
        Value::undefined(Missing::kText, make_string(heap_, "no caller defined")));
  }
  Value rest(new Dict(heap_));
  for (const auto& [key, value] : arguments.named) {
    const std::string_view given = key;  // Clang 14 captures no structured binding
    const bool is_parameter =
        std::any_of(macro.parameters.begin(), macro.parameters.end(),
                    [&](std::int32_t p) { return at(code_.names, p) == given; });
    if (is_parameter) continue;
    if (macro.uses_caller && key == "caller") {
      set(scope, caller_name_, value);
    } else if (macro.uses_kwargs) {
      rest.as<Dict>().set(make_string(heap_, key, Origin::kTemplate), value);
    } else {
      fail(cat("macro '", name, "' takes no keyword argument '", printable(key, 64), "'"));
    }
  }
  if (macro.uses_kwargs) set(scope, kwargs_name_, rest);
}

std::uint64_t Interpreter::bind(const Macro& macro, Scope& scope, const Arguments& arguments) {
  std::uint64_t given = 0;
  const std::vector<std::int32_t>& parameters = macro.code.parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = at(code_.names, parameters[i]);
    const auto named = std::find_if(arguments.named.begin(), arguments.named.end(),
                                    [&](const auto& n) { return n.first == name; });
    const bool by_name = named != arguments.named.end();
    const bool by_place = i < arguments.positional.size();
    if (by_name && by_place) {
      fail(cat("got multiple values for argument '", printable(name, 64), "'"));
    }
    if (by_name || by_place) {
      given |= std::uint64_t{1} << i;
      set(scope, parameters[i], by_name ? named->second : arguments.positional[i]);
    } else {
      set(scope, parameters[i], Value::undefined(Missing::kParameter, name_value(parameters[i])));
    }
  }
  return given;
}

void Interpreter::call_macro(const Macro& macro, const Arguments& arguments) {
  Frame frame{.return_to = pc_, .scope = scope_, .loops = loops_.size()};
  Scope* scope = enter_scope(&macro.scope);
  frame.given = bind(macro, *scope, arguments);
  bind_extra(macro.code, *scope, arguments);
  enter_frame(frame, macro.entry);
  scope_ = scope;
}

void Interpreter::call_loop(const Loop& loop, const Arguments& arguments) {
  if (!loop.recursive) {
    fail("the loop is not recursive: 'recursive' in its for statement makes it so");
  }
  const Parameters parameters("loop", arguments, {"iterable"}, 1);
  push(*parameters[0]);
  enter_frame({.return_to = pc_,
               .scope = scope_,
               .loops = loops_.size(),
               .is_loop = true,
               .entry = loop.entry,
               .nesting = loop.nesting + 1},
              loop.entry);
  scope_ = loop.scope;
}

void Interpreter::call(const Instruction& at) {
  const Arguments arguments = take_arguments(at.b);
  const Value callee = pop();
  switch (callee.kind()) {
    case Kind::kFunction:
      return push(callee.as_function().call(environment_, arguments));
    case Kind::kMethod: {
      const auto& method = callee.as<Method>();
      return push(method.info.call(environment_, method.self, arguments));
    }
    case Kind::kMacro:
      return call_macro(callee.as<Macro>(), arguments);
    case Kind::kLoop:
      return call_loop(callee.as<Loop>(), arguments);
    case Kind::kJoiner: {
      auto& joiner = callee.as<Joiner>();
      const bool used = std::exchange(joiner.used, true);
      return push(used ? joiner.separator : make_string(heap_, std::string_view()));
    }
    default:
      expect_defined(callee);
      fail(cat("'", type_name(callee), "' object is not callable"));
  }
}

}  // namespace ingot::jinja
