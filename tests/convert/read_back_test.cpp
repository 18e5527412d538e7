// What a reader of a planned file would get: rows of queries and keys in the order of its pairs.
#include "convert/read_back.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "convert/config_values.h"
#include "support/golden_data.h"

namespace ingot::testing_support {
namespace {

/// A folder's model and the tensors that its file would have. A test may change both.
struct Planned {
  std::unique_ptr<Checkpoint> checkpoint;
  BoundModel model;
  std::vector<ListedTensor> tensors;

  ListedTensor& tensor(const std::string& name) {
    return *std::find_if(tensors.begin(), tensors.end(),
                         [&](const ListedTensor& t) { return t.name == name; });
  }
};

Planned plan(const std::string& folder) {
  auto checkpoint = Checkpoint::open((shared_folder("goldens/models") / folder).string());
  BoundModel model = bind_model(*checkpoint);
  auto tensors = list_tensors(*checkpoint, model);
  return {std::move(checkpoint), std::move(model), std::move(tensors)};
}

/// Why a reader would not get the model; empty if it would.
std::string refusal(Planned& planned) {
  GgufValues values;
  std::vector<std::string> warnings;
  try {
    write_config(*planned.checkpoint, planned.model, values, warnings);
    fit_to_readers(*planned.checkpoint, planned.model, values, planned.tensors, warnings);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    return error.message();
  }
}

void expect_refusal(Planned planned, std::string_view reason) {
  const std::string message = refusal(planned);
  EXPECT_NE(message.find(reason), std::string::npos) << message;
}

TEST(ReadBack, RowsHaveTheOrderOfReadersPairs) {
  INGOT_NEEDS_SHARED("goldens/models");
  for (const char* folder : {"llama", "qwen2", "qwen3"}) {
    Planned planned = plan(folder);
    EXPECT_EQ(refusal(planned), "") << folder;
  }
  for (const char* name : {"blk.0.attn_q.weight", "blk.1.attn_k.weight"}) {
    Planned planned = plan("llama");
    planned.tensor(name).turned_heads = 0;
    expect_refusal(std::move(planned), cat("the rotary pairs of ", name, " are half a head apart"));
  }
  Planned values = plan("llama");
  values.tensor("blk.0.attn_v.weight").turned_heads = 2;
  expect_refusal(std::move(values), "blk.0.attn_v.weight");
  Planned turned = plan("qwen2");
  turned.tensor("blk.0.attn_q.bias").turned_heads = 4;
  expect_refusal(std::move(turned), "blk.0.attn_q.bias");
}

TEST(ReadBack, ReorderedHeadsRotateWhole) {
  INGOT_NEEDS_SHARED("goldens/models");
  Planned planned = plan("llama");
  planned.model.spec.ropes.front().dims /= 2;
  expect_refusal(std::move(planned), "pairs half a head apart rotate");
}

TEST(ReadBack, AdjacentPairsDoNotMoveApart) {
  INGOT_NEEDS_SHARED("goldens/models");
  Planned planned = plan("qwen2");
  planned.model.spec.ropes.front().adjacent_pairs = true;
  expect_refusal(std::move(planned), "rotary pairs are adjacent");
}

}  // namespace
}  // namespace ingot::testing_support
