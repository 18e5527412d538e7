// Jinja filters on sequences and dicts: sort, unique, groupby, batch, dictsort, ...
#include <algorithm>

#include "base/index.h"
#include "base/text.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/strings.h"

namespace ingot::jinja {

Value follow(Heap& heap, const Value& value, const Value* path) {
  if (path == nullptr) return value;
  if (!path->is_string()) return item(heap, value, *path);
  Value at = value;
  const std::string_view dot = ".";
  for (const Value& step : split(path->string(), &dot, -1, false)) {
    const std::string_view text = step.text();
    const bool is_index = !text.empty() && text.size() < 10 &&
                          text.find_first_not_of("0123456789") == std::string_view::npos;
    std::int64_t index = 0;
    for (const char c : text) index = is_index ? index * 10 + (c - '0') : 0;
    at = item(heap, at, is_index ? Value::integer(index) : step);
  }
  return at;
}

Value filter_items(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("items", arguments, {});
  if (value.is_undefined()) return make_sequence(env.heap, Flavor::kGenerator, {});
  if (value.kind() != Kind::kDict) fail("can only get item pairs from a mapping");
  std::vector<Value> pairs;
  for (const auto& [key, member] : value.as<Dict>().entries) {
    env.heap.spend(1);
    pairs.push_back(make_sequence(env.heap, Flavor::kTuple, {key, member}));
  }
  return make_sequence(env.heap, Flavor::kGenerator, std::move(pairs));
}

namespace {

/// The key to sort `value` by: a string in lower case, unless case matters.
Value sort_key(Heap& heap, const Value& value, const Value* path, bool case_sensitive) {
  Value key = follow(heap, value, path);
  if (case_sensitive || !key.is_string()) return key;
  return change_case(key.string(), Casing::kLower);
}

struct Keyed {
  Value key;
  Value value;
};

/// Sorts by keys. The sort is stable, also in reverse.
void sort_keyed(Heap& heap, std::vector<Keyed>& items, bool reverse) {
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return reverse ? is_less(heap, b.key, a.key) : is_less(heap, a.key, b.key);
  });
}

Value values_of(Heap& heap, std::vector<Keyed>&& items, Flavor flavor) {
  std::vector<Value> values;
  values.reserve(items.size());
  for (Keyed& item : items) values.push_back(std::move(item.value));
  return make_sequence(heap, flavor, std::move(values));
}

Value nothing(Heap& heap, std::string_view what) {
  return Value::undefined(Missing::kText, make_string(heap, what));
}

