// Value: creates, compares, hashes and describes template values; errors for exceeded limits.
#include "text/jinja/value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "text/unicode/unicode_text.h"

namespace ingot::jinja {

namespace {

/// Python's type names, indexed by Kind; behind them those of sequences, indexed by Flavor.
constexpr std::array<std::string_view, 22> kTypeNames = {
    "NoneType",    "Undefined",   "bool",       "int",       "float", "function",
    "str",         "list",        "dict",       "Namespace", "Macro", "method",
    "LoopContext", "Cycler",      "Joiner",     "list",      "tuple", "range",
    "dict_keys",   "dict_values", "dict_items", "generator"};
constexpr std::size_t kFlavorNames = 15;

std::uint8_t type_index(const Value& value) {
  const auto kind = to_size(value.kind());
  if (value.kind() != Kind::kSequence) return static_cast<std::uint8_t>(kind);
  return static_cast<std::uint8_t>(kFlavorNames + to_size(value.as<Sequence>().flavor));
}

/// Most entries of a dict that are searched one by one; a larger dict uses hashes.
constexpr std::size_t kHashedFrom = 8;

}  // namespace

void fail(std::string message) { throw RunError{std::move(message)}; }

void Heap::out_of_steps() const {
  fail(cat("template budget: more than ", limits_.steps_max, " steps"));
}

void Heap::out_of_memory() const {
  fail(cat("template budget: more than ", limits_.memory_bytes_max, " bytes of values"));
}

void Object::hold(int depth) {
  if (depth >= kValueDepthMax) fail(cat("values are nested deeper than ", kValueDepthMax));
  depth_ = std::max(depth_, depth + 1);
}

Value Value::undefined(Missing why, const Value& name, const Value& owner) {
  Value v(Kind::kUndefined, {.object = name.is_string() ? name.object() : nullptr});
  v.why_ = why;
  v.owner_ = type_index(owner);
  v.retain();
  return v;
}

void Value::swap(Value& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(why_, other.why_);
  std::swap(owner_, other.owner_);
  std::swap(payload_, other.payload_);
}

bool Value::is_sequence(Flavor last) const {
  return kind_ == Kind::kSequence && as<Sequence>().flavor <= last;
}

bool Value::is_flavor(Flavor flavor) const {
  return kind_ == Kind::kSequence && as<Sequence>().flavor == flavor;
}

std::string_view Value::text() const { return string().text.bytes; }

std::string_view Value::missing_owner() const { return kTypeNames[owner_]; }

std::string_view Value::missing_name() const {
  if (payload_.object == nullptr) return {};
  return static_cast<const String*>(payload_.object)->text.bytes;
}

String::String(Heap& heap, MarkedText&& marked, bool is_markup)
    : Object(heap, Kind::kString,
             sizeof(String) + marked.bytes.size() + marked.own.size() * sizeof(TextSpan)),
      text(std::move(marked)),
      markup(is_markup) {}

std::size_t String::length() const {
  if (length_ == SIZE_MAX) length_ = count_characters(text.bytes);
  return length_;
}

std::size_t String::offset(std::size_t index) const {
  if (is_ascii() || index == 0) return std::min(index, text.bytes.size());
  heap().spend_bytes(std::min(index * 4, text.bytes.size()));
  std::size_t at = 0;
  for (; index > 0 && at < text.bytes.size(); --index) {
    do {
      ++at;
    } while (at < text.bytes.size() && continues_character(text.bytes[at]));
  }
  return at;
}

namespace {

int deepest(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth;
}

}  // namespace

Sequence::Sequence(Heap& heap, Flavor sequence_flavor, std::vector<Value>&& values)
    : Object(heap, Kind::kSequence, sizeof(Sequence) + values.size() * sizeof(Value)),
      flavor(sequence_flavor),
      items(std::move(values)) {
  hold(deepest(items));
}

Loop::Loop(Heap& heap, std::vector<Value>&& loop_items, int loop_depth)
    : Object(heap, Kind::kLoop, sizeof(Loop) + loop_items.size() * sizeof(Value)),
      items(std::move(loop_items)),
      nesting(loop_depth) {
  hold(deepest(items));
}

Cycler::Cycler(Heap& heap, std::vector<Value>&& cycle)
    : Object(heap, Kind::kCycler, sizeof(Cycler) + cycle.size() * sizeof(Value)),
      items(std::move(cycle)) {
  hold(deepest(items));
}

template <class Equal>
const Value* Dict::find_hashed(std::size_t hash, const Equal& equal) const {
  if (entries.size() <= kHashedFrom) {
    for (const auto& [key, value] : entries) {
      if (equal(key)) return &value;
    }
    return nullptr;
  }
  const auto [begin, end] = places_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    heap().spend(1);
    if (equal(entries[at->second].first)) return &entries[at->second].second;
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  const std::size_t hash =
      entries.size() > kHashedFrom ? std::hash<std::string_view>{}(key) : std::size_t{0};
  return find_hashed(hash, [&](const Value& k) { return k.is_string() && k.text() == key; });
}

const Value* Dict::find(const Value& key) const {
  if (key.is_string()) return find(key.text());
  return find_hashed(hash_of(key), [&](const Value& k) { return is_equal(k, key); });
}

void Dict::set(const Value& key, const Value& value) {
  const std::size_t hash = hash_of(key);
  hold(std::max(key.depth(), value.depth()));
  if (const Value* old = find(key)) {
    *const_cast<Value*>(old) = value;
    return;
  }
  constexpr std::size_t kEntryBytes = sizeof(entries[0]) + 4 * sizeof(void*);
  charge(kEntryBytes);
  entries.emplace_back(key, value);
  if (entries.size() == kHashedFrom + 1) {
    for (std::size_t i = 0; i < kHashedFrom; ++i) places_.emplace(hash_of(entries[i].first), i);
  }
  if (entries.size() > kHashedFrom) places_.emplace(hash, entries.size() - 1);
}

Value make_string(Heap& heap, MarkedText&& text, bool markup) {
  return Value(new String(heap, std::move(text), markup));
}

Value make_string(Heap& heap, std::string_view text, Origin origin) {
  heap.expect(text.size());
  MarkedText marked;
  marked.append(text, origin);
  return make_string(heap, std::move(marked));
}

Value make_sequence(Heap& heap, Flavor flavor, std::vector<Value>&& items) {
  return Value(new Sequence(heap, flavor, std::move(items)));
}

std::vector<Value> room_for(Heap& heap, std::size_t count) {
  heap.spend(count);
  heap.expect(count, sizeof(Value));
  std::vector<Value> items;
  items.reserve(count);
  return items;
}

std::string_view type_name(const Value& value) { return kTypeNames[type_index(value)]; }

std::string missing_message(const Value& undefined) {
  std::string name = printable(undefined.missing_name(), 64);
  const std::string_view owner = undefined.missing_owner();
  switch (undefined.why_missing()) {
    case Missing::kName:
      return cat("'", name, "' is undefined");
    case Missing::kAttribute:
      return owner == kTypeNames[0] ? cat("None has no attribute '", name, "'")
                                    : cat("'", owner, " object' has no attribute '", name, "'");
    case Missing::kElement:
      return cat(owner, " object has no element ", name);
    case Missing::kUnsafe:
      return cat("access to attribute '", name, "' of '", owner, "' object is unsafe");
    case Missing::kParameter:
      return cat("parameter '", name, "' was not provided");
    case Missing::kText:
      return name;
  }
  return name;
}

void expect_defined(const Value& value) {
  if (value.is_undefined()) fail(missing_message(value));
}

bool is_true(const Value& value) {
  switch (value.kind()) {
    case Kind::kNone:
    case Kind::kUndefined:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.as_int() != 0;
    case Kind::kFloat:
      return value.as_float() != 0;
    case Kind::kString:
      return !value.text().empty();
    case Kind::kSequence:
      return value.as<Sequence>().flavor == Flavor::kGenerator ||
             !value.as<Sequence>().items.empty();
    case Kind::kDict:
      return !value.as<Dict>().entries.empty();
    default:
      return true;
  }
}

namespace {

bool are_numbers_equal(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return a.as_int() == b.as_int();
  return a.as_float() == b.as_float();
}

bool are_items_equal(const Sequence& a, const Sequence& b) {
  if (a.flavor != b.flavor || a.items.size() != b.items.size()) return false;
  if (a.flavor > Flavor::kRange) return &a == &b;
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), is_equal);
}

