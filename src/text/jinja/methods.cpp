// Methods of lists, dicts, loops and cyclers, and the lookup of a value's methods.
#include <algorithm>
#include <iterator>

#include "base/index.h"
#include "base/text.h"
#include "text/jinja/library.h"
#include "text/jinja/operators.h"

namespace ingot::jinja {

namespace {

Value list_copy(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters none("copy", arguments, {});
  return make_sequence(env.heap, Flavor::kList, iterate(env.heap, self));
}

Value sequence_count(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("count", arguments, {"value"}, 1);
  const auto& items = self.as<Sequence>().items;
  env.heap.spend(items.size());
  return Value::integer(std::count_if(items.begin(), items.end(),
                                      [&](const Value& v) { return is_equal(v, *p[0]); }));
}

Value sequence_index(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("index", arguments, {"value", "start", "stop"}, 1);
  const auto& items = self.as<Sequence>().items;
  env.heap.spend(items.size());
  const std::int64_t size = std::ssize(items);
  const auto bounded = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t stop = bounded(p.integer(2, size));
  for (std::int64_t i = bounded(p.integer(1, 0)); i < stop; ++i) {
    if (is_equal(at(items, i), *p[0])) return Value::integer(i);
  }
  fail("index(): the value is not in the list");
}

Value list_pop(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters p("pop", arguments, {"index"});
  auto& items = self.as<Sequence>().items;
  const std::int64_t size = std::ssize(items);
  std::int64_t at = p.integer(0, -1);
  if (at < 0) at += size;
  if (size == 0) fail("pop from empty list");
  if (at < 0 || at >= size) fail("pop index out of range");
  const auto place = items.begin() + at;
  Value popped = std::move(*place);
  self.object()->heap().spend(static_cast<std::uint64_t>(size - at));
  items.erase(place);
  return popped;
}

Value list_clear(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters none("clear", arguments, {});
  self.as<Sequence>().items.clear();
  return {};
}

Value dict_get(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters p("get", arguments, {"key", "default"}, 1);
  if (const Value* found = self.as<Dict>().find(*p[0])) return *found;
  return p[1] == nullptr ? Value() : *p[1];
}

/// The keys, values or (key, value) pairs of a dict.
template <Flavor flavor>
Value dict_view(Environment& env, const Value& self, const Arguments& arguments) {
  constexpr std::string_view kName = flavor == Flavor::kItems  ? "items"
                                     : flavor == Flavor::kKeys ? "keys"
                                                               : "values";
  const Parameters none(kName, arguments, {});
  const auto& entries = self.as<Dict>().entries;
  std::vector<Value> items = room_for(env.heap, entries.size());
  for (const auto& [key, value] : entries) {
    if (flavor == Flavor::kItems) {
      items.push_back(make_sequence(env.heap, Flavor::kTuple, {key, value}));
    } else {
      items.push_back(flavor == Flavor::kKeys ? key : value);
    }
  }
  return make_sequence(env.heap, flavor, std::move(items));
}

Value dict_copy(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters none("copy", arguments, {});
  Value copy(new Dict(env.heap));
  for (const auto& [key, value] : self.as<Dict>().entries) {
    env.heap.spend(1);
    copy.as<Dict>().set(key, value);
  }
  return copy;
}

Value loop_cycle(Environment&, const Value& self, const Arguments& arguments) {
  const auto& loop = self.as<Loop>();
  if (arguments.positional.empty()) fail("no items for cycling given");
  const std::size_t at = loop.next > 0 ? loop.next - 1 : 0;
  return arguments.positional[at % arguments.positional.size()];
}

Value loop_changed(Environment& env, const Value& self, const Arguments& arguments) {
  auto& loop = self.as<Loop>();
  const Value values =
      make_sequence(env.heap, Flavor::kTuple, std::vector<Value>(arguments.positional));
  if (loop.last_changed.is_none()) {
    env.cyclic.push_back(self);
  } else if (is_equal(loop.last_changed, values)) {
    return Value::boolean(false);
  }
  loop.change(values);
  return Value::boolean(true);
}

Value cycler_next(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters none("next", arguments, {});
  auto& cycler = self.as<Cycler>();
  Value current = cycler.items[cycler.at];
  cycler.at = (cycler.at + 1) % cycler.items.size();
  return current;
}

Value cycler_reset(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters none("reset", arguments, {});
  self.as<Cycler>().at = 0;
  return {};
}

constexpr MethodInfo kListMethods[] = {
    {"append", nullptr}, {"clear", list_clear},     {"copy", list_copy}, {"count", sequence_count},
    {"extend", nullptr}, {"index", sequence_index}, {"insert", nullptr}, {"pop", list_pop},
    {"remove", nullptr}, {"reverse", nullptr},      {"sort", nullptr}};
constexpr MethodInfo kTupleMethods[] = {{"count", sequence_count}, {"index", sequence_index}};
constexpr MethodInfo kDictMethods[] = {{"clear", nullptr},
                                       {"copy", dict_copy},
                                       {"get", dict_get},
                                       {"items", dict_view<Flavor::kItems>},
                                       {"keys", dict_view<Flavor::kKeys>},
                                       {"pop", nullptr},
                                       {"popitem", nullptr},
                                       {"setdefault", nullptr},
                                       {"update", nullptr},
                                       {"values", dict_view<Flavor::kValues>}};
constexpr MethodInfo kLoopMethods[] = {{"changed", loop_changed}, {"cycle", loop_cycle}};
constexpr MethodInfo kCyclerMethods[] = {{"next", cycler_next}, {"reset", cycler_reset}};

std::span<const MethodInfo> methods_of(const Value& self) {
  switch (self.kind()) {
    case Kind::kString:
      return string_methods();
    case Kind::kSequence:
      if (self.is_flavor(Flavor::kList)) return kListMethods;
      if (self.is_sequence(Flavor::kRange)) return kTupleMethods;
      return {};
    case Kind::kDict:
      return kDictMethods;
    case Kind::kLoop:
      return kLoopMethods;
    case Kind::kCycler:
      return kCyclerMethods;
    default:
      return {};
  }
}

}  // namespace

const MethodInfo* find_method(const Value& self, std::string_view name) {
  return find_named(methods_of(self), name);
}

}  // namespace ingot::jinja
