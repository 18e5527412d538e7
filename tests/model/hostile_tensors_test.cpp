// Each tensor of each family, damaged: absent, of another shape or type, or not finite. Damage is
// refused, or shows in the result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "model/bind.h"
#include "quant/encode.h"
#include "quant/formats.h"
#include "support/model_runner.h"
#include "support/random_model.h"

namespace ingot::testing_support {
namespace {

using R = TensorRole;
using Shape = std::vector<std::int64_t>;

/// An encoder with tables of positions and token types, made from a decoder's configuration.
RandomModel encoder(Config c, std::string_view architecture) {
  c.architecture = architecture;
  c.activation = Activation::kGeluErf;
  c.causal = false;
  c.rope_layer.assign(to_size(c.layers), -1);
  if (architecture == "bert") c.token_types = 2;
  if (architecture == "mpnet") {
    c.naming = Naming::kHuggingFace;
    c.relative_buckets = 32;
  }
  return {.name = cat(architecture), .config = c, .format = F32::kFormat};
}

/// Every random model, with formats of both kinds in turn, and encoders.
std::vector<RandomModel> all_models() {
  constexpr Format kFormats[] = {F32::kFormat, Q8_0::kFormat, Q4_K::kFormat};
  std::vector<RandomModel> models = random_models_in_turn(kFormats);
  const std::size_t decoders = models.size();
  for (std::size_t i = 0; i < decoders; ++i) {
    if (models[i].config.architecture == "gemma4") models[i].optional.push_back(R::kLayerScalar);
    if (models[i].config.architecture != "starcoder2") continue;
    models.push_back(encoder(models[i].config, "bert"));
    models.push_back(encoder(models[i].config, "mpnet"));
  }
  return models;
}

/// The names of a model's own tensors and of those of layer 1. Other layers are like it.
std::vector<std::string> names_of(const Checkpoint& checkpoint) {
  const std::string_view start = checkpoint.config().naming == Naming::kGguf ? "blk." : "layer.";
  std::vector<std::string> names;
  for (const TensorInfo& t : checkpoint.tensors()) {
    const auto in_layer = [&](int i) {
      return t.name.find(cat(start, i, ".")) != std::string::npos;
    };
    if (!in_layer(0) && !in_layer(2) && !in_layer(3)) names.push_back(t.name);
  }
  return names;
}

/// The message with which binding is refused, or "accepted".
std::string bind_refusal(const Checkpoint& checkpoint) {
  try {
    bind_model(checkpoint);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kModel) << e.message();
    return e.message();
  }
  return "accepted";
}

/// Shapes that differ from `shape`.
std::vector<Shape> other_shapes(const Shape& shape) {
  std::vector<Shape> others;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    for (const std::int64_t dim : {shape[i] + 1, shape[i] - 1, std::int64_t{0}}) {
      others.push_back(shape);
      others.back()[i] = dim;
    }
  }
  others.push_back(shape);
  others.back().insert(others.back().begin(), 2);
  others.push_back({});
  if (shape.size() > 1 && shape.front() != shape.back()) {
    others.push_back(shape);
    std::swap(others.back().front(), others.back().back());
  }
  std::erase(others, shape);
  return others;
}

TEST(HostileTensors, AnotherShapeIsRefusedByName) {
  int tried = 0;
  for (const RandomModel& model : all_models()) {
    const auto checkpoint = make_checkpoint(model, 1);
    ASSERT_EQ(bind_refusal(*checkpoint), "accepted") << model.name;
    for (const std::string& name : names_of(*checkpoint)) {
      const Shape right = checkpoint->find(name)->shape;
      for (const Shape& shape : other_shapes(right)) {
        checkpoint->reshape(name, shape);
        const std::string message = bind_refusal(*checkpoint);
        EXPECT_NE(message.find(cat("tensor ", name, " @")), std::string::npos)
            << model.name << ": " << message;
        ++tried;
      }
      checkpoint->reshape(name, right);
    }
  }
  EXPECT_GT(tried, 1000);
}

TEST(HostileTensors, AnotherTypeIsRefusedByName) {
  for (const RandomModel& model : all_models()) {
    const auto checkpoint = make_checkpoint(model, 1);
    for (const std::string& name : names_of(*checkpoint)) {
      const Format right = *checkpoint->find(name)->format;
      checkpoint->retype(name, std::nullopt, "I64");
      const std::string message = bind_refusal(*checkpoint);
      EXPECT_NE(message.find(cat("tensor ", name, " @0: type I64 holds no weights")),
                std::string::npos)
          << model.name << ": " << message;
      checkpoint->retype(name, right, format_name(right));
    }
  }
}

TEST(HostileTensors, AnAbsentTensorOfALayerIsRefused) {
  for (const RandomModel& model : all_models()) {
    const auto checkpoint = make_checkpoint(model, 1);
    for (const std::string& name : names_of(*checkpoint)) {
      if (name.find("1.") == std::string::npos) continue;  // backbones lack the model's own
      checkpoint->rename(name, name + ".gone");
      EXPECT_NE(bind_refusal(*checkpoint).find(" is missing"), std::string::npos)
          << model.name << ": " << name;
      checkpoint->rename(name + ".gone", name);
    }
  }
}

/// Runs a model and says what happened: "refused", "NaN" if every row of its result shows NaN, or
/// "finite".
std::string outcome(EditableCheckpoint& checkpoint, const std::string& tensor, KvType kv_type) {
  const bool text = checkpoint.config().causal;
  try {
    ModelRunner runner(checkpoint, {.kv_type = kv_type, .context = 16, .rows = 4, .sequences = 1});
    const std::vector<float> rows = runner.run({{1, 2, 3}}, {{{.sequence = 0, .rows = 3}}},
                                               text ? Output::kLogits : Output::kHidden)[0];
    const auto cols = std::ssize(rows) / 3;
    for (auto row = rows.begin(); row != rows.end(); row += cols) {
      if (std::none_of(row, row + cols, [](float v) { return std::isnan(v); })) return "finite";
    }
    return "NaN";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kModel) << e.message();
    EXPECT_NE(e.message().find(cat("tensor ", tensor)), std::string::npos) << e.message();
    return "refused";
  }
}

