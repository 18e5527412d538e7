// Published checkpoints: configurations and tensors as public files state them, without weights.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/file.h"
#include "base/index.h"
#include "base/text.h"
#include "convert/quantise.h"
#include "convert/read_back.h"
#include "load/hf/hf_config.h"
#include "model/bind.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

namespace fs = std::filesystem;

/// Memory that reads as zeros and takes none: the bytes of all tensors.
class Zeros {
 public:
  explicit Zeros(std::uint64_t bytes)
      : bytes_(bytes),
        start_(
            mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (start_ == MAP_FAILED) throw Error(ErrorCode::kIo, "mmap failed");
  }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  ~Zeros() { munmap(start_, bytes_); }

  const std::byte* data() const { return static_cast<const std::byte*>(start_); }

 private:
  std::uint64_t bytes_;
  void* start_;
};

/// A type of safetensors files: its bytes, and its weight format if it has one.
struct Type {
  std::int64_t bytes;
  std::optional<Format> format;
};

const std::map<std::string, Type, std::less<>>& types() {
  static const std::map<std::string, Type, std::less<>> all = {{"F32", {4, F32::kFormat}},
                                                               {"F16", {2, F16::kFormat}},
                                                               {"BF16", {2, BF16::kFormat}},
                                                               {"I64", {8, std::nullopt}},
                                                               {"U8", {1, std::nullopt}}};
  return all;
}

std::int64_t whole(std::string_view text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  EXPECT_TRUE(error == std::errc{} && end == text.data() + text.size()) << text;
  return value;
}

