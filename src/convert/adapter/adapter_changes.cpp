// AdapterChanges: finds the weight's row that a stored row is, and adds a product of B and A to it.
#include "convert/adapter/adapter_changes.h"

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "model/model.h"
#include "model/weight_list.h"
#include "quant/formats.h"

namespace ingot {

namespace {

std::vector<float> decoded(Format format, const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / to_size(std::int64_t{format_info(format).block_bytes}));
  decode_row(format, bytes.data(), std::ssize(values), values.data());
  return values;
}

std::vector<float> decoded(const StridedMatrix& m) { return decoded(m.format(), gathered(m)); }

/// Whether results depend on a head that is the embedding. Embedders use no head.
bool has_tied_head(const Spec& spec) {
  return spec.tied && (spec.pooling == Pooling::kNone || spec.labels > 0);
}

/// Adds factor * b[1, rank] a[rank, cols] to x.
void add_product(std::span<float> x, double factor, std::span<const float> b, const float* a) {
  std::vector<double> sums(x.size());
  for (const float value : b) {
    const auto weight = static_cast<double>(value);
    for (std::size_t k = 0; k < x.size(); ++k) sums[k] += weight * static_cast<double>(a[k]);
    a += x.size();
  }
  for (std::size_t k = 0; k < x.size(); ++k) {
    x[k] = static_cast<float>(static_cast<double>(x[k]) + factor * sums[k]);
  }
}

}  // namespace

AdapterChanges::AdapterChanges(const AdapterFile& file, const BoundModel& bound,
                               const AdapterTargets& targets, double factor)
    : tied_(has_tied_head(bound.spec)) {
  const AdapterPlan plan = plan_adapter(file, targets);
  unused_warning_ = plan.unused_warning();
  if (!file.invocation_tokens.empty()) {
    throw model_error(
        file.name, "config",
        "the adapter acts from its invocation tokens on, so no merged model can equal "
        "it: load it with --lora");
  }
  if (bound.embedding) embedding_tensor_ = bound.embedding.parts.front().tensor;
  const std::vector<const BoundWeight*> weights = all_weights(bound, ModelOptions{});
  for (const auto& [number, linear] : plan.linears) {
    const BoundWeight& weight = *at(weights, number);
    add_weight(number, weight, linear, factor);
    changes_tied_head_ |= &weight == &bound.embedding;
  }
  if (plan.embedding == nullptr) return;
  const MatrixPair m = embedding_matrices(*plan.embedding, file.naming);
  embedding_ = {.rank = plan.embedding->rank,
                .factor = factor * plan.embedding->scale,
                .a = decoded(m.a),
                .b = decoded(m.b.transposed())};
}

void AdapterChanges::add_weight(std::int32_t number, const BoundWeight& weight,
                                const PlannedLinear& linear, double factor) {
  LinearChange& out = linears_[number];
  std::map<const StridedMatrix*, const float*> decoded_a;
  for (const StridedMatrix& a : linear.a) {
    out.a.push_back(decoded(a));
    decoded_a[&a] = out.a.back().data();
  }
  for (const PlannedPart& part : linear.parts) {
    const AdapterTarget& target = *part.target;
    const auto b =
        gathered(part.b, target.rows, [&](std::int64_t i) { return target.module_row(i); });
    out.changes.push_back({.first_row = target.first_row,
                           .rows = target.rows,
                           .rank = part.b.cols,
                           .factor = factor * part.scale,
                           .b = decoded(part.b.format(), b),
                           .a = decoded_a[&linear.a_of(part)]});
  }
  std::int64_t row = 0;
  for (const BoundPart& part : weight.parts) {
    places_[part.tensor].push_back({.part = part, .first_row = row, .linear = &out});
    row += part.rows;
  }
}

bool AdapterChanges::add_row(const Place& place, std::int64_t weight_row,
                             std::span<float> x) const {
  for (const Change& change : place.linear->changes) {
    const std::int64_t row = weight_row - change.first_row;
    if (row < 0 || row >= change.rows) continue;
    if (!x.empty()) {
      const auto b = std::span(change.b).subspan(to_size(row * change.rank), to_size(change.rank));
      add_product(x, change.factor, b, change.a);
    }
    return true;
  }
  return false;
}

/// Adds to a stored row with one input of all outputs.
bool AdapterChanges::add_columns(const Place& place, std::int64_t stored_row,
                                 std::span<float> x) const {
  const BoundPart& part = place.part;
  const std::int64_t input = stored_row - part.first_row;
  if (input < 0 || input >= part.cols) return false;
  bool changed = false;
  for (const Change& change : place.linear->changes) {
    const std::int64_t begin = std::max(change.first_row, place.first_row);
    const std::int64_t end = std::min(change.first_row + change.rows, place.first_row + part.rows);
    changed |= begin < end;
    if (x.empty()) continue;
    for (std::int64_t row = begin; row < end; ++row) {
      double sum = 0;
      for (std::int64_t j = 0; j < change.rank; ++j) {
        sum += static_cast<double>(at(change.b, (row - change.first_row) * change.rank + j)) *
               static_cast<double>(change.a[j * part.cols + input]);
      }
      float& value = at(x, part.first_col + (row - place.first_row) * part.row_step);
      value = static_cast<float>(static_cast<double>(value) + change.factor * sum);
    }
  }
  return changed;
}

bool AdapterChanges::visit_place(const Place& place, const BoundPart& row,
                                 std::span<float> x) const {
  const BoundPart& part = place.part;
  if (part.turned && !row.turned) return add_columns(place, row.first_row, x);
  if (part.turned && row.first_row != part.first_row) return false;
  const std::int64_t steps =
      part.turned ? row.first_col - part.first_col : row.first_row - part.first_row;
  if (steps < 0 || steps % part.row_step != 0 || steps / part.row_step >= part.rows) return false;
  return add_row(place, place.first_row + steps / part.row_step, x);
}

/// Adds to a row if `x` is not empty. Returns whether the adapter changes the row.
bool AdapterChanges::visit(const ListedTensor& tensor, std::int64_t row, std::span<float> x) const {
  if (tensor.parts.empty()) return false;
  const BoundPart source = source_row(tensor, row);
  if (tensor.role == TensorRole::kEmbedding && source.tensor == embedding_tensor_) {
    if (!embedding_) return false;
    const EmbeddingChange& change = *embedding_;
    if (!x.empty()) {
      const auto a = std::span(change.a).subspan(to_size(source.first_row * change.rank),
                                                 to_size(change.rank));
      add_product(x, change.factor, a, change.b.data());
    }
    return true;
  }
  const auto found = places_.find(source.tensor);
  if (found == places_.end()) return false;
  // Two weights with the same stored rows, as keys that are values too, have the same change; only
  // a stored row that crosses outputs has several changes.
  bool changed = false;
  for (const Place& place : found->second) {
    if (!visit_place(place, source, x)) continue;
    changed = true;
    if (!place.part.turned || source.turned) break;
  }
  return changed;
}

bool AdapterChanges::changes(const ListedTensor& tensor) const {
  for (std::int64_t row = 0; row < tensor.rows(); ++row) {
    if (changes(tensor, row)) return true;
  }
  return false;
}

bool AdapterChanges::changes(const ListedTensor& tensor, std::int64_t row) const {
  return visit(tensor, row, {});
}

void AdapterChanges::add(const ListedTensor& tensor, std::int64_t row, std::span<float> x) const {
  visit(tensor, row, x);
}

}  // namespace ingot
