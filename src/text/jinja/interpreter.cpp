// Interpreter: the main loop, variables and scopes, and all instructions except loops and calls.
#include "text/jinja/interpreter.h"

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "text/jinja/print.h"

namespace ingot::jinja {

const Interpreter::Handler Interpreter::kHandlers[] = {
    &Interpreter::text,          &Interpreter::emit,        &Interpreter::push_constant,
    &Interpreter::load_variable, &Interpreter::store,       &Interpreter::store_attribute,
    &Interpreter::drop,          &Interpreter::unpack,      &Interpreter::jump_always,
    &Interpreter::jump_if_false, &Interpreter::jump_keep,   &Interpreter::invert,
    &Interpreter::negate_top,    &Interpreter::plus_top,    &Interpreter::binary_top,
    &Interpreter::concat,        &Interpreter::compare_top, &Interpreter::compare_chain,
    &Interpreter::attribute_top, &Interpreter::item_top,    &Interpreter::slice_top,
    &Interpreter::sequence,      &Interpreter::dict,        &Interpreter::filter,
    &Interpreter::test,          &Interpreter::call,        &Interpreter::fail_with,
    &Interpreter::scope_push,    &Interpreter::scope_pop,   &Interpreter::buffer_push,
    &Interpreter::buffer_pop,    &Interpreter::buffer_drop, &Interpreter::filter_begin,
    &Interpreter::filter_next,   &Interpreter::filter_keep, &Interpreter::filter_end,
    &Interpreter::for_begin,     &Interpreter::for_next,    &Interpreter::for_end,
    &Interpreter::loop_return,   &Interpreter::macro,       &Interpreter::parameter_default,
    &Interpreter::return_macro,  &Interpreter::end,
};

Interpreter::Interpreter(const Code& code, const Limits& limits, const std::tm& now)
    : code_(code),
      heap_(limits),
      environment_{.heap = heap_, .now = now},
      names_(code.names.size()),
      constants_(code.constants.size()),
      given_(code.names.size()) {
  static_assert(std::size(kHandlers) == to_size(Op::kEnd) + 1);
  loop_name_ = find_name("loop");
  caller_name_ = find_name("caller");
  kwargs_name_ = find_name("kwargs");
  varargs_name_ = find_name("varargs");
}

Interpreter::~Interpreter() {
  for (const Value& value : environment_.cyclic) {
    if (value.kind() == Kind::kLoop) {
      value.as<Loop>().last_changed = Value();
    } else {
      value.as<Dict>().entries.clear();
    }
  }
}

std::int32_t Interpreter::find_name(std::string_view name) const {
  const auto at = std::find(code_.names.begin(), code_.names.end(), name);
  return at == code_.names.end() ? -1 : static_cast<std::int32_t>(at - code_.names.begin());
}

void Interpreter::define(std::string_view name, const Value& value) {
  const std::int32_t found = find_name(name);
  if (found >= 0) at(given_, found) = value;
}

MarkedText Interpreter::run() {
  scope_ = enter_scope(nullptr);
  buffers_.emplace_back(heap_);
  while (!done_) {
    const Instruction& at = code_.instructions[pc_++];
    heap_.spend(1);
    (this->*kHandlers[to_size(at.op)])(at);
  }
  return buffers_.front().take_text();
}

Value Interpreter::pop() {
  Value value = std::move(stack_.back());
  stack_.pop_back();
  return value;
}

std::vector<Value> Interpreter::pop_many(std::size_t count) {
  const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
  std::vector<Value> values(std::make_move_iterator(begin), std::make_move_iterator(stack_.end()));
  stack_.erase(begin, stack_.end());
  return values;
}

const Value& Interpreter::name_value(std::int32_t name) {
  Value& value = at(names_, name);
  if (value.is_none()) {
    value = make_string(heap_, at(code_.names, name), Origin::kTemplate);
  }
  return value;
}

const Value& Interpreter::constant(std::int32_t index) {
  Value& value = at(constants_, index);
  if (!value.is_none()) return value;
  const Constant& literal = at(code_.constants, index);
  if (const auto* b = std::get_if<bool>(&literal)) value = Value::boolean(*b);
  if (const auto* i = std::get_if<std::int64_t>(&literal)) value = Value::integer(*i);
  if (const auto* d = std::get_if<double>(&literal)) value = Value::real(*d);
  if (const auto* s = std::get_if<std::string>(&literal)) {
    value = make_string(heap_, *s, Origin::kTemplate);
  }
  return value;
}

Scope* Interpreter::enter_scope(Scope* parent) {
  if (free_scopes_.empty()) {
    heap_.charge(sizeof(Scope));
    free_scopes_.push_back(&scopes_.emplace_back());
  }
  Scope* scope = free_scopes_.back();
  free_scopes_.pop_back();
  scope->parent = parent;
  return scope;
}

void Interpreter::leave_scope() {
  Scope* left = std::exchange(scope_, scope_->parent);
  if (left->captured) return;
  heap_.release(left->variables.size() * sizeof(left->variables[0]));
  left->variables.clear();
  free_scopes_.push_back(left);
}

void Interpreter::capture(Scope* scope) {
  for (; scope != nullptr && !scope->captured; scope = scope->parent) scope->captured = true;
}

void Interpreter::set(Scope& scope, std::int32_t name, const Value& value) {
  for (auto& [known, old] : scope.variables) {
    if (known == name) {
      old = value;
      return;
    }
  }
  heap_.charge(sizeof(scope.variables[0]));
  scope.variables.emplace_back(name, value);
}

Value Interpreter::load(std::int32_t name) {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    for (const auto& [known, value] : scope->variables) {
      if (known == name) return value;
    }
  }
  const auto index = to_size(name);
  if (given_[index]) return *given_[index];
  if (const FunctionInfo* function = find_function(code_.names[index])) {
    return Value::function(*function);
  }
  return Value::undefined(Missing::kName, name_value(name));
}

