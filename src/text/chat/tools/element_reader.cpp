// The call reader of arguments that are elements: strings as they are, arrays and objects as
// elements inside.
#include <utility>
#include <vector>

#include "base/text.h"
#include "text/chat/tools/call_body.h"
#include "text/chat/tools/element_schema.h"
#include "text/chat/tools/mark_prefix.h"
#include "text/chat/tools/value_writer.h"

namespace ingot {

namespace {

class ElementReader : public TagReader {
 public:
  ElementReader(const CallSyntax& syntax, const KnownTools& tools) : TagReader(syntax, tools) {
    mark_ = syntax.key_begin.substr(0, syntax.key_begin.size() - 1);
    end_name_ = syntax.arguments_end.substr(mark_.size() + 1);
    end_name_.remove_suffix(1);
  }

  Step read(char c, std::size_t offset) override {
    switch (state_) {
      case State::kName:
        return read_begin(c, offset);
      case State::kText:
        return read_text(c, offset);
      case State::kTag:
        break;
    }
    return read_tag(c, offset);
  }

 private:
  enum class State { kName, kText, kTag };

  /// An element that is open.
  struct Element {
    enum class Kind { kText, kArray, kObject };
    std::string name;
    const Json* schema = nullptr;  ///< null: any value
    JsonTypes types = json_type::kAll;
    Kind kind = Kind::kText;
    bool has_elements = false;
    ElementSchema inside{};  ///< kArray, kObject: what is inside
    std::string end{};       ///< what ends a string
    ValueWriter value{};
  };

  Step read_begin(char c, std::size_t offset) {
    const Step step = read_name(c, offset);
    if (step != Step::kDone && step != Step::kDoneBefore) return step;
    state_ = State::kText;
    return step == Step::kDoneBefore ? read_text(c, offset) : Step::kMore;
  }

  /// Reads text up to a tag. A string ends only at its own tag.
  Step read_text(char c, std::size_t offset) {
    held_ += c;
    const std::string_view own = open_.empty() ? std::string_view() : open_.back().end;
    const std::string_view end = own.empty() ? mark_ : own;
    if (!held_.ends_with(end)) {
      const std::size_t kept = begun_mark(held_, end);
      const bool is_text = add_text(std::string_view(held_).substr(0, held_.size() - kept));
      held_.erase(0, held_.size() - kept);
      return is_text ? Step::kMore : Step::kFailed;
    }
    if (!add_text(std::string_view(held_).substr(0, held_.size() - end.size()))) {
      return Step::kFailed;
    }
    held_.clear();
    tag_begin_ = offset + 1 - end.size();
    if (!own.empty()) return close(offset);
    state_ = State::kTag;
    return Step::kMore;
  }

  bool add_text(std::string_view text) {
    if (text.empty()) return true;
    const bool is_all_space = std::all_of(text.begin(), text.end(), is_space);
    if (open_.empty() || open_.back().kind != Element::Kind::kText) return is_all_space;
    open_.back().value.add(text, out_);
    return true;
  }

  Step read_tag(char c, std::size_t offset) {
    held_ += c;
    if (held_.front() != '<' || held_.size() > kElementTagMax) return Step::kFailed;
    if (c != '>') return Step::kMore;
    const std::string tag = held_.substr(1, held_.size() - 2);
    held_.clear();
    state_ = State::kText;
    if (!tag.starts_with('/')) return open(tag, offset);
    if (!open_.empty()) return tag.substr(1) == open_.back().name ? close(offset) : Step::kFailed;
    return tag == end_name_ ? end_call() : Step::kFailed;
  }

  Step open(const std::string& name, std::size_t offset) {
    if (name.empty()) return Step::kFailed;
    Element element{.name = name};
    if (open_.empty()) {
      begin_call();
      out_.key(name);
      if (tool_ != nullptr) {
        const ElementSchema all(*arguments_schema(tool_->parameters).schema);
        element.schema = &all.property(name);
      }
      const std::size_t key_begin = tag_begin_ + syntax_.key_begin.size();
      span_.arguments.push_back(
          {.key_begin = key_begin, .key_end = key_begin + name.size(), .value_begin = offset + 1});
    } else {
      Element& parent = open_.back();
      if (!begin_inside(parent, name)) return Step::kFailed;
      if (parent.schema != nullptr) {
        const bool is_member = parent.kind == Element::Kind::kObject;
        element.schema = is_member ? &parent.inside.property(name) : &parent.inside.items();
      }
    }
    if (out_.is_custom()) {
      element.types = json_type::kString;
    } else if (element.schema != nullptr) {
      element.types = readable(value_types(tool_->parameters, *element.schema));
    }
    if (element.types == json_type::kString) element.end = cat(mark_, "</", name, ">");
    element.value = ValueWriter(element.types);
    open_.push_back(std::move(element));
    return Step::kMore;
  }

  /// Begins an element in an array or an object. The first decides which of them it is in.
  bool begin_inside(Element& parent, const std::string& name) {
    using Kind = Element::Kind;
    if (parent.kind == Kind::kText) {
      if (!parent.value.is_all_space()) return false;
      const bool may_be_array = (parent.types & json_type::kArray) != 0;
      const bool may_be_object = (parent.types & json_type::kObject) != 0;
      const bool is_array = name == "item" ? may_be_array || !may_be_object : !may_be_object;
      parent.kind = is_array ? Kind::kArray : Kind::kObject;
      out_.json(is_array ? "[" : "{");
      if (parent.schema != nullptr) {
        parent.inside = ElementSchema(tool_->parameters, *parent.schema,
                                      is_array ? json_type::kArray : json_type::kObject);
      }
    }
    if (parent.has_elements) out_.json(", ");
    parent.has_elements = true;
    if (parent.kind == Kind::kObject) out_.json(cat(Json(name).dump(), ": "));
    return true;
  }

  Step close(std::size_t offset) {
    Element& element = open_.back();
    if (element.kind != Element::Kind::kText) {
      out_.json(element.kind == Element::Kind::kArray ? "]" : "}");
    } else {
      close_text(element);
    }
    if (open_.size() == 1) span_.arguments.back().value_end = tag_begin_;
    span_.arguments_end = offset + 1;
    open_.pop_back();
    return Step::kMore;
  }
  /// An element without text is a string, an array or an object, the first that it may be.
  void close_text(Element& element) {
    using namespace json_type;
    const bool is_empty = element.value.is_all_space() && (element.types & kString) == 0;
    if (is_empty && (element.types & (kArray | kObject)) != 0) {
      out_.json((element.types & kArray) != 0 ? "[]" : "{}");
    } else if (is_empty) {
      out_.json("null");
    } else {
      element.value.finish(out_);
    }
  }

  std::string_view mark_;      ///< stands before each tag
  std::string_view end_name_;  ///< name of the tag that ends the call: "/invoke"
  State state_ = State::kName;
  std::string held_;
  std::size_t tag_begin_ = 0;
  std::vector<Element> open_;
};

}  // namespace

std::unique_ptr<CallReader> make_element_reader(const CallSyntax& syntax, const KnownTools& tools) {
  return std::make_unique<ElementReader>(syntax, tools);
}

}  // namespace ingot
