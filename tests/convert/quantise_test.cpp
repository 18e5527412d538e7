// Quantising as such: threads, refusals, interruption, sources that are quantised, importance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "convert/convert_test_util.h"
#include "load/gguf/gguf_writer.h"
#include "quant/encode.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

constexpr std::int64_t kHidden = 64;
constexpr std::int64_t kFfn = 256;
constexpr std::int64_t kVocab = 40;
constexpr std::int64_t kLayers = 3;

/// A number of [-1, 1), by place.
float made_up(std::uint64_t i) {
  std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9u;
  return static_cast<float>(x >> 40) * 0x1p-23f - 1;
}

/// A llama file in parts that a test may change before it is written. Rows of ffn_down have the
/// length of a super-block, all others do not.
struct Model {
  Format format = F32::kFormat;
  std::string spoiled;  ///< tensor whose row 1 begins with `value`
  float value = 0;

  std::string write(const TempFolder& folder, std::string_view name) const {
    GgufValues values;
    values.set_text("general.architecture", "llama");
    values.set_uint32("general.file_type", 0);
    const auto set = [&](std::string_view key, std::int64_t number) {
      values.set_uint32(cat("llama.", key), static_cast<std::uint32_t>(number));
    };
    set("context_length", 128);
    set("embedding_length", kHidden);
    set("block_count", kLayers);
    set("feed_forward_length", kFfn);
    set("attention.head_count", 4);
    values.set_float32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    values.set_text("x.kept", "as it is");
    const std::vector<GgufTensor> tensors = table();
    std::string path = folder.path(name);
    GgufWriter writer(path, values, tensors);
    for (const GgufTensor& t : tensors) writer.write(data(t));
    writer.commit();
    return path;
  }

 private:
  std::vector<GgufTensor> table() const {
    std::vector<GgufTensor> t{{"token_embd.weight", {kVocab, kHidden}, format},
                              {"output.weight", {kVocab, kHidden}, format},
                              {"output_norm.weight", {kHidden}, F32::kFormat}};
    for (std::int64_t i = 0; i < kLayers; ++i) {
      const std::string blk = cat("blk.", i, ".");
      t.push_back({blk + "attn_norm.weight", {kHidden}, F32::kFormat});
      for (const std::string_view name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
        t.push_back({cat(blk, name, ".weight"), {kHidden, kHidden}, format});
      }
      t.push_back({blk + "ffn_norm.weight", {kHidden}, F32::kFormat});
      t.push_back({blk + "ffn_gate.weight", {kFfn, kHidden}, format});
      t.push_back({blk + "ffn_up.weight", {kFfn, kHidden}, format});
      t.push_back({blk + "ffn_down.weight", {kHidden, kFfn}, format});
    }
    return t;
  }

  std::vector<std::byte> data(const GgufTensor& t) const {
    const std::int64_t cols = t.shape.back();
    const std::int64_t rows = t.shape.size() == 1 ? 1 : t.shape.front();
    std::vector<std::byte> out(t.bytes());
    std::vector<float> row(static_cast<std::size_t>(cols));
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t k = 0; k < cols; ++k) {
        row[static_cast<std::size_t>(k)] =
            made_up(std::hash<std::string>()(t.name) + static_cast<std::uint64_t>(r * cols + k));
      }
      if (t.name == spoiled && r == 1) row[0] = value;
      std::byte* to = out.data() + r * row_bytes(t.format, cols);
      if (t.format == F32::kFormat) {
        std::memcpy(to, row.data(), row.size() * sizeof(float));
      } else {
        encode_row(t.format, row.data(), cols, to);
      }
    }
    return out;
  }
};

std::string read(const std::string& path) { return File(path).read_all(1 << 24); }

const TensorReport& report_of(const std::vector<TensorReport>& reports, std::string_view name) {
  const auto found = std::find_if(reports.begin(), reports.end(),
                                  [&](const TensorReport& r) { return r.name == name; });
  EXPECT_NE(found, reports.end()) << name;
  return *found;
}

TEST(Quantise, BytesDoNotDependOnThreads) {
  const TempFolder folder;
  const std::string model = Model{}.write(folder, "m.gguf");
  for (const Recipe& recipe : recipes()) {
    std::string one;
    for (const int threads : {1, 2, 5}) {
      convert(model, folder.path("out.gguf"),
              {.type = std::string(recipe.name), .threads = threads});
      const std::string bytes = read(folder.path("out.gguf"));
      if (threads == 1) one = bytes;
      EXPECT_TRUE(bytes == one) << recipe.name << " " << threads;
    }
  }
}

