// GGUF files as checkpoints: split sets, real files, summaries for people, random damage.
#include "load/gguf/gguf.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/full_run_test_util.h"
#include "load/gguf/gguf_test_util.h"
#include "load/gguf/gguf_writer_test_util.h"
#include "quant/test_data.h"

namespace ingot {
namespace {

using namespace testing_gguf;
namespace fs = std::filesystem;

/// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string pattern = ::testing::TempDir() + "/ingot-gguf-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~Folder() { fs::remove_all(path_); }

  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return file(name);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string file_refusal(const std::string& path, const std::string& named) {
  try {
    open_gguf(path);
  } catch (const Error& error) {
    EXPECT_TRUE(is_model_error(error, named));
    return error.message();
  }
  ADD_FAILURE() << "accepted: " << path;
  return {};
}

std::string file_refusal(const std::string& path) { return file_refusal(path, path); }

TEST(Gguf, a_file_and_its_bytes_are_the_same_model) {
  const Folder folder;
  const std::string path = folder.write("tiny.gguf", tiny_model().build());
  const std::unique_ptr<Checkpoint> model = open_gguf(path);
  const Opened bytes = open_bytes(tiny_model().build());
  EXPECT_EQ(model->name(), path);
  ASSERT_EQ(model->tensors().size(), bytes.checkpoint->tensors().size());
  for (const TensorInfo& expected : bytes.checkpoint->tensors()) {
    const TensorInfo* found = model->find(expected.name);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->shape, expected.shape);
    EXPECT_EQ(found->offset, expected.offset);
    EXPECT_TRUE(std::equal(found->data, found->data + found->bytes, expected.data));
    EXPECT_EQ(model->file_of(*found), path);
    model->release(*found);
    EXPECT_TRUE(std::equal(found->data, found->data + found->bytes, expected.data));
  }
  EXPECT_EQ(model->find("blk.1.attn_q.weight"), nullptr);
  model->expect_unchanged();
  fs::resize_file(path, fs::file_size(path) + 32);
  EXPECT_THROW(model->expect_unchanged(), Error);
}

TEST(Gguf, metadata_for_people) {
  GgufWriter w = tiny_model();
  w.set("x.long", text(std::string(5000, 'a')));
  w.set("x.short", ints({-1, 2}));
  w.set("x.seventeen", uints(std::vector<std::uint32_t>(17)));
  w.set("x.big", u64(~std::uint64_t{0})).set("x.double", f64(0.5)).set("x.negative", i64(-7));
  w.set("x.names", strings({"a", "b"})).set("x.flag", boolean(1)).set("x.small", i8(-3));
  const Opened opened = open_bytes(w.build());
  const auto shown = opened.checkpoint->metadata();
  ASSERT_EQ(shown.size(), w.entries.size());
  for (std::size_t i = 0; i < shown.size(); ++i) EXPECT_EQ(shown[i].first, w.entries[i].first);
  const auto value = [&](std::string_view key) {
    for (const auto& [k, v] : shown) {
      if (k == key) return v.dump();
    }
    return std::string("absent");
  };
  EXPECT_EQ(value("general.name"), "\"tiny\"");
  EXPECT_EQ(value("llama.block_count"), "1");
  EXPECT_EQ(value("llama.attention.layer_norm_rms_epsilon"), "1e-05");
  EXPECT_EQ(value("tokenizer.ggml.scores"),
            "[-1.5,-1.5,-1.5,-1.5,-1.5,-1.5,-1.5,-1.5,-1.5,-1.5,"
            "-1.5,-1.5,-1.5,-1.5,-1.5,-1.5]");
  EXPECT_EQ(value("x.long"), cat("\"", std::string(4096, 'a'), "... (5000 bytes)\""));
  EXPECT_EQ(value("x.short"), "[-1,2]");
  EXPECT_EQ(value("x.seventeen"), "\"[uint32 x 17]\"");
  EXPECT_EQ(value("x.double"), "0.5");
  EXPECT_EQ(value("x.negative"), "-7");
  EXPECT_EQ(value("x.names"), "[\"a\",\"b\"]");
  EXPECT_EQ(value("x.flag"), "true");
  EXPECT_EQ(value("x.small"), "-3");
}

TEST(Gguf, a_vocabulary_alone_is_no_model_but_has_a_tokenizer) {
  GgufWriter w = tiny_model();
  w.tensors.clear();
  expect_refusal(w.build(), "holds a vocabulary only: no tensors");
  const Folder folder;
  const std::string path = folder.write("vocab.gguf", w.build());
  EXPECT_EQ(read_gguf_tokenizer(path)->tokens.size(), 16u);
  std::erase_if(w.entries, [](const auto& e) { return e.first.starts_with("tokenizer."); });
  expect_refusal(w.build(), "holds no tensors");
  folder.write("vocab.gguf", w.build());
  EXPECT_THROW(read_gguf_tokenizer(path), Error);
}

/// The tiny model in parts of these numbers of tensors, the first with all of the metadata.
std::vector<GgufWriter> split(const std::vector<std::size_t>& sizes) {
  const GgufWriter whole = tiny_model();
  std::vector<GgufWriter> parts(sizes.size());
  parts[0] = whole;
  parts[0].tensors.clear();
  std::size_t next = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    parts[i].set("split.no", u16(static_cast<std::uint16_t>(i)));
    parts[i].set("split.count", u16(static_cast<std::uint16_t>(sizes.size())));
    parts[i].set("split.tensors.count", i32(static_cast<std::int32_t>(whole.tensors.size())));
    for (std::size_t k = 0; k < sizes[i]; ++k) parts[i].tensors.push_back(whole.tensors[next++]);
  }
  return parts;
}

