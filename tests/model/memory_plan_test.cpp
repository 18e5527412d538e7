// The memory plan equals what loading allocates, and what does not fit is refused with the way out.
#include "model/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "base/text.h"
#include "model/forward.h"
#include "model/require_supported.h"
#include "model/weight_list.h"
#include "quant/formats.h"
#include "support/planned_device.h"
#include "support/random_model.h"

namespace ingot::testing_support {
namespace {

class MemoryPlanTest : public testing::Test {
 protected:
  ThreadPool pool_{1};
  CpuBackend backend_{pool_, scalar_kernels()};
};

std::int64_t weight_storage(const Weight& w) { return w.storage.bytes() + w.bias.buffer.bytes(); }

std::int64_t loaded_bytes(const Model& m) {
  std::int64_t bytes = 0;
  for (const Weight* w : loaded_weights(m)) bytes += weight_storage(*w);
  return bytes;
}

TEST_F(MemoryPlanTest, WeightsAreWhatLoadingAllocates) {
  for (const RandomModel& m : random_models(Q4_K::kFormat)) {
    for (const ModelOptions& options :
         {ModelOptions{.context = 32},
          ModelOptions{.first_layer = 1, .embedding = false, .context = 32},
          ModelOptions{.last_layer = 1, .head = false, .final_norm = false, .context = 32}}) {
      SCOPED_TRACE(cat(m.name, " from ", options.first_layer));
      const auto checkpoint = make_checkpoint(m, 3);
      const BoundModel bound = bind_model(*checkpoint);
      const MemoryPlan plan = plan_memory(bound, backend_, {.options = options, .context = 32});
      const auto model =
          load_model(*checkpoint, bound, backend_, options, [](std::uint64_t, std::uint64_t) {});
      EXPECT_EQ(plan.host.weights_bytes, loaded_bytes(*model));
    }
  }
}

TEST_F(MemoryPlanTest, AMatrixThatIsRoundedIsThereTwice) {
  RandomModel large = random_models(BF16::kFormat)[0];
  large.config.ffn *= 8;  // so that rounding takes more than a step
  const auto checkpoint = make_checkpoint(large, 3);
  const BoundModel bound = bind_model(*checkpoint);
  const ModelOptions options{.context = 1, .weights = Q8_0::kFormat};
  PlanRequest request{.options = options, .context = 1};
  const MemoryPlan plan = plan_memory(bound, backend_, request);
  std::int64_t largest = 0;
  const auto count = [&](const BoundWeight& w) {
    std::int64_t bytes = 0;
    for (const BoundPart& part : w.parts) {
      const bool rounded = format_info(*part.tensor->format).dense;
      bytes += rounded ? part.rows * part.cols / 32 * 34 : 0;  // a block of Q8_0
    }
    largest = std::max(largest, bytes);
  };
  count(bound.embedding);
  for (const BoundLayer& l : bound.layers) {
    for (const BoundWeight* w : {&l.qkv, &l.attn_out, &l.gate_up, &l.down}) count(*w);
  }
  EXPECT_EQ(plan.host.loading_bytes, largest);
  EXPECT_EQ(plan_memory(bound, backend_, {.options = {}, .context = 1}).host.loading_bytes, 0);

  ASSERT_GT(plan.host.loading_bytes, plan.host.kv_bytes + plan.host.scratch_bytes);
  request.available_bytes = plan.host.weights_bytes + plan.host.loading_bytes;
  EXPECT_TRUE(plan_memory(bound, backend_, request).fits);
  --request.available_bytes;
  const MemoryPlan less = plan_memory(bound, backend_, request);
  EXPECT_FALSE(less.fits);
  EXPECT_EQ(less.max_context, 0);
  try {
    require_fit(less, "m.gguf");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find(cat("a matrix while it is rounded ", largest)),
              std::string::npos)
        << error.message();
  }
}

TEST_F(MemoryPlanTest, WideningTakesEveryMatrixAndRoundingLeavesRoutersAndLatents) {
  int left = 0;
  for (const RandomModel& m : random_models(BF16::kFormat)) {
    SCOPED_TRACE(m.name);
    const auto checkpoint = make_checkpoint(m, 3);
    const BoundModel bound = bind_model(*checkpoint);
    const ModelOptions wide{.weights = F32::kFormat};
    const ModelOptions rounded{.weights = Q8_0::kFormat};
    for (const BoundWeight* w : all_weights(bound, {})) {
      for (const BoundPart& part : w->parts) {
        const bool dense = format_info(part.format()).dense;
        EXPECT_EQ(held_format(*w, part, wide), dense ? F32::kFormat : part.format());
        if (w->rounds) continue;
        EXPECT_EQ(held_format(*w, part, rounded), part.format());
        ++left;
      }
    }
  }
  EXPECT_GT(left, 0);
}

TEST_F(MemoryPlanTest, PartOfTheLayersNeedsPartOfTheMemory) {
  const auto checkpoint = make_checkpoint(random_models(Q8_0::kFormat)[0], 3);
  const BoundModel bound = bind_model(*checkpoint);
  const auto plan = [&](const ModelOptions& options) {
    return plan_memory(bound, backend_, {.options = options, .context = 64});
  };
  const MemoryPlan all = plan({});
  const MemoryPlan first = plan({.last_layer = 1, .head = false});
  const MemoryPlan second = plan({.first_layer = 1, .embedding = false});
  EXPECT_EQ(first.host.weights_bytes + second.host.weights_bytes, all.host.weights_bytes);
  EXPECT_EQ(first.host.kv_bytes + second.host.kv_bytes, all.host.kv_bytes);
}

TEST_F(MemoryPlanTest, KvIsTwoValuesPerLayerHeadAndElement) {
  const RandomModel m = random_models(F16::kFormat)[0];
  const auto checkpoint = make_checkpoint(m, 3);
  const BoundModel bound = bind_model(*checkpoint);
  for (const auto& [type, bytes] : {std::pair{KvType::kF32, 4}, {KvType::kF16, 2}}) {
    const MemoryPlan plan =
        plan_memory(bound, backend_, {.options = {}, .kv_type = type, .context = 32});
    const Config& c = m.config;
    EXPECT_EQ(plan.kv_bytes_per_token, 2 * c.layers * c.kv_heads * c.head_dim * bytes);
    EXPECT_EQ(plan.host.kv_bytes, 32 * plan.kv_bytes_per_token);
  }
}

TEST_F(MemoryPlanTest, MaxContextIsTheLargestThatFits) {
  for (const RandomModel& m : random_models(Q4_0::kFormat)) {
    SCOPED_TRACE(m.name);
    const auto checkpoint = make_checkpoint(m, 3);
    const BoundModel bound = bind_model(*checkpoint);
    PlanRequest request{.options = {}, .context = 16, .rows = 8};
    const MemoryPlan small = plan_memory(bound, backend_, request);
    request.available_bytes = small.host.total_bytes() + 40 * small.kv_bytes_per_token;
    request.context = plan_memory(bound, backend_, request).max_context;
    EXPECT_GT(request.context, 16);
    EXPECT_TRUE(plan_memory(bound, backend_, request).fits);
    if (request.context == bound.spec.context) continue;  // the model's own end comes first
    ++request.context;
    EXPECT_FALSE(plan_memory(bound, backend_, request).fits);
  }
}

TEST_F(MemoryPlanTest, PartsThatNoDeviceComputesAreRefused) {
  const auto refusal = [&](std::string_view name, const ModelOptions& options, KvType type,
                           auto change) -> std::string {
    for (RandomModel& m : random_models(F32::kFormat)) {
      if (m.name != cat(name, " F32")) continue;
      change(m.config);
      const auto checkpoint = make_checkpoint(m, 3);
      try {
        require_supported(bind_model(*checkpoint), options, type, backend_, "file");
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalid);
        return error.message();
      }
      return "supported";
    }
    return "no such model";
  };
  const auto as_it_is = [](Config&) {};
  EXPECT_EQ(refusal("deepseek2", {}, KvType::kInt8, as_it_is), "supported");
  const auto narrow = [](Config& c) { c.mla.kv_rank = 48; };
  EXPECT_EQ(refusal("deepseek2", {}, KvType::kF16, narrow), "supported");
  EXPECT_EQ(refusal("deepseek2", {}, KvType::kInt8, narrow),
            "file: `kv_type` int8 needs a latent of a multiple of 32 elements, this model has 48");
  EXPECT_EQ(refusal("gemma4", {.last_layer = 2}, KvType::kF16, as_it_is), "supported");
  EXPECT_EQ(refusal("gemma4", {.first_layer = 1}, KvType::kF16, as_it_is),
            "file: layers with inputs of their own cannot start a stage, which has no token ids");
  const auto readers = [](Config& c) { c.kv_source = {-1, -1, 0, 1}; };
  EXPECT_EQ(refusal("llama", {.first_layer = 1}, KvType::kF16, readers),
            "file: layer 2 reads the keys and values of layer 0, which is not in the same stage");
}

