// Operators, subscripts and iteration over values.
#pragma once

#include <cstddef>
#include <vector>

#include "text/jinja/code.h"
#include "text/jinja/library.h"
#include "text/jinja/value.h"

namespace ingot::jinja {

/// a + b, a % b and so on. Errors: RunError, also where an integer leaves 64 bits.
Value binary(Environment& environment, Binary operation, const Value& a, const Value& b);
Value negate(const Value& value);
Value plus(const Value& value);
/// str(a) + str(b) + ...
Value concatenate(Heap& heap, const Value* begin, const Value* end);

/// a == b, a in b and so on. Errors: RunError for kinds without order, or that are not containers.
bool compare(Heap& heap, Compare operation, const Value& a, const Value& b);
/// a < b. Errors: RunError for kinds without order.
bool is_less(Heap& heap, const Value& a, const Value& b);
/// Whether `item` is in `container`.
bool contains(Heap& heap, const Value& container, const Value& item);

/// value.name (tries methods first) and value["name"] (tries elements first). Undefined when
/// neither exists. `name` is a string.
Value attribute(Heap& heap, const Value& value, const Value& name);
Value item(Heap& heap, const Value& value, const Value& key);
/// value[start:stop:step]; None where a bound is absent.
Value slice(Heap& heap, const Value& value, const Value& start, const Value& stop,
            const Value& step);

/// The items of a for loop over the value; empties a generator.
std::vector<Value> iterate(Heap& heap, const Value& value);
/// len(value).
std::int64_t length(Heap& heap, const Value& value);
bool is_iterable(const Value& value);

/// The text of `value` with HTML's special characters escaped, as markup; markup stays unchanged.
Value escape_html(Heap& heap, const Value& value);

}  // namespace ingot::jinja
