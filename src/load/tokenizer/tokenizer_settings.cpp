// Reads tokenizer_config.json and similar files, and applies their settings to a vocabulary.
#include "load/tokenizer/tokenizer_settings.h"

#include <charconv>
#include <map>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "load/config.h"
#include "load/json_keys.h"
#include "load/tokenizer/token_ids.h"
#include "load/tokenizer/tokenizer_json.h"

namespace ingot {

namespace {

constexpr std::string_view kSection = "tokenizer config";

/// Members of the files, and where the settings keep them.
constexpr std::pair<std::string_view, std::optional<AddedToken> TokenizerSettings::*> kRoles[] = {
    {"bos_token", &TokenizerSettings::bos},     {"eos_token", &TokenizerSettings::eos},
    {"unk_token", &TokenizerSettings::unknown}, {"pad_token", &TokenizerSettings::padding},
    {"cls_token", &TokenizerSettings::cls},     {"sep_token", &TokenizerSettings::sep},
    {"mask_token", &TokenizerSettings::mask}};
constexpr std::pair<std::string_view, std::optional<bool> TokenizerSettings::*> kFlags[] = {
    {"add_bos_token", &TokenizerSettings::add_bos},
    {"add_eos_token", &TokenizerSettings::add_eos},
    {"do_lower_case", &TokenizerSettings::lowercase},
    {"strip_accents", &TokenizerSettings::strip_accents},
    {"tokenize_chinese_chars", &TokenizerSettings::space_cjk}};

AddedToken special_token(std::string content) {
  return {.content = std::move(content), .special = true};
}

/// Reads a token such as bos_token: its text, or an object with text and rules (lstrip, ...).
std::optional<AddedToken> read_role(const JsonKeys& keys, std::string_view key) {
  const Json* value = keys.get(key);
  if (value == nullptr) return std::nullopt;
  if (const std::string* text = value->as_string()) {
    if (text->empty()) return std::nullopt;
    return special_token(*text);
  }
  if (value->as_object() == nullptr) keys.refuse(key, "expected a string or an object");
  AddedToken token =
      read_added_token(JsonKeys(*value, keys.file(), cat(keys.prefix(), key, "."), kSection));
  token.special = true;
  token.normalized = false;
  return token;
}

/// Reads added_tokens_decoder: {"151643": {"content": ...}, ...}.
void read_added_decoder(const JsonKeys& keys, TokenizerSettings& out) {
  const Json* list = keys.object("added_tokens_decoder");
  if (list == nullptr) return;
  for (const auto& [name, value] : *list->as_object()) {
    const std::string path = cat("added_tokens_decoder['", printable(name, 64), "']");
    std::int32_t id = -1;
    const char* end = name.data() + name.size();
    const auto result = std::from_chars(name.data(), end, id);
    if (result.ec != std::errc() || result.ptr != end || id < 0 || id >= kVocabMax) {
      keys.fail(cat(path, ": the key is no id"));
    }
    if (value.as_object() == nullptr) {
      keys.fail(cat(path, " is ", shown(value), ", expected an object"));
    }
    out.added.push_back(read_added_token(JsonKeys(value, keys.file(), path + ".", kSection)));
    out.added.back().id = id;
  }
}

void read_additional(const JsonKeys& keys, TokenizerSettings& out) {
  constexpr std::string_view kKey = "additional_special_tokens";
  const Json::Array* list = keys.array(kKey);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string* text = (*list)[i].as_string();
    if (text == nullptr) text = (*list)[i].find_string("content");
    if (text == nullptr || text->empty()) {
      keys.fail(cat(kKey, "[", i, "] is ", shown((*list)[i]), ", expected a token"));
    }
    out.special.push_back(special_token(*text));
  }
}

/// Reads chat_template: a text, or a list of {"name", "template"}.
void read_templates(const JsonKeys& keys, TokenizerSettings& out) {
  constexpr std::string_view kDefault = "default";
  const Json* value = keys.get("chat_template");
  if (value == nullptr) return;
  if (const std::string* text = value->as_string()) {
    out.templates.add(kDefault, *text);
    return;
  }
  const Json::Array& list = keys.required_array("chat_template");
  if (list.size() > kNamedTemplatesMax) {
    keys.fail(cat("chat_template has ", list.size(), " entries, at most ", kNamedTemplatesMax));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string* name = list[i].find_string("name");
    const std::string* text = list[i].find_string("template");
    if (name == nullptr || text == nullptr) {
      keys.fail(cat("chat_template[", i, "] has no name and template"));
    }
    out.templates.add(*name, *text);
  }
}

JsonKeys keys_of(const Json& root, const std::string& file) {
  if (root.as_object() == nullptr) {
    throw model_error(file, kSection, cat("is ", root.kind(), ", expected an object"));
  }
  return {root, file, "", kSection};
}

template <class T>
void complete(std::optional<T>& value, std::optional<T>& more) {
  if (!value) value = std::move(more);
}

template <class T>
void complete(std::vector<T>& value, std::vector<T>& more) {
  if (value.empty()) value = std::move(more);
}

/// Applies settings to a TokenizerData.
class Joiner {
 public:
  Joiner(TokenizerData& data, const TokenizerSettings& settings)
      : data_(data), settings_(settings) {
    for (std::size_t i = 0; i < data.added.size(); ++i) places_.emplace(data.added[i].id, i);
  }