TEST_F(MemoryPlanTest, WhatDoesNotFitIsRefusedWithNumbersAndFlag) {
  const auto checkpoint = make_checkpoint(random_models(Q4_0::kFormat)[0], 3);
  const BoundModel bound = bind_model(*checkpoint);
  PlanRequest request{.options = {}, .context = 256};
  const MemoryPlan roomy = plan_memory(bound, backend_, request);
  request.available_bytes = roomy.host.total_bytes() - 1;
  try {
    require_fit(plan_memory(bound, backend_, request), "m.gguf");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kDoesNotFit);
    EXPECT_NE(e.message().find(cat(roomy.host.total_bytes())), std::string::npos) << e.message();
    EXPECT_NE(e.message().find("`context`"), std::string::npos) << e.message();
  }
  request.available_bytes = 1000;
  try {
    require_fit(plan_memory(bound, backend_, request), "m.gguf");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("`memory_limit`"), std::string::npos) << e.message();
  }
}

TEST_F(MemoryPlanTest, MaxContextGoesBeyondTheModelsWhereMoreIsAskedFor) {
  const auto checkpoint = make_checkpoint(random_models(Q4_0::kFormat)[0], 3);
  const BoundModel bound = bind_model(*checkpoint);
  const std::int64_t own = bound.spec.context;
  PlanRequest request{.options = {}, .available_bytes = std::int64_t{1} << 40};
  EXPECT_EQ(plan_memory(bound, backend_, request).max_context, own);
  request.context = own + 1000;
  EXPECT_EQ(plan_memory(bound, backend_, request).max_context, own + 1000);
  request.available_bytes = plan_memory(bound, backend_, request).host.total_bytes() - 1;
  const std::int64_t fitting = plan_memory(bound, backend_, request).max_context;
  EXPECT_GT(fitting, own);
  EXPECT_LT(fitting, own + 1000);
}

