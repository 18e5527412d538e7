// bind_experts: the layouts in which files store experts, and the parts of each expert's matrices.
#include "model/bind_experts.h"

#include <functional>

#include "base/text.h"
#include "quant/formats.h"

namespace ingot {

namespace {

using R = TensorRole;

/// Makes the part of expert e.
using PartOf = std::function<BoundPart(std::int64_t e)>;
/// Makes a bias of expert e.
using BiasOf = std::function<BoundVector(std::int64_t e)>;

class ExpertBinder {
 public:
  ExpertBinder(TensorFinder& finder, const Spec& spec, std::int64_t layer)
      : finder_(finder), spec_(spec), i_(layer), experts_(spec.moe.experts), ffn_(spec.moe.ffn) {}

  void bind(BoundLayer& layer) {
    layer.router = finder_.take_weight({{R::kRouter, experts_, R::kRouterBias}}, spec_.hidden, i_);
    layer.router.rounds = false;
    layer.router.use = Use::kExact;
    layer.selection_bias = finder_.take(R::kSelectionBias, {experts_}, i_);
    const bool chooses_by_bias = finder_.family().rule_of(R::kSelectionBias) != nullptr;
    if (spec_.moe.score == Moe::Score::kSigmoid && chooses_by_bias &&
        layer.selection_bias == nullptr) {
      finder_.fail_missing(R::kSelectionBias, i_, 0);
    }
    layer.expert_gate_up = add_biases(gate_up(), gate_up_biases());
    layer.expert_down = add_biases(down(), down_biases());
    if (spec_.shared_ffn > 0) bind_shared(layer);
  }

 private:
  std::vector<BoundWeight> gate_up();
  std::vector<BoundWeight> down();
  std::vector<BiasOf> gate_up_biases();
  std::vector<BiasOf> down_biases();
  void bind_shared(BoundLayer& layer);

  PartOf stacked_or_apart(TensorRole role, std::int64_t rows, std::int64_t cols);
  PartOf codes(TensorRole blocks, TensorRole scales, std::int64_t rows, std::int64_t cols);
  std::vector<BoundWeight> weights(const std::vector<PartOf>& parts) const;
  std::vector<BoundWeight> add_biases(std::vector<BoundWeight> weights,
                                      const std::vector<BiasOf>& biases) const;

