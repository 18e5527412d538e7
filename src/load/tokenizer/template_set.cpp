// Joins the chat templates of several files.
#include <algorithm>
#include <utility>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

void TemplateSet::add(std::string_view name, std::string text) {
  if (name == "default") {
    if (!standard) standard = std::move(text);
    return;
  }
  const auto has_name = [&](const NamedTemplate& one) { return one.name == name; };
  if (std::none_of(named.begin(), named.end(), has_name)) {
    named.push_back({std::string(name), std::move(text)});
  }
}

}  // namespace ingot