/// Cuts `text` at each `separator`.
std::vector<std::string_view> cut(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

/// The names that a name with ranges stands for: "a{0..2,5}" is a0, a1, a2 and a5.
std::vector<std::string> expand(std::string_view name) {
  const auto open = name.find('{');
  if (open == std::string_view::npos) return {std::string(name)};
  const auto close = name.find('}');
  const std::vector<std::string> tails = expand(name.substr(close + 1));
  std::vector<std::string> names;
  for (const std::string_view range : cut(name.substr(open + 1, close - open - 1), ",")) {
    const std::vector<std::string_view> ends = cut(range, "..");
    for (std::int64_t i = whole(ends.front()); i <= whole(ends.back()); ++i) {
      for (const std::string& tail : tails) names.push_back(cat(name.substr(0, open), i, tail));
    }
  }
  return names;
}

/// The tensors of a line: "model.layers.{0..3}.self_attn.q_proj.weight BF16 [64, 32]".
std::vector<TensorInfo> tensors_of(const std::string& line) {
  const auto bracket = line.find(" [");
  const std::vector<std::string_view> words = cut(std::string_view(line).substr(0, bracket), " ");
  TensorInfo tensor;
  const std::string_view sizes =
      std::string_view(line).substr(bracket + 2, line.size() - bracket - 3);
  if (!sizes.empty()) {
    for (const std::string_view size : cut(sizes, ", ")) tensor.shape.push_back(whole(size));
  }
  const auto type = types().find(words[1]);
  EXPECT_NE(type, types().end()) << line;
  tensor.type_name = type->first;
  tensor.format = type->second.format;
  tensor.bytes = static_cast<std::uint64_t>(tensor.elements() * type->second.bytes);
  std::vector<TensorInfo> all;
  for (std::string& name : expand(words[0])) {
    all.push_back(tensor);
    all.back().name = std::move(name);
  }
  return all;
}

/// A checkpoint in memory, whose tensors are all zeros.
class ListedCheckpoint : public Checkpoint {
 public:
  ListedCheckpoint(const std::string& name, Config config, std::vector<TensorInfo> tensors,
                   const std::byte* zeros) {
    name_ = name;
    config_ = std::move(config);
    tensors_ = std::move(tensors);
    for (TensorInfo& tensor : tensors_) tensor.data = zeros;
    index_tensors();
  }
};

/// A file of tests/published: a configuration and the lines of its tensors.
struct Published {
  std::string name;
  std::string refused;  ///< a part of the message with which the configuration is refused
  std::string no_gguf;  ///< a part of the message with which a conversion to GGUF is refused
  Config config;        ///< unread if it is refused
  std::vector<std::vector<TensorInfo>> lines;

  /// The tensors of all lines, without those in `dropped`, and with `added`.
  std::vector<TensorInfo> tensors(const std::set<std::string>& dropped = {},
                                  const std::vector<TensorInfo>& added = {}) const {
    std::vector<TensorInfo> all = added;
    for (const std::vector<TensorInfo>& line : lines) {
      std::copy_if(line.begin(), line.end(), std::back_inserter(all),
                   [&](const TensorInfo& tensor) { return !dropped.contains(tensor.name); });
    }
    return all;
  }
};

Published read_published(const fs::path& path) {
  const Json root = parse_json(File(path.string()).read_all(1'000'000), path.string(), "published");
  Published published;
  published.name = path.stem().string();
  for (const Json& line : *root.find("tensors")->as_array()) {
    published.lines.push_back(tensors_of(*line.as_string()));
  }
  const std::string file = cat(published.name, "/config.json");
  const auto read = [&] {
    LoadNotes notes;
    published.config = read_hf_config(*root.find("config"), file, notes);
    validate_config(published.config, file);
  };
  if (const std::string* reason = root.find_string("no_gguf")) published.no_gguf = *reason;
  const std::string* refused = root.find_string("refused");
  if (refused == nullptr) {
    read();
    return published;
  }
  published.refused = *refused;
  try {
    read();
    ADD_FAILURE() << "accepted: " << file;
  } catch (const Error& e) {
    EXPECT_NE(e.message().find(*refused), std::string::npos) << e.message();
  }
  return published;
}

/// Whether the ends of a model are there: backbones may lack them, see ModelOptions.
auto ends_of(const BoundModel& bound) {
  return std::tuple(bool{bound.embedding}, bool{bound.head}, bool{bound.final_norm});
}

class PublishedTest : public testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override {
    published_ = read_published(GetParam());
    if (!published_.refused.empty()) GTEST_SKIP() << "refused: " << published_.refused;
  }

  ListedCheckpoint checkpoint(std::vector<TensorInfo> tensors) const {
    return {published_.name, published_.config, std::move(tensors), zeros_.data()};
  }

  /// The message that binding is refused with.
  std::string refusal(std::vector<TensorInfo> tensors) const {
    try {
      bind_model(checkpoint(std::move(tensors)));
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kModel);
      return e.message();
    }
    return "accepted";
  }

  /// The tensors of each line that roles use. A stored copy of a tied head is not used.
  std::vector<std::vector<TensorInfo>> used_lines(const BoundModel& bound) const {
    std::set<std::string> used;
    for (const BoundTensor& tensor : bound.tensors) {
      const bool is_copy = bound.spec.tied && tensor.role == TensorRole::kHead;
      if (!is_copy) used.insert(tensor.tensor->name);
    }
    std::vector<std::vector<TensorInfo>> lines;
    for (const std::vector<TensorInfo>& line : published_.lines) {
      std::vector<TensorInfo> found;
      std::copy_if(line.begin(), line.end(), std::back_inserter(found),
                   [&](const TensorInfo& tensor) { return used.contains(tensor.name); });
      if (!found.empty()) lines.push_back(std::move(found));
    }
    return lines;
  }

  Published published_;
  Zeros zeros_{std::uint64_t{8} << 30};
};

TEST_P(PublishedTest, Binds) { EXPECT_EQ(refusal(published_.tensors()), "accepted"); }

TEST_P(PublishedTest, EachTensorThatIsUsedIsNeeded) {
  const ListedCheckpoint whole = checkpoint(published_.tensors());
  const BoundModel bound = bind_model(whole);
  for (const std::vector<TensorInfo>& line : used_lines(bound)) {
    const std::string& name = line.back().name;
    const ListedCheckpoint part = checkpoint(published_.tensors({name}));
    try {
      EXPECT_NE(ends_of(bind_model(part)), ends_of(bound)) << "not missed: " << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kModel) << e.message();
    }
  }
}