TEST_F(MemoryPlanTest, BlockTablesCountAtTheContextThatIsTried) {
  const auto checkpoint = make_checkpoint(random_models(Q4_0::kFormat)[0], 3);
  const BoundModel bound = bind_model(*checkpoint);
  PlanRequest request{.options = {}, .context = 10 * kBlockTokens, .table_bytes = 1 << 20};
  const MemoryPlan ten = plan_memory(bound, backend_, request);
  request.context = kBlockTokens;
  const MemoryPlan one = plan_memory(bound, backend_, request);
  EXPECT_GE(ten.host.scratch_bytes - one.host.scratch_bytes, 9 << 20);
  request.context = 10 * kBlockTokens;
  request.available_bytes = one.host.total_bytes();
  EXPECT_EQ(plan_memory(bound, backend_, request).max_context, kBlockTokens);
}

TEST_F(MemoryPlanTest, ThereIsAnEndToWhatAPoolCanNumber) {
  const auto checkpoint = make_checkpoint(random_models(Q4_0::kFormat)[0], 3);
  const BoundModel bound = bind_model(*checkpoint);
  PlanRequest request{.options = {},
                      .context = 1 << 20,
                      .sequences = 2047,
                      .available_bytes = std::int64_t{1} << 50};
  EXPECT_TRUE(plan_memory(bound, backend_, request).fits);
  request.sequences = 2048;
  const MemoryPlan plan = plan_memory(bound, backend_, request);
  EXPECT_FALSE(plan.fits);
  EXPECT_EQ(plan.max_sequences, 2047);
  try {
    require_fit(plan, "m.gguf");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kDoesNotFit);
    EXPECT_NE(e.message().find("2047 of the 2048"), std::string::npos) << e.message();
  }
}

