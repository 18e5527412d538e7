// Tables of Jinja filters: on texts, on sequences, and filters that apply other filters.
#pragma once

#include <span>

#include "text/jinja/library.h"

namespace ingot::jinja {

/// Filters on texts.
std::span<const FilterInfo> text_filters();
/// Filters on sequences and dicts.
std::span<const FilterInfo> sequence_filters();
/// Filters that apply another filter or a test to each item.
std::span<const FilterInfo> select_filters();

/// Follows a path: "a.b.0" gives value.a.b.0, an integer i gives value[i], null gives `value`.
Value follow(Heap& heap, const Value& value, const Value* path);

/// The filter `items`: a generator of (key, value) pairs of a dict.
Value filter_items(Environment& environment, const Value& value, const Arguments& arguments);

}  // namespace ingot::jinja
