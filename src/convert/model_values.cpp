// Makes a GGUF file's metadata: copies a GGUF source's keys, or converts a folder's configuration.
#include "convert/model_values.h"

#include <algorithm>
#include <map>

#include "convert/config_values.h"
#include "convert/read_back.h"
#include "convert/sampling_values.h"
#include "convert/tokenizer_values.h"
#include "load/gguf/gguf_file.h"

namespace ingot {

namespace {

/// The version of ggml's block formats: 2 in all files since 2023.
constexpr std::uint32_t kQuantisationVersion = 2;
constexpr std::string_view kTokenizerKeys = "tokenizer.";

/// The recipe of the type that most weights have; null: none has.
const Recipe* recipe_of(const std::vector<ListedTensor>& tensors) {
  std::map<Format, std::int64_t> weights;
  for (const ListedTensor& tensor : tensors) {
    if (!tensor.parts.empty())
      weights[tensor.parts.front().format()] += tensor.rows() * tensor.cols();
  }
  if (weights.empty()) return nullptr;
  const Format format = std::max_element(weights.begin(), weights.end(), [](auto& a, auto& b) {
                          return a.second < b.second;
                        })->first;
  const auto all = recipes();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Recipe& recipe) {
    return recipe.format == format && !recipe.mixed;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

GgufValues model_values(const Checkpoint& checkpoint, const BoundModel& model,
                        std::vector<ListedTensor>& tensors, const QuantiseOptions& options,
                        std::vector<std::string>& warnings) {
  GgufValues values;
  if (checkpoint.config().naming == Naming::kGguf) {
    for (const GgufEntry& entry : checkpoint.gguf_entries()) {
      if (entry.key.starts_with("split.")) continue;
      if (!options.tokenizer && entry.key.starts_with(kTokenizerKeys)) continue;
      values.add(entry);
    }
  } else {
    write_config(checkpoint, model, values, warnings);
    fit_to_readers(checkpoint, model, values, tensors, warnings);
    if (options.tokenizer) write_tokenizer(checkpoint, model.spec.vocab, values, warnings);
    write_sampling(checkpoint.config().sampling, options.sampling, values, warnings);
  }
  if (!options.tokenizer) values.set_text("tokenizer.ggml.model", "no_vocab");
  values.set_uint32("general.quantization_version", kQuantisationVersion);
  const Recipe* recipe = options.recipe;
  // A merged GGUF file keeps the key of its source.
  const bool keeps = recipe == nullptr && checkpoint.config().naming == Naming::kGguf;
  if (recipe == nullptr && !keeps) recipe = recipe_of(tensors);
  if (recipe != nullptr) values.set_uint32("general.file_type", recipe->file_type);
  return values;
}

std::uint32_t alignment_of(const Checkpoint& checkpoint) {
  for (const GgufEntry& entry : checkpoint.gguf_entries()) {
    if (entry.key == "general.alignment") return entry.number<std::uint32_t>();
  }
  return GgufWriter::kAlignment;
}

}  // namespace ingot
