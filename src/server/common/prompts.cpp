// Reads prompts: strings, lists of token ids, and lists of either.
#include "server/common/prompts.h"

#include "base/index.h"
#include "base/text.h"
#include "server/common/list_entries.h"
#include "server/common/message_text.h"

namespace ingot {

namespace {

std::vector<std::int32_t> read_text(const std::string& text, const std::string& place,
                                    const Service& service, const PromptForm& form) {
  if (form.suffix.empty()) return service.encode(text, place, form.use);
  const std::string_view longer =
      form.suffix.size() > text.size() ? std::string_view("suffix") : std::string_view(place);
  return service.encode_gap(
      {.prefix = text, .suffix = form.suffix, .parse_special = form.use == TextUse::kPrompt},
      longer, "suffix");
}

/// Reads a prompt at a place of the body, such as "prompt" or "prompt[4]".
ReadPrompt read_prompt(const Json& prompt, const std::string& place, const Service& service,
                       const PromptForm& form) {
  std::vector<std::int32_t> ids;
  if (const std::string* text = prompt.as_string()) {
    ids = read_text(*text, place, service, form);
  } else if (!form.suffix.empty()) {
    throw invalid_request("suffix", cat("suffix needs a ", place, " that is text"));
  } else if (const Json::Array* list = prompt.as_array()) {
    ids = read_ids(*list, place, service);
  } else {
    refuse_at(place,
              cat("is ", prompt.kind(), ", expected a string, token ids, or a list of either"));
  }
  if (ids.empty()) refuse_at(place, "has no tokens");
  service.check_room(ids.size(), place);
  return {.ids = std::move(ids), .text = prompt.as_string()};
}

}  // namespace

std::vector<std::int32_t> read_ids(const Json::Array& list, std::string_view place,
                                   const Service& service) {
  std::vector<std::int32_t> ids;
  ids.reserve(list.size());
  const std::int64_t vocab = service.limits().vocab;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto id = list[i].whole();
    if (!id || *id < 0 || *id >= vocab) {
      refuse_at(entry_place(place, i), cat("is no token in [0, ", vocab, ")"));
    }
    ids.push_back(static_cast<std::int32_t>(*id));
  }
  return ids;
}

std::vector<ReadPrompt> read_prompts(Params& params, std::string_view name, std::int32_t most,
                                     const Call& call, const PromptForm& form) {
  const Service& service = call.service;
  const Json* prompt = params.take(name);
  if (prompt == nullptr) throw invalid_request(std::string(name), cat(name, " is missing"));
  const Json::Array* list = prompt->as_array();
  if (list == nullptr || list->empty() || list->front().number()) {
    std::vector<ReadPrompt> one;
    one.push_back(read_prompt(*prompt, std::string(name), service, form));
    return one;
  }
  if (list->size() > to_size(most)) {
    throw invalid_request(std::string(name),
                          cat(name, " has ", list->size(), " entries, possible are ", most));
  }
  if (list->size() > 1 && !form.suffix.empty()) {
    throw invalid_request("suffix", "suffix needs one prompt");
  }
  std::vector<ReadPrompt> prompts;
  each_entry(call, name, *list, [&](const Json& entry, const std::string& place) {
    if (entry.kind() != list->front().kind()) {
      refuse_at(place, cat("is ", entry.kind(), ", but the first entry is ", list->front().kind()));
    }
    prompts.push_back(read_prompt(entry, place, service, form));
  });
  return prompts;
}

}  // namespace ingot
