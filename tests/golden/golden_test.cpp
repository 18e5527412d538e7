// Models of the shared goldens against float64 references: logits, hidden states, greedy text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>

#include "backend/backends.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "engine/engine_test_util.h"
#include "load/json.h"
#include "runtime/instance.h"
#include "support/golden_data.h"
#include "support/model_runner.h"

namespace ingot::testing_support {
namespace {

namespace fs = std::filesystem;

double standard_deviation(const std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (const float v : values) sum += v;
  const double mean = sum / static_cast<double>(values.size());
  for (const float v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// A schedule of one sequence in at least three steps, if it has three rows.
std::vector<std::vector<Chunk>> in_thirds(std::int32_t rows) {
  const std::int32_t size = std::max(1, rows / 3);
  std::vector<std::vector<Chunk>> schedule;
  for (std::int32_t first = 0; first < rows; first += size) {
    schedule.push_back({{.sequence = 0, .rows = std::min(size, rows - first)}});
  }
  return schedule;
}

/// A model from a file, ready for prompts of up to `longest` tokens. With INGOT_TEST_LATE it runs
/// on a LateBackend, and with a prompt in several steps, so that two are under way. Else it runs on
/// the backend that `isa` names.
class Golden {
 public:
  Golden(const fs::path& path, std::int64_t longest, std::string isa = "auto",
         std::optional<Format> weights = {}, KvType kv_type = KvType::kF32)
      : pool_(2) {
    const auto rows = static_cast<std::int32_t>(longest);
    if (late_steps() > 0) {
      checkpoint_ = Checkpoint::open(path.string());
      late_ =
          std::make_unique<ModelRunner>(*checkpoint_, RunnerOptions{.kv_type = kv_type,
                                                                    .model = {.weights = weights},
                                                                    .context = longest,
                                                                    .rows = rows,
                                                                    .sequences = 1,
                                                                    .pool = &pool_});
      return;
    }
    instance_.emplace(
        pool_,
        InstanceOptions{
            .path = path.string(), .isa = std::move(isa), .kv_type = kv_type, .weights = weights});
    StartOptions start;
    start.context = longest;
    start.rows = start.out_rows = start.logits_rows = rows;
    instance_->start(start, [](std::uint64_t, std::uint64_t) {});
  }

  /// Every position's output, [T, columns].
  std::vector<float> run(const std::vector<std::int32_t>& ids, Output output) {
    const auto count = static_cast<std::int32_t>(ids.size());
    if (late_ != nullptr) return late_->run({ids}, in_thirds(count), output)[0];
    const bool logits = output == Output::kLogits;
    Executor& executor = instance_->executor();
    Sequence sequence(executor.cache());
    sequence.tokens = ids;
    StepPart part{.sequence = &sequence,
                  .rows = count,
                  .outputs = logits ? count : 0,
                  .hidden = logits ? 0 : count,
                  .final_norm = output == Output::kHiddenNormed};
    EXPECT_TRUE(run_next(executor, {&part, 1}));
    std::vector<float> rows;
    for (std::int32_t i = 0; i < count; ++i) {
      const std::span<const float> row = logits ? executor.logits(i) : executor.hidden(i);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
  }

 private:
  ThreadPool pool_;
  std::optional<Instance> instance_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<ModelRunner> late_;
};

/// The largest distance; infinite when anything is NaN.
double largest_error(std::span<const float> got, const float* want) {
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, error);
  }
  return largest;
}

TEST(GoldenSelf, ANanIsAnInfiniteError) {
  const std::vector<float> want{0, 0, 0};
  const std::vector<float> got{1, std::nanf(""), 2};
  EXPECT_EQ(largest_error(got, want.data()), std::numeric_limits<double>::infinity());
  EXPECT_EQ(largest_error(want, got.data()), std::numeric_limits<double>::infinity());
  EXPECT_EQ(largest_error(std::span(got).first(1), want.data()), 1);
}

/// Rows whose golden decides by more than twice the bound have to have the same best token.
void expect_same_best(const std::vector<float>& got, const float* want, std::int64_t vocab,
                      double bound) {
  for (std::size_t at = 0; at < got.size(); at += static_cast<std::size_t>(vocab)) {
    std::vector<float> row(want + at, want + at + vocab);
    const auto best = std::max_element(row.begin(), row.end()) - row.begin();
    std::nth_element(row.begin(), row.begin() + 1, row.end(), std::greater<float>());
    if (row[0] - row[1] <= 2 * bound) continue;
    const auto* first = got.data() + at;
    EXPECT_EQ(std::max_element(first, first + vocab) - first, best)
        << "row " << at / static_cast<std::size_t>(vocab);
  }
}

/// All prompts of a model against the golden logits, within `bound` standard deviations of them.
/// BF16 matrices are widened: with them the rows of activations would be rounded.
void check_logits(const fs::path& model, const fs::path& prompts_of, const fs::path& golden,
                  double bound) {
  SCOPED_TRACE(model.filename().string());
  const auto prompts = read_prompts(prompts_of);
  const Matrix want = read_matrix(golden);
  const double limit = bound * standard_deviation(want.values);
  std::size_t longest = 0;
  for (const auto& p : prompts) longest = std::max(longest, p.size());
  Golden run(model, static_cast<std::int64_t>(longest), "auto", widened(model));
  const float* rows = want.values.data();
  double error = 0;
  for (const auto& prompt : prompts) {
    const auto got = run.run(prompt, Output::kLogits);
    error = std::max(error, largest_error(got, rows));
    expect_same_best(got, rows, want.cols, limit);
    rows += got.size();
  }
  EXPECT_EQ(rows, want.values.data() + want.values.size());
  EXPECT_LE(error, limit);
  ::testing::Test::RecordProperty(model.filename().string(), cat(error / limit));
}

constexpr double kDense = 1e-3;  // standard deviations: float32 gives about 1e-5

TEST(Golden, HuggingFaceFolders) {
  INGOT_NEEDS_SHARED("goldens/models");
  const auto models = shared_entries("goldens/models");
  EXPECT_FALSE(models.empty());
  for (const fs::path& model : models) check_logits(model, model, model / "logits.npy", kDense);
}

TEST(Golden, HiddenStatesBeforeAndAfterTheFinalNorm) {
  INGOT_NEEDS_SHARED("goldens/models");
  for (const fs::path& model : shared_entries("goldens/models")) {
    SCOPED_TRACE(model.filename().string());
    const auto prompt = read_prompts(model).back();
    Golden run(model, std::ssize(prompt), "auto", widened(model));
    for (const auto& [file, output] : {std::pair{"hidden_pre.npy", Output::kHidden},
                                       std::pair{"hidden_post.npy", Output::kHiddenNormed}}) {
      const Matrix want = read_matrix(model / file);
      const auto got = run.run(prompt, output);
      ASSERT_EQ(got.size(), want.values.size());
      EXPECT_LE(largest_error(got, want.values.data()), kDense * standard_deviation(want.values))
          << file;
    }
  }
}

/// goldens/NAME/... for a file that is called NAME-TYPE.gguf: the longest model name that it begins
/// with.
fs::path model_of(const fs::path& file) {
  fs::path best;
  for (const fs::path& model : shared_entries("goldens/models")) {
    const std::string name = model.filename().string() + "-";
    const bool fits = file.filename().string().compare(0, name.size(), name) == 0;
    if (fits && name.size() > best.filename().string().size()) best = model;
  }
  return best;
}

std::vector<fs::path> gguf_files(std::string_view folder) {
  auto files = shared_entries(folder);
  std::erase_if(files, [](const fs::path& file) { return file.extension() != ".gguf"; });
  return files;
}

/// Logits that belong to the file's own (rounded) weights, else those of the model it was made
/// from.
fs::path golden_of(const fs::path& file) {
  const fs::path own = file.parent_path() / (file.stem().string() + ".logits.npy");
  return fs::exists(own) ? own : model_of(file) / "logits.npy";
}

TEST(Golden, DenseGgufFiles) {
  INGOT_NEEDS_SHARED("goldens/gguf");
  const auto files = gguf_files("goldens/gguf");
  EXPECT_FALSE(files.empty());
  for (const fs::path& file : files) check_logits(file, model_of(file), golden_of(file), kDense);
}

/// The largest error and the root of the mean squared error, in standard deviations of the golden.
struct Errors {
  double largest = 0;
  double rms = 0;
};

Errors errors_as_stored(const fs::path& model, const fs::path& prompts_of, const fs::path& golden) {
  const auto prompts = read_prompts(prompts_of);
  const Matrix want = read_matrix(golden);
  std::size_t longest = 0;
  for (const auto& p : prompts) longest = std::max(longest, p.size());
  Golden run(model, static_cast<std::int64_t>(longest), "auto", {}, KvType::kBF16);
  std::vector<float> got;
  for (const auto& prompt : prompts) {
    const auto rows = run.run(prompt, Output::kLogits);
    got.insert(got.end(), rows.begin(), rows.end());
  }
  const double deviation = standard_deviation(want.values);
  Errors errors{.largest = largest_error(got, want.values.data()) / deviation};
  double squares = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = static_cast<double>(got[i]) - static_cast<double>(want.values[i]);
    squares += error * error;
  }
  errors.rms = std::sqrt(squares / static_cast<double>(got.size())) / deviation;
  return errors;
}

/// With rounded rows and BF16 keys. A simulation of both in PyTorch gave 0.041 and 0.0069.
TEST(Golden, Bf16FilesAsStored) {
  INGOT_NEEDS_SHARED("goldens/gguf");
  int files = 0;
  for (const fs::path& file : gguf_files("goldens/gguf")) {
    if (!widened(file)) continue;
    ++files;
    SCOPED_TRACE(file.filename().string());
    const Errors errors = errors_as_stored(file, model_of(file), golden_of(file));
    EXPECT_LE(errors.largest, 0.06);
    EXPECT_LE(errors.rms, 0.01);
    // Exact sums would be closer: then nothing was rounded.
    EXPECT_GT(errors.rms, 1e-4);
  }
  EXPECT_GT(files, 0);
}

/// llama.cpp's largest difference from the golden by file, in standard deviations.
std::map<std::string, double> incumbent_errors() {
  std::map<std::string, double> errors;
  std::istringstream lines(read_file(shared_folder("goldens") / "summary.tsv"));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string file, deviation, error;
    std::getline(fields, file, '\t');
    std::getline(fields, deviation, '\t');
    std::getline(fields, error, '\t');
    errors[file] = std::stod(error);
  }
  return errors;
}

// The error of quantised files is that of 8-bit activations; docs/exactness.md derives 0.12
// standard deviations for the largest of some 28,000 logits of two layers.
TEST(Golden, QuantisedGgufFiles) {
  INGOT_NEEDS_SHARED("goldens/quantized");
  const auto errors = incumbent_errors();
  const auto files = gguf_files("goldens/quantized");
  EXPECT_FALSE(files.empty());
  for (const fs::path& file : files) {
    const auto known = errors.find("quantized/" + file.filename().string());
    const double incumbent = known == errors.end() ? 0 : known->second;
    check_logits(file, model_of(file), golden_of(file), 1.25 * std::max(0.12, incumbent));
  }
}

/// The first prompt of every golden model, in every format, on every kernel table.
TEST(Golden, isa_invariance) {
  INGOT_NEEDS_SHARED("goldens/models");
#ifdef INGOT_SANITIZED
  GTEST_SKIP() << "the scalar table takes minutes here; the release build compares them";
#endif
  std::vector<fs::path> models = shared_entries("goldens/models");
  for (const std::string_view folder : {"goldens/gguf", "goldens/quantized"}) {
    for (const fs::path& file : gguf_files(folder)) models.push_back(file);
  }
  for (const fs::path& model : models) {
    SCOPED_TRACE(model.filename().string());
    const fs::path prompts = fs::is_directory(model) ? model : model_of(model);
    const auto prompt = read_prompts(prompts).front();
    std::vector<float> expected;
    for (const HostKernels* kernels : host_kernels()) {
      Golden run(model, std::ssize(prompt), kernels->name);
      const auto rows = run.run(prompt, Output::kLogits);
      if (expected.empty()) expected = rows;
      ASSERT_EQ(rows.size(), expected.size());
      EXPECT_EQ(__builtin_memcmp(rows.data(), expected.data(), rows.size() * sizeof(float)), 0)
          << kernels->name;
    }
  }
}

/// Digests that guard exactness: "name TAB kv type TAB digest" a line.
std::map<std::string, std::string> known_digests() {
  std::map<std::string, std::string> digests;
  std::istringstream lines(read_file(fs::path(INGOT_SOURCE_DIR) / "tests/golden/digests.tsv"));
  std::string model, kv_type, digest;
  while (lines >> model >> kv_type >> digest) digests[cat(model, " ", kv_type)] = digest;
  return digests;
}

/// A greedy text of a trained model, by a reference implementation.
struct GreedyText {
  fs::path model = shared_folder("data/models/stories260K") / "stories260K.gguf";
  std::vector<std::int32_t> prompt, tokens;  ///< 200 tokens

