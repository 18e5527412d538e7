// Adapters against their references: logits, refusals, both forms of files on both of models,
// conversions, and merged models.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/shared_data_test_util.h"
#include "base/temp_folder_test_util.h"
#include "base/text.h"
#include "convert/adapter/adapter_changes.h"
#include "convert/adapter/convert_adapter.h"
#include "convert/adapter/merge_folder.h"
#include "convert/quantise.h"
#include "support/golden_data.h"
#include "support/model_runner.h"

namespace ingot::testing_support {
namespace {

namespace fs = std::filesystem;

/// The limits on a logit's error in standard deviations: of float models, and of one whose format
/// quantises activations.
constexpr double kBound = 2e-3, kQuantisedBound = 0.5;

/// A folder of references/lora.
struct Golden {
  explicit Golden(const fs::path& path) : folder(path) {
    const fs::path file = path / "golden.json";
    const Json j = parse_json(read_file(file), file.string(), "golden");
    base = shared_folder("goldens") / *j.find("base")->as_string();
    accepts = *j.find("expect")->as_string() == "accept";
  }

  double bound() const { return base.extension() == ".gguf" ? kQuantisedBound : kBound; }

  fs::path folder;
  fs::path base;
  bool accepts = false;
};

std::vector<Golden> goldens() {
  std::vector<Golden> all;
  for (const fs::path& entry : shared_entries("references/lora")) {
    if (fs::exists(entry / "golden.json")) all.emplace_back(entry);
  }
  EXPECT_FALSE(all.empty());
  return all;
}

/// The largest error in standard deviations; infinite when anything is NaN or sizes differ.
double error_of(const std::vector<float>& got, const std::vector<float>& want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0, largest = 0;
  for (const float v : want) sum += v;
  const double mean = sum / static_cast<double>(want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double error = std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, error);
    squares += (want[i] - mean) * (want[i] - mean);
  }
  return largest / std::sqrt(squares / static_cast<double>(want.size()));
}

/// The prompts' rows with an adapter, one prompt after the other. Each prompt is also in the same
/// steps without an adapter; these rows must be as those of a model that takes no adapters.
std::vector<float> logits_of(const fs::path& base, const fs::path& adapter,
                             const std::vector<std::vector<std::int32_t>>& prompts) {
  const auto checkpoint = Checkpoint::open(base.string());
  const RunnerOptions options{.threads = 2,
                              .kv_type = KvType::kF32,
                              .context = 128,
                              .sequences = 8,
                              .loads_adapters = true};
  ModelRunner runner(*checkpoint, options);
  const std::size_t list = runner.load(adapter.string());
  std::vector<std::vector<std::int32_t>> twice = prompts;
  twice.insert(twice.end(), prompts.begin(), prompts.end());
  std::vector<std::size_t> lists(prompts.size(), list);
  lists.resize(twice.size(), 0);
  const auto rows = runner.run(twice, whole(twice), Output::kLogits, lists);
  RunnerOptions plain = options;
  plain.loads_adapters = false;
  const auto alone = ModelRunner(*checkpoint, plain).run(prompts, whole(prompts));
  std::vector<float> all;
  for (std::size_t s = 0; s < prompts.size(); ++s) {
    all.insert(all.end(), rows[s].begin(), rows[s].end());
    EXPECT_EQ(rows[prompts.size() + s], alone[s]) << "base rows of prompt " << s;
  }
  return all;
}

void expect_logits(const Golden& golden, const fs::path& base, const fs::path& adapter) {
  SCOPED_TRACE(cat(adapter.string(), " on ", base.string()));
  const auto got = logits_of(base, adapter, read_prompts(golden.folder));
  EXPECT_LE(error_of(got, read_matrix(golden.folder / "logits.npy").values), golden.bound());
}

TEST(Adapters, AcceptedOnesGiveTheLogitsOfTheirReferences) {
  INGOT_NEEDS_SHARED("references/lora");
  for (const Golden& golden : goldens()) {
    if (golden.accepts) expect_logits(golden, golden.base, golden.folder);
  }
}

TEST(Adapters, OthersAreRefused) {
  INGOT_NEEDS_SHARED("references/lora");
  for (const Golden& golden : goldens()) {
    if (golden.accepts) continue;
    SCOPED_TRACE(golden.folder.string());
    const auto checkpoint = Checkpoint::open(golden.base.string());
    ModelRunner runner(*checkpoint, {.loads_adapters = true});
    try {
      runner.load(golden.folder.string());
      ADD_FAILURE() << "it was loaded";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kModel) << error.message();
    }
  }
}

/// The forms of a model: the golden's own, and the file of the same name in the other form.
std::vector<fs::path> forms_of(const fs::path& base) {
  const fs::path root = shared_folder("goldens");
  std::vector<fs::path> forms{base};
  const std::string name = base.stem().string();
  for (const fs::path& other : {root / "models" / name, root / "gguf" / cat(name, "-f32.gguf")}) {
    if (other != base && fs::exists(other)) forms.push_back(other);
  }
  return forms;
}