  TensorFinder& finder_;
  const Spec& spec_;
  std::int64_t i_;
  std::int64_t experts_;
  std::int64_t ffn_;
};

/// The parts of matrices [rows, cols], all in one tensor or in a tensor for each expert.
PartOf ExpertBinder::stacked_or_apart(TensorRole role, std::int64_t rows, std::int64_t cols) {
  const RoleRule* rule = finder_.family().rule_of(role);
  if (rule == nullptr) finder_.fail_missing(role, i_, 0);
  const std::string_view names = rule->spelled().of(finder_.naming());
  if (counts_experts(names)) {
    return [=, this](std::int64_t e) -> BoundPart {
      return {.tensor = finder_.take(role, {rows, cols}, i_, e), .rows = rows, .cols = cols};
    };
  }
  const TensorInfo* stack = finder_.take(role, {experts_, rows, cols}, i_);
  return [=](std::int64_t e) -> BoundPart {
    return {.tensor = stack, .first_row = e * rows, .rows = rows, .cols = cols};
  };
}

/// The parts of matrices [rows, cols] in MXFP4 as Hugging Face files store them.
PartOf ExpertBinder::codes(TensorRole blocks, TensorRole scales, std::int64_t rows,
                           std::int64_t cols) {
  const std::int64_t row_blocks = cols / MXFP4::kBlock;
  const TensorInfo* code =
      finder_.take_bytes(blocks, {experts_, rows, row_blocks, MXFP4::kBlock / 2}, i_);
  if (cols % MXFP4::kBlock != 0) {
    finder_.fail(*code, cat("rows of ", cols, " do not divide into blocks of ", MXFP4::kBlock));
  }
  const TensorInfo* scale = finder_.take_bytes(scales, {experts_, rows, row_blocks}, i_);
  return [=](std::int64_t e) -> BoundPart {
    return {.tensor = code, .first_row = e * rows, .rows = rows, .cols = cols, .scales = scale};
  };
}

std::vector<BoundWeight> ExpertBinder::weights(const std::vector<PartOf>& parts) const {
  std::vector<BoundWeight> all;
  for (std::int64_t e = 0; e < experts_; ++e) {
    BoundWeight& w = all.emplace_back();
    for (const PartOf& part : parts) w.parts.push_back(part(e));
  }
  return all;
}

std::vector<BoundWeight> ExpertBinder::add_biases(std::vector<BoundWeight> weights,
                                                  const std::vector<BiasOf>& biases) const {
  for (std::int64_t e = 0; e < experts_; ++e) {
    for (const BiasOf& bias : biases) at(weights, e).biases.push_back(bias(e));
  }
  return weights;
}

/// Rows of which every second one belongs to the gate or to the up matrix.
std::vector<PartOf> alternating(const PartOf& both, std::int64_t ffn) {
  const auto every_second = [=](std::int64_t start) -> PartOf {
    return [=](std::int64_t e) {
      BoundPart part = both(e);
      (part.turned ? part.first_col : part.first_row) += start;
      part.rows = ffn;
      part.row_step = 2;
      return part;
    };
  };
  return {every_second(0), every_second(1)};
}

std::vector<BoundWeight> ExpertBinder::gate_up() {
  const std::int64_t h = spec_.hidden;
  if (finder_.has(R::kExpertGateUpBlocks, i_)) {
    const PartOf both = codes(R::kExpertGateUpBlocks, R::kExpertGateUpScales, 2 * ffn_, h);
    return weights(alternating(both, ffn_));
  }
  if (finder_.has(R::kExpertGateUpTurned, i_)) {
    const TensorInfo* stack = finder_.take(R::kExpertGateUpTurned, {experts_, h, 2 * ffn_}, i_);
    const auto both = [=, this](std::int64_t e) -> BoundPart {
      return {.tensor = stack,
              .first_row = e * h,
              .rows = 2 * ffn_,
              .cols = h,
              .turned = true,
              .stored_cols = 2 * ffn_};
    };
    return weights(alternating(both, ffn_));
  }
  if (finder_.has(R::kExpertGateUp, i_)) {
    return weights({stacked_or_apart(R::kExpertGateUp, 2 * ffn_, h)});
  }
  return weights(
      {stacked_or_apart(R::kExpertGate, ffn_, h), stacked_or_apart(R::kExpertUp, ffn_, h)});
}

std::vector<BoundWeight> ExpertBinder::down() {
  const std::int64_t h = spec_.hidden;
  if (finder_.has(R::kExpertGateUpBlocks, i_)) {
    return weights({codes(R::kExpertDownBlocks, R::kExpertDownScales, h, ffn_)});
  }
  if (finder_.has(R::kExpertGateUpTurned, i_)) {
    const TensorInfo* stack = finder_.take(R::kExpertDownTurned, {experts_, ffn_, h}, i_);
    return weights({[=, this](std::int64_t e) -> BoundPart {
      return {.tensor = stack,
              .first_row = e * ffn_,
              .rows = h,
              .cols = ffn_,
              .turned = true,
              .stored_cols = h};
    }});
  }
  return weights({stacked_or_apart(R::kExpertDown, h, ffn_)});
}

/// Biases of gate and up, which alternate in one tensor or stand in two.
std::vector<BiasOf> ExpertBinder::gate_up_biases() {
  std::vector<BiasOf> biases;
  const std::int64_t ffn = ffn_;
  if (finder_.has(R::kExpertGateUpBias, i_)) {
    const TensorInfo* both = finder_.take(R::kExpertGateUpBias, {experts_, 2 * ffn}, i_);
    for (const std::int64_t start : {0, 1}) {
      biases.push_back([=](std::int64_t e) -> BoundVector {
        return {.tensor = both, .first = e * 2 * ffn + start, .count = ffn, .step = 2};
      });
    }
    return biases;
  }
  for (const TensorRole role : {R::kExpertGateBias, R::kExpertUpBias}) {
    const TensorInfo* stack = finder_.take(role, {experts_, ffn}, i_);
    if (stack == nullptr) continue;
    biases.push_back([=](std::int64_t e) -> BoundVector {
      return {.tensor = stack, .first = e * ffn, .count = ffn};
    });
  }
  return biases;
}

std::vector<BiasOf> ExpertBinder::down_biases() {
  const std::int64_t h = spec_.hidden;
  const TensorInfo* stack = finder_.take(R::kExpertDownBias, {experts_, h}, i_);
  if (stack == nullptr) return {};
  return {
      [=](std::int64_t e) -> BoundVector { return {.tensor = stack, .first = e * h, .count = h}; }};
}

void ExpertBinder::bind_shared(BoundLayer& layer) {
  const std::int64_t f = spec_.shared_ffn, h = spec_.hidden;
  if (finder_.has(R::kSharedGateUp, i_)) {
    layer.shared_gate_up = finder_.take_matrix(R::kSharedGateUp, 2 * f, h, i_);
  } else {
    layer.shared_gate_up = finder_.take_weight({{R::kSharedGate, f}, {R::kSharedUp, f}}, h, i_);
  }
  layer.shared_down = finder_.take_matrix(R::kSharedDown, h, f, i_);
  if (!layer.shared_gate_up || !layer.shared_down) finder_.fail_missing(R::kSharedGate, i_, 0);
  layer.shared_router = finder_.take_matrix(R::kSharedRouter, 1, h, i_);
  layer.shared_router.rounds = false;
  layer.shared_router.use = Use::kExact;
}

}  // namespace

void bind_experts(TensorFinder& finder, const Spec& spec, std::int64_t i, BoundLayer& layer) {
  ExpertBinder(finder, spec, i).bind(layer);
}

}  // namespace ingot
