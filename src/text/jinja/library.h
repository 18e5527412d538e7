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

/// Finds an entry by name in a table of FilterInfo, MethodInfo, ... Returns null for an unknown
/// name.
template <class Table>
auto* find_named(const Table& table, std::string_view name) {
  const auto at = std::find_if(std::begin(table), std::end(table),
                               [&](const auto& entry) { return entry.name == name; });
  return at == std::end(table) ? nullptr : &*at;
}

/// Return the index of the filter or test `name`; empty for an unknown name.
std::optional<std::size_t> find_filter(std::string_view name);
std::optional<std::size_t> find_test(std::string_view name);
const FilterInfo& filter_at(std::size_t index);
const TestInfo& test_at(std::size_t index);
/// Returns the global function `name`; null for an unknown name.
const FunctionInfo* find_function(std::string_view name);
/// Returns the table of all string methods.
std::span<const MethodInfo> string_methods();
/// Returns the method `name` of the type of `self`; null for an unknown name.
const MethodInfo* find_method(const Value& self, std::string_view name);

/// Matches a call's arguments to parameter names. Refuses too many, unknown or missing arguments.
///
/// Errors:  RunError that names the function.
class Parameters {
 public:
  Parameters(std::string_view function, const Arguments& arguments,
             std::initializer_list<std::string_view> names, std::size_t required = 0);

  /// Returns argument `i`; null if the call did not give it.
  const Value* operator[](std::size_t i) const { return given_[i]; }
  /// Returns argument `i`; null if the call did not give it, or gave None.
  const Value* some(std::size_t i) const;
  std::int64_t integer(std::size_t i, std::int64_t fallback) const;
  bool flag(std::size_t i, bool fallback) const;
  /// Returns the text of string argument `i`; empty if the call did not give it, or gave None.
  std::optional<std::string_view> text(std::size_t i) const;

 private:
  [[noreturn]] void refuse(std::size_t i, std::string_view expected) const;

  std::string_view function_;
  std::vector<std::string_view> names_;
  std::vector<const Value*> given_;
};

}  // namespace ingot::jinja