/// Adapters of both forms on models of both forms: names differ, and the order of rows.
TEST(Adapters, FormsOfFilesMayDiffer) {
  INGOT_NEEDS_SHARED("references/lora/gguf");
  for (const Golden& golden : goldens()) {
    if (!golden.accepts) continue;
    const fs::path gguf =
        shared_folder("references/lora/gguf") / cat(golden.folder.filename().string(), ".gguf");
    for (const fs::path& base : forms_of(golden.base)) {
      if (base != golden.base) expect_logits(golden, base, golden.folder);
      if (fs::exists(gguf)) expect_logits(golden, base, gguf);
    }
  }
}

/// The logits of a model without adapters.
std::vector<float> plain_logits(const fs::path& model,
                                const std::vector<std::vector<std::int32_t>>& prompts) {
  const auto checkpoint = Checkpoint::open(model.string());
  ModelRunner runner(*checkpoint, {.threads = 2, .kv_type = KvType::kF32, .context = 128});
  std::vector<float> all;
  for (const auto& rows : runner.run(prompts, whole(prompts))) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

/// Merges an adapter: into a folder, or into a GGUF file of a recipe's type.
void merge(const fs::path& base, const fs::path& adapter, const std::string& out,
           const Recipe* recipe = nullptr) {
  const auto checkpoint = Checkpoint::open(base.string());
  const AdapterFile file = open_adapter(adapter.string());
  const BoundModel bound = bind_model(*checkpoint);
  const AdapterTargets targets(bound, checkpoint->config().naming, {});
  const AdapterChanges rows(file, bound, targets, 1);
  ThreadPool pool(2);
  const auto progress = [](std::uint64_t, std::uint64_t) {};
  if (!out.ends_with(".gguf")) {
    write_merged_folder(*checkpoint, base.string(), rows, out, pool, progress);
    return;
  }
  const QuantisePlan plan =
      plan_quantised(*checkpoint, {.recipe = recipe, .tokenizer = false, .adapter = &rows});
  write_quantised(*checkpoint, plan, out, pool, progress);
}

TEST(MergedAdapters, GiveTheLogitsOfTheirReferences) {
  INGOT_NEEDS_SHARED("references/lora");
  const Recipe* f32 = find_recipe("F32");
  for (const Golden& golden : goldens()) {
    if (!golden.accepts) continue;
    SCOPED_TRACE(golden.folder.string());
    const auto prompts = read_prompts(golden.folder);
    const auto want = read_matrix(golden.folder / "logits.npy").values;
    const TempFolder temp;
    const auto check = [&](const std::string& out, const Recipe* recipe, double bound) {
      merge(golden.base, golden.folder, out, recipe);
      EXPECT_LE(error_of(plain_logits(out, prompts), want), bound) << out;
    };
    check(temp.path("f32.gguf"), f32, kBound);
    const bool is_file = golden.base.extension() == ".gguf";
    check(temp.path(is_file ? "same.gguf" : "same"), nullptr, golden.bound());
  }
}

TEST(ConvertedAdapters, GiveEqualBitsInBothForms) {
  INGOT_NEEDS_SHARED("references/lora");
  for (const Golden& golden : goldens()) {
    if (!golden.accepts) continue;
    SCOPED_TRACE(golden.folder.string());
    const TempFolder temp;
    const auto prompts = read_prompts(golden.folder);
    const auto checkpoint = Checkpoint::open(golden.base.string());
    const auto convert = [&](const fs::path& from, const std::string& to) {
      convert_adapter(open_adapter(from.string()), *checkpoint, to);
    };
    convert(golden.folder, temp.path("there.gguf"));
    convert(temp.path("there.gguf"), temp.path("back"));
    const auto want = logits_of(golden.base, golden.folder, prompts);
    EXPECT_TRUE(logits_of(golden.base, temp.path("there.gguf"), prompts) == want);
    EXPECT_TRUE(logits_of(golden.base, temp.path("back"), prompts) == want);
  }
}

std::map<std::string, const TensorInfo*> by_name(const AdapterFile& file) {
  std::map<std::string, const TensorInfo*> tensors;
  for (const TensorInfo& t : file.tensors) tensors[t.name] = &t;
  return tensors;
}

/// The files of llama.cpp's converter.
TEST(ConvertedAdapters, HaveTheTensorsOfOtherConverters) {
  INGOT_NEEDS_SHARED("references/lora/gguf");
  for (const fs::path& path : shared_entries("references/lora/gguf")) {
    SCOPED_TRACE(path.string());
    const Golden golden(shared_folder("references/lora") / path.stem());
    const TempFolder temp;
    const auto checkpoint = Checkpoint::open(golden.base.string());
    convert_adapter(open_adapter(golden.folder.string()), *checkpoint, temp.path("out.gguf"));
    const AdapterFile got = open_adapter(temp.path("out.gguf")), want = open_adapter(path.string());
    const auto tensors = by_name(got);
    ASSERT_EQ(tensors.size(), want.tensors.size());
    for (const TensorInfo& t : want.tensors) {
      ASSERT_TRUE(tensors.contains(t.name)) << t.name;
      const TensorInfo& own = *tensors.at(t.name);
      EXPECT_EQ(own.shape, t.shape) << t.name;
      ASSERT_EQ(own.bytes, t.bytes) << t.name;
      EXPECT_EQ(std::memcmp(own.data, t.data, t.bytes), 0) << t.name;
    }
    for (std::size_t i = 0; i < want.pairs.size(); ++i) {
      EXPECT_EQ(got.pairs[i].alpha, want.pairs[i].alpha);
    }
  }
}

}  // namespace
}  // namespace ingot::testing_support
