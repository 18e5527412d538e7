// Attribute access, subscripts, slices and iteration of template values.
#include <algorithm>
#include <array>

#include "base/index.h"
#include "base/text.h"
#include "text/jinja/operators.h"
#include "text/jinja/strings.h"

namespace ingot::jinja {

namespace {

/// Attributes of Python's objects that Jinja's sandbox hides.
bool is_hidden(std::string_view name) { return name.starts_with("__") && name.ends_with("__"); }

/// The attribute `name` of a loop; nothing if it has none of this name.
std::optional<Value> loop_attribute(const Loop& loop, std::string_view name) {
  const auto count = static_cast<std::int64_t>(loop.items.size());
  const auto index = static_cast<std::int64_t>(loop.next) - 1;
  const std::array<std::pair<std::string_view, std::int64_t>, 7> numbers = {
      {{"index", index + 1},
       {"index0", index},
       {"revindex", count - index},
       {"revindex0", count - index - 1},
       {"length", count},
       {"depth", loop.nesting + 1},
       {"depth0", loop.nesting}}};
  for (const auto& [known, number] : numbers) {
    if (name == known) return Value::integer(number);
  }
  if (name == "first") return Value::boolean(index == 0);
  if (name == "last") return Value::boolean(index + 1 == count);
  const bool previous = name == "previtem";
  if (!previous && name != "nextitem") return std::nullopt;
  const std::int64_t at = previous ? index - 1 : index + 1;
  if (at >= 0 && at < count) return loop.items[to_size(at)];
  const std::string_view why = previous ? "there is no previous item" : "loop has no nextitem";
  return Value::undefined(Missing::kText, make_string(loop.heap(), why));
}

std::optional<Value> copy_of(const Value* member) {
  return member == nullptr ? std::nullopt : std::optional(*member);
}

/// Python's getattr(); nothing if there is no such attribute.
std::optional<Value> find_attribute(Heap& heap, const Value& value, const Value& name) {
  const std::string_view text = name.text();
  if (is_hidden(text)) return Value::undefined(Missing::kUnsafe, name, value);
  if (value.kind() == Kind::kNamespace) return copy_of(value.as<Dict>().find(text));
  if (value.kind() == Kind::kLoop) {
    if (auto found = loop_attribute(value.as<Loop>(), text)) return found;
  }
  if (value.kind() == Kind::kCycler && text == "current") {
    const auto& cycler = value.as<Cycler>();
    return cycler.items[cycler.at];
  }
  const MethodInfo* method = find_method(value, text);
  if (method == nullptr) return std::nullopt;
  if (method->call == nullptr) return Value::undefined(Missing::kUnsafe, name, value);
  return Value(new Method(heap, *method, value));
}

/// The place of index `i` among `size` elements; a negative `i` counts from the end.
std::optional<std::size_t> place(std::int64_t i, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (i < -count || i >= count) return std::nullopt;
  return to_size(i < 0 ? i + count : i);
}

Value character(const String& string, std::size_t index) {
  const std::size_t begin = string.offset(index);
  const std::size_t size = decode_utf8(std::string_view(string.text.bytes).substr(begin)).size;
  return part_of(string, begin, begin + size);
}

/// Python's value[key]; nothing if there is no such element.
std::optional<Value> find_item(const Value& value, const Value& key) {
  if (value.kind() == Kind::kDict) {
    const bool is_list =
        key.is_sequence() && !key.is_flavor(Flavor::kTuple) && !key.is_flavor(Flavor::kRange);
    if (is_list || key.kind() == Kind::kDict) return std::nullopt;
    return copy_of(value.as<Dict>().find(key));
  }
  if (!key.is_integer()) return std::nullopt;
  if (value.is_string()) {
    const auto at = place(key.as_int(), value.string().length());
    return at ? std::optional(character(value.string(), *at)) : std::nullopt;
  }
  if (!value.is_sequence(Flavor::kRange)) return std::nullopt;
  const auto& items = value.as<Sequence>().items;
  const auto at = place(key.as_int(), items.size());
  return at ? std::optional(items[*at]) : std::nullopt;
}

}  // namespace

Value attribute(Heap& heap, const Value& value, const Value& name) {
  expect_defined(value);
  if (auto found = find_attribute(heap, value, name)) return *found;
  if (auto found = find_item(value, name)) return *found;
  return Value::undefined(Missing::kAttribute, name, value);
}

Value item(Heap& heap, const Value& value, const Value& key) {
  expect_defined(value);
  if (auto found = find_item(value, key)) return *found;
  if (key.is_string()) {
    if (auto found = find_attribute(heap, value, key)) return *found;
    return Value::undefined(Missing::kAttribute, key, value);
  }
  const std::string name = key.is_integer() ? cat(key.as_int()) : std::string(type_name(key));
  return Value::undefined(Missing::kElement, make_string(heap, name), value);
}

namespace {

/// Python's slice.indices(): the first index, the step, and the number of indices.
struct Stretch {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::size_t count = 0;
};

std::optional<std::int64_t> bound(const Value& value) {
  if (value.is_none()) return std::nullopt;
  expect_defined(value);
  if (!value.is_integer()) fail("slice indices must be integers or None");
  return value.as_int();
}

/// A slice bound, clamped to [low, high]; a negative bound counts from the end.
std::int64_t clamped(std::int64_t at, std::int64_t size, std::int64_t low, std::int64_t high) {
  return std::clamp(at < 0 && at >= -size ? at + size : (at < 0 ? low : at), low, high);
}

Stretch stretch(const Value& start, const Value& stop, const Value& step, std::size_t count) {
  const std::int64_t by = bound(step).value_or(1);
  if (by == 0) fail("slice step cannot be zero");
  const auto size = static_cast<std::int64_t>(count);
  const std::int64_t low = by < 0 ? -1 : 0;
  const std::int64_t high = by < 0 ? size - 1 : size;
  const auto given_start = bound(start);
  const auto given_stop = bound(stop);
  const std::int64_t begin =
      given_start ? clamped(*given_start, size, low, high) : (by < 0 ? high : low);
  const std::int64_t end =
      given_stop ? clamped(*given_stop, size, low, high) : (by < 0 ? low : high);
  const std::int64_t span = by < 0 ? begin - end : end - begin;
  if (span <= 0) return {begin, by, 0};
  const std::uint64_t stride =
      by < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(by) : static_cast<std::uint64_t>(by);
  return {begin, by, (static_cast<std::uint64_t>(span) - 1) / stride + 1};
}

Value slice_string(Heap& heap, const String& string, const Stretch& s) {
  heap.spend_bytes(string.text.bytes.size());
  if (s.step == 1 && s.count > 0) {
    const auto start = to_size(s.start);
    return part_of(string, string.offset(start), string.offset(start + s.count));
  }
  TextBuilder out(heap);
  heap.spend(s.count);
  std::vector<std::uint32_t> offsets;  // byte offset of each code point, then the end
  heap.expect(string.length() + 1, sizeof offsets[0]);
  for (std::size_t at = 0; at < string.text.bytes.size();) {
    offsets.push_back(static_cast<std::uint32_t>(at));
    at += decode_utf8(std::string_view(string.text.bytes).substr(at)).size;
  }
  offsets.push_back(static_cast<std::uint32_t>(string.text.bytes.size()));
  std::int64_t at = s.start;
  for (std::size_t i = 0; i < s.count; ++i, at += i < s.count ? s.step : 0) {
    const auto index = to_size(at);
    out.append(string.text, offsets[index], offsets[index + 1]);
  }
  return out.take(string.markup);
}

}  // namespace

Value slice(Heap& heap, const Value& value, const Value& start, const Value& stop,
            const Value& step) {
  expect_defined(value);
  if (value.is_string()) {
    return slice_string(heap, value.string(), stretch(start, stop, step, value.string().length()));
  }
  if (!value.is_sequence(Flavor::kRange)) {
    fail(cat("'", type_name(value), "' object cannot be sliced"));
  }
  const auto& sequence = value.as<Sequence>();
  const Stretch s = stretch(start, stop, step, sequence.items.size());
  std::vector<Value> items = room_for(heap, s.count);
  std::int64_t at = s.start;
  for (std::size_t i = 0; i < s.count; ++i, at += i < s.count ? s.step : 0) {
    items.push_back(sequence.items[to_size(at)]);
  }
  return make_sequence(heap, sequence.flavor, std::move(items));
}

namespace {

std::vector<Value> characters(Heap& heap, const String& string) {
  heap.spend(string.length());
  heap.expect(string.length(), sizeof(Value) + sizeof(String));
  std::vector<Value> items;
  for (std::size_t at = 0; at < string.text.bytes.size();) {
    const std::size_t size = decode_utf8(std::string_view(string.text.bytes).substr(at)).size;
    MarkedText text;
    text.append(string.text, at, at + size);
    items.push_back(make_string(heap, std::move(text)));
    at += size;
  }
  return items;
}

}  // namespace

std::vector<Value> iterate(Heap& heap, const Value& value) {
  if (value.is_undefined()) return {};
  if (value.is_string()) return characters(heap, value.string());
  if (value.kind() == Kind::kDict) {
    const auto& entries = value.as<Dict>().entries;
    std::vector<Value> keys = room_for(heap, entries.size());
    for (const auto& [key, member] : entries) keys.push_back(key);
    return keys;
  }
  if (value.kind() != Kind::kSequence) fail(cat("'", type_name(value), "' object is not iterable"));
  auto& sequence = value.as<Sequence>();
  heap.spend(sequence.items.size());
  if (sequence.flavor == Flavor::kGenerator) return std::exchange(sequence.items, {});
  heap.expect(sequence.items.size(), sizeof(Value));
  return sequence.items;
}

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.is_string() || value.kind() == Kind::kDict ||
         value.kind() == Kind::kSequence || value.kind() == Kind::kLoop;
}

std::int64_t length(Heap& heap, const Value& value) {
  heap.spend(1);
  if (value.is_undefined()) return 0;
  if (value.is_string()) return static_cast<std::int64_t>(value.string().length());
  if (value.kind() == Kind::kDict) return std::ssize(value.as<Dict>().entries);
  if (value.kind() == Kind::kLoop) return std::ssize(value.as<Loop>().items);
  if (!value.is_sequence(Flavor::kItems))
    fail(cat("object of type '", type_name(value), "' has no len()"));
  return std::ssize(value.as<Sequence>().items);
}

}  // namespace ingot::jinja
