// Filters that apply another filter or a test to each item.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"

namespace ingot::jinja {

namespace {

/// The arguments without the first `count`.
Arguments rest_of(const Arguments& arguments, std::size_t count) {
  Arguments rest = arguments;
  const auto end = rest.positional.begin() + static_cast<std::ptrdiff_t>(count);
  rest.positional.erase(rest.positional.begin(), end);
  return rest;
}

const Value& name_argument(const Arguments& arguments, std::size_t i, std::string_view filter) {
  if (arguments.positional.size() <= i) fail(cat(filter, "(): missing an argument"));
  const Value& name = arguments.positional[i];
  expect_defined(name);
  return name;
}

/// Keeps the items for which a test is true, or false. The test's name is the argument behind the
/// first `first` ones. Without a name the item itself is tested for truth.
template <bool wanted, std::size_t first>
Value keep(Environment& env, const Value& value, const Arguments& arguments) {
  if (!is_true(value)) return make_sequence(env.heap, Flavor::kGenerator, {});
  const Value* path = first > 0 ? &name_argument(arguments, 0, "selectattr") : nullptr;
  const TestInfo* test = nullptr;
  Arguments rest;
  if (arguments.positional.size() > first) {
    const Value& name = name_argument(arguments, first, "select");
    const auto found = name.is_string() ? find_test(name.text()) : std::nullopt;
    if (!found) {
      fail(cat("no test named '", name.is_string() ? printable(name.text(), 64) : "?", "'"));
    }
    test = &test_at(*found);
    rest = rest_of(arguments, first + 1);
  }
  std::vector<Value> kept;
  for (Value& entry : iterate(env.heap, value)) {
    const Value asked = follow(env.heap, entry, path);
    const bool holds = test == nullptr ? is_true(asked) : test->call(env, asked, rest);
    env.heap.spend(1);
    if (holds == wanted) kept.push_back(std::move(entry));
  }
  return make_sequence(env.heap, Flavor::kGenerator, std::move(kept));
}

Value map_attribute(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("map", arguments, {"attribute", "default"});
  std::vector<Value> items = iterate(env.heap, value);
  for (Value& entry : items) {
    entry = follow(env.heap, entry, p[0]);
    if (entry.is_undefined() && p.some(1) != nullptr) entry = *p[1];
  }
  return make_sequence(env.heap, Flavor::kGenerator, std::move(items));
}

Value filter_map(Environment& env, const Value& value, const Arguments& arguments) {
  if (!is_true(value)) return make_sequence(env.heap, Flavor::kGenerator, {});
  if (arguments.positional.empty()) return map_attribute(env, value, arguments);
  const Value& name = name_argument(arguments, 0, "map");
  const auto found = name.is_string() ? find_filter(name.text()) : std::nullopt;
  if (!found) {
    fail(cat("no filter named '", name.is_string() ? printable(name.text(), 64) : "?", "'"));
  }
  const FilterInfo& filter = filter_at(*found);
  // map('map', 'map', ...) would nest calls without a limit.
  if (filter.call == filter_map) fail("map() cannot apply map");
  const Arguments rest = rest_of(arguments, 1);
  std::vector<Value> items = iterate(env.heap, value);
  for (Value& entry : items) {
    env.heap.spend(1);
    entry = filter.call(env, entry, rest);
  }
  return make_sequence(env.heap, Flavor::kGenerator, std::move(items));
}

constexpr FilterInfo kSelectFilters[] = {
    {"map", filter_map},       {"reject", keep<false, 0>},    {"rejectattr", keep<false, 1>},
    {"select", keep<true, 0>}, {"selectattr", keep<true, 1>},
};

}  // namespace

std::span<const FilterInfo> select_filters() { return kSelectFilters; }

}  // namespace ingot::jinja
