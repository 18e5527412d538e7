// Folders as GGUF: tensors and keys against files made by other means, and the logits they give.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "convert/convert_test_util.h"
#include "load/gguf/gguf_file.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

namespace fs = std::filesystem;

std::string printed(const std::vector<std::byte>& bytes) { return cat(bytes.size(), " bytes"); }

/// The tensors of two files, by name: the same bytes.
void expect_same_tensors(const Checkpoint& ours, const Checkpoint& theirs) {
  EXPECT_EQ(ours.tensors().size(), theirs.tensors().size());
  for (const TensorInfo& want : theirs.tensors()) {
    const TensorInfo* got = ours.find(want.name);
    ASSERT_NE(got, nullptr) << want.name;
    EXPECT_EQ(got->shape, want.shape) << want.name;
    ASSERT_EQ(got->type_name, want.type_name) << want.name;
    if (want.name == "rope_freqs.weight") {
      // Divisors are computed: a rounding of difference is allowed.
      for (std::int64_t i = 0; i < want.elements(); ++i) {
        const float a = reinterpret_cast<const float*>(got->data)[i];
        const float b = reinterpret_cast<const float*>(want.data)[i];
        EXPECT_NEAR(a, b, 2e-7 * b) << i;
      }
      continue;
    }
    EXPECT_EQ(std::memcmp(got->data, want.data, want.bytes), 0) << want.name;
  }
}

/// Every key about the model has the same type and bytes.
void expect_same_keys(const Checkpoint& ours, const Checkpoint& theirs) {
  for (const GgufEntry& want : theirs.gguf_entries()) {
    if (want.key.starts_with("tokenizer.")) continue;
    const auto entries = ours.gguf_entries();
    const auto got = std::find_if(entries.begin(), entries.end(),
                                  [&](const GgufEntry& e) { return e.key == want.key; });
    ASSERT_NE(got, entries.end()) << want.key;
    EXPECT_EQ(got->type, want.type) << want.key;
    const std::vector<std::byte> a(got->data.begin(), got->data.end());
    const std::vector<std::byte> b(want.data.begin(), want.data.end());
    EXPECT_EQ(a, b) << want.key << ": " << printed(a);
  }
}

/// Pairs of a golden folder and the same model as a dense GGUF file of this type.
void compare_with_golden_files(const std::string& suffix, const std::string& type) {
  int files = 0;
  for (const fs::path& golden : shared_entries("goldens/gguf")) {
    const std::string name = golden.filename().string();
    if (!name.ends_with(suffix)) continue;
    const std::string model = name.substr(0, name.size() - suffix.size());
    const fs::path folder = shared_folder("goldens/models") / model;
    ASSERT_TRUE(fs::is_directory(folder)) << folder;
    SCOPED_TRACE(name);
    const TempFolder temp;
    convert(folder.string(), temp.path("out.gguf"), {.type = type});
    const auto ours = Checkpoint::open(temp.path("out.gguf"));
    const auto theirs = Checkpoint::open(golden.string());
    expect_same_tensors(*ours, *theirs);
    expect_same_keys(*ours, *theirs);
    ++files;
  }
  EXPECT_GT(files, 0) << suffix;
}

TEST(Folder, BecomesTheFileThatOtherConvertersWrite) {
  INGOT_NEEDS_SHARED("goldens/gguf");
  compare_with_golden_files("-f32.gguf", "F32");
  compare_with_golden_files("-f16.gguf", "F16");
  compare_with_golden_files("-bf16.gguf", "BF16");
}

/// What the folder's weights are stored in.
std::string type_of(const fs::path& folder) {
  return Checkpoint::open(folder.string())->tensors().front().type_name;
}

std::string refusal(const fs::path& folder, const std::string& out) {
  try {
    convert(folder.string(), out, {.type = "F32"});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    return error.message();
  }
  return {};
}

// Rotary pairs of architecture llama are adjacent in GGUF, so the sum of a score has another order,
// and its result differs by rounding. Everything else has the same bits.
TEST(Folder, GivesItsLogits) {
  INGOT_NEEDS_SHARED("goldens/models");
  int same_bits = 0;
  for (const fs::path& folder : shared_entries("goldens/models")) {
    SCOPED_TRACE(folder.filename().string());
    const TempFolder temp;
    if (const std::string message = refusal(folder, temp.path("f32.gguf")); !message.empty()) {
      // A mixture of experts whose first layer is dense, for example.
      EXPECT_NE(message.find("GGUF cannot express that"), std::string::npos) << message;
      continue;
    }
    const auto prompts = read_prompts(folder);
    const std::vector<float> want = logits_of(folder.string(), prompts);
    for (const std::string& type : {std::string("F32"), type_of(folder)}) {
      convert(folder.string(), temp.path("out.gguf"), {.type = type});
      const std::vector<float> got = logits_of(temp.path("out.gguf"), prompts);
      const auto architecture = Checkpoint::open(folder.string())->config().architecture;
      if (architecture == "llama") {
        EXPECT_LE(rms(got, want), 1e-6 * spread(want)) << type;
      } else {
        EXPECT_TRUE(got == want) << type;
        ++same_bits;
      }
    }
  }
  EXPECT_GT(same_bits, 0);
}

TEST(Folder, AFileGivesItsLogitsBitForBit) {
  INGOT_NEEDS_SHARED("goldens/gguf");
  for (const fs::path& golden : shared_entries("goldens/gguf")) {
    if (golden.extension() != ".gguf") continue;
    SCOPED_TRACE(golden.filename().string());
    const TempFolder temp;
    const std::vector<std::vector<std::int32_t>> prompts{{1, 50, 300, 7, 7, 12, 200, 9}};
    const std::vector<float> want = logits_of(golden.string(), prompts);
    convert(golden.string(), temp.path("f32.gguf"), {.type = "F32"});
    EXPECT_TRUE(logits_of(temp.path("f32.gguf"), prompts) == want);
  }
}

}  // namespace
}  // namespace ingot::testing_support
