// A template compiled for the interpreter's stack machine. Immutable; concurrent renders share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "text/jinja/lexer.h"

namespace ingot::jinja {

/// Instructions. `a` and `b` are their operands; jumps are relative to the instruction itself.
enum class Op : std::uint8_t {
  kText,             ///< writes constant a, which is the template's own text
  kEmit,             ///< writes str() of the value on top
  kConst,            ///< pushes constant a
  kLoad,             ///< pushes variable a (a name)
  kStore,            ///< pops into variable a of the innermost scope
  kStoreAttribute,   ///< pops into attribute b of the namespace in variable a
  kPop,              ///< drops the value on top
  kUnpack,           ///< replaces the value on top by its a elements, the first on top
  kJump,             ///< jumps by a
  kJumpIfFalse,      ///< pops, jumps by a
  kJumpIfFalseKeep,  ///< jumps by a and keeps the value, or drops it: `and`
  kJumpIfTrueKeep,   ///< as kJumpIfFalseKeep, for `or`
  kNot,
  kNegate,
  kPlus,
  kBinary,        ///< Binary a of the two values on top
  kConcat,        ///< joins the a values on top as text
  kCompare,       ///< Compare a of the two values on top
  kCompareChain,  ///< as kCompare; false pushes false and jumps by b, true keeps the right value
  kAttribute,     ///< replaces the value on top by its attribute a (a name)
  kItem,          ///< value[key], both on top
  kSlice,         ///< value[start:stop:step], all on top
  kList,          ///< makes a list from the a values on top
  kTuple,         ///< makes a tuple from the a values on top
  kDict,          ///< makes a dict from the a pairs on top
  kFilter,        ///< filter a with the arguments of shape b; the value lies below them
  kTest,          ///< as kFilter, for test a
  kCall,          ///< calls the value below the arguments of shape b
  kNoFilter,      ///< ends the render: no filter is called a
  kNoTest,        ///< ends the render: no test is called a
  kScopePush,
  kScopePop,
  kBufferPush,   ///< redirects output into a new text
  kBufferPop,    ///< pushes that text
  kBufferDrop,   ///< discards that text
  kFilterBegin,  ///< pops the iterable of `for ... if`
  kFilterNext,   ///< pushes the next item in a scope of its own, or jumps by a
  kFilterKeep,   ///< pops the condition and leaves the scope; b: back to kFilterNext
  kFilterEnd,    ///< pushes the kept items
  kForBegin,    ///< pops the iterable; a: offset of loop()'s entry; b: whether loop() may be called
  kForNext,     ///< pushes the next item in a scope with `loop`, or jumps by a
  kForEnd,      ///< leaves the loop; jumps by a, behind the else part, when it ran at all
  kLoopReturn,  ///< returns from loop(), if it called the loop that begins at a
  kMacro,       ///< pushes macro a, whose body stands behind the jump that follows
  kDefault,     ///< jumps by b when parameter a was given
  kReturn,      ///< ends a macro
  kEnd,         ///< ends the template
};

/// The operators between two values that compute a third.
enum class Binary : std::uint8_t { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };
/// The operators that compare two values.
enum class Compare : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

/// An operation with its operands.
struct Instruction {
  Op op = Op::kEnd;
  std::uint32_t at = 0;  ///< offset in the source, for messages
  std::int32_t a = 0;
  std::int32_t b = 0;
};

/// A literal.
struct Constant {
  enum class Kind : std::uint8_t { kNone, kBool, kInt, kFloat, kString };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
};

/// The arguments of a call, in the order of their values on the stack.
struct CallShape {
  enum class Passing : std::uint8_t { kPositional, kNamed, kUnpackedList, kUnpackedDict };
  struct Argument {
    Passing passing = Passing::kPositional;
    std::int32_t name = 0;  ///< name of a named argument
  };
  std::vector<Argument> arguments;
};

/// A macro's parameters.
struct MacroCode {
  std::int32_t name = -1;  ///< -1 for the body of a call block
  std::vector<std::int32_t> parameters;
  bool uses_caller = false;
  bool uses_kwargs = false;
  bool uses_varargs = false;
};

/// Most parameters of one macro.
inline constexpr std::size_t kParametersMax = 64;

/// A compiled template.
struct Code {
  std::string source;  ///< with normalised line ends; offsets point into it
  std::vector<Instruction> instructions;
  std::vector<std::string> names;
  std::vector<Constant> constants;
  std::vector<CallShape> shapes;
  std::vector<MacroCode> macros;
};

/// Deepest nesting of blocks and expressions; it bounds the compiler's recursion.
inline constexpr int kNestingMax = 64;

/// Compiles a template. Errors: SyntaxError.
Code compile(std::string_view source);

}  // namespace ingot::jinja