  void join() {
    for (const AddedToken& token : settings_.added) add(token);
    place();
    for (const AddedToken& token : settings_.special) find_special(token);
    data_.bos = role(settings_.bos, data_.bos);
    data_.eos = role(settings_.eos, data_.eos, true);
    data_.padding = role(settings_.padding, data_.padding);
    for (const auto& token : {settings_.unknown, settings_.cls, settings_.sep, settings_.mask}) {
      role(token, std::nullopt);
    }
    place();
    frame();
    data_.templates = settings_.templates;
  }

 private:
  /// Adds a token with its id. If it is added already, the new rules replace the old ones.
  void add(const AddedToken& token) {
    AddedToken* known = find_added(token.id);
    if (known == nullptr) {
      append(token);
    } else if (known->content == token.content) {
      *known = token;
    } else {
      fail(cat("the id ", token.id, " is both '", printable(known->content, 64), "' and '",
               printable(token.content, 64), "'"));
    }
  }

  AddedToken* find_added(std::int32_t id) {
    const auto at = places_.find(id);
    return at == places_.end() ? nullptr : &data_.added[at->second];
  }

  void append(AddedToken token) {
    places_.emplace(token.id, data_.added.size());
    data_.added.push_back(std::move(token));
  }

  void place() {
    if (const auto wrong = place_added_tokens(data_)) fail(*wrong);
    ids_ = TokenIds(data_);
    if (const auto wrong = ids_.index()) fail(*wrong);
  }

  /// Finds a token by its text, makes it a special token, and returns its id. A missing token is a
  /// warning if the user could name another one (`can_act`).
  std::optional<std::int32_t> find_special(AddedToken token, bool can_act = false) {
    const auto id = ids_.find(token.content);
    if (!id) {
      auto& lines = can_act ? data_.warnings : data_.details;
      lines.push_back(cat(printable(settings_.file), ": the vocabulary has no '",
                          printable(token.content, 64), "', which is left out"));
      return std::nullopt;
    }
    if (AddedToken* known = find_added(*id)) {
      known->special = true;
    } else {
      token.id = *id;
      append(std::move(token));
    }
    return id;
  }

  std::optional<std::int32_t> role(const std::optional<AddedToken>& token,
                                   std::optional<std::int32_t> fallback, bool can_act = false) {
    if (!token) return fallback;
    const auto id = find_special(*token, can_act);
    return id ? id : fallback;
  }

  /// Applies add_bos_token and add_eos_token. They override the post-processor of tokenizer.json.
  void frame() {
    auto& begin = data_.frame_begin;
    auto& end = data_.frame_end;
    if (settings_.add_bos && data_.bos) {
      std::erase(begin, *data_.bos);
      if (*settings_.add_bos) begin.insert(begin.begin(), *data_.bos);
    }
    if (settings_.add_eos && data_.eos) {
      std::erase(end, *data_.eos);
      if (*settings_.add_eos) end.push_back(*data_.eos);
    }
  }

