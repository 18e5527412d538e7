// Arithmetic and comparisons of template values, by Python's rules with 64-bit integers.
#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "base/text.h"
#include "text/jinja/format.h"
#include "text/jinja/print.h"
#include "text/jinja/strings.h"

namespace ingot::jinja {

namespace {

constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">=", "in", "not in"};

[[noreturn]] void refuse(std::string_view symbol, const Value& a, const Value& b) {
  expect_defined(a);
  expect_defined(b);
  fail(cat("unsupported operand type(s) for ", symbol, ": '", type_name(a), "' and '", type_name(b),
           "'"));
}

[[noreturn]] void overflow() { fail("an integer beyond 64 bits"); }

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) fail("integer division or modulo by zero");
  if (a == INT64_MIN && b == -1) overflow();
  const std::int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int64_t modulo(std::int64_t a, std::int64_t b) {
  if (b == 0) fail("integer division or modulo by zero");
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) overflow();
  return product;
}

std::int64_t int_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  for (; exponent > 0; --exponent) result = multiply(result, base);  // overflows after 63 at most
  return result;
}

Value power(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer() && b.as_int() >= 0) {
    return Value::integer(int_power(a.as_int(), b.as_int()));
  }
  const double base = a.as_float();
  const double exponent = b.as_float();
  if (base == 0 && exponent < 0) fail("0.0 cannot be raised to a negative power");
  if (base < 0 && exponent != std::floor(exponent)) fail("a power that is a complex number");
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && !std::isinf(base) && !std::isinf(exponent)) {
    fail("numerical result out of range");
  }
  return Value::real(result);
}

Value int_arithmetic(Binary operation, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (operation) {
    case Binary::kAdd:
      if (__builtin_add_overflow(a, b, &result)) overflow();
      return Value::integer(result);
    case Binary::kSub:
      if (__builtin_sub_overflow(a, b, &result)) overflow();
      return Value::integer(result);
    case Binary::kMul:
      return Value::integer(multiply(a, b));
    case Binary::kFloorDiv:
      return Value::integer(floor_div(a, b));
    case Binary::kMod:
      return Value::integer(modulo(a, b));
    default:
      if (b == 0) fail("division by zero");
      return Value::real(static_cast<double>(a) / static_cast<double>(b));
  }
}

double float_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

Value float_arithmetic(Binary operation, double a, double b) {
  switch (operation) {
    case Binary::kAdd:
      return Value::real(a + b);
    case Binary::kSub:
      return Value::real(a - b);
    case Binary::kMul:
      return Value::real(a * b);
    default:
      break;
  }
  if (b == 0) fail("float division by zero");
  if (operation == Binary::kDiv) return Value::real(a / b);
  const double rest = float_modulo(a, b);
  if (operation == Binary::kMod) return Value::real(rest);
  const double quotient = (a - rest) / b;
  const double floored = std::floor(quotient);
  return Value::real(floored + (quotient - floored > 0.5 ? 1.0 : 0.0));
}

Value add_strings(Heap& heap, const Value& a, const Value& b) {
  const bool markup = a.string().markup || b.string().markup;
  const Value left = markup ? escape_html(heap, a) : a;
  const Value right = markup ? escape_html(heap, b) : b;
  heap.spend_bytes(left.text().size() + right.text().size());
  TextBuilder out(heap);
  out.append(left.string().text);
  out.append(right.string().text);
  return out.take(markup);
}

Value add_sequences(Heap& heap, const Sequence& a, const Sequence& b) {
  const std::size_t count = a.items.size() + b.items.size();
  heap.spend(count);
  heap.expect(count, sizeof(Value));
  std::vector<Value> items = a.items;
  items.insert(items.end(), b.items.begin(), b.items.end());
  return make_sequence(heap, a.flavor, std::move(items));
}

/// Whether both values are lists, or both are tuples.
bool are_alike(const Value& a, const Value& b) {
  return a.is_sequence(Flavor::kTuple) && b.is_flavor(a.as<Sequence>().flavor);
}

Value add(Heap& heap, const Value& a, const Value& b) {
  if (a.is_string() && b.is_string()) return add_strings(heap, a, b);
  if (are_alike(a, b)) return add_sequences(heap, a.as<Sequence>(), b.as<Sequence>());
  if (a.is_string() && !b.is_undefined()) {
    fail(cat("can only concatenate str (not \"", type_name(b), "\") to str"));
  }
  refuse("+", a, b);
}

Value repeat(Heap& heap, const Value& value, std::int64_t times) {
  const auto count = to_size(std::max<std::int64_t>(times, 0));
  if (value.is_string()) {
    const MarkedText& text = value.string().text;
    heap.expect(count, text.bytes.size() + text.own.size() * sizeof(TextSpan));
    heap.spend_bytes(count * text.bytes.size());
    heap.spend(count / 8);  // each is appended by itself
    TextBuilder out(heap);
    for (std::size_t i = 0; i < count && !text.bytes.empty(); ++i) out.append(text);
    return out.take(value.string().markup);
  }
  const auto& sequence = value.as<Sequence>();
  heap.expect(count, sequence.items.size() * sizeof(Value));
  heap.spend(count * sequence.items.size());
  std::vector<Value> items;
  for (std::size_t i = 0; i < count && !sequence.items.empty(); ++i) {
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  }
  return make_sequence(heap, sequence.flavor, std::move(items));
}