/// One more of each dimension: rows of stacked matrices, blocks of MXFP4, heads, experts.
TEST_P(PublishedTest, AnotherShapeIsRefusedByName) {
  const ListedCheckpoint whole = checkpoint(published_.tensors());
  for (const std::vector<TensorInfo>& line : used_lines(bind_model(whole))) {
    const TensorInfo& tensor = line.front();
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      TensorInfo larger = tensor;
      ++larger.shape[i];
      const std::string message = refusal(published_.tensors({tensor.name}, {larger}));
      const bool is_named = message.find(cat("tensor ", tensor.name, " @")) != std::string::npos;
      // Either of two tied tensors may be wrong.
      const bool is_tied = message.find("tied to the embedding") != std::string::npos;
      EXPECT_TRUE(is_named || is_tied) << tensor.name << ": " << message;
    }
  }
}

TEST_P(PublishedTest, AnUnknownTensorIsRefusedByName) {
  for (const std::vector<TensorInfo>& line : published_.lines) {
    TensorInfo unknown = line.front();
    unknown.name += "_of_another_model";
    const std::string message = refusal(published_.tensors({}, {unknown}));
    if (message == "accepted") continue;
    EXPECT_NE(message.find(unknown.name), std::string::npos) << message;
    return;
  }
  ADD_FAILURE() << "every unknown tensor is accepted";
}

/// The tensors of a planned file. Computed ones have their values, all others zeros.
std::vector<TensorInfo> planned_tensors(const QuantisePlan& plan) {
  std::vector<TensorInfo> tensors;
  for (const PlannedTensor& planned : plan.tensors) {
    TensorInfo tensor;
    tensor.name = planned.source.name;
    tensor.shape = planned.source.shape;
    tensor.type_name = "F32";
    tensor.format = F32::kFormat;
    tensor.bytes = static_cast<std::uint64_t>(tensor.elements()) * sizeof(float);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// A GGUF file as it is planned.
class PlannedFile : public ListedCheckpoint {
 public:
  PlannedFile(const QuantisePlan& plan, Config config, const std::byte* zeros)
      : ListedCheckpoint("planned", std::move(config), planned_tensors(plan), zeros) {
    for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
      const std::vector<float>& values = plan.tensors[i].source.values;
      if (!values.empty()) tensors_[i].data = reinterpret_cast<const std::byte*>(values.data());
    }
  }
};

TEST_P(PublishedTest, BindsAgainAsTheGgufFileThatItBecomes) {
  const ListedCheckpoint source = checkpoint(published_.tensors());
  QuantisePlan plan;
  try {
    plan = plan_quantised(source, {.recipe = find_recipe("Q4_K_M"), .tokenizer = false});
    EXPECT_EQ(published_.no_gguf, "") << "is converted";
  } catch (const Error& e) {
    EXPECT_FALSE(published_.no_gguf.empty()) << e.message();
    EXPECT_NE(e.message().find(published_.no_gguf), std::string::npos) << e.message();
    return;
  }
  const auto has_tensor = [&](std::string_view name) {
    return std::any_of(plan.tensors.begin(), plan.tensors.end(),
                       [&](const PlannedTensor& t) { return t.source.name == name; });
  };
  const PlannedFile file(plan, read_config(plan.values, "planned", has_tensor), zeros_.data());
  const BoundModel again = bind_model(file);
  const BoundModel bound = bind_model(source);
  EXPECT_EQ(ends_of(again), ends_of(bound));
  Spec want = without_spelling(bound.spec);
  Spec got = without_spelling(again.spec);
  want.mla.norm_eps = got.mla.norm_eps;  // GGUF has one epsilon for all norms
  EXPECT_EQ(first_difference(to_string(want), to_string(got)), "");
}

std::vector<fs::path> published_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(INGOT_PUBLISHED)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Published, PublishedTest, testing::ValuesIn(published_files()),
                         [](const auto& info) {
                           std::string name = info.param.stem().string();
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace ingot::testing_support