std::string part_name(std::size_t i, std::size_t n) {
  return cat("m-0000", i + 1, "-of-0000", n, ".gguf");
}

/// Writes the parts under their proper names.
void write_parts(const Folder& folder, const std::vector<GgufWriter>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    folder.write(part_name(i, parts.size()), parts[i].build());
  }
}

TEST(Gguf, a_split_set_opens_from_any_of_its_files) {
  const Opened whole = open_bytes(tiny_model().build());
  for (const std::vector<std::size_t>& sizes :
       {std::vector<std::size_t>{4, 4, 3}, {0, 11}, {5, 0, 6}, {11}}) {
    const Folder folder;
    write_parts(folder, split(sizes));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::string path = folder.file(part_name(i, sizes.size()));
      const std::unique_ptr<Checkpoint> model = open_gguf(path);
      ASSERT_EQ(model->tensors().size(), 11u);
      EXPECT_EQ(model->config().architecture, "llama");
      for (const TensorInfo& expected : whole.checkpoint->tensors()) {
        const TensorInfo* found = model->find(expected.name);
        ASSERT_NE(found, nullptr);
        EXPECT_TRUE(std::equal(found->data, found->data + found->bytes, expected.data));
      }
      EXPECT_EQ(model->file_of(model->tensors().back()),
                folder.file(part_name(sizes.size() - 1, sizes.size())));
      EXPECT_EQ(read_gguf_tokenizer(path)->tokens.size(), 16u);
    }
  }
}

TEST(Gguf, a_merged_file_states_a_count_of_zero) {
  GgufWriter w = tiny_model().set("split.no", u16(0)).set("split.count", u16(0));
  w.set("split.tensors.count", i32(11));
  EXPECT_TRUE(opens(w.build()));
  w.set("split.tensors.count", i32(12));
  expect_refusal(w.build(), "split.tensors.count = 12 does not agree with the 11 tensors found");
}

TEST(GgufHostile, G48_split_keys) {
  const auto one = [](std::uint16_t no, std::uint16_t count) {
    GgufWriter w = tiny_model().set("split.no", u16(no)).set("split.count", u16(count));
    return w.set("split.tensors.count", i32(11)).build();
  };
  expect_refusal(one(3, 3), "split.no = 3 must be less than split.count, 3");
  expect_refusal(one(1, 0), "split.no = 1 must be less than");
  expect_refusal(one(0, 0xffff), "split.count = 65535 is over the limit");
  expect_refusal(one(0, 2), "holds one of 2 parts of a split model");
  GgufWriter w = tiny_model().set("split.count", u16(2));
  expect_refusal(w.build(), "split.no or split.tensors.count is missing");
  w = tiny_model().set("split.tensors.count", i32(-1));
  expect_refusal(w.build(), "split.tensors.count = -1 must be from 0");
}

TEST(GgufHostile, G48_split_files) {
  const Folder folder;
  const std::vector<GgufWriter> parts = split({4, 4, 3});
  const std::string first = folder.file(part_name(0, 3));
  write_parts(folder, parts);
  fs::remove(folder.file(part_name(1, 3)));
  file_refusal(first, folder.file(part_name(1, 3)));  // missing

  folder.write(part_name(1, 3), parts[2].build());  // another part under this name
  EXPECT_NE(file_refusal(first, folder.file(part_name(1, 3))).find("expected part 2 of 3"),
            std::string::npos);
  folder.write(part_name(1, 3), tiny_model().build());  // a whole model under this name
  EXPECT_NE(file_refusal(first, folder.file(part_name(1, 3))).find("part 1 of 1 with 0 tensors"),
            std::string::npos);

  GgufWriter other = parts[1];
  other.tensors[0].name = "blk.0.ffn_up.weight";  // a part of another model: one name occurs twice
  folder.write(part_name(1, 3), other.build());
  EXPECT_NE(file_refusal(first, folder.file(part_name(2, 3))).find("is also in"),
            std::string::npos);
  other.tensors.pop_back();
  other.tensors[0].name = "x";
  folder.write(part_name(1, 3), other.build());
  EXPECT_NE(file_refusal(first).find("does not agree with the 10 tensors"), std::string::npos);

  const std::string renamed = folder.write("renamed.gguf", parts[0].build());
  EXPECT_NE(file_refusal(renamed).find("must be named ...-00001-of-00003.gguf"), std::string::npos);
}

