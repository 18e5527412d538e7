// Parameters: matches a call's arguments to a function's parameter names.
#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "text/jinja/library.h"

namespace ingot::jinja {

Parameters::Parameters(std::string_view function, const Arguments& arguments,
                       std::initializer_list<std::string_view> names, std::size_t required)
    : function_(function), names_(names), given_(names.size()) {
  if (arguments.positional.size() > names_.size()) {
    fail(cat(function_, "() takes at most ", names_.size(), " argument(s), got ",
             arguments.positional.size()));
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    given_[i] = &arguments.positional[i];
  }
  for (const auto& [name, value] : arguments.named) {
    const auto at = std::find(names_.begin(), names_.end(), name);
    const auto i = to_size(at - names_.begin());
    if (at == names_.end()) {
      fail(cat(function_, "() got an unexpected keyword argument '", printable(name, 64), "'"));
    }
    if (given_[i] != nullptr) {
      fail(cat(function_, "() got multiple values for argument '", name, "'"));
    }
    given_[i] = &value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (given_[i] == nullptr) fail(cat(function_, "() needs the argument '", names_[i], "'"));
  }
}

const Value* Parameters::some(std::size_t i) const {
  return given_[i] == nullptr || given_[i]->is_none() ? nullptr : given_[i];
}

void Parameters::refuse(std::size_t i, std::string_view expected) const {
  expect_defined(*given_[i]);
  fail(cat(function_, "(): the argument '", names_[i], "' is ", type_name(*given_[i]),
           ", expected ", expected));
}

std::int64_t Parameters::integer(std::size_t i, std::int64_t fallback) const {
  if (given_[i] == nullptr) return fallback;
  if (!given_[i]->is_integer()) refuse(i, "int");
  return given_[i]->as_int();
}

bool Parameters::flag(std::size_t i, bool fallback) const {
  return given_[i] == nullptr ? fallback : is_true(*given_[i]);
}

std::optional<std::string_view> Parameters::text(std::size_t i) const {
  if (some(i) == nullptr) return std::nullopt;
  if (!given_[i]->is_string()) refuse(i, "str");
  return given_[i]->text();
}

}  // namespace ingot::jinja