bool are_entries_equal(const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
    const Value* other = b.find(entry.first);
    return other != nullptr && is_equal(entry.second, *other);
  });
}

}  // namespace

bool is_equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return are_numbers_equal(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kNone:
    case Kind::kUndefined:
      return true;
    case Kind::kFunction:
      return &a.as_function() == &b.as_function();
    case Kind::kString:
      a.object()->heap().spend_bytes(std::min(a.text().size(), b.text().size()));
      return a.text() == b.text();
    case Kind::kSequence:
      a.object()->heap().spend(1);
      return are_items_equal(a.as<Sequence>(), b.as<Sequence>());
    case Kind::kDict:
      a.object()->heap().spend(1);
      return are_entries_equal(a.as<Dict>(), b.as<Dict>());
    default:
      return a.object() == b.object();
  }
}

std::size_t hash_of(const Value& value) {
  switch (value.kind()) {
    case Kind::kFloat: {
      const double d = value.as_float();
      constexpr double kIntLimit = 9.2e18;
      if (d == std::floor(d) && std::abs(d) < kIntLimit) {
        return std::hash<std::int64_t>{}(static_cast<std::int64_t>(d));
      }
      return std::hash<double>{}(d);
    }
    case Kind::kString:
      value.object()->heap().spend_bytes(value.text().size());
      return std::hash<std::string_view>{}(value.text());
    case Kind::kSequence: {
      const auto& sequence = value.as<Sequence>();
      if (sequence.flavor != Flavor::kTuple && sequence.flavor != Flavor::kRange) break;
      std::size_t hash = sequence.items.size();
      for (const Value& item : sequence.items) {
        sequence.heap().spend(1);
        hash = hash * 1'000'003 + hash_of(item);
      }
      return hash;
    }
    case Kind::kDict:
      break;
    case Kind::kNone:
    case Kind::kUndefined:
      return 0;
    case Kind::kBool:
    case Kind::kInt:
      return std::hash<std::int64_t>{}(value.as_int());
    case Kind::kFunction:
      return std::hash<const FunctionInfo*>{}(&value.as_function());
    default:
      return std::hash<Object*>{}(value.object());
  }
  fail(cat("unhashable type: '", type_name(value), "'"));
}

void TextBuilder::charge() {
  const std::size_t now = text_.bytes.size() + text_.own.size() * sizeof(TextSpan);
  heap_.charge(now - charged_);
  charged_ = now;
}

void TextBuilder::append(std::string_view text, Origin origin) {
  heap_.expect(text.size());
  text_.append(text, origin);
  charge();
}

void TextBuilder::append(const MarkedText& text, std::size_t begin, std::size_t end) {
  heap_.expect(end - begin);
  text_.append(text, begin, end);
  charge();
}

void TextBuilder::append_code(char32_t code, Origin origin) {
  std::string bytes;
  append_utf8(bytes, code);
  append(bytes, origin);
}

Value TextBuilder::take(bool markup) { return make_string(heap_, take_text(), markup); }

MarkedText TextBuilder::take_text() {
  heap_.release(std::exchange(charged_, 0));
  return std::exchange(text_, {});
}

}  // namespace ingot::jinja
