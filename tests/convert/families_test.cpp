// Folders of all families as GGUF: tensors against files made by other means, logits against the
// folders and their references, and further conversions of the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "convert/convert_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

namespace fs = std::filesystem;

/// The limit on a logit's error in standard deviations of the reference's logits.
constexpr double kGoldenBound = 2e-3;
/// Where a 32-bit real of the file differs from the folder's 64-bit real, or rotary pairs have
/// another order: the limit on the root mean square of differences, in standard deviations.
constexpr double kRoundingBound = 1e-5;
/// DeepSeek's latents have an epsilon of their own in folders, of 1e-6 in place of 1e-5.
constexpr double kEpsilonBound = 1e-3;

/// What GGUF cannot say of a folder; empty if it can say everything.
std::string expected_refusal(const std::string& folder) {
  static const std::map<std::string, std::string> kRefused{
      {"gpt_oss", "truncate"},
      {"deepseek_v2-lite", "mscale"},
  };
  const auto found = kRefused.find(folder);
  return found == kRefused.end() ? "" : found->second;
}

/// Runs a check for each model; one failure does not hide the others.
template <class Check>
void for_each_model(std::string_view folder, Check check) {
  const auto entries = shared_entries(folder);
  EXPECT_FALSE(entries.empty());
  for (const fs::path& entry : entries) {
    if (!fs::exists(entry / "model.safetensors")) continue;
    SCOPED_TRACE(entry.filename().string());
    try {
      check(entry);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

/// Converts a folder that GGUF can express; returns whether it can.
bool convert_or_refuse(const fs::path& folder, const std::string& out, const std::string& type) {
  const std::string refusal = expected_refusal(folder.filename().string());
  try {
    convert(folder.string(), out, {.type = type});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_FALSE(refusal.empty()) << error.message();
    EXPECT_NE(error.message().find(refusal), std::string::npos) << error.message();
    return false;
  }
  EXPECT_TRUE(refusal.empty()) << "is converted";
  return true;
}

/// The Spec's description, without what a conversion changes and what changes no result.
std::string spec_text(const std::string& model) {
  const auto checkpoint = Checkpoint::open(model);
  Spec spec = bind_model(*checkpoint).spec;
  spec.norm_plus_one = false;
  spec.position_offset = 0;
  return to_string(spec);
}

double bound_of(const Spec& spec) { return spec.mla.kv_rank > 0 ? kEpsilonBound : kRoundingBound; }

TEST(ConvertedFamilies, GiveTheLogitsOfTheirFolders) {
  INGOT_NEEDS_SHARED("references/families");
  int same_bits = 0;
  for_each_model("references/families", [&](const fs::path& folder) {
    const TempFolder temp;
    const std::string out = temp.path("out.gguf");
    if (!convert_or_refuse(folder, out, "F32")) return;
    const auto prompts = read_prompts(folder);
    const std::vector<float> want = logits_of(folder.string(), prompts);
    const std::vector<float> got = logits_of(out, prompts);
    if (spec_text(folder.string()) == spec_text(out)) {
      EXPECT_TRUE(got == want) << rms(got, want) / spread(want);
      ++same_bits;
    } else {
      const Spec spec = bind_model(*Checkpoint::open(folder.string())).spec;
      EXPECT_LE(rms(got, want), bound_of(spec) * spread(want));
    }
  });
  EXPECT_GT(same_bits, 0);
}

/// The reference of a folder that runs with this context. Longrope models have the long factors
/// above their original context.
fs::path reference_of(const fs::path& folder, std::size_t context) {
  const auto checkpoint = Checkpoint::open(folder.string());
  const RopeScaling& scaling = checkpoint->config().ropes.front().scaling;
  if (scaling.kind != RopeScaling::Kind::kLongrope) return folder / "logits.npy";
  const bool is_long = static_cast<double>(context) > scaling.original_context;
  return folder / (is_long ? "logits_long.npy" : "logits_short.npy");
}

double largest_error(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double error = std::fabs(static_cast<double>(a[i]) - b[i]);
    most = std::isnan(error) ? INFINITY : std::max(most, error);
  }
  return most;
}

TEST(ConvertedFamilies, GiveTheLogitsOfTheirReferences) {
  INGOT_NEEDS_SHARED("references/families");
  for_each_model("references/families", [](const fs::path& folder) {
    const TempFolder temp;
    if (!convert_or_refuse(folder, temp.path("out.gguf"), "F32")) return;
    auto prompts = read_prompts(folder);
    for (; !prompts.empty(); prompts.pop_back()) {  // the longest is the last
      const fs::path reference = reference_of(folder, prompts.back().size());
      const std::vector<float> got = logits_of(temp.path("out.gguf"), prompts);
      std::vector<float> want = read_matrix(reference).values;
      const double deviation = spread(want);
      ASSERT_LE(got.size(), want.size());
      want.resize(got.size());
      EXPECT_LE(largest_error(got, want) / deviation, kGoldenBound) << reference;
      if (reference.filename() == "logits.npy") return;  // whatever the context
    }
  });
}

/// A shape without leading ones: files store a row as a vector or as a matrix.
std::vector<std::int64_t> trimmed(std::vector<std::int64_t> shape) {
  while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

/// Whether two tensors have the same bytes. Floats may differ by one rounding, because a factor of
/// the attention's scores and divisors of frequencies are computed.
bool is_same_data(const TensorInfo& a, const TensorInfo& b) {
  if (a.bytes != b.bytes) return false;
  if (std::memcmp(a.data, b.data, b.bytes) == 0) return true;
  if (a.format != F32::kFormat) return false;
  const std::vector<float> x = decode_tensor(a);
  const std::vector<float> y = decode_tensor(b);
  return std::equal(x.begin(), x.end(), y.begin(), [](float one, float other) {
    return std::fabs(one - other) <= 2e-7f * std::fabs(other);
  });
}

void expect_same_tensors(const Checkpoint& ours, const Checkpoint& theirs) {
  EXPECT_EQ(ours.tensors().size(), theirs.tensors().size());
  for (const TensorInfo& want : theirs.tensors()) {
    const TensorInfo* got = ours.find(want.name);
    if (got == nullptr) {
      ADD_FAILURE() << want.name << " is missing";
      continue;
    }
    EXPECT_EQ(trimmed(got->shape), trimmed(want.shape)) << want.name;
    EXPECT_EQ(got->type_name, want.type_name) << want.name;
    EXPECT_TRUE(is_same_data(*got, want)) << want.name;
  }
}

TEST(ConvertedFamilies, HaveTheTensorsThatOtherConvertersWrite) {
  INGOT_NEEDS_SHARED("references/families-gguf");
  int files = 0;
  for_each_model("references/families", [&](const fs::path& folder) {
    const fs::path theirs =
        shared_folder("references/families-gguf") / cat(folder.filename().string(), ".gguf");
    const TempFolder temp;
    if (!fs::exists(theirs) || !convert_or_refuse(folder, temp.path("out.gguf"), "F32")) return;
    expect_same_tensors(*Checkpoint::open(temp.path("out.gguf")),
                        *Checkpoint::open(theirs.string()));
    ++files;
  });
  EXPECT_GT(files, 20);
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

TEST(ConvertedFamilies, TakeQuantisedTypesDirectlyAndFromTheirFiles) {
  INGOT_NEEDS_SHARED("references/families");
  for_each_model("references/families", [](const fs::path& folder) {
    const TempFolder temp;
    if (!convert_or_refuse(folder, temp.path("f32.gguf"), "F32")) return;
    const auto prompts = read_prompts(folder);
    for (const char* type : {"Q8_0", "Q4_K_M"}) {
      SCOPED_TRACE(type);
      convert(folder.string(), temp.path("direct.gguf"), {.type = type});
      convert(temp.path("f32.gguf"), temp.path("again.gguf"), {.type = type});
      const auto direct = Checkpoint::open(temp.path("direct.gguf"));
      expect_same_tensors(*Checkpoint::open(temp.path("again.gguf")), *direct);
      const std::vector<float> logits = logits_of(temp.path("direct.gguf"), prompts);
      EXPECT_TRUE(all_finite(logits));
    }
  });
}

TEST(ConvertedFamilies, FilesKeepTheirLogits) {
  INGOT_NEEDS_SHARED("references/families-gguf");
  for (const fs::path& file : shared_entries("references/families-gguf")) {
    if (file.extension() != ".gguf") continue;
    SCOPED_TRACE(file.filename().string());
    const TempFolder temp;
    const std::vector<std::vector<std::int32_t>> prompts{{1, 50, 300, 7, 7, 12, 200, 9}};
    convert(file.string(), temp.path("f32.gguf"), {.type = "F32"});
    EXPECT_TRUE(logits_of(temp.path("f32.gguf"), prompts) == logits_of(file.string(), prompts));
  }
}

}  // namespace
}  // namespace ingot::testing_support
