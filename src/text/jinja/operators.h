// Operators, comparisons, subscripts and iteration over template values, as in Python.
#pragma once

#include <cstddef>
#include <vector>

#include "text/jinja/code.h"
#include "text/jinja/library.h"
#include "text/jinja/value.h"

namespace ingot::jinja {

/// Returns a + b, a % b, ... Errors: RunError for wrong types or a result beyond 64 bits.
Value binary(Environment& environment, Binary operation, const Value& a, const Value& b);
Value negate(const Value& value);
Value plus(const Value& value);
/// Joins the texts of the values [begin, end): str(a) + str(b) + ...
Value concatenate(Heap& heap, const Value* begin, const Value* end);

/// Returns a == b, a in b, ... Errors: RunError for types that cannot be compared in this way.
bool compare(Heap& heap, Compare operation, const Value& a, const Value& b);
/// Whether a < b. Errors: RunError for types without order.
bool is_less(Heap& heap, const Value& a, const Value& b);
/// Whether `item` is in `container`.
bool contains(Heap& heap, const Value& container, const Value& item);

/// `attribute` returns value.name: the attribute or else the element. `item` returns value[key]:
/// the element or else the attribute. Both return undefined if neither exists. `name`: a string.
Value attribute(Heap& heap, const Value& value, const Value& name);
Value item(Heap& heap, const Value& value, const Value& key);
/// Returns value[start:stop:step]; an absent `start`, `stop` or `step` is None.
Value slice(Heap& heap, const Value& value, const Value& start, const Value& stop,
            const Value& step);

/// Returns the elements that a for loop over `value` visits. If `value` is a generator, empties it.
std::vector<Value> iterate(Heap& heap, const Value& value);
/// Returns Python's len(value).
std::int64_t length(Heap& heap, const Value& value);
bool is_iterable(const Value& value);

/// Returns the text of `value` with &, <, > and quotes escaped for HTML. Returns markup unchanged.
Value escape_html(Heap& heap, const Value& value);

}  // namespace ingot::jinja
