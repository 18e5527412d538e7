// Tiny random models of every family and weight format, without files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "load/checkpoint.h"

namespace ingot::testing_support {

/// A model to make up: a configuration and the format of its matrices.
struct RandomModel {
  std::string name;  ///< for traces: "qwen3 Q4_K"
  Config config;
  Format format{};
  /// q, k and v (and the experts' gate and up) in different formats, as real files have them.
  bool mixed = false;
  bool biases = false;
  bool qk_norms = false;
};

/// Configurations that between them use every feature of every family, with `format` in every
/// matrix.
std::vector<RandomModel> random_models(Format format);

/// Makes the tensors up from `seed`: normal-sized activations in, normal-sized activations out.
std::unique_ptr<Checkpoint> make_checkpoint(const RandomModel& model, std::uint64_t seed);

}  // namespace ingot::testing_support