/// Tensors that `load_model` refuses: NaN in a selection bias gives finite, wrong text.
bool is_refused(const std::string& name) {
  return name.find("exp_probs_b") != std::string::npos ||
         name.find("attn_sinks") != std::string::npos ||
         name.find("layer_output_scale") != std::string::npos;
}

/// A finite result would be wrong text that nothing shows.
TEST(HostileTensors, WhatIsNotANumberIsRefusedOrShows) {
  int refused = 0;
  int choice = 0;
  for (const RandomModel& model : all_models()) {
    const auto checkpoint = make_checkpoint(model, 1);
    for (const std::string& name : names_of(*checkpoint)) {
      const Shape shape = checkpoint->find(name)->shape;
      const std::vector<std::byte> right = checkpoint->bytes(name);
      // A whole matrix, as a row or an expert may use any part of it; one element of a vector.
      if (shape.size() > 1) {
        checkpoint->fill(name, std::byte{0xff});
      } else {
        checkpoint->fill_row(name, shape.front() - 1, std::byte{0xff});
      }
      const KvType kv_type = ++choice % 2 == 0 ? KvType::kF16 : KvType::kInt8;
      EXPECT_EQ(outcome(*checkpoint, name, kv_type), is_refused(name) ? "refused" : "NaN")
          << model.name << ": " << name;
      refused += is_refused(name) ? 1 : 0;
      std::copy(right.begin(), right.end(), checkpoint->bytes(name).begin());
    }
  }
  EXPECT_EQ(refused, 3);
}

/// NaN in the router's row of an expert that no row chooses.
TEST(HostileTensors, ARoutersRowThatIsNotANumberShows) {
  for (const RandomModel& model : all_models()) {
    if (model.config.experts == 0) continue;
    const auto checkpoint = make_checkpoint(model, 1);
    checkpoint->fill_row("blk.1.ffn_gate_inp.weight", model.config.experts - 1, std::byte{0xff});
    EXPECT_EQ(outcome(*checkpoint, "", KvType::kF16), "NaN") << model.name;
  }
}

/// The number of token types is the file's, or that of the table, which has at least one row.
TEST(HostileTensors, ATableOfTokenTypesHasRows) {
  for (const RandomModel& model : all_models()) {
    if (model.config.architecture != "bert") continue;
    const auto checkpoint = make_checkpoint(model, 1);
    const std::int64_t hidden = model.config.hidden;
    const auto refusal_of = [&](std::int64_t stated, std::int64_t rows) {
      checkpoint->config().token_types = stated;
      checkpoint->reshape("token_types.weight", {rows, hidden});
      return bind_refusal(*checkpoint);
    };
    EXPECT_EQ(refusal_of(2, 2), "accepted");
    EXPECT_EQ(refusal_of(0, 2), "accepted");
    EXPECT_NE(refusal_of(0, 0).find(cat("shape is [0, ", hidden, "], expected [1, ", hidden)),
              std::string::npos);
    EXPECT_NE(refusal_of(3, 2).find(cat("shape is [2, ", hidden, "], expected [3, ", hidden)),
              std::string::npos);
    return;
  }
  FAIL() << "no encoder";
}

/// Experts and heads are parts of few tensors, so that a small file can state any number of them.
TEST(HostileTensors, MatricesAreBoundedByTheFile) {
  for (const RandomModel& model : all_models()) {
    const Config& c = model.config;
    if (c.mla.kv_rank == 0 && c.experts == 0) continue;
    const auto checkpoint = make_checkpoint(model, 1);
    const auto refusal_of = [&](std::int64_t experts, std::int64_t heads) {
      checkpoint->config().experts = experts;
      checkpoint->config().heads = heads;
      return bind_refusal(*checkpoint);
    };
    EXPECT_EQ(refusal_of(c.experts, c.heads), "accepted");
    EXPECT_NE(refusal_of(1 << 17, c.heads).find("matrices of experts and heads, the limit for"),
              std::string::npos)
        << model.name;
    if (c.mla.kv_rank == 0) continue;
    EXPECT_NE(refusal_of(c.experts, 1 << 17).find("matrices of experts and heads, the limit for"),
              std::string::npos);
  }
}

/// The vector's own blocks are decoded, not those of all experts: the tensor is larger than memory.
TEST(HostileTensors, AVectorIsReadWithoutTheRestOfItsTensor) {
  const std::int64_t row = row_bytes(Q8_0::kFormat, 64);
  std::vector<std::byte> rows(to_size(3 * row));
  std::vector<float> values(64), decoded(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 20;
  encode_row(Q8_0::kFormat, values.data(), 64, rows.data() + 2 * row);
  decode_row(Q8_0::kFormat, rows.data() + 2 * row, 64, decoded.data());
  TensorInfo stack;
  stack.shape = {std::int64_t{1} << 40, 64};
  stack.format = Q8_0::kFormat;
  stack.data = rows.data();
  const std::vector<float> odd =
      decode_vector({.tensor = &stack, .first = 2 * 64 + 1, .count = 32, .step = 2});
  ASSERT_EQ(odd.size(), 32u);
  for (std::size_t i = 0; i < odd.size(); ++i) EXPECT_EQ(odd[i], decoded[2 * i + 1]);
}

}  // namespace
}  // namespace ingot::testing_support
