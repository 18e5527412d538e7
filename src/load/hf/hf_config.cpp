// Reads config.json and generation_config.json: chooses the family, reads its parts and the tokens
// that begin and end texts.
#include "load/hf/hf_config.h"

#include "base/error.h"
#include "base/text.h"
#include "load/architectures.h"
#include "load/hf/hf_parts.h"

namespace ingot {

namespace {

constexpr std::size_t kEosIdsMax = 1024;

/// Whether a row of the table holds for this file.
bool holds(const HfFamily& family, const JsonKeys& keys) {
  if (family.only_with.empty()) return true;
  const Json* value = keys.get(family.only_with);
  return value != nullptr && value->dump() != "false";
}

const HfFamily& find_family(const JsonKeys& keys) {
  const std::string& type = keys.required_text("model_type");
  for (const HfFamily& family : hf_families()) {
    if (family.model_type == type && holds(family, keys)) return family;
  }
  if (is_hf_recurrent(type)) {
    keys.fail(cat("model_type '", type, "' keeps a recurrent state, which is not supported yet"));
  }
  keys.fail(cat("unknown or unsupported model_type '", printable(type, 64),
                "'; supported: ", hf_model_types()));
}

void add_eos(const JsonKeys& keys, const Json& value, std::string_view source, Config& c) {
  const std::int64_t* id = value.as_int();
  if (id == nullptr || *id < 0 || *id >= c.vocab) {
    keys.refuse("eos_token_id", value, cat("expected an id below ", c.vocab));
  }
  add_end(c.ends, static_cast<std::int32_t>(*id), source);
}

/// A BOS id outside the vocabulary is ignored: no text can begin with it.
void read_bos(const JsonKeys& keys, Config& c, LoadNotes& notes) {
  const Json* value = keys.get("bos_token_id");
  if (value == nullptr) return;
  const std::int64_t* id = value->as_int();
  if (id == nullptr || *id < 0 || *id >= c.vocab) {
    notes.warn(cat(printable(keys.file(), 4096), ": bos_token_id is ", shown(*value),
                   ", expected an id below ", c.vocab, ": it is ignored"));
  } else if (!c.bos_id) {
    c.bos_id = static_cast<std::int32_t>(*id);
  }
}

void read_ends(const JsonKeys& keys, std::string_view source, Config& c) {
  const Json* eos = keys.get("eos_token_id");
  if (eos == nullptr) return;
  const Json::Array* list = eos->as_array();
  if (list == nullptr) {
    add_eos(keys, *eos, source, c);
    return;
  }
  if (list->size() > kEosIdsMax) {
    keys.fail(
        cat("eos_token_id has ", list->size(), " entries, at most ", kEosIdsMax, " are accepted"));
  }
  for (const Json& entry : *list) add_eos(keys, entry, source, c);
}

/// Names the parts of a multimodal model that are not used.
void note_other_parts(const JsonKeys& keys, LoadNotes& notes) {
  std::string parts;
  for (const auto& [key, value] : keys.members()) {
    if (value.as_object() == nullptr || !key.ends_with("_config") || key == "text_config") continue;
    parts += cat(parts.empty() ? "" : ", ", printable(key, 64));
  }
  if (parts.empty()) return;
  notes.detail(cat("only the language model is used, not the parts of ", parts));
}

/// Reads the members of a language model into a Config.
Config read_language_model(const JsonKeys& members, LoadNotes& notes) {
  const HfFamily& family = find_family(members);
  const HfKeys keys(members, family, notes);
  refuse_unapplied(keys);
  Config config;
  config.naming = Naming::kHuggingFace;
  apply_traits(*find_architecture(family.architecture), config);
  config.model_type = family.model_type;
  read_hf_sizes(keys, config);
  read_hf_mla(keys, config);
  const HfSlides slides = read_hf_windows(keys, config);
  read_hf_layer_sizes(keys, slides, config);
  read_hf_rope(keys, slides, config);
  read_hf_experts(keys, config);
  read_hf_encoder(keys, config);
  read_bos(members, config, notes);
  read_ends(members, "config.json", config);
  return config;
}

/// Reads the language model of a multimodal model: the object text_config.
Config read_multimodal(const JsonKeys& outer, LoadNotes& notes) {
  const Json& text = outer.required_object("text_config");
  const JsonKeys inner(text, outer.file(), cat(outer.prefix(), "text_config."));
  refuse_quantisation(outer);
  Config config = read_language_model(inner, notes);
  // transformers takes the key of the outer object. Without it, the tensors decide.
  const auto tied = outer.boolean("tie_word_embeddings");
  config.tied = tied ? tied : inner.boolean("tie_word_embeddings");
  read_bos(outer, config, notes);
  read_ends(outer, "config.json", config);
  note_other_parts(outer, notes);
  return config;
}

void expect_object(const Json& root, const std::string& file) {
  if (root.as_object() != nullptr) return;
  throw model_error(file, "config", cat("it holds ", root.kind(), ", expected an object"));
}

}  // namespace

Config read_hf_config(const Json& root, const std::string& file, LoadNotes& notes) {
  expect_object(root, file);
  const JsonKeys keys(root, file);
  const std::string* type = keys.text("model_type");
  if (type != nullptr && is_hf_multimodal(*type)) return read_multimodal(keys, notes);
  return read_language_model(keys, notes);
}

void read_generation_config(const Json& root, const std::string& file, Config& config,
                            LoadNotes& notes) {
  expect_object(root, file);
  const JsonKeys keys(root, file);
  read_bos(keys, config, notes);
  read_ends(keys, "generation_config.json", config);
  config.sampling = root;
}

}  // namespace ingot
