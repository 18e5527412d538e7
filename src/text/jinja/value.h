// Value: Python-like values of templates (str, list, dict, ...), reference-counted and charged to
// the render's Heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/chat/marked_text.h"
#include "text/jinja/heap.h"

namespace ingot::jinja {

/// The kind of a template's value.
enum class Kind : std::uint8_t {
  kNone,
  kUndefined,
  kBool,
  kInt,
  kFloat,
  kFunction,  ///< a global function of the library
  // The kinds below are Objects.
  kString,
  kSequence,
  kDict,
  kNamespace,
  kMacro,
  kMethod,
  kLoop,
  kCycler,
  kJoiner,
};

/// Base of the reference-counted values. A render owns its values; threads never share them.
class Object {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() { heap_.release(charged_); }

  Kind kind() const { return kind_; }
  Heap& heap() const { return heap_; }
  /// Returns the number of nested levels; 1 for an object that holds no other value.
  int depth() const { return depth_; }

 protected:
  Object(Heap& heap, Kind kind, std::size_t bytes) : heap_(heap), kind_(kind) { charge(bytes); }
  void charge(std::size_t bytes) {
    heap_.charge(bytes);
    charged_ += bytes;
  }
  /// Raises `depth_` for a held value of `depth` levels. Errors: RunError beyond kValueDepthMax.
  void hold(int depth);

 private:
  friend class Value;
  Heap& heap_;
  std::size_t charged_ = 0;
  std::uint32_t references_ = 0;
  int depth_ = 1;
  Kind kind_;
};

/// The reason why a value is undefined, for messages.
enum class Missing : std::uint8_t { kName, kAttribute, kElement, kUnsafe, kParameter, kText };

/// The Python type of a sequence, for printing and comparing.
enum class Flavor : std::uint8_t { kList, kTuple, kRange, kKeys, kValues, kItems, kGenerator };

struct FunctionInfo;
struct String;
struct Sequence;
struct Dict;

/// A template value. Holds numbers in place, and a counted reference to a string or container.
class Value {
 public:
  Value() = default;  ///< None
  static Value boolean(bool b) { return {Kind::kBool, {.integer = b ? 1 : 0}}; }
  static Value integer(std::int64_t i) { return {Kind::kInt, {.integer = i}}; }
  static Value real(double d) { return {Kind::kFloat, {.real = d}}; }
  static Value function(const FunctionInfo& f) { return {Kind::kFunction, {.function = &f}}; }
  /// Returns an undefined value: `owner` lacks `name`, a string or None. `why` is the reason.
  static Value undefined(Missing why, const Value& name, const Value& owner);
  static Value undefined(Missing why, const Value& name) { return undefined(why, name, Value()); }
  explicit Value(Object* object) : kind_(object->kind()), payload_{.object = object} {
    ++object->references_;
  }

