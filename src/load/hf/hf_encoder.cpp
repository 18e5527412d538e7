// Reads token types, positions and the classification head of encoders from config.json.
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "load/hf/hf_parts.h"

namespace ingot {

namespace {

/// MPNet's positions begin here, whatever its pad_token_id is.
constexpr std::int64_t kMpnetPositionOffset = 2;
/// transformers' number of labels of a model that does not list them.
constexpr std::int64_t kDefaultLabels = 2;

/// Heads for which a sentence's hidden states are not what the model computes.
constexpr std::array kOtherHeads =
    std::to_array<std::string_view>({"ForTokenClassification", "ForQuestionAnswering",
                                     "ForMultipleChoice", "ForNextSentencePrediction", "ColBERT"});

/// Returns the name of the model's class, or an empty text.
std::string_view model_class(const JsonKeys& keys) {
  const Json::Array* list = keys.array("architectures");
  if (list == nullptr || list->empty()) return {};
  const std::string* name = list->front().as_string();
  if (name == nullptr) {
    keys.refuse("an entry of architectures", list->front(), "expected a string");
  }
  return *name;
}

std::int64_t count_labels(const JsonKeys& keys) {
  const Json* names = keys.object("id2label");
  const auto stated = keys.integer("num_labels", 1, kLabelsMax);
  const auto named = names == nullptr ? 0 : std::ssize(*names->as_object());
  if (named > kLabelsMax) {
    keys.fail(cat("id2label has ", named, " entries, accepted are 1 to ", kLabelsMax));
  }
  if (named > 0) return named;
  return stated.value_or(kDefaultLabels);
}

void add_dense(Config& c, std::string_view name, bool tanh, std::int64_t outputs) {
  c.dense.push_back({.weight = cat(name, ".weight"),
                     .bias = cat(name, ".bias"),
                     .tanh = tanh,
                     .inputs = c.hidden,
                     .outputs = outputs});
}

void read_classifier(const HfKeys& keys, std::string_view name, Config& c) {
  const HfClassifier kind = keys.family().classifier;
  if (kind == HfClassifier::kNone) {
    keys.members().fail(cat("architectures names ", printable(name, 64),
                            ": sequence classification is not supported for ",
                            keys.family().model_type));
  }
  c.labels = count_labels(keys.members());
  c.pooling = PoolingKind::kCls;
  const bool pooler = kind == HfClassifier::kPooler;
  add_dense(c, pooler ? "bert.pooler.dense" : "classifier.dense", true, c.hidden);
  add_dense(c, pooler ? "classifier" : "classifier.out_proj", false, c.labels);
}

void read_positions(const HfKeys& keys, Config& c) {
  c.relative_buckets = keys.integer("relative_attention_num_buckets", 1, kContextMax).value_or(0);
  if (c.relative_buckets > 0) {
    c.position_offset = kMpnetPositionOffset;
    if (c.relative_buckets != 32) keys.refuse("relative_attention_num_buckets", "supported is 32");
  }
  if (keys.reads("pad_token_id")) {
    c.position_offset = keys.required_integer("pad_token_id", 0, c.vocab - 1) + 1;
  }
  if (c.position_offset >= c.context) {
    keys.members().fail(cat("max_position_embeddings is ", c.context,
                            ", but positions begin at row ", c.position_offset));
  }
  c.context -= c.position_offset;
}

}  // namespace

void read_hf_encoder(const HfKeys& keys, Config& config) {
  const std::string_view name = model_class(keys.members());
  for (const std::string_view head : kOtherHeads) {
    if (!name.ends_with(head)) continue;
    keys.members().fail(
        cat("architectures names ", printable(name, 64), ", which is not supported"));
  }
  config.token_types = keys.integer("type_vocab_size", 1, kVocabMax).value_or(0);
  if (keys.family().ropes == HfRopes::kNone) read_positions(keys, config);
  if (name.ends_with("ForSequenceClassification")) read_classifier(keys, name, config);
}

}  // namespace ingot
