// plan_quantised: decides formats, metadata and importance, and collects warnings for the user.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "convert/model_values.h"
#include "convert/quantise.h"
#include "model/bind.h"
#include "model/family.h"
#include "quant/encode.h"
#include "quant/formats.h"

namespace ingot {

namespace {

/// The importance of a tensor's columns; checks the number of values.
std::span<const float> importance_of(const ListedTensor& tensor, const ImportanceMatrix& matrix) {
  const std::span<const float> values = matrix.find(tensor.name);
  const std::int64_t cols = tensor.shape.back();
  const std::int64_t experts = tensor.shape.size() == 3 ? tensor.shape.front() : 1;
  if (values.empty() || std::ssize(values) == cols || std::ssize(values) == cols * experts) {
    return values;
  }
  throw model_error(
      matrix.name(), "importance",
      cat(values.size(), " values for ", tensor.name, ", which has ", cols, " columns",
          experts > 1 ? cat(" in ", experts, " experts") : "", ": it belongs to another model"));
}

/// Up to four names, and how many more there are.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    out += cat(i == 0 ? "" : ", ", names[i]);
  }
  return names.size() <= kShown ? out : cat(out, " and ", names.size() - kShown, " more");
}

void take_importance(const ImportanceMatrix& matrix, QuantisePlan& plan) {
  std::size_t used = 0;
  std::vector<std::string> without;
  for (PlannedTensor& tensor : plan.tensors) {
    if (format_info(tensor.choice.format).dense) continue;
    tensor.importance = importance_of(tensor.source, matrix);
    if (tensor.importance.empty()) {
      without.push_back(tensor.source.name);
    } else {
      ++used;
    }
  }
  if (used == 0 && !without.empty()) {
    throw model_error(matrix.name(), "importance", "it has values for no tensor of this model");
  }
  if (used == 0) plan.warnings.push_back("the importance matrix is not used: this type is dense");
  if (used > 0 && !without.empty()) {
    plan.warnings.push_back(cat("no importance is known for ", some_of(without),
                                ": all their columns have equal weight"));
  }
}

/// Names the tensors that the new file lacks, together by reason.
void warn_of_left_out(const Checkpoint& checkpoint, QuantisePlan& plan) {
  std::vector<ListedTensor> listed;
  for (const PlannedTensor& tensor : plan.tensors) listed.push_back(tensor.source);
  const std::string head = tensor_name(TensorRole::kHead, checkpoint.config().naming);
  std::map<std::string_view, std::vector<std::string>> by_reason;
  for (const TensorInfo* tensor : left_out(checkpoint, listed)) {
    const std::string_view reason = is_ignorable(tensor->name) ? "it follows from the configuration"
                                    : tensor->name == head     ? "it is a copy of the embedding"
                                                               : "no result needs it";
    by_reason[reason].push_back(printable(tensor->name));
  }
  for (const auto& [reason, names] : by_reason) {
    plan.warnings.push_back(cat("left out, because ", reason, ": ", some_of(names)));
  }
}

void warn_of_quantised(QuantisePlan& plan) {
  std::vector<std::string> rounded;
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.source.parts.empty()) continue;
    const Format from = tensor.source.parts.front().format();
    if (!format_info(from).dense && from != tensor.choice.format) {
      rounded.push_back(cat(tensor.source.name, " (", format_name(from), ")"));
    }
  }
  if (rounded.empty()) return;
  plan.warnings.push_back(cat("quantised already: ", some_of(rounded),
                              "; the original weights would give a better file"));
}

void warn_of_fallbacks(QuantisePlan& plan) {
  std::vector<std::string> fallbacks;
  for (const PlannedTensor& tensor : plan.tensors) {
    if (!tensor.choice.wanted) continue;
    fallbacks.push_back(cat(tensor.source.name, " (", format_name(tensor.choice.format),
                            " in place of ", format_name(*tensor.choice.wanted), ")"));
  }
  if (fallbacks.empty()) return;
  plan.warnings.push_back(cat("rows that do not divide into blocks: ", some_of(fallbacks)));
}

/// The format in which a merged model has a tensor: the checkpoint's, in files converted from a
/// folder F32 for what is no matrix.
FormatChoice kept_format(const Checkpoint& checkpoint, const Spec& spec,
                         const ListedTensor& tensor) {
  const Format stored = tensor.parts.empty() ? F32::kFormat : tensor.parts.front().format();
  if (checkpoint.config().naming == Naming::kGguf) return {stored, {}};
  return choose_format({.name = {}, .format = stored}, spec, tensor);
}

/// Gives a head that was the embedding a tensor of its own.
void add_own_head(const Checkpoint& checkpoint, std::vector<ListedTensor>& tensors) {
  const auto embedding = std::find_if(tensors.begin(), tensors.end(), [](const ListedTensor& t) {
    return t.role == TensorRole::kEmbedding;
  });
  ListedTensor head = *embedding;
  head.role = TensorRole::kHead;
  head.name = find_family(checkpoint.config().architecture, checkpoint.name())
                  .tensor_name(TensorRole::kHead, Naming::kGguf);
  tensors.push_back(std::move(head));
}

void merge_adapter(const Checkpoint& checkpoint, const AdapterChanges& adapter,
                   QuantisePlan& plan) {
  std::vector<std::string> rounded;
  for (PlannedTensor& tensor : plan.tensors) {
    tensor.copies_rows = true;
    if (!adapter.changes(tensor.source)) continue;
    tensor.adapter = &adapter;
    const Format format = tensor.choice.format;
    if (!can_encode(format)) {
      throw model_error(checkpoint.name(), cat("tensor ", printable(tensor.source.name)),
                        cat("the adapter changes it, and ingot cannot write its type ",
                            format_name(format), ": choose one with --type"));
    }
    if (format_info(format).dense || tensor.source.parts.front().format() != format) continue;
    rounded.push_back(cat(tensor.source.name, " (", format_name(format), ")"));
  }
  if (rounded.empty()) return;
  plan.warnings.push_back(cat("changed and quantised again: ", some_of(rounded)));
}

}  // namespace

QuantisePlan plan_quantised(const Checkpoint& checkpoint, const QuantiseOptions& options) {
  const BoundModel model = bind_model(checkpoint);
  QuantisePlan plan;
  std::vector<ListedTensor> tensors = list_tensors(checkpoint, model);
  const AdapterChanges* adapter = options.adapter;
  if (adapter != nullptr && adapter->separates_head()) add_own_head(checkpoint, tensors);
  plan.values = model_values(checkpoint, model, tensors, options, plan.warnings);
  plan.alignment = alignment_of(checkpoint);
  for (ListedTensor& tensor : tensors) {
    const FormatChoice choice = options.recipe != nullptr
                                    ? choose_format(*options.recipe, model.spec, tensor)
                                    : kept_format(checkpoint, model.spec, tensor);
    plan.tensors.push_back({.source = std::move(tensor), .choice = choice, .importance = {}});
  }
  if (adapter != nullptr) merge_adapter(checkpoint, *adapter, plan);
  warn_of_quantised(plan);
  warn_of_left_out(checkpoint, plan);
  warn_of_fallbacks(plan);
  if (options.importance != nullptr) take_importance(*options.importance, plan);
  return plan;
}

}  // namespace ingot