  Value(const Value& other) : Value(other, 0) { retain(); }
  Value(Value&& other) noexcept : Value(other, 0) {
    other.kind_ = Kind::kNone;
    other.payload_.integer = 0;
  }
  Value& operator=(const Value& other) {
    Value copy(other);
    swap(copy);
    return *this;
  }
  Value& operator=(Value&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Value() { release(); }
  void swap(Value& other) noexcept;

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_string() const { return kind_ == Kind::kString; }
  /// Whether this is an int or a bool (0 or 1).
  bool is_integer() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_number() const { return is_integer() || kind_ == Kind::kFloat; }

  /// Whether this is a sequence whose flavor is `last` or an earlier flavor in the enum.
  bool is_sequence(Flavor last = Flavor::kGenerator) const;
  bool is_flavor(Flavor flavor) const;

  bool as_bool() const { return payload_.integer != 0; }
  std::int64_t as_int() const { return payload_.integer; }
  double as_float() const {
    return kind_ == Kind::kFloat ? payload_.real : static_cast<double>(payload_.integer);
  }
  const FunctionInfo& as_function() const { return *payload_.function; }
  Object* object() const { return payload_.object; }
  template <class T>
  T& as() const {
    return static_cast<T&>(*payload_.object);
  }
  const String& string() const { return as<String>(); }
  /// Returns the bytes of a string value.
  std::string_view text() const;

  Missing why_missing() const { return why_; }
  std::string_view missing_owner() const;
  /// Returns the name that is undefined; empty if the name is not a string.
  std::string_view missing_name() const;

  /// Returns the number of nested levels; 0 for None, bools, numbers and functions.
  int depth() const { return is_object() ? payload_.object->depth() : 0; }

 private:
  union Payload {
    std::int64_t integer = 0;
    double real;
    const FunctionInfo* function;
    Object* object;
  };
  Value(Kind kind, Payload payload) : kind_(kind), payload_(payload) {}
  Value(const Value& other, int)
      : kind_(other.kind_), why_(other.why_), owner_(other.owner_), payload_(other.payload_) {}
  bool is_object() const { return kind_ >= Kind::kString; }
  bool is_counted() const {
    return is_object() || (kind_ == Kind::kUndefined && payload_.object != nullptr);
  }
  void retain() const {
    if (is_counted()) ++payload_.object->references_;
  }
  void release() {
    if (is_counted() && --payload_.object->references_ == 0) delete payload_.object;
  }

  Kind kind_ = Kind::kNone;
  Missing why_ = Missing::kName;
  std::uint8_t owner_ = 0;  // index into kTypeNames
  Payload payload_;
};

/// A string. Indices in templates count code points.
struct String : Object {
  String(Heap& heap, MarkedText&& text, bool markup);

  /// Returns the number of code points.
  std::size_t length() const;
  bool is_ascii() const { return length() == text.bytes.size(); }
  /// Returns the byte offset of code point `index`; the size in bytes if `index` is too large.
  std::size_t offset(std::size_t index) const;

  const MarkedText text;
  const bool markup;  ///< true: HTML that `escape_html` keeps; the filter `safe` makes such HTML

 private:
  mutable std::size_t length_ = SIZE_MAX;
};

/// A list, tuple, range, dict view or generator. A generator can be read once.
struct Sequence : Object {
  Sequence(Heap& heap, Flavor flavor, std::vector<Value>&& items);

  const Flavor flavor;
  std::vector<Value> items;
};

/// A dict or namespace. Entries keep the order of insertion.
struct Dict : Object {
  explicit Dict(Heap& heap, Kind kind = Kind::kDict) : Object(heap, kind, sizeof(Dict)) {}

  /// Returns the value of a key; null if the dict does not have the key.
  const Value* find(std::string_view key) const;
  /// Returns the value of a key; null for a missing key. Errors: RunError for an unhashable key.
  const Value* find(const Value& key) const;
  void set(const Value& key, const Value& value);

  /// Keys and values. Entries are removed only at the end of a render.
  std::vector<std::pair<Value, Value>> entries;

