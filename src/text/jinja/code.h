// Code: a Jinja template compiled to instructions of a stack machine (the Interpreter).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "text/jinja/lexer.h"

namespace ingot::jinja {

/// Instructions. Operands `a` and `b`: indices into the lists of Code, counts, or jump distances.
enum class Op : std::uint8_t {
  kText,            ///< writes the text constant at index `a`: template text outside tags
  kEmit,            ///< pops a value and writes str(value)
  kConst,           ///< pushes the constant at index `a`
  kLoad,            ///< pushes the variable whose name has index `a`
  kStore,           ///< pops a value; stores it in the innermost scope under the name at index `a`
  kStoreAttribute,  ///< pops a value; stores it as attribute `b` of the namespace in variable `a`
  kPop,             ///< drops the top value
  kUnpack,          ///< pops a value; pushes its `a` elements, the last element first
  kJump,            ///< jumps by `a` instructions, counted from this instruction
  kJumpIfFalse,     ///< pops a value; jumps by `a` if it is false
  kJumpKeep,        ///< `and`, `or`: jumps by `a` if bool(top value) is `b`; else pops the value
  kNot,
  kNegate,
  kPlus,
  kBinary,        ///< pops two operands, pushes the result of operator `a` (a Binary)
  kConcat,        ///< pops `a` values, pushes one string that joins their texts
  kCompare,       ///< pops two operands, pushes the result of comparison `a` (a Compare)
  kCompareChain,  ///< for x < y < z: pops x, y; pushes y if x < y, else pushes false, jumps by `b`
  kAttribute,     ///< replaces the top value by its attribute whose name has index `a`
  kItem,          ///< pops a value and a key, pushes value[key]
  kSlice,         ///< pops a value, start, stop, step; pushes value[start:stop:step]
  kSequence,      ///< pops `a` values, pushes a sequence of these values with Flavor `b`
  kDict,          ///< pops `a` pairs of key and value, pushes a dict of these pairs
  kFilter,        ///< pops arguments (shape `b`) and a value, pushes the result of filter `a`
  kTest,          ///< pops arguments (shape `b`) and a value, pushes the result of test `a`
  kCall,          ///< pops arguments (shape `b`) and a callee, and calls the callee
  kFail,          ///< fails; the constant at index `a` is the error message
  kScopePush,
  kScopePop,
  kBufferPush,   ///< redirects output into a new buffer
  kBufferPop,    ///< ends the innermost buffer and pushes its text
  kBufferDrop,   ///< discards the innermost buffer
  kFilterBegin,  ///< begins the filter of a `for ... if`; pops the iterable
  kFilterNext,   ///< pushes the next item and enters a scope; if no item is left, jumps by `a`
  kFilterKeep,   ///< pops the condition's value, leaves the scope, jumps by `b` back to kFilterNext
  kFilterEnd,    ///< pushes a list of the items that passed the condition
  kForBegin,     ///< pops the iterable; loop() calls enter at `a`; `b`: 1 if the loop is recursive
  kForNext,      ///< pushes the next item, enters a scope with `loop`; at the end, jumps by `a`
  kForEnd,       ///< ends the loop; jumps by `a` over the else part if the loop had an item
  kLoopReturn,   ///< if a call of loop() runs the loop that begins at `a`, returns from that call
  kMacro,        ///< pushes macro `a`; the next instruction jumps over the macro's body
  kDefault,      ///< jumps by `b` over a default value if the call gave parameter `a`
  kReturn,       ///< ends a macro
  kEnd,          ///< ends the template
};

/// Arithmetic operators with two operands.
enum class Binary : std::uint8_t { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };
/// Comparison operators.
enum class Compare : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

/// One instruction of the stack machine.
struct Instruction {
  Op op = Op::kEnd;
  std::uint32_t at = 0;  ///< byte offset in the template's source, for error messages
  std::int32_t a = 0;
  std::int32_t b = 0;
};

/// A literal of the template; std::monostate is the literal `none`.
using Constant = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// How a call passes each of its arguments; the first argument is deepest on the stack.
struct CallShape {
  enum class Passing : std::uint8_t { kPositional, kNamed, kUnpackedList, kUnpackedDict };
  struct Argument {
    Passing passing = Passing::kPositional;
    std::int32_t name = 0;  ///< index into Code::names, for kNamed
  };
  std::vector<Argument> arguments;
};

/// A macro's signature. Names are indices into Code::names.
struct MacroCode {
  std::int32_t name = -1;  ///< index of the macro's name; -1: the body of a call block
  std::vector<std::int32_t> parameters;
  bool uses_caller = false;
  bool uses_kwargs = false;
  bool uses_varargs = false;
};

/// Most parameters of a macro. `Interpreter::Frame::given` has one bit for each parameter.
inline constexpr std::size_t kParametersMax = 64;

/// A compiled template. Immutable: concurrent renders share it.
struct Code {
  std::string source;  ///< the template with \n as line ends; offsets point into this text
  std::vector<Instruction> instructions;
  std::vector<std::string> names;
  std::vector<Constant> constants;
  std::vector<CallShape> shapes;
  std::vector<MacroCode> macros;
};

/// Most levels of nested blocks and expressions. The limit bounds the compiler's use of the stack.
inline constexpr int kNestingMax = 64;

/// Compiles a template. Errors: SyntaxError.
Code compile(std::string_view source);

}  // namespace ingot::jinja
