// CallBody parsers: read one call's arguments byte by byte, and write them as JSON.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat/tools/argument_types.h"
#include "text/chat/tools/arguments_out.h"
#include "text/chat/tools/call_syntax.h"
#include "text/chat/tools/tool.h"

namespace ingot {

/// What parsers need to know of tools. Copies schemas only for elements.
class KnownTools {
 public:
  struct Entry {
    std::string name;
    bool is_custom = false;
    ArgumentTypes types{};  ///< types that arguments between tags have
    Json parameters{};      ///< the schema, for elements
  };
  /// `has_tags`: arguments may stand between tags, so their types matter. `has_elements`: arguments
  /// may be elements, so the whole schema matters.
  KnownTools(std::span<const Tool> tools, bool has_tags, bool has_elements = false);
  /// Null if there is none.
  const Entry* find(std::string_view name) const;
  /// Whether the name of a tool begins with `text`.
  bool has_prefix(std::string_view text) const;
  bool is_empty() const { return tools_.empty(); }

 private:
  std::vector<Entry> tools_{};
};

/// Where the parts of a call stand in a text. For learning a template's exact frames.
struct CallSpan {
  struct Argument {
    std::size_t key_begin = 0, key_end = 0, value_begin = 0, value_end = 0;
  };
  std::size_t begin = 0;  ///< beginning of the section or the call
  std::size_t name_begin = 0, name_end = 0;
  std::size_t arguments_begin = 0, arguments_end = 0;
  std::size_t end = 0;  ///< behind the last part that is known
  std::vector<Argument> arguments{};
};

/// Reads one call. The bytes come from the name's first (kObject: from the brace).
class CallReader {
 public:
  enum class Step {
    kMore,
    kDone,        ///< the call is complete
    kDoneBefore,  ///< the call was complete before this byte
    kFailed,      ///< this is no call; only before `name` is known
  };
  virtual ~CallReader() = default;
  /// Reads the byte at `offset`.
  virtual Step read(char c, std::size_t offset) = 0;
  /// Whether it is certain that this is a call. Then `name` is complete.
  virtual bool is_call() const = 0;
  const std::string& name() const { return name_; }
  ArgumentsOut& out() { return out_; }
  const CallSpan& span() const { return span_; }

 protected:
  std::string name_;
  ArgumentsOut out_;
  CallSpan span_;
};

/// Makes the reader for a form of calls. `syntax` and `tools` must outlive it.
std::unique_ptr<CallReader> make_object_reader(const CallSyntax& syntax, const KnownTools& tools);
/// See make_object_reader.
std::unique_ptr<CallReader> make_named_reader(const CallSyntax& syntax, const KnownTools& tools);
/// See make_object_reader.
std::unique_ptr<CallReader> make_tagged_reader(const CallSyntax& syntax, const KnownTools& tools);
/// See make_object_reader.
std::unique_ptr<CallReader> make_literal_reader(const CallSyntax& syntax, const KnownTools& tools);
/// See make_object_reader.
std::unique_ptr<CallReader> make_element_reader(const CallSyntax& syntax, const KnownTools& tools);
/// Makes the reader for `syntax.body`.
std::unique_ptr<CallReader> make_call_reader(const CallSyntax& syntax, const KnownTools& tools);

/// Reads a tool's name and the part behind it.
class NameReader {
 public:
  enum class Step { kMore, kDone, kDoneBefore, kFailed };
  explicit NameReader(std::string_view behind) : behind_(behind) {}
  /// `end`: a byte that ends the name if nothing stands behind it.
  Step read(char c, std::size_t offset, std::string& name, CallSpan& span);

 private:
  std::string_view behind_;
  std::string held_{};
  bool is_behind_ = false;
};

/// What readers share whose arguments stand one by one between tags.
class TagReader : public CallReader {
 public:
  bool is_call() const override { return is_call_; }

 protected:
  TagReader(const CallSyntax& syntax, const KnownTools& tools)
      : syntax_(syntax), tools_(tools), frame_(syntax.arguments_begin) {}

  /// Reads the name and the part behind it. kDone: the arguments begin at the next byte;
  /// kDoneBefore: they begin at this one.
  Step read_name(char c, std::size_t offset);
  /// From the first tag of the arguments on, this is a call.
  void begin_call();
  /// Ends the arguments of a call.
  Step end_call();

  const CallSyntax& syntax_;
  const KnownTools& tools_;
  const KnownTools::Entry* tool_ = nullptr;  ///< null: an unknown tool, or no call yet

 private:
  NameReader frame_;
  bool is_call_ = false;
};

}  // namespace ingot