TEST_F(MemoryPlanTest, OnlyWhatHelpsIsSaid) {
  const auto checkpoint = make_checkpoint(random_models(Q4_0::kFormat)[0], 3);
  const BoundModel bound = bind_model(*checkpoint);
  const auto message = [&](PlanRequest request) {
    const MemoryPlan plan = plan_memory(bound, backend_, request);
    request.available_bytes = plan.host.total_bytes() - 1;
    try {
      require_fit(plan_memory(bound, backend_, request), "m.gguf");
    } catch (const Error& e) {
      return e.message();
    }
    return std::string();
  };
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string f16 = message({.options = {}, .context = 256});
  EXPECT_TRUE(says(f16, "`context`") && says(f16, "`kv_type` int8")) << f16;
  const std::string int8 = message({.options = {}, .kv_type = KvType::kInt8, .context = 256});
  EXPECT_TRUE(says(int8, "`context`") && !says(int8, "`kv_type`")) << int8;
  const std::string f32 = message({.options = {}, .kv_type = KvType::kF32, .context = 256});
  EXPECT_TRUE(says(f32, "`context`") && says(f32, "`kv_type` f16")) << f32;
  const std::string many = message({.options = {}, .context = 256, .sequences = 8});
  EXPECT_TRUE(says(many, "7 of the 8 sequences") && !says(many, "`context`")) << many;
  const std::string rows = message({.options = {}, .context = 1, .rows = 4096});
  EXPECT_TRUE(says(rows, "fewer rows") && !says(rows, "quantisation")) << rows;
}

TEST_F(MemoryPlanTest, ASmallerQuantisationMakesRoundingSmaller) {
  MemoryPlan plan;
  plan.host = {
      .weights_bytes = 10, .scratch_bytes = 20, .loading_bytes = 30, .available_bytes = 39};
  try {
    require_fit(plan, "m.gguf");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.message(),
              "m.gguf: needs 40 bytes (weights 10, a matrix while it is rounded 30), 39 are "
              "available; free memory, raise `memory_limit` or use a smaller quantisation");
  }
}

TEST_F(MemoryPlanTest, AdaptersAreALineOfThePlan) {
  const auto checkpoint = make_checkpoint(random_models(Q4_0::kFormat)[0], 3);
  const BoundModel bound = bind_model(*checkpoint);
  PlanRequest request{.options = {}, .context = 32};
  const Ledger without = plan_memory(bound, backend_, request).host;
  request.adapter_bytes = 1000;
  request.available_bytes = without.total_bytes();
  const MemoryPlan plan = plan_memory(bound, backend_, request);
  EXPECT_EQ(plan.host.adapter_bytes, 1000);
  EXPECT_EQ(plan.host.weights_bytes, without.weights_bytes);
  EXPECT_EQ(plan.host.total_bytes(), without.total_bytes() + 1000);
  EXPECT_FALSE(plan.fits);
  try {
    require_fit(plan, "m.gguf");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find(", adapters 1000, "), std::string::npos) << e.message();
  }
}

