// The tests of Jinja templates: the words that may follow `is`, such as `defined`.
#include <algorithm>

#include "base/text.h"
#include "text/jinja/library.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/strings.h"

namespace ingot::jinja {

namespace {

template <Kind... kinds>
bool is_kind(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters none("test", arguments, {});
  return ((value.kind() == kinds) || ...);
}

bool is_defined(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters none("defined", arguments, {});
  return !value.is_undefined();
}

template <bool wanted>
bool is_bool(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters none("test", arguments, {});
  return value.kind() == Kind::kBool && value.as_bool() == wanted;
}

bool is_callable(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters none("callable", arguments, {});
  switch (value.kind()) {
    case Kind::kUndefined:  // calling it is an error of its own
    case Kind::kFunction:
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kLoop:
    case Kind::kJoiner:
      return true;
    default:
      return false;
  }
}

template <Compare operation>
bool compares(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("comparison", arguments, {"other"}, 1);
  return compare(env.heap, operation, value, *p[0]);
}

bool is_in(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("in", arguments, {"seq"}, 1);
  return contains(env.heap, *p[0], value);
}

bool is_divisible(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("divisibleby", arguments, {"num"}, 1);
  return is_equal(binary(env, Binary::kMod, value, *p[0]), Value::integer(0));
}

template <std::int64_t rest>
bool has_rest(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("even or odd", arguments, {});
  if (value.is_string()) fail("not all arguments converted during string formatting");
  return is_equal(binary(env, Binary::kMod, value, Value::integer(2)), Value::integer(rest));
}

bool is_iterable_test(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters none("iterable", arguments, {});
  return is_iterable(value);
}

bool is_sequence(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters none("sequence", arguments, {});
  return value.is_undefined() || value.is_string() || value.kind() == Kind::kDict ||
         value.is_sequence(Flavor::kRange);
}

bool is_same(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters p("sameas", arguments, {"other"}, 1);
  const Value& other = *p[0];
  if (value.kind() != other.kind()) return false;
  const bool is_object = value.kind() > Kind::kString;
  return is_object ? value.object() == other.object() : is_equal(value, other);
}

bool is_escaped(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters none("escaped", arguments, {});
  return value.is_string() && value.string().markup;
}

template <bool upper>
bool is_in_case(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("case", arguments, {});
  return has_case(to_string(env.heap, value).string(), upper);
}

template <bool of_filters>
bool is_known(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters none("filter or test", arguments, {});
  static_cast<void>(hash_of(value));  // names are looked up in a dict
  if (!value.is_string()) return false;
  return of_filters ? find_filter(value.text()).has_value() : find_test(value.text()).has_value();
}

constexpr TestInfo kTests[] = {
    {"!=", compares<Compare::kNe>},
    {"<", compares<Compare::kLt>},
    {"<=", compares<Compare::kLe>},
    {"==", compares<Compare::kEq>},
    {">", compares<Compare::kGt>},
    {">=", compares<Compare::kGe>},
    {"boolean", is_kind<Kind::kBool>},
    {"callable", is_callable},
    {"defined", is_defined},
    {"divisibleby", is_divisible},
    {"eq", compares<Compare::kEq>},
    {"equalto", compares<Compare::kEq>},
    {"escaped", is_escaped},
    {"even", has_rest<0>},
    {"false", is_bool<false>},
    {"filter", is_known<true>},
    {"float", is_kind<Kind::kFloat>},
    {"ge", compares<Compare::kGe>},
    {"greaterthan", compares<Compare::kGt>},
    {"gt", compares<Compare::kGt>},
    {"in", is_in},
    {"integer", is_kind<Kind::kInt>},
    {"iterable", is_iterable_test},
    {"le", compares<Compare::kLe>},
    {"lessthan", compares<Compare::kLt>},
    {"lower", is_in_case<false>},
    {"lt", compares<Compare::kLt>},
    {"mapping", is_kind<Kind::kDict>},
    {"ne", compares<Compare::kNe>},
    {"none", is_kind<Kind::kNone>},
    {"number", is_kind<Kind::kInt, Kind::kFloat, Kind::kBool>},
    {"odd", has_rest<1>},
    {"sameas", is_same},
    {"sequence", is_sequence},
    {"string", is_kind<Kind::kString>},
    {"test", is_known<false>},
    {"true", is_bool<true>},
    {"undefined", is_kind<Kind::kUndefined>},
    {"upper", is_in_case<true>},
};

}  // namespace

std::optional<std::size_t> find_test(std::string_view name) {
  const auto* at = find_named(kTests, name);
  if (at == nullptr) return std::nullopt;
  return static_cast<std::size_t>(at - std::begin(kTests));
}

const TestInfo& test_at(std::size_t index) { return kTests[index]; }

}  // namespace ingot::jinja
