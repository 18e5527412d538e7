// load_adapter: gathers the rows of each pair in the weights' order, and stacks the pairs of a
// weight.
#include "model/adapter.h"

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "model/adapter_plan.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ingot {

namespace {

Weight packed(Backend& backend, const std::vector<StridedMatrix>& stack) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<View> views;
  for (const StridedMatrix& m : stack) {
    memory.push_back(gathered(m));
    views.push_back(m.view());
    views.back().data = memory.back().data();
  }
  return backend.prepare(views, {}, Use::kAdapter);
}

Weight packed_rows(Backend& backend, const PlannedPart& part) {
  std::vector<std::byte> memory = gathered(
      part.b, part.target->rows, [&](std::int64_t i) { return part.target->module_row(i); });
  View view = part.b.view();
  view.rows = part.target->rows;
  view.data = memory.data();
  return backend.prepare(std::span(&view, 1), {}, Use::kAdapter);
}

std::int64_t planned_bytes(const AdapterPlan& plan, Naming naming, const Backend& backend) {
  std::int64_t bytes = 0;
  const auto add = [&](const std::vector<View>& views) {
    bytes += backend.prepared_bytes(views, false, Use::kAdapter);
  };
  for (const auto& [number, linear] : plan.linears) {
    std::vector<View> stack;
    for (const StridedMatrix& a : linear.a) stack.push_back(a.view());
    add(stack);
    for (const PlannedPart& part : linear.parts) {
      View view = part.b.view();
      view.rows = part.target->rows;
      add({view});
    }
  }
  if (plan.embedding != nullptr) {
    const MatrixPair m = embedding_matrices(*plan.embedding, naming);
    add({m.a.view()});
    add({m.b.view()});
  }
  return bytes;
}

void hash_text(XXH3_state_t& state, std::string_view text) {
  const std::uint64_t size = text.size();
  XXH3_128bits_update(&state, &size, sizeof size);
  XXH3_128bits_update(&state, text.data(), text.size());
}

void hash_tensor(XXH3_state_t& state, const TensorInfo& t) {
  std::string text = t.type_name;
  for (const std::int64_t dim : t.shape) text += cat(" ", dim);
  hash_text(state, text);
  XXH3_128bits_update(&state, t.data, t.bytes);
}

}  // namespace

std::unique_ptr<const Adapter> load_adapter(const AdapterFile& file, const AdapterTargets& targets,
                                            Backend& backend) {
  const AdapterPlan plan = plan_adapter(file, targets);
  auto adapter = std::make_unique<Adapter>();
  AdapterWeights& weights = adapter->weights;
  weights.places.assign(to_size(targets.weights()), -1);
  for (const auto& [number, linear] : plan.linears) {
    at(weights.places, number) = static_cast<std::int32_t>(weights.linears.size());
    AdapterLinear& out = weights.linears.emplace_back();
    out.a = packed(backend, linear.a);
    for (const PlannedPart& part : linear.parts) {
      out.parts.push_back({.first_row = part.target->first_row,
                           .first_rank = part.first_rank,
                           .scale = static_cast<float>(part.scale),
                           .b = packed_rows(backend, part)});
    }
  }
  if (plan.embedding != nullptr) {
    const MatrixPair m = embedding_matrices(*plan.embedding, file.naming);
    weights.embedding = {
        .number = plan.embedding_number,
        .a = packed(backend, {m.a}),
        .part = {.scale = static_cast<float>(plan.embedding->scale), .b = packed(backend, {m.b})}};
  }
  adapter->invocation_tokens = file.invocation_tokens;
  adapter->identity = adapter_identity(file);
  adapter->bytes = planned_bytes(plan, file.naming, backend);
  adapter->warnings = file.warnings;
  if (plan.unused != nullptr) adapter->warnings.push_back(plan.unused_warning());
  return adapter;
}

std::int64_t adapter_bytes(const AdapterFile& file, const AdapterTargets& targets,
                           const Backend& backend) {
  return planned_bytes(plan_adapter(file, targets), file.naming, backend);
}

AdapterIdentity adapter_identity(const AdapterFile& file) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_128bits_reset(&state);
  for (const AdapterPair& pair : file.pairs) {
    hash_text(state, pair.module);
    XXH3_128bits_update(&state, &pair.scale, sizeof pair.scale);
    hash_tensor(state, *pair.a);
    hash_tensor(state, *pair.b);
  }
  const std::uint64_t pairs = file.pairs.size();
  XXH3_128bits_update(&state, &pairs, sizeof pairs);
  for (const std::int32_t token : file.invocation_tokens) {
    XXH3_128bits_update(&state, &token, sizeof token);
  }
  const bool old = file.old_parameters;
  XXH3_128bits_update(&state, &old, sizeof old);
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.low64, hash.high64};
}

namespace {

std::string_view last_part(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

std::string lower(std::string_view text) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return name;
}

/// Returns whether a file's or folder's name says nothing about the model: "model.gguf", or the
/// revision of a snapshot.
bool is_no_name(std::string_view name) {
  constexpr std::size_t kRevisionDigits = 40;
  const bool is_revision = name.size() == kRevisionDigits &&
                           name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return name.empty() || name.starts_with("model.") || name.starts_with("model-") || is_revision;
}

}  // namespace

std::string base_model_warning(const AdapterFile& file, std::string_view model_name) {
  const std::string wanted = lower(last_part(file.base_model)), has = lower(last_part(model_name));
  if (is_no_name(wanted) || is_no_name(has)) return {};
  if (wanted.starts_with(has) || has.starts_with(wanted)) return {};
  return cat("adapter ", printable(file.name), " names the base model ", printable(file.base_model),
             ", but the model is ", printable(std::string(last_part(model_name))));
}

}  // namespace ingot