TEST_F(MemoryPlanTest, NothingOverflowsForTheLargestContext) {
  const auto checkpoint = make_checkpoint(random_models(Q4_0::kFormat)[0], 3);
  checkpoint->config().context = kContextMax;
  const BoundModel bound = bind_model(*checkpoint);
  const MemoryPlan plan =
      plan_memory(bound, backend_, {.options = {}, .sequences = 65536, .available_bytes = 1 << 30});
  EXPECT_GT(plan.host.kv_bytes, std::int64_t{1} << 40);
  EXPECT_FALSE(plan.fits);
}

/// A model for a device with its own memory, whose sizes are those of the CPU.
class DevicePlanTest : public MemoryPlanTest {
 protected:
  static constexpr std::int64_t kMuch = std::int64_t{1} << 40;

  DevicePlanTest() {
    request_.available_bytes = kMuch;
    request_.device_bytes = kMuch;
  }
  MemoryPlan plan() const { return plan_memory(bound_, device_, request_); }
  std::string refusal() const {
    try {
      require_fit(plan(), "m.gguf");
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kDoesNotFit);
      return e.message();
    }
    return "";
  }

  std::unique_ptr<EditableCheckpoint> checkpoint_ =
      make_checkpoint(random_models(Q4_0::kFormat)[0], 3);
  BoundModel bound_ = bind_model(*checkpoint_);
  PlannedDevice device_{backend_};
  PlanRequest request_{.options = {},
                       .context = 64,
                       .sequences = 2,
                       .rows = 8,
                       .out_rows = 3,
                       .logits_rows = 2,
                       .result_bytes = 1000,
                       .table_bytes = 24,
                       .output_bytes = 500};
};

TEST_F(DevicePlanTest, EachMemoryHasItsOwnPurposes) {
  const MemoryPlan two = plan();
  const MemoryPlan one = plan_memory(bound_, backend_, request_);
  EXPECT_TRUE(two.fits);
  EXPECT_EQ(one.device.total_bytes(), 0);
  EXPECT_EQ(two.device.available_bytes, kMuch - kDeviceReserveBytes);
  EXPECT_EQ(two.host.available_bytes, kMuch);
  EXPECT_EQ(two.device.weights_bytes, one.host.weights_bytes);
  EXPECT_EQ(two.device.kv_bytes, one.host.kv_bytes);
  EXPECT_EQ(two.device.loading_bytes, 0);
  EXPECT_EQ(two.host.weights_bytes + two.host.kv_bytes, 0);
  // Two steps ahead: results, hidden states and block tables (4 blocks) exist twice.
  EXPECT_EQ(two.host.scratch_bytes, 500 + 2 * (1000 + 3 * bound_.spec.hidden * 4 + 4 * 24));
  // The device has rows of logits, and lacks results and block tables.
  EXPECT_EQ(two.device.scratch_bytes,
            one.host.scratch_bytes - 1500 - 4 * 24 + 2 * bound_.spec.vocab * 4);
  std::int64_t largest = 0;
  for (const BoundLayer& l : bound_.layers) {
    for (const BoundWeight* w : {&l.qkv, &l.attn_out, &l.gate_up, &l.down}) {
      largest =
          std::max(largest, backend_.prepared_bytes(held_views(*w, {}), false, use_of(bound_, *w)));
    }
  }
  largest = std::max(largest,
                     backend_.prepared_bytes(held_views(bound_.embedding, {}), false, Use::kPlain));
  if (bound_.head)
    largest =
        std::max(largest, backend_.prepared_bytes(held_views(bound_.head, {}), false, Use::kPlain));
  EXPECT_EQ(two.host.loading_bytes, largest);
}

TEST_F(DevicePlanTest, AFullDeviceIsNamed) {
  const std::int64_t needed = plan().device.total_bytes();
  request_.device_bytes = needed + kDeviceReserveBytes;
  EXPECT_TRUE(plan().fits);
  --request_.device_bytes;
  EXPECT_EQ(plan().max_sequences, 1);
  const std::string text = refusal();
  EXPECT_TRUE(text.starts_with(cat("m.gguf: device planned: needs ", needed, " bytes (weights ")))
      << text;
  EXPECT_NE(text.find(cat(needed - 1, " are available; 1 of the 2 sequences")), std::string::npos)
      << text;
  for (const std::int64_t free : {1, 0}) {  // less than the reserve
    request_.device_bytes = free;
    EXPECT_EQ(plan().device.available_bytes, 0);
    EXPECT_FALSE(plan().fits);
    EXPECT_NE(refusal().find("0 are available; free memory or "), std::string::npos) << refusal();
  }
}