template <bool wants_max>
Value extreme(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p(wants_max ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  std::vector<Value> items = iterate(env.heap, value);
  if (items.empty()) return nothing(env.heap, "no aggregated item, sequence was empty");
  std::size_t best = 0;
  Value best_key = sort_key(env.heap, items[0], p.some(1), p.flag(0, false));
  for (std::size_t i = 1; i < items.size(); ++i) {
    Value key = sort_key(env.heap, items[i], p.some(1), p.flag(0, false));
    if (!(wants_max ? is_less(env.heap, best_key, key) : is_less(env.heap, key, best_key))) {
      continue;
    }
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

Value filter_batch(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("batch", arguments, {"linecount", "fill_with"}, 1);
  const std::int64_t size = p.integer(0, 1);
  if (size <= 0) fail("batch(): the number of items must be at least 1");
  const auto count = to_size(size);
  std::vector<Value> all = iterate(env.heap, value);
  std::vector<Value> rows;
  for (std::size_t at = 0; at < all.size(); at += std::min(count, all.size() - at)) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<Value> row(begin,
                           begin + static_cast<std::ptrdiff_t>(std::min(count, all.size() - at)));
    if (p.some(1) != nullptr && row.size() < count) {
      env.heap.expect(count, sizeof(Value));
      env.heap.spend(count);
      row.resize(count, *p[1]);
    }
    rows.push_back(make_sequence(env.heap, Flavor::kList, std::move(row)));
  }
  return make_sequence(env.heap, Flavor::kGenerator, std::move(rows));
}

Value filter_slice(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("slice", arguments, {"slices", "fill_with"}, 1);
  const std::int64_t wanted = p.integer(0, 1);
  if (wanted <= 0) fail("slice(): the number of slices must be at least 1");
  const auto slices = to_size(wanted);
  const std::vector<Value> all = iterate(env.heap, value);
  env.heap.spend(slices);
  env.heap.expect(slices, sizeof(Sequence));
  std::vector<Value> columns;
  auto at = all.begin();
  for (std::size_t i = 0; i < slices; ++i) {
    const bool has_extra = i < all.size() % slices;
    const auto end = at + static_cast<std::ptrdiff_t>(all.size() / slices + (has_extra ? 1 : 0));
    std::vector<Value> column(at, end);
    if (p.some(1) != nullptr && !has_extra) column.push_back(*p[1]);
    columns.push_back(make_sequence(env.heap, Flavor::kList, std::move(column)));
    at = end;
  }
  return make_sequence(env.heap, Flavor::kGenerator, std::move(columns));
}

Value filter_dictsort(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string_view by = p.text(1).value_or("key");
  if (by != "key" && by != "value") fail("dictsort(): you can only sort by either key or value");
  expect_defined(value);
  if (value.kind() != Kind::kDict) {
    fail(cat("'", type_name(value), " object' has no attribute 'items'"));
  }
  std::vector<Keyed> items;
  for (const auto& [key, member] : value.as<Dict>().entries) {
    items.push_back({sort_key(env.heap, by == "key" ? key : member, nullptr, p.flag(0, false)),
                     make_sequence(env.heap, Flavor::kTuple, {key, member})});
  }
  sort_keyed(env.heap, items, p.flag(2, false));
  return values_of(env.heap, std::move(items), Flavor::kList);
}

Value filter_first(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("first", arguments, {});
  if (value.is_string() && value.string().length() > 0) {
    return item(env.heap, value, Value::integer(0));
  }
  const std::vector<Value> items = iterate(env.heap, value);
  return items.empty() ? nothing(env.heap, "no first item, sequence was empty") : items.front();
}

Value filter_last(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("last", arguments, {});
  if (value.is_string() && value.string().length() > 0) {
    return item(env.heap, value, Value::integer(-1));
  }
  if (value.is_flavor(Flavor::kGenerator)) fail("'generator' object is not reversible");
  const std::vector<Value> items = iterate(env.heap, value);
  return items.empty() ? nothing(env.heap, "no last item, sequence was empty") : items.back();
}

Value filter_join(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("join", arguments, {"d", "attribute"});
  std::vector<Value> parts = iterate(env.heap, value);
  for (Value& part : parts) part = follow(env.heap, part, p.some(1));
  const Value separator =
      p[0] == nullptr ? make_string(env.heap, std::string_view()) : to_string(env.heap, *p[0]);
  return join(env.heap, separator, parts);
}

Value filter_length(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("length", arguments, {});
  return Value::integer(length(env.heap, value));
}

Value filter_list(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("list", arguments, {});
  return make_sequence(env.heap, Flavor::kList, iterate(env.heap, value));
}

Value filter_reverse(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters none("reverse", arguments, {});
  if (value.is_string()) return slice(env.heap, value, {}, {}, Value::integer(-1));
  std::vector<Value> items = iterate(env.heap, value);
  std::reverse(items.begin(), items.end());
  const bool was_generator = value.is_flavor(Flavor::kGenerator);
  return make_sequence(env.heap, was_generator ? Flavor::kList : Flavor::kGenerator,
                       std::move(items));
}

Value filter_sort(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<Value> paths;
  const std::string_view comma = ",";
  if (p.some(2) != nullptr) {
    paths =
        p[2]->is_string() ? split(p[2]->string(), &comma, -1, false) : std::vector<Value>{*p[2]};
  }
  std::vector<Keyed> items;
  for (Value& entry : iterate(env.heap, value)) {
    // A list of keys, which compares by what is equal first: undefined ones have no order.
    std::vector<Value> keys;
    if (paths.empty()) keys.push_back(sort_key(env.heap, entry, nullptr, p.flag(1, false)));
    for (const Value& path : paths) {
      keys.push_back(sort_key(env.heap, entry, &path, p.flag(1, false)));
    }
    Value key = make_sequence(env.heap, Flavor::kList, std::move(keys));
    items.push_back({std::move(key), std::move(entry)});
  }
  sort_keyed(env.heap, items, p.flag(0, false));
  return values_of(env.heap, std::move(items), Flavor::kList);
}

Value filter_sum(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("sum", arguments, {"attribute", "start"});
  Value total = p[1] == nullptr ? Value::integer(0) : *p[1];
  if (total.is_string()) fail("sum(): strings are joined with join");
  for (const Value& entry : iterate(env.heap, value)) {
    total = binary(env, Binary::kAdd, total, follow(env.heap, entry, p.some(0)));
  }
  return total;
}

Value filter_unique(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("unique", arguments, {"case_sensitive", "attribute"});
  Value seen(new Dict(env.heap));
  std::vector<Value> items;
  for (Value& entry : iterate(env.heap, value)) {
    const Value key = sort_key(env.heap, entry, p.some(1), p.flag(0, false));
    if (seen.as<Dict>().find(key) != nullptr) continue;
    seen.as<Dict>().set(key, {});
    items.push_back(std::move(entry));
  }
  return make_sequence(env.heap, Flavor::kGenerator, std::move(items));
}

constexpr FilterInfo kSequenceFilters[] = {
    {"batch", filter_batch},   {"count", filter_length},  {"dictsort", filter_dictsort},
    {"first", filter_first},   {"items", filter_items},   {"join", filter_join},
    {"last", filter_last},     {"length", filter_length}, {"list", filter_list},
    {"max", extreme<true>},    {"min", extreme<false>},   {"reverse", filter_reverse},
    {"slice", filter_slice},   {"sort", filter_sort},     {"sum", filter_sum},
    {"unique", filter_unique},
};

}  // namespace

std::span<const FilterInfo> sequence_filters() { return kSequenceFilters; }

}  // namespace ingot::jinja
