// Tables of Jinja filters: on texts, on sequences, and filters that apply other filters.
#pragma once

#include <span>

#include "text/jinja/library.h"

namespace ingot::jinja {

/// Returns the table of filters on texts.
std::span<const FilterInfo> text_filters();
/// Returns the table of filters on sequences and dicts.
std::span<const FilterInfo> sequence_filters();
/// Returns the table of filters that apply another filter or a test to each item.
std::span<const FilterInfo> select_filters();

/// Returns the value at a path: value.a.b.0 for "a.b.0", value[i] for an int i, `value` for null.
Value follow(Heap& heap, const Value& value, const Value* path);

/// The filter `items`. Returns a generator of a dict's (key, value) pairs.
Value filter_items(Environment& environment, const Value& value, const Arguments& arguments);

}  // namespace ingot::jinja