TEST_F(DevicePlanTest, AFullHostIsNotTheDevice) {
  request_.table_bytes = 0;  // so that no context helps
  const std::int64_t needed = plan().host.total_bytes();
  request_.available_bytes = needed;
  EXPECT_TRUE(plan().fits);
  --request_.available_bytes;
  const std::string text = refusal();
  EXPECT_TRUE(text.starts_with(cat("m.gguf: needs ", needed, " bytes ("))) << text;
  EXPECT_EQ(text.find("weights"), std::string::npos) << text;
  EXPECT_NE(text.find("raise `memory_limit`"), std::string::npos) << text;
  EXPECT_EQ(plan().max_context, 0);
  EXPECT_EQ(plan().max_sequences, 0);
}

TEST_F(DevicePlanTest, EitherMemoryLimitsTheContext) {
  request_.sequences = 1;
  request_.table_bytes = 1 << 20;
  const MemoryPlan four_blocks = plan();
  request_.context = 160;
  const MemoryPlan ten_blocks = plan();
  request_.available_bytes = four_blocks.host.total_bytes();
  EXPECT_EQ(plan().max_context, 64);
  request_.available_bytes = kMuch;
  request_.device_bytes = ten_blocks.device.total_bytes() + kDeviceReserveBytes;
  EXPECT_EQ(plan().max_context, 160);
}

TEST_F(DevicePlanTest, AModelIsRefusedByWhatTheDeviceDoesNotCompute) {
  EXPECT_NO_THROW(require_supported(bound_, {}, KvType::kF16, device_, "m.gguf"));
  std::vector<Format> formats;
  device_.refuse([&](const ModelOps& model) {
    formats.assign(model.formats.begin(), model.formats.end());
    EXPECT_EQ(std::ssize(model.attention), bound_.spec.layers);
    EXPECT_EQ(model.attention[0].head_dim, bound_.spec.layer(0).head_dim);
    EXPECT_EQ(model.attention[0].scale, bound_.spec.layer(0).attention_scale);
    return model.kv_type == KvType::kInt8 ? "8-bit keys" : "";
  });
  EXPECT_NO_THROW(require_supported(bound_, {}, KvType::kF16, device_, "m.gguf"));
  EXPECT_EQ(std::count(formats.begin(), formats.end(), Q4_0::kFormat), 1);
  try {
    require_supported(bound_, {}, KvType::kInt8, device_, "m.gguf");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalid);
    EXPECT_EQ(e.message(),
              "m.gguf: device planned does not compute 8-bit keys; start with `--device cpu`");
  }
}

TEST_F(DevicePlanTest, OnlyWhatIsLoadedCanBeRefused) {
  const auto checkpoint = make_checkpoint(random_models(BF16::kFormat)[0], 3);
  const BoundModel bound = bind_model(*checkpoint);
  std::size_t layers = 0;
  std::int64_t unrounded = 0;
  device_.refuse([&](const ModelOps& model) {
    layers = model.attention.size();
    unrounded = std::count(model.formats.begin(), model.formats.end(), BF16::kFormat);
    return "";
  });
  require_supported(bound, {.last_layer = 1}, KvType::kF16, device_, "m.gguf");
  EXPECT_EQ(layers, 1u);
  EXPECT_EQ(unrounded, 1);
  require_supported(bound, {.first_layer = 1, .weights = Q8_0::kFormat}, KvType::kF16, device_,
                    "m.gguf");
  EXPECT_EQ(std::ssize(bound.layers), std::int64_t(layers) + 1);
  EXPECT_EQ(unrounded, 0);
}

}  // namespace
}  // namespace ingot::testing_support