 private:
  template <class Equal>
  const Value* find_hashed(std::size_t hash, const Equal& equal) const;
  std::unordered_multimap<std::size_t, std::size_t> places_;  // key's hash -> index in `entries`
};

struct MacroCode;
struct Scope;

/// A macro and the scope in which it was defined.
struct Macro : Object {
  Macro(Heap& heap, const MacroCode& macro_code, std::size_t body, Scope& macro_scope)
      : Object(heap, Kind::kMacro, sizeof(Macro)),
        code(macro_code),
        entry(body),
        scope(macro_scope) {}
  const MacroCode& code;
  const std::size_t entry;  ///< index of the macro's first instruction
  Scope& scope;
};

struct MethodInfo;

/// A method bound to a value, as in `text.upper`.
struct Method : Object {
  Method(Heap& heap, const MethodInfo& method, const Value& owner)
      : Object(heap, Kind::kMethod, sizeof(Method)), info(method), self(owner) {
    hold(owner.depth());
  }
  const MethodInfo& info;
  const Value self;
};

/// The variable `loop` of a for statement, with the statement's items.
struct Loop : Object {
  Loop(Heap& heap, std::vector<Value>&& loop_items, int loop_depth);
  void change(const Value& values) {
    hold(values.depth());
    last_changed = values;
  }
  std::vector<Value> items;
  std::size_t next = 0;  ///< index of the next item
  const int nesting;     ///< number of enclosing calls of loop(); templates read it as loop.depth0
  Value last_changed;    ///< tuple of the arguments of the last loop.changed(), or None
  /// For loop(): `entry` is the for statement's first instruction, `scope` the enclosing scope.
  std::size_t entry = 0;
  Scope* scope = nullptr;
  bool recursive = false;
};

/// The result of cycler(...). Its method `next` returns the values in turn, then starts again.
struct Cycler : Object {
  Cycler(Heap& heap, std::vector<Value>&& cycle);
  std::vector<Value> items;
  std::size_t at = 0;
};

/// The result of joiner(...): its first call returns "", later calls return the separator.
struct Joiner : Object {
  Joiner(Heap& heap, const Value& text)
      : Object(heap, Kind::kJoiner, sizeof(Joiner)), separator(text) {
    hold(text.depth());
  }
  const Value separator;
  bool used = false;
};

/// Makes a string.
Value make_string(Heap& heap, MarkedText&& text, bool markup = false);
/// Makes a string in which all bytes have origin `origin`.
Value make_string(Heap& heap, std::string_view text, Origin origin = Origin::kData);
/// Makes a sequence. Errors: RunError if it has more than kValueDepthMax nested levels.
Value make_sequence(Heap& heap, Flavor flavor, std::vector<Value>&& items);

/// Returns an empty list with room for `count` values. Counts `count` steps of the render.
std::vector<Value> room_for(Heap& heap, std::size_t count);

/// Returns the Python name of a value's type, for messages: "str", "dict".
std::string_view type_name(const Value& value);
/// Returns the error message for an undefined value: "'content' is undefined".
std::string missing_message(const Value& undefined);
/// Throws RunError if `value` is undefined.
void expect_defined(const Value& value);

/// Returns Python's bool(value).
bool is_true(const Value& value);
/// Returns Python's a == b.
bool is_equal(const Value& a, const Value& b);
/// Returns a hash; equal values have equal hashes. Errors: RunError "unhashable type: 'list'".
std::size_t hash_of(const Value& value);

/// Builds a text. The text's bytes count against the render's memory limit.
class TextBuilder {
 public:
  explicit TextBuilder(Heap& heap) : heap_(heap) {}
  TextBuilder(const TextBuilder&) = delete;
  TextBuilder& operator=(const TextBuilder&) = delete;
  TextBuilder(TextBuilder&& other) noexcept
      : heap_(other.heap_),
        text_(std::exchange(other.text_, {})),
        charged_(std::exchange(other.charged_, 0)) {}
  TextBuilder& operator=(TextBuilder&&) = delete;
  ~TextBuilder() { heap_.release(charged_); }

  Heap& heap() const { return heap_; }
  std::size_t size() const { return text_.bytes.size(); }
  void append(std::string_view text, Origin origin);
  void append_own(std::string_view text) { append(text, Origin::kTemplate); }
  void append_data(std::string_view text) { append(text, Origin::kData); }
  void append(const MarkedText& text, std::size_t begin, std::size_t end);
  void append(const MarkedText& text) { append(text, 0, text.bytes.size()); }
  void append_code(char32_t code, Origin origin);

  /// Moves the text into a new string value. Returns that value.
  Value take(bool markup = false);
  MarkedText take_text();

 private:
  void charge();

  Heap& heap_;
  MarkedText text_;
  std::size_t charged_ = 0;
};

}  // namespace ingot::jinja
