// What operators, subscripts and loops do with values.
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

/// a == b, a in b and so on. Errors: RunError for kinds that have no order, or hold nothing.
bool compare(Heap& heap, Compare operation, const Value& a, const Value& b);
/// a < b. Errors: RunError for kinds that have no order.
bool is_less(Heap& heap, const Value& a, const Value& b);
/// Whether `item` is in `container`.
bool contains(Heap& heap, const Value& container, const Value& item);

/// value.name and value["name"], which differ in what they try first: methods or elements.
/// Undefined when there is none. `name` is a string.
Value attribute(Heap& heap, const Value& value, const Value& name);
Value item(Heap& heap, const Value& value, const Value& key);
/// value[start:stop:step]; None where a bound is absent.
Value slice(Heap& heap, const Value& value, const Value& start, const Value& stop,
            const Value& step);

/// What a for loop over the value runs over; empties a generator.
std::vector<Value> iterate(Heap& heap, const Value& value);
/// len(value).
std::int64_t length(Heap& heap, const Value& value);
bool is_iterable(const Value& value);

/// `text` with HTML's special characters escaped, as markup; markup stays as it is.
Value escape_html(Heap& heap, const Value& value);

}  // namespace ingot::jinja
