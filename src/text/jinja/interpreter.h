// Interpreter: the stack machine that runs a compiled Jinja template. It keeps its own call frames,
// so a template cannot overflow the thread's stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/index.h"
#include "text/jinja/code.h"
#include "text/jinja/library.h"
#include "text/jinja/operators.h"
#include "text/jinja/value.h"

namespace ingot::jinja {

/// The variables of one loop iteration, macro call or block.
struct Scope {
  Scope* parent = nullptr;
  bool captured = false;  ///< true: a macro or loop() keeps the scope, so the scope is not reused
  std::vector<std::pair<std::int32_t, Value>> variables;
};

/// Runs one render of a template. Make a new Interpreter for each render.
class Interpreter {
 public:
  Interpreter(const Code& code, const Limits& limits, const std::tm& now);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  Heap& heap() { return heap_; }
  /// Sets a variable if the template mentions its name.
  void define(std::string_view name, const Value& value);
  /// Whether the template mentions the name.
  bool names(std::string_view name) const { return find_name(name) >= 0; }

  /// Renders the template. Errors: RunError; then `place` gives the error's offset in the source.
  MarkedText run();
  std::size_t place() const { return code_.instructions[pc_ > 0 ? pc_ - 1 : 0].at; }

 private:
  /// A call of a macro or of loop().
  struct Frame {
    std::size_t return_to = 0;
    Scope* scope = nullptr;   ///< the caller's scope
    std::size_t loops = 0;    ///< size of loops_ at the call
    std::uint64_t given = 0;  ///< bit i: the call gave parameter i
    bool is_loop = false;
    std::size_t entry = 0;  ///< index of the loop's first instruction
    int nesting = 0;        ///< number of loop() calls that enclose the loop
  };
  /// A running for statement, or the running filter of a `for ... if`.
  struct Running {
    Value loop;
    std::vector<Value> kept;  ///< items that passed the filter
  };
  using Handler = void (Interpreter::*)(const Instruction&);
  static const Handler kHandlers[];

  /// Returns a name's index in Code::names; -1 if the template does not mention the name.
  std::int32_t find_name(std::string_view name) const;
  void push(Value value) { stack_.push_back(std::move(value)); }
  Value pop();
  /// Pops `count` values and returns them; the last value was on top of the stack.
  std::vector<Value> pop_many(std::size_t count);
  void jump(std::int32_t by) { pc_ = from_here(by); }
  /// Returns the current instruction's index plus `by`.
  std::size_t from_here(std::int32_t by) const {
    return to_size(static_cast<std::ptrdiff_t>(pc_) - 1 + by);
  }
  const Value& name_value(std::int32_t name);
  const Value& constant(std::int32_t index);

  Scope* enter_scope(Scope* parent);
  void leave_scope();
  void capture(Scope* scope);
  void set(Scope& scope, std::int32_t name, const Value& value);
  Value load(std::int32_t name);

  Arguments take_arguments(std::int32_t shape);
  void call_macro(const Macro& macro, const Arguments& arguments);
  /// Sets a macro's parameters in `scope`. Returns a mask: bit i is set if parameter i was given.
  std::uint64_t bind(const Macro& macro, Scope& scope, const Arguments& arguments);
  /// Sets the variables varargs, kwargs, caller. Fails for arguments that the macro does not take.
  void bind_extra(const MacroCode& macro, Scope& scope, const Arguments& arguments);
  void call_loop(const Loop& loop, const Arguments& arguments);
  void enter_frame(const Frame& frame, std::size_t entry);
  void return_text();
  Loop& running() const { return loops_.back().loop.as<Loop>(); }
  /// Whether the innermost frame is a call of loop() that runs the loop at index `entry`.
  bool is_called_loop(std::size_t entry) const;
  bool next_item(const Instruction& at);
  void check_output() const;

  // One function per Op, in the enum's order.
  void text(const Instruction& at);
  void emit(const Instruction& at);
  void push_constant(const Instruction& at);
  void load_variable(const Instruction& at) { push(load(at.a)); }
  void store(const Instruction& at) { set(*scope_, at.a, pop()); }
  void store_attribute(const Instruction& at);
  void drop(const Instruction&) { pop(); }
  void unpack(const Instruction& at);
  void jump_always(const Instruction& at) { jump(at.a); }
  void jump_if_false(const Instruction& at);
  void jump_keep(const Instruction& at);
  void invert(const Instruction&) { push(Value::boolean(!is_true(pop()))); }
  void negate_top(const Instruction&) { push(negate(pop())); }
  void plus_top(const Instruction&) { push(plus(pop())); }
  void binary_top(const Instruction& at);
  void concat(const Instruction& at);
  void compare_top(const Instruction& at);
  void compare_chain(const Instruction& at);
  void attribute_top(const Instruction& at);
  void item_top(const Instruction& at);
  void slice_top(const Instruction& at);
  void sequence(const Instruction& at);
  void dict(const Instruction& at);
  void filter(const Instruction& at);
  void test(const Instruction& at);
  void call(const Instruction& at);
  void fail_with(const Instruction& at);
  void scope_push(const Instruction&) { scope_ = enter_scope(scope_); }
  void scope_pop(const Instruction&) { leave_scope(); }
  void buffer_push(const Instruction&) { buffers_.emplace_back(heap_); }
  void buffer_pop(const Instruction& at);
  void buffer_drop(const Instruction&) { buffers_.pop_back(); }
  void filter_begin(const Instruction& at);
  void filter_next(const Instruction& at) { next_item(at); }
  void filter_keep(const Instruction& at);
  void filter_end(const Instruction& at);
  void for_begin(const Instruction& at);
  void for_next(const Instruction& at);
  void for_end(const Instruction& at);
  void loop_return(const Instruction& at);
  void macro(const Instruction& at);
  void parameter_default(const Instruction& at);
  void return_macro(const Instruction& at);
  void end(const Instruction&) { done_ = true; }

  const Code& code_;
  Heap heap_;
  Environment environment_;
  std::size_t pc_ = 0;
  bool done_ = false;
  // Indices of the names that the interpreter sets; -1 if the template does not mention them.
  std::int32_t loop_name_ = -1;
  std::int32_t caller_name_ = -1;
  std::int32_t kwargs_name_ = -1;
  std::int32_t varargs_name_ = -1;
  std::vector<Value> names_;                 // template's names as strings, created at first use
  std::vector<Value> constants_;             // constants as values, created at first use
  std::vector<std::optional<Value>> given_;  // values that define() set, at their names' indices
  std::vector<Value> stack_;
  std::deque<Scope> scopes_;
  std::vector<Scope*> free_scopes_;
  Scope* scope_ = nullptr;
  std::vector<Running> loops_;
  std::vector<Frame> frames_;
  std::vector<TextBuilder> buffers_;
};

}  // namespace ingot::jinja
