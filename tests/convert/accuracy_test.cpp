// How much of a model is lost by quantising, against the files of the reference tool.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "convert/convert_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

namespace fs = std::filesystem;

/// The recipe that makes a file like this one, or null where there is none.
const Recipe* recipe_of(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name.ends_with("-q4_k_m-mixed.gguf")) return find_recipe("Q4_K_M");
  std::set<std::string> types;
  const std::unique_ptr<Checkpoint> checkpoint = Checkpoint::open(file.string());
  for (const TensorInfo& t : checkpoint->tensors()) {
    if (t.shape.size() > 1 && t.type_name != "F32") types.insert(t.type_name);
  }
  return types.size() == 1 ? find_recipe(*types.begin()) : nullptr;
}

/// The golden model that a quantised file was made from: "big-llama-q4_0" is of "big-llama".
fs::path model_of(const std::string& stem) {
  fs::path found;
  for (const fs::path& model : shared_entries("goldens/models")) {
    const std::string name = model.filename().string();
    if (stem.starts_with(name + "-") && name.size() > found.filename().string().size()) {
      found = model;
    }
  }
  return found;
}

/// The distance of the logits of our file, its weights taken as float32, from the model's own. The
/// forward's rounding is a millionth of a logit, thousands of times less.
double our_loss(const fs::path& model, const Recipe& recipe, const std::vector<float>& exact) {
  const TempFolder folder;
  convert(model.string(), folder.path("q.gguf"), {.type = std::string(recipe.name)});
  convert(folder.path("q.gguf"), folder.path("f.gguf"), {.type = "F32"});
  return rms(logits_of(folder.path("f.gguf"), read_prompts(model)), exact);
}

TEST(Accuracy, IsThatOfTheReferenceToolOrBetter) {
  INGOT_NEEDS_SHARED("goldens/quantized");
  std::set<std::string_view> tested;
  for (const fs::path& file : shared_entries("goldens/quantized")) {
    if (file.extension() != ".gguf") continue;
    const std::string stem = file.stem().string();
    const Recipe* recipe = recipe_of(file);
    if (recipe == nullptr) continue;
    SCOPED_TRACE(stem);
    const fs::path model = model_of(stem);
    ASSERT_FALSE(model.empty());
    const std::vector<float> exact = read_matrix(model / "logits.npy").values;
    const double theirs =
        rms(read_matrix(file.parent_path() / (stem + ".logits.npy")).values, exact);
    const double ours = our_loss(model, *recipe, exact);
    EXPECT_LE(ours, 1.05 * theirs);
    EXPECT_GT(ours, 0);
    std::cout << stem << ": " << ours << ", reference " << theirs << ", ratio " << ours / theirs
              << "\n";
    tested.insert(recipe->name);
  }
  for (const std::string_view name : {"Q8_0", "Q6_K", "Q5_K", "Q4_K", "Q4_K_M", "Q4_0"}) {
    EXPECT_TRUE(tested.contains(name)) << name;
  }
}

}  // namespace
}  // namespace ingot::testing_support