bool can_repeat(const Value& value) {
  return value.is_string() || value.is_sequence(Flavor::kTuple);
}

}  // namespace

Value binary(Environment& environment, Binary operation, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (operation == Binary::kPow) return power(a, b);
    if (a.is_integer() && b.is_integer()) return int_arithmetic(operation, a.as_int(), b.as_int());
    return float_arithmetic(operation, a.as_float(), b.as_float());
  }
  Heap& heap = environment.heap;
  if (operation == Binary::kAdd) return add(heap, a, b);
  if (operation == Binary::kMul && can_repeat(a) && b.is_integer()) {
    return repeat(heap, a, b.as_int());
  }
  if (operation == Binary::kMul && can_repeat(b) && a.is_integer()) {
    return repeat(heap, b, a.as_int());
  }
  if (operation == Binary::kMod && a.is_string()) return format_percent(environment, a, b);
  refuse(at(kSymbols, operation), a, b);
}

Value negate(const Value& value) {
  expect_defined(value);
  if (value.kind() == Kind::kFloat) return Value::real(-value.as_float());
  if (!value.is_integer()) fail(cat("bad operand type for unary -: '", type_name(value), "'"));
  if (value.as_int() == INT64_MIN) overflow();
  return Value::integer(-value.as_int());
}

Value plus(const Value& value) {
  expect_defined(value);
  if (!value.is_number()) fail(cat("bad operand type for unary +: '", type_name(value), "'"));
  return value.is_integer() ? Value::integer(value.as_int()) : value;
}

Value concatenate(Heap& heap, const Value* begin, const Value* end) {
  TextBuilder out(heap);
  for (const Value* value = begin; value != end; ++value) print(*value, out);
  heap.spend_bytes(out.size());
  return out.take();
}

namespace {

/// a < b for a float and an integer, exactly.
bool is_less_mixed(const Value& a, const Value& b) {
  return static_cast<long double>(a.is_integer() ? static_cast<long double>(a.as_int())
                                                 : static_cast<long double>(a.as_float())) <
         (b.is_integer() ? static_cast<long double>(b.as_int())
                         : static_cast<long double>(b.as_float()));
}

bool is_less_for(Heap& heap, Compare asked, const Value& a, const Value& b) {
  heap.spend(1);
  if (a.is_number() && b.is_number()) return is_less_mixed(a, b);
  if (a.is_string() && b.is_string()) {
    heap.spend_bytes(std::min(a.text().size(), b.text().size()));
    return a.text() < b.text();
  }
  if (are_alike(a, b)) {
    const auto& left = a.as<Sequence>().items;
    const auto& right = b.as<Sequence>().items;
    for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
      if (!is_equal(left[i], right[i])) return is_less_for(heap, asked, left[i], right[i]);
    }
    return left.size() < right.size();
  }
  expect_defined(a);
  expect_defined(b);
  fail(cat("'", at(kComparisons, asked), "' not supported between instances of '", type_name(a),
           "' and '", type_name(b), "'"));
}

bool is_nan(const Value& value) {
  return value.kind() == Kind::kFloat && std::isnan(value.as_float());
}

}  // namespace

bool is_less(Heap& heap, const Value& a, const Value& b) {
  return is_less_for(heap, Compare::kLt, a, b);
}

bool compare(Heap& heap, Compare operation, const Value& a, const Value& b) {
  const bool ordered = !is_nan(a) && !is_nan(b);
  switch (operation) {
    case Compare::kEq:
      return is_equal(a, b);
    case Compare::kNe:
      return !is_equal(a, b);
    case Compare::kLt:
      return is_less_for(heap, operation, a, b);
    case Compare::kGt:
      return is_less_for(heap, operation, b, a);
    case Compare::kLe:
      return !is_less_for(heap, operation, b, a) && ordered;
    case Compare::kGe:
      return !is_less_for(heap, operation, a, b) && ordered;
    case Compare::kIn:
      return contains(heap, b, a);
    case Compare::kNotIn:
      return !contains(heap, b, a);
  }
  return false;
}

bool contains(Heap& heap, const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string()) {
      expect_defined(item);
      fail(cat("'in <string>' requires string as left operand, not ", type_name(item)));
    }
    heap.spend_search(container.text().size(), item.text().size());
    return container.text().find(item.text()) != std::string_view::npos;
  }
  if (container.kind() == Kind::kDict) return container.as<Dict>().find(item) != nullptr;
  if (container.kind() == Kind::kSequence) {
    const auto& items = container.as<Sequence>().items;
    return std::any_of(items.begin(), items.end(), [&](const Value& v) {
      heap.spend(1);
      return is_equal(v, item);
    });
  }
  if (container.is_undefined()) return false;
  fail(cat("argument of type '", type_name(container), "' is not iterable"));
}

Value escape_html(Heap& heap, const Value& value) {
  if (value.is_string() && value.string().markup) return value;
  const Value string = to_string(heap, value);
  const MarkedText& text = string.string().text;
  heap.spend_bytes(text.bytes.size());
  TextBuilder out(heap);
  const auto escape = [](char32_t code) {
    constexpr std::string_view kSpecial = "&<>\"'";
    constexpr std::string_view kEscapes[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
    const std::size_t i = code < 0x80 ? kSpecial.find(static_cast<char>(code)) : kSpecial.npos;
    return i == kSpecial.npos ? std::string_view() : kEscapes[i];
  };
  append_escaped(text, escape, out);
  return out.take(true);
}

}  // namespace ingot::jinja
