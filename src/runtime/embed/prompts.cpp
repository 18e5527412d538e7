// Prompts of embedders: finds them by name or by kind of input.
#include "runtime/embed/prompts.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "text/unicode/normalize.h"

namespace ingot {

namespace {

/// Names that APIs and models have for one kind of input. Sources: the APIs of Cohere, Jina, Voyage
/// and NVIDIA; sentence-transformers' encode_query and encode_document.
constexpr std::array<std::string_view, 5> kQuery = {"query", "search_query", "retrieval.query",
                                                    "s2p_query", "web_search_query"};
constexpr std::array<std::string_view, 6> kDocument = {
    "document", "search_document", "passage", "retrieval.passage", "corpus", "retrieval.document"};

const std::string* find_prompt(const EmbedderSettings& settings, std::string_view name) {
  for (const auto& [known, text] : settings.prompts) {
    if (known == name) return &text;
  }
  return nullptr;
}

std::string names_of(const EmbedderSettings& settings) {
  std::string names;
  for (const auto& [name, text] : settings.prompts) {
    names += cat(names.empty() ? "" : ", ", printable(name, 64));
  }
  return names.empty() ? "the model has no prompts" : cat("the model has ", names);
}

}  // namespace

std::string_view prompt_named(const EmbedderSettings& settings,
                              const std::optional<std::string>& name) {
  if (!name) {
    const std::string* text = find_prompt(settings, settings.default_prompt);
    return text == nullptr ? std::string_view() : *text;
  }
  if (const std::string* text = find_prompt(settings, *name)) return *text;
  throw Error(ErrorCode::kInvalid, cat("prompt_name: there is no prompt ", printable(*name, 64),
                                       ": ", names_of(settings)));
}

std::optional<std::string_view> prompt_for(const EmbedderSettings& settings,
                                           std::string_view input_type) {
  if (const std::string* text = find_prompt(settings, input_type)) return *text;
  for (const std::span<const std::string_view> kind :
       {std::span<const std::string_view>(kQuery), std::span<const std::string_view>(kDocument)}) {
    if (std::find(kind.begin(), kind.end(), input_type) == kind.end()) continue;
    for (const std::string_view name : kind) {
      if (const std::string* text = find_prompt(settings, name)) return *text;
    }
  }
  return std::nullopt;
}

std::string input_text(const EmbedderSettings& settings, std::string_view prompt,
                       std::string_view text) {
  std::string whole = cat(prompt, text);
  return settings.lower_case ? to_lower(whole) : whole;
}

}  // namespace ingot
