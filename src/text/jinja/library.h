// The template library: filters, tests, methods and functions, and the parsing of arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace ingot::jinja {

/// The state that a library call can reach.
struct Environment {
  Heap& heap;
  std::tm now{};  ///< local time, for strftime_now
  /// Values that may contain themselves; the interpreter empties them at the end of the render.
  std::vector<Value> cyclic{};
};

/// A call's arguments by place and by name.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> named;
  std::vector<Value> held{};  ///< keeps the dicts alive that names point into
};

using FilterFunction = Value (*)(Environment&, const Value&, const Arguments&);
using TestFunction = bool (*)(Environment&, const Value&, const Arguments&);
using CallFunction = Value (*)(Environment&, const Arguments&);

/// A filter and its name.
struct FilterInfo {
  std::string_view name;
  FilterFunction call;
};
/// A test and its name.
struct TestInfo {
  std::string_view name;
  TestFunction call;
};
/// A global function and its name.
struct FunctionInfo {
  std::string_view name;
  CallFunction call;
};
/// A method of strings, dicts, lists or numbers; `call` is null for a known method that is
/// forbidden because it changes its value.
struct MethodInfo {
  std::string_view name;
  FilterFunction call;
};

/// The index of a filter or test; nothing when there is none of that name.
std::optional<std::size_t> find_filter(std::string_view name);
std::optional<std::size_t> find_test(std::string_view name);
const FilterInfo& filter_at(std::size_t index);
const TestInfo& test_at(std::size_t index);
/// A global function; null when there is none.
const FunctionInfo* find_function(std::string_view name);
/// A method of values like `self`; null when there is none.
const MethodInfo* find_method(const Value& self, std::string_view name);

/// The arguments of one call by the names of its parameters, checked for number and names.
///
/// Errors:  RunError that names the function.
class Parameters {
 public:
  Parameters(std::string_view function, const Arguments& arguments,
             std::initializer_list<std::string_view> names, std::size_t required = 0);

  /// Null when it was not given.
  const Value* operator[](std::size_t i) const { return given_[i]; }
  /// Null when it was not given, or given as None.
  const Value* some(std::size_t i) const;
  std::int64_t integer(std::size_t i, std::int64_t fallback) const;
  bool flag(std::size_t i, bool fallback) const;
  /// The text of a string argument; nothing when it was not given, or given as None.
  std::optional<std::string_view> text(std::size_t i) const;

 private:
  [[noreturn]] void refuse(std::size_t i, std::string_view expected) const;

  std::string_view function_;
  std::vector<std::string_view> names_;
  std::vector<const Value*> given_;
};

}  // namespace ingot::jinja