TEST(GgufHostile, G51_sparse_file_of_huge_size) {
  const Folder folder;
  const std::string path = folder.write("huge.gguf", tiny_model().build());
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  int log2 = 62;  // as far as this file system goes
  while (log2 > 32 && ftruncate(fd, off_t{1} << log2) != 0) --log2;
  close(fd);
  file_refusal(path);
}

/// All files of a shared folder with this ending.
std::vector<fs::path> listed(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code none;
  for (fs::recursive_directory_iterator at(shared_folder(folder), none), end; at != end;
       at.increment(none)) {
    if (at->path().extension() == ".gguf") found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Gguf, every_shared_model_opens) {
  std::vector<fs::path> files = listed("goldens");
  for (const fs::path& path : listed("data/models")) files.push_back(path);
  if (files.empty()) GTEST_SKIP() << "no shared GGUF files: set INGOT_SHARED";
  for (const fs::path& path : files) {
    SCOPED_TRACE(path);
    const std::unique_ptr<Checkpoint> model = open_gguf(path);
    EXPECT_TRUE(model->warnings().empty());
    const Config& c = model->config();
    const TensorInfo* embedding = model->find("token_embd.weight");
    ASSERT_NE(embedding, nullptr);
    EXPECT_EQ(embedding->shape.back(), c.hidden);
    ASSERT_NE(model->tokenizer(), nullptr);
    EXPECT_EQ(static_cast<std::int64_t>(model->tokenizer()->tokens.size()),
              embedding->shape.front());
    EXPECT_EQ(c.experts > 0, c.architecture == "qwen3moe");
    const std::string name = path.filename();
    using Kind = RopeScaling::Kind;
    EXPECT_EQ(c.ropes.front().scaling.kind, name.starts_with("llama-yarn")     ? Kind::kYarn
                                            : name.starts_with("llama-linear") ? Kind::kLinear
                                                                               : Kind::kNone);
  }
}

TEST(Gguf, every_shared_vocabulary_is_read_and_refused_as_a_model) {
  const std::vector<fs::path> files = listed("data/llama.cpp/vocab");
  if (files.empty()) GTEST_SKIP() << "no shared vocabularies: set INGOT_SHARED";
  for (const fs::path& path : files) {
    SCOPED_TRACE(path);
    EXPECT_NE(file_refusal(path).find("holds a vocabulary only"), std::string::npos);
    const std::unique_ptr<TokenizerData> tokenizer = read_gguf_tokenizer(path);
    EXPECT_GT(tokenizer->tokens.size(), 30000u);
    EXPECT_EQ(tokenizer->types.size(), tokenizer->tokens.size());
    EXPECT_EQ(tokenizer->merges.size() > 0, tokenizer->model == TokenizerModel::kBpe);
  }
}

TEST(Gguf, other_shared_files_are_refused_in_form) {
  const std::vector<fs::path> files = listed("data/loader");
  if (files.empty()) GTEST_SKIP() << "no shared loader files: set INGOT_SHARED";
  for (const fs::path& path : files) file_refusal(path);
}

int rounds() { return random_runs(20'000, 1'000'000); }

TEST(GgufHostile, G50_random_damage_to_a_valid_file) {
  const std::string valid = tiny_model().build();
  const std::size_t head = tiny_model().head().size();
  std::vector<std::byte> bytes = exact(valid);
  testing::Random random(50);
  int accepted = 0;
  for (int round = 0; round < rounds(); ++round) {
    bytes = exact(valid);
    for (std::uint64_t flips = random.next() % 4 + 1; flips > 0; --flips) {
      const std::size_t range = random.next() % 8 == 0 ? bytes.size() : head;
      std::byte& at = bytes[random.next() % range];
      at = random.next() % 2 == 0 ? at ^ std::byte(1u << random.next() % 8)
                                  : std::byte(random.next() % 256);
    }
    try {
      open_gguf_bytes(bytes, "test.gguf");
      ++accepted;
    } catch (const Error& error) {
      ASSERT_TRUE(is_model_error(error, "test.gguf")) << "round " << round;
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, rounds());
}

TEST(GgufHostile, G50_random_bytes) {
  testing::Random random(51);
  std::vector<std::byte> bytes;
  for (int round = 0; round < rounds(); ++round) {
    bytes.resize(random.next() % 300);
    for (std::byte& b : bytes) b = std::byte(random.next() % 256);
    if (round % 2 == 0 && bytes.size() >= 24) {  // past the checks of the header
      const std::string begin =
          "GGUF" + raw(std::uint32_t{3}) + raw(random.next() % 3) + raw(random.next() % 5);
      std::copy_n(reinterpret_cast<const std::byte*>(begin.data()), begin.size(), bytes.begin());
    }
    try {
      open_gguf_bytes(bytes, "test.gguf");
      FAIL() << "round " << round << " was accepted";
    } catch (const Error& error) {
      ASSERT_TRUE(is_model_error(error, "test.gguf")) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace ingot