TEST(Quantise, KeysAreCarriedOverInTheirOrder) {
  const TempFolder folder;
  const std::string model = Model{}.write(folder, "m.gguf");
  convert(model, folder.path("out.gguf"), {.type = "Q8_0", .tokenizer = true});
  const auto before = Checkpoint::open(model);
  const auto after = Checkpoint::open(folder.path("out.gguf"));
  ASSERT_EQ(after->gguf_entries().size(), before->gguf_entries().size() + 1);
  for (std::size_t i = 0; i < before->gguf_entries().size(); ++i) {
    const GgufEntry& a = before->gguf_entries()[i];
    const GgufEntry& b = after->gguf_entries()[i];
    EXPECT_EQ(a.key, b.key);
    if (a.key == "general.file_type") {
      EXPECT_EQ(b.number<std::uint32_t>(), 7u);
    } else {
      EXPECT_TRUE(std::equal(a.data.begin(), a.data.end(), b.data.begin(), b.data.end())) << a.key;
    }
  }
  EXPECT_EQ(after->gguf_entries().back().key, "general.quantization_version");
  for (std::size_t i = 0; i < before->tensors().size(); ++i) {
    EXPECT_EQ(after->tensors()[i].name, before->tensors()[i].name);
  }
}

TEST(Quantise, TheReportIsOfWhatIsInTheFile) {
  const TempFolder folder;
  const std::string model = Model{}.write(folder, "m.gguf");
  const auto reports = convert(model, folder.path("out.gguf"), {.type = "Q4_K"});
  const auto before = Checkpoint::open(model);
  const auto after = Checkpoint::open(folder.path("out.gguf"));
  ASSERT_EQ(reports.size(), after->tensors().size());
  for (const TensorInfo& t : after->tensors()) {
    const TensorReport& r = report_of(reports, t.name);
    EXPECT_EQ(format_name(r.format), t.type_name);
    EXPECT_EQ(r.source_type, "F32");
    EXPECT_EQ(r.bytes, t.bytes);
    const std::vector<float> x = decode_tensor(*before->find(t.name));
    const std::vector<float> zero(x.size(), 0.0f);
    EXPECT_NEAR(r.error, rms(decode_tensor(t), x) / rms(x, zero), 1e-12) << t.name;
    EXPECT_FALSE(r.weighted_error);
  }
  EXPECT_EQ(report_of(reports, "blk.0.ffn_down.weight").wanted, std::nullopt);
  EXPECT_EQ(report_of(reports, "blk.0.ffn_up.weight").wanted, Q4_K::kFormat);
  EXPECT_EQ(report_of(reports, "blk.0.ffn_up.weight").format, Q5_0::kFormat);
  EXPECT_EQ(report_of(reports, "output_norm.weight").error, 0);
}

TEST(Quantise, WeightsThatCannotBeStoredAreNamed) {
  struct Case {
    std::string type;
    float value;
    std::string says;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Case& c : {Case{"Q4_K", std::nanf(""), "value 0 is nan"},
                        {"Q8_0", infinity, "value 0 is inf"},
                        {"F32", -infinity, "value 0 is -inf"},
                        {"F16", 1e6f, "too large for F16"},
                        {"Q4_0", 1e10f, "too large for Q4_0"}}) {
    const TempFolder folder;
    const Model spoiled{.spoiled = "blk.1.ffn_down.weight", .value = c.value};
    const std::string model = spoiled.write(folder, "m.gguf");
    try {
      convert(model, folder.path("out.gguf"), {.type = c.type});
      ADD_FAILURE() << c.type << " accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kModel);
      const std::string& message = error.message();
      EXPECT_TRUE(message.starts_with(model + ": tensor blk.1.ffn_down.weight @")) << message;
      EXPECT_NE(message.find(": row 1: "), std::string::npos) << message;
      EXPECT_NE(message.find(c.says), std::string::npos) << message;
    }
    EXPECT_EQ(Directory(folder.path()).list(), std::vector<std::string>{"m.gguf"});
  }
}

TEST(Quantise, AnInterruptionAtAnyTensorLeavesNothing) {
  const TempFolder folder;
  const std::string model = Model{}.write(folder, "m.gguf");
  ThreadPool pool(2);
  for (int stop = 0;; ++stop) {
    const auto checkpoint = Checkpoint::open(model);
    const QuantisePlan plan = plan_quantised(*checkpoint, {.recipe = find_recipe("Q4_0")});
    int calls = 0;
    std::uint64_t last = 0;
    const auto run = [&] {
      write_quantised(*checkpoint, plan, folder.path("out.gguf"), pool,
                      [&](std::uint64_t done, std::uint64_t total) {
                        EXPECT_GT(done, last);
                        EXPECT_LE(done, total);
                        last = done;
                        if (calls++ == stop) throw std::runtime_error("stop");
                      });
    };
    if (stop < static_cast<int>(plan.tensors.size())) {
      EXPECT_THROW(run(), std::runtime_error);
      EXPECT_EQ(Directory(folder.path()).list(), std::vector<std::string>{"m.gguf"});
      continue;
    }
    run();
    EXPECT_EQ(Directory(folder.path()).list().size(), 2u);
    return;
  }
}

