// StepProfile: adds up times of ops, linears and layers.
#include "backend/op_profile.h"

#include <algorithm>
#include <numeric>

#include "base/index.h"

namespace ingot {

namespace {

void add(OpSeconds& to, const OpSeconds& seconds) {
  for (std::size_t k = 0; k < kOpKinds; ++k) to[k] += seconds[k];
}

}  // namespace

std::string_view to_string(OpKind kind) {
  constexpr std::array<std::string_view, kOpKinds> kNames{
      "embed",    "norm", "scale",     "linear", "linear_heads", "rope",   "kv_write", "attention",
      "activate", "glu",  "add_gated", "moe",    "gather",       "logits", "pool",     "normalise"};
  return at(kNames, kind);
}

std::string_view to_string(MoeStage stage) {
  constexpr std::array<std::string_view, kMoeStages> kNames{"route", "gate and up", "activation",
                                                            "down", "sum"};
  return at(kNames, stage);
}

StepKind step_kind(const Batch& batch) {
  std::int32_t single = 0;
  for (std::size_t s = 0; s + 1 < batch.q_start.size(); ++s) {
    single += batch.q_start[s + 1] - batch.q_start[s] == 1 ? 1 : 0;
  }
  if (single == batch.sequences()) return StepKind::kDecode;
  return single == 0 ? StepKind::kPrefill : StepKind::kMixed;
}

OpTotals& OpTotals::operator+=(const OpTotals& other) {
  calls += other.calls;
  rows += other.rows;
  seconds += other.seconds;
  return *this;
}

double StepProfile::op_seconds() const {
  return std::accumulate(ops.begin(), ops.end(), 0.0,
                         [](double sum, const OpTotals& op) { return sum + op.seconds; });
}

OpSeconds StepProfile::outside_layers() const {
  OpSeconds inside{};
  for (const OpSeconds& layer : layers) add(inside, layer);
  OpSeconds outside{};
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    outside[k] = std::max(0.0, ops[k].seconds - inside[k]);
  }
  return outside;
}

void StepProfile::add_linear(const LinearTotals& linear) {
  const auto known = std::find_if(linears.begin(), linears.end(), [&](const LinearTotals& l) {
    return l.outputs == linear.outputs && l.inputs == linear.inputs;
  });
  if (known == linears.end()) {
    linears.push_back(linear);
  } else {
    known->totals += linear.totals;
  }
}

void StepProfile::add_layer(std::size_t i, const OpSeconds& seconds) {
  if (layers.size() <= i) layers.resize(i + 1, OpSeconds{});
  add(layers[i], seconds);
}

StepProfile& StepProfile::operator+=(const StepProfile& other) {
  steps += other.steps;
  rows += other.rows;
  seconds += other.seconds;
  for (std::size_t k = 0; k < kOpKinds; ++k) ops[k] += other.ops[k];
  for (std::size_t k = 0; k < kMoeStages; ++k) moe[k] += other.moe[k];
  for (const LinearTotals& linear : other.linears) add_linear(linear);
  for (std::size_t i = 0; i < other.layers.size(); ++i) add_layer(i, other.layers[i]);
  return *this;
}

}  // namespace ingot