  [[noreturn]] void fail(std::string_view reason) const {
    throw model_error(settings_.file, kSection, reason);
  }

  TokenizerData& data_;
  const TokenizerSettings& settings_;
  std::map<std::int32_t, std::size_t> places_;  // id of a token to its index in data_.added
  TokenIds ids_;
};

}  // namespace

TokenizerSettings read_tokenizer_settings(const Json& root, const std::string& file) {
  const JsonKeys keys = keys_of(root, file);
  TokenizerSettings out;
  out.file = file;
  if (const std::string* name = keys.text("tokenizer_class")) out.tokenizer_class = *name;
  for (const auto& [key, role] : kRoles) out.*role = read_role(keys, key);
  for (const auto& [key, flag] : kFlags) out.*flag = keys.boolean(key);
  read_added_decoder(keys, out);
  read_additional(keys, out);
  read_templates(keys, out);
  return out;
}

void read_legacy_added(const Json& root, const std::string& file, TokenizerSettings& settings) {
  const JsonKeys keys = keys_of(root, file);
  for (const auto& [content, value] : *root.as_object()) {
    const std::int64_t* id = value.as_int();
    if (content.empty() || id == nullptr || *id < 0 || *id >= kVocabMax) {
      keys.fail(cat("'", printable(content, 64), "' is ", shown(value), ", expected a token's id"));
    }
    settings.added.push_back({.content = content, .id = static_cast<std::int32_t>(*id)});
  }
}

void read_chat_template(const Json& root, const std::string& file, TokenizerSettings& settings) {
  read_templates(keys_of(root, file), settings);
}

void complete_settings(TokenizerSettings& settings, TokenizerSettings more) {
  if (settings.file.empty()) settings.file = more.file;
  complete(settings.tokenizer_class, more.tokenizer_class);
  for (const auto& [key, role] : kRoles) complete(settings.*role, more.*role);
  for (const auto& [key, flag] : kFlags) complete(settings.*flag, more.*flag);
  complete(settings.added, more.added);
  complete(settings.special, more.special);
  // The templates of one file are a set: those of another file do not add to it.
  if (!settings.templates.standard && settings.templates.named.empty()) {
    settings.templates = std::move(more.templates);
  }
}

std::optional<TokenizerSettings> class_defaults(std::string_view tokenizer_class) {
  if (tokenizer_class.ends_with("Fast")) tokenizer_class.remove_suffix(4);
  TokenizerSettings out;
  if (tokenizer_class == "GPT2Tokenizer") {
    out.bos = out.eos = special_token("<|endoftext|>");
  } else if (tokenizer_class == "Qwen2Tokenizer") {
    out.eos = out.padding = special_token("<|endoftext|>");
  } else if (tokenizer_class == "RobertaTokenizer") {
    out.bos = out.cls = special_token("<s>");
    out.eos = out.sep = special_token("</s>");
    out.unknown = special_token("<unk>");
    out.padding = special_token("<pad>");
    out.mask = special_token("<mask>");
    out.mask->lstrip = true;
    out.add_bos = out.add_eos = true;
  } else if (tokenizer_class == "BertTokenizer") {
    out.cls = special_token("[CLS]");
    out.sep = special_token("[SEP]");
    out.unknown = special_token("[UNK]");
    out.padding = special_token("[PAD]");
    out.mask = special_token("[MASK]");
  } else if (tokenizer_class == "LlamaTokenizer" || tokenizer_class == "GemmaTokenizer") {
    out.bos = special_token(tokenizer_class == "GemmaTokenizer" ? "<bos>" : "<s>");
    out.eos = special_token(tokenizer_class == "GemmaTokenizer" ? "<eos>" : "</s>");
    out.add_bos = true;
    out.add_eos = false;
  } else if (tokenizer_class == "T5Tokenizer") {
    out.eos = special_token("</s>");
    out.padding = special_token("<pad>");
    out.add_eos = true;
  } else {
    return std::nullopt;
  }
  return out;
}

void apply_settings(TokenizerData& data, const TokenizerSettings& settings) {
  Joiner(data, settings).join();
}

}  // namespace ingot