TEST(Quantise, AQuantisedSourceIsRoundedWithAWarningOrKept) {
  const TempFolder folder;
  const std::string model = Model{.format = Q4_0::kFormat, .spoiled = {}}.write(folder, "m.gguf");
  const auto checkpoint = Checkpoint::open(model);
  const auto warned = [&](const char* type) {
    const QuantisePlan plan = plan_quantised(*checkpoint, {.recipe = find_recipe(type)});
    return std::count_if(plan.warnings.begin(), plan.warnings.end(), [](const std::string& w) {
      return w.starts_with("quantised already: token_embd.weight (Q4_0)");
    });
  };
  EXPECT_EQ(warned("Q8_0"), 1);
  EXPECT_EQ(warned("F32"), 1);
  EXPECT_EQ(warned("Q4_0"), 0);
  // The same type: the same bytes.
  for (const TensorReport& r : convert(model, folder.path("same.gguf"), {.type = "Q4_0"})) {
    EXPECT_EQ(r.error, 0) << r.name;
  }
  const auto same = Checkpoint::open(folder.path("same.gguf"));
  for (const TensorInfo& t : checkpoint->tensors()) {
    EXPECT_EQ(std::memcmp(same->find(t.name)->data, t.data, t.bytes), 0) << t.name;
  }
  // More exact ones hold the rounded weights.
  convert(model, folder.path("f32.gguf"), {.type = "F32"});
  const auto exact = Checkpoint::open(folder.path("f32.gguf"));
  for (const TensorInfo& t : checkpoint->tensors()) {
    EXPECT_EQ(decode_tensor(*exact->find(t.name)), decode_tensor(t)) << t.name;
  }
}

TEST(Quantise, ImportanceLowersTheErrorThatCounts) {
  const TempFolder folder;
  const std::string model = Model{}.write(folder, "m.gguf");
  const auto importance = [&](std::int64_t cols) {
    InputSums sums{.tensor = "blk.1.ffn_down.weight", .cols = cols, .squares = {}, .rows = {10}};
    for (std::int64_t k = 0; k < cols; ++k) sums.squares.push_back(k % 16 == 0 ? 1000 : 1);
    write_importance(folder.path("im.gguf"), {&sums, 1}, {});
    return ImportanceMatrix::read(folder.path("im.gguf"));
  };
  const ImportanceMatrix matrix = importance(kFfn);
  for (const std::string type : {"Q4_K", "Q5_K", "Q6_K", "Q4_0"}) {
    const auto plain = convert(model, folder.path("a.gguf"), {.type = type});
    const auto weighted =
        convert(model, folder.path("b.gguf"), {.type = type, .importance = &matrix});
    const TensorReport& with = report_of(weighted, "blk.1.ffn_down.weight");
    const TensorReport& without = report_of(plain, "blk.1.ffn_down.weight");
    ASSERT_TRUE(with.weighted_error) << type;
    // Uniform weights: the plain error is alike in all columns, whatever they count.
    EXPECT_LT(*with.weighted_error, 0.8 * without.error) << type;
    EXPECT_FALSE(report_of(weighted, "blk.0.ffn_down.weight").weighted_error) << type;
  }
  const auto checkpoint = Checkpoint::open(model);
  const ImportanceMatrix other = importance(kFfn + 1);
  EXPECT_THROW(plan_quantised(*checkpoint, {.recipe = find_recipe("Q4_K"), .importance = &other}),
               Error);
}

TEST(Quantise, ImportanceOfAnotherModelIsRefused) {
  const TempFolder folder;
  const auto checkpoint = Checkpoint::open(Model{}.write(folder, "m.gguf"));
  const InputSums sums{.tensor = "blk.77.ffn_down.weight", .cols = 1, .squares = {1}, .rows = {1}};
  write_importance(folder.path("im.gguf"), {&sums, 1}, {});
  const ImportanceMatrix matrix = ImportanceMatrix::read(folder.path("im.gguf"));
  try {
    plan_quantised(*checkpoint, {.recipe = find_recipe("Q4_K"), .importance = &matrix});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_NE(error.message().find("no tensor of this model"), std::string::npos);
  }
}

}  // namespace
}  // namespace ingot::testing_support
