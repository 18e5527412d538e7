// Reads prompts: strings, lists of token ids, and lists of either.
#include "server/common/prompts.h"

#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

std::vector<std::int32_t> read_text(const std::string& text, std::string_view name,
                                    const Service& service, const PromptForm& form) {
  if (form.suffix.empty()) return service.encode(text, name, form.use);
  return service.encode_gap(
      {.prefix = text, .suffix = form.suffix, .parse_special = form.use == TextUse::kPrompt},
      "suffix");
}

ReadPrompt read_prompt(const Json& prompt, std::string_view name, const Service& service,
                       const PromptForm& form) {
  std::vector<std::int32_t> ids;
  if (const std::string* text = prompt.as_string()) {
    ids = read_text(*text, name, service, form);
  } else if (!form.suffix.empty()) {
    throw invalid_request("suffix", cat("suffix needs a ", name, " that is text"));
  } else if (const Json::Array* list = prompt.as_array()) {
    ids = read_ids(*list, name, service);
  } else {
    throw invalid_request(
        std::string(name),
        cat(name, " is ", prompt.kind(), ", expected a string, token ids, or a list of either"));
  }
  if (ids.empty()) throw invalid_request(std::string(name), cat(name, " has no tokens"));
  service.check_room(ids.size(), name);
  return {.ids = std::move(ids), .text = prompt.as_string()};
}

}  // namespace

std::vector<std::int32_t> read_ids(const Json::Array& list, std::string_view name,
                                   const Service& service) {
  std::vector<std::int32_t> ids;
  ids.reserve(list.size());
  const std::int64_t vocab = service.limits().vocab;
  for (const Json& entry : list) {
    const std::int64_t* id = entry.as_int();
    if (id == nullptr || *id < 0 || *id >= vocab) {
      throw invalid_request(std::string(name),
                            cat(name, " holds a token that is not in [0, ", vocab, ")"));
    }
    ids.push_back(static_cast<std::int32_t>(*id));
  }
  return ids;
}

std::vector<ReadPrompt> read_prompts(Params& params, std::string_view name, std::int32_t most,
                                     const Service& service, const PromptForm& form) {
  const Json* prompt = params.take(name);
  if (prompt == nullptr) throw invalid_request(std::string(name), cat(name, " is missing"));
  const Json::Array* list = prompt->as_array();
  if (list == nullptr || list->empty() || list->front().number()) {
    std::vector<ReadPrompt> one;
    one.push_back(read_prompt(*prompt, name, service, form));
    return one;
  }
  if (list->size() > to_size(most)) {
    throw invalid_request(std::string(name),
                          cat(name, " has ", list->size(), " entries, possible are ", most));
  }
  std::vector<ReadPrompt> prompts;
  for (const Json& entry : *list) {
    if (entry.kind() != list->front().kind()) {
      throw invalid_request(std::string(name), cat(name, " holds both strings and lists"));
    }
    prompts.push_back(read_prompt(entry, name, service, form));
  }
  return prompts;
}

}  // namespace ingot