  GreedyText() {
    const fs::path golden = model.parent_path() / "golden_greedy_200.json";
    const Json j = parse_json(read_file(golden), golden.string(), "golden");
    prompt = ints(*j.find("prompt_ids"));
    for (const Json& step : *j.find("steps")->as_array()) {
      tokens.push_back(static_cast<std::int32_t>(*step.find("argmax")->as_int()));
    }
    tokens.resize(200);
  }
};

std::vector<std::int32_t> tokens_of(Engine& engine, Stream& stream) {
  std::vector<std::int32_t> tokens;
  const auto take = [&] {
    while (const auto delta = stream.try_next()) tokens.push_back(delta->ids.at(0));
  };
  while (engine.step()) take();
  take();
  return tokens;
}

TEST(Golden, GreedyTextOfATrainedModel) {
  INGOT_NEEDS_SHARED("data/models/stories260K");
  const GreedyText golden;
  const auto digests = known_digests();
  for (const auto& [name, kv_type] :
       {std::pair{"f32", KvType::kF32}, {"f16", KvType::kF16}, {"bf16", KvType::kBF16}}) {
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(cat(std::string_view(name), " ", threads, " threads"));
      ThreadPool pool(threads);
      Instance instance(pool, {.path = golden.model.string(), .kv_type = kv_type});
      StartOptions start;
      start.context = 201;
      start.generates = true;
      instance.start(start, [](std::uint64_t, std::uint64_t) {});
      const auto engine = instance.make_engine();
      Stream stream = *engine->submit(
          {.prompt = golden.prompt, .max_tokens = 200, .ignore_eos = true, .digest = true});
      EXPECT_EQ(tokens_of(*engine, stream), golden.tokens);
      EXPECT_EQ(stream.outcome().digest_text(),
                digests.at(cat("stories260K ", std::string_view(name))));
    }
  }
}

/// Each step continues a token that the step before still draws.
TEST(Golden, GreedyTextDrawnByADevice) {
  INGOT_NEEDS_SHARED("data/models/stories260K");
  const GreedyText golden;
  const auto checkpoint = Checkpoint::open(golden.model.string());
  for (const std::int32_t steps : {1, 2}) {
    SCOPED_TRACE(cat(steps, " steps under way"));
    EngineRunner runner(*checkpoint, {.context = 201, .rows = 64, .sequences = 1, .late = steps});
    Stream stream =
        *runner.engine().submit({.prompt = golden.prompt, .max_tokens = 200, .ignore_eos = true});
    EXPECT_EQ(tokens_of(runner.engine(), stream), golden.tokens);
  }
}

}  // namespace
}  // namespace ingot::testing_support
