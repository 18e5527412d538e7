// Library of Jinja templates: looks up filters, tests, methods and functions; reads arguments.
#pragma once

#include <algorithm>
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

/// State of a render that library functions may use.
struct Environment {
  Heap& heap;
  std::tm now{};  ///< local time, for strftime_now
  /// Values that may contain themselves. The interpreter empties them at the end, to free them.
  std::vector<Value> cyclic{};
};

/// The positional and named arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> named;
  std::vector<Value> held{};  ///< dicts that own the texts of the names in `named`
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
/// A method of a value. `call` is null for a method that exists in Python but is forbidden here,
/// because the method would change the value.
struct MethodInfo {
  std::string_view name;
  FilterFunction call;
};

/// The entry of a table (of FilterInfo, MethodInfo, ...) that has this name; null for an unknown
/// name.
template <class Table>
auto* find_named(const Table& table, std::string_view name) {
  const auto at = std::find_if(std::begin(table), std::end(table),
                               [&](const auto& entry) { return entry.name == name; });
  return at == std::end(table) ? nullptr : &*at;
}

/// The index of the filter or test of this name; nothing for an unknown name.
std::optional<std::size_t> find_filter(std::string_view name);
std::optional<std::size_t> find_test(std::string_view name);
const FilterInfo& filter_at(std::size_t index);
const TestInfo& test_at(std::size_t index);
/// The global function of this name; null for an unknown name.
const FunctionInfo* find_function(std::string_view name);
/// The methods of strings.
std::span<const MethodInfo> string_methods();
/// The method `name` of the type of `self`; null for an unknown name.
const MethodInfo* find_method(const Value& self, std::string_view name);

/// Matches a call's arguments to parameter names. Refuses too many, unknown or missing arguments.
///
/// Errors:  RunError that names the function.
class Parameters {
 public:
  Parameters(std::string_view function, const Arguments& arguments,
             std::initializer_list<std::string_view> names, std::size_t required = 0);

  /// Argument `i`, or null if it was not given.
  const Value* operator[](std::size_t i) const { return given_[i]; }
  /// Argument `i`, or null if it was not given or is None.
  const Value* some(std::size_t i) const;
  std::int64_t integer(std::size_t i, std::int64_t fallback) const;
  bool flag(std::size_t i, bool fallback) const;
  /// The text of the string argument `i`; nothing if the argument was not given or is None.
  std::optional<std::string_view> text(std::size_t i) const;

 private:
  [[noreturn]] void refuse(std::size_t i, std::string_view expected) const;

  std::string_view function_;
  std::vector<std::string_view> names_;
  std::vector<const Value*> given_;
};

}  // namespace ingot::jinja
