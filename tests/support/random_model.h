// Tiny random models of every family and weight format, without files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "load/checkpoint.h"
#include "model/names.h"

namespace ingot::testing_support {

/// A random model: a configuration and the format of its matrices.
struct RandomModel {
  std::string name;  ///< for traces: "qwen3 Q4_K"
  Config config;
  Format format{};
  /// q, k and v (and the experts' gate and up) in different formats, as real files have them.
  bool mixed = false;
  std::vector<TensorRole> optional{};  ///< optional tensors that the model has
};

/// Configurations that together use every feature of every family, with `format` in every matrix.
std::vector<RandomModel> random_models(Format format);

/// Each configuration once, with the formats in turn.
std::vector<RandomModel> random_models_in_turn(std::span<const Format> formats);

/// A checkpoint in memory whose tensors a test may damage.
class EditableCheckpoint : public Checkpoint {
 public:
  void remove(const std::string& tensor);
  void rename(const std::string& tensor, const std::string& name);
  void reshape(const std::string& tensor, std::vector<std::int64_t> shape);
  void retype(const std::string& tensor, std::optional<Format> format, std::string type_name);
  /// Adds a tensor with the shape and bytes of an existing one.
  void duplicate(const std::string& tensor, const std::string& name);
  /// The bytes of a tensor. Their number must not change.
  std::vector<std::byte>& bytes(const std::string& tensor) { return storage_.at(tensor); }
  /// Flips one bit of a tensor's data.
  void flip_bit(const std::string& tensor);
  void fill(const std::string& tensor, std::byte value);
  /// Sets the bytes of row `row` to `value`; 0xff makes floats NaN.
  void fill_row(const std::string& tensor, std::int64_t row, std::byte value);
  Config& config() { return config_; }
  using Checkpoint::config;
  void set_tokenizer(std::unique_ptr<TokenizerData> data) { tokenizer_ = std::move(data); }

 protected:
  void place();
  TensorInfo& get(const std::string& tensor);
  std::map<std::string, std::vector<std::byte>> storage_;
};

/// Draws the tensors from `seed`, so that activations keep their size from layer to layer.
std::unique_ptr<EditableCheckpoint> make_checkpoint(const RandomModel& model, std::uint64_t seed);

}  // namespace ingot::testing_support