void Interpreter::check_output() const {
  if (buffers_.back().size() > heap_.limits().output_bytes_max) {
    fail(cat("template budget: more than ", heap_.limits().output_bytes_max, " bytes of text"));
  }
}

void Interpreter::text(const Instruction& at) {
  buffers_.back().append(constant(at.a).string().text);
  check_output();
}

void Interpreter::emit(const Instruction&) {
  const Value value = pop();
  TextBuilder& out = buffers_.back();
  const std::size_t before = out.size();
  print(value, out);
  heap_.spend_bytes(out.size() - before);
  check_output();
}

void Interpreter::push_constant(const Instruction& at) {
  push(at.b == 0 ? constant(at.a) : Value::undefined(Missing::kText, constant(at.a)));
}

void Interpreter::store_attribute(const Instruction& at) {
  const Value target = load(at.a);
  if (target.kind() != Kind::kNamespace) {
    fail("attributes can only be set on namespace objects");
  }
  target.as<Dict>().set(name_value(at.b), pop());
}

void Interpreter::unpack(const Instruction& at) {
  const Value value = pop();
  expect_defined(value);
  std::vector<Value> items = iterate(heap_, value);
  const auto wanted = to_size(at.a);
  if (items.size() > wanted) fail(cat("too many values to unpack (expected ", wanted, ")"));
  if (items.size() < wanted) {
    fail(cat("not enough values to unpack (expected ", wanted, ", got ", items.size(), ")"));
  }
  std::move(items.rbegin(), items.rend(), std::back_inserter(stack_));
}

void Interpreter::jump_if_false(const Instruction& at) {
  if (!is_true(pop())) jump(at.a);
}

void Interpreter::jump_keep(const Instruction& at) {
  if (is_true(stack_.back()) == (at.b != 0)) {
    jump(at.a);
  } else {
    stack_.pop_back();
  }
}

void Interpreter::binary_top(const Instruction& at) {
  const Value right = pop();
  const Value left = pop();
  push(binary(environment_, static_cast<Binary>(at.a), left, right));
}

void Interpreter::concat(const Instruction& at) {
  const std::vector<Value> parts = pop_many(to_size(at.a));
  push(concatenate(heap_, parts.data(), parts.data() + parts.size()));
}

void Interpreter::compare_top(const Instruction& at) {
  const Value right = pop();
  const Value left = pop();
  push(Value::boolean(compare(heap_, static_cast<Compare>(at.a), left, right)));
}

void Interpreter::compare_chain(const Instruction& at) {
  Value right = pop();
  const Value left = pop();
  if (compare(heap_, static_cast<Compare>(at.a), left, right)) {
    push(std::move(right));
  } else {
    push(Value::boolean(false));
    jump(at.b);
  }
}

void Interpreter::attribute_top(const Instruction& at) {
  const Value value = pop();
  push(attribute(heap_, value, name_value(at.a)));
}

void Interpreter::item_top(const Instruction&) {
  const Value key = pop();
  const Value value = pop();
  push(item(heap_, value, key));
}

void Interpreter::slice_top(const Instruction&) {
  const std::vector<Value> parts = pop_many(4);
  push(slice(heap_, parts[0], parts[1], parts[2], parts[3]));
}

void Interpreter::sequence(const Instruction& at) {
  const auto flavor = static_cast<Flavor>(at.b);
  push(make_sequence(heap_, flavor, pop_many(to_size(at.a))));
}

void Interpreter::dict(const Instruction& at) {
  const std::vector<Value> parts = pop_many(to_size(at.a) * 2);
  Value made(new Dict(heap_));
  for (std::size_t i = 0; i < parts.size(); i += 2) made.as<Dict>().set(parts[i], parts[i + 1]);
  push(std::move(made));
}

void Interpreter::filter(const Instruction& at) {
  const Arguments arguments = take_arguments(at.b);
  const Value value = pop();
  push(filter_at(to_size(at.a)).call(environment_, value, arguments));
}

void Interpreter::test(const Instruction& at) {
  const Arguments arguments = take_arguments(at.b);
  const Value value = pop();
  push(Value::boolean(test_at(to_size(at.a)).call(environment_, value, arguments)));
}

void Interpreter::fail_with(const Instruction& at) { fail(std::string(constant(at.a).text())); }

void Interpreter::buffer_pop(const Instruction&) {
  push(buffers_.back().take());
  buffers_.pop_back();
}

}  // namespace ingot::jinja
