// Tests of model folders: what is chosen, shards against their index, lines S16 and S25, and real
// folders.
#include "load/hf/hf_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "load/hf/hf_test_util.h"
#include "load/tokenizer/tokenizer_files_test_util.h"

namespace ingot {
namespace {

using namespace testing_hf;
namespace fs = std::filesystem;

std::unique_ptr<Checkpoint> open(const TempFolder& folder) {
  return Checkpoint::open(folder.string());
}

void expect_open_refused(const TempFolder& folder, std::string_view part) {
  expect_refused([&] { open(folder); }, part);
}

bool warns(const Checkpoint& model, std::string_view part) {
  for (const std::string& line : model.warnings()) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

std::string index_of(std::string_view weight_map) {
  return cat("{\"weight_map\": {", weight_map, "}}");
}

/// A valid folder with two shards: a, b in the first and c in the second.
void write_sharded(const TempFolder& folder) {
  folder.write("config.json", ConfigText().text());
  folder.write("m1.safetensors", small_safetensors({"a", "b"}));
  folder.write("m2.safetensors", small_safetensors({"c"}));
  folder.write("model.safetensors.index.json",
               index_of(R"("a": "m1.safetensors", "b": "m1.safetensors", "c": "m2.safetensors")"));
}

void write_single(const TempFolder& folder) {
  folder.write("config.json", ConfigText().text());
  folder.write("model.safetensors", small_safetensors({"b", "a"}));
}

TEST(HfFolder, SingleFile) {
  const TempFolder folder;
  write_single(folder);
  const auto model = Checkpoint::open(folder.string() + "//");
  EXPECT_EQ(model->name(), folder.path().filename().string());
  EXPECT_EQ(model->config().layers, 4);
  EXPECT_EQ(model->tokenizer(), nullptr);
  EXPECT_TRUE(model->warnings().empty());
  ASSERT_EQ(model->tensors().size(), 2u);
  EXPECT_EQ(model->tensors()[0].name, "b");
  EXPECT_EQ(model->find("a"), &model->tensors()[1]);
  EXPECT_EQ(model->find("b"), &model->tensors()[0]);
  for (const char* name : {"", "0", "aa", "c"}) EXPECT_EQ(model->find(name), nullptr) << name;
  EXPECT_TRUE(model->file_of(model->tensors()[0]).ends_with("model.safetensors"));
  EXPECT_EQ(static_cast<char>(model->find("a")->data[7]), 'x');
  EXPECT_EQ(model->metadata()[0].first, "model_type");
  EXPECT_EQ(*model->metadata()[0].second.as_string(), "llama");
  model->release(*model->find("a"));
  EXPECT_EQ(static_cast<char>(model->find("a")->data[7]), 'x');
  EXPECT_NO_THROW(model->expect_unchanged());
}

TEST(HfFolder, Shards) {
  const TempFolder folder;
  write_sharded(folder);
  const auto model = open(folder);
  ASSERT_EQ(model->tensors().size(), 3u);
  EXPECT_TRUE(model->file_of(*model->find("c")).ends_with("m2.safetensors"));
  EXPECT_TRUE(model->file_of(*model->find("b")).ends_with("m1.safetensors"));
  EXPECT_TRUE(model->warnings().empty());
}

TEST(HfFolder, AChangedFileIsNoticed) {
  for (const char* shard : {"m1.safetensors", "m2.safetensors"}) {
    const TempFolder folder;
    write_sharded(folder);
    const auto model = open(folder);
    const auto time = fs::last_write_time(folder.path() / shard);
    fs::last_write_time(folder.path() / shard, time + std::chrono::seconds(5));
    try {
      model->expect_unchanged();
      ADD_FAILURE() << "not noticed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      EXPECT_NE(error.message().find(shard), std::string::npos) << error.message();
    }
  }
}

TEST(HfFolder, ShardsThatDoNotAgreeWithTheIndex) {
  const auto with_index = [](std::string_view map, std::string_view part) {
    const TempFolder folder;
    write_sharded(folder);
    folder.write("model.safetensors.index.json", index_of(map));
    expect_open_refused(folder, part);
  };
  with_index(R"("a": "m1.safetensors", "c": "m2.safetensors")", "tensor 'b' is here, but");
  with_index(R"("a": "m1.safetensors", "b": "m2.safetensors", "c": "m2.safetensors")",
             "tensor 'b' is here, but");
  with_index(R"("a": "m1.safetensors", "b": "m1.safetensors")"
             R"(, "d": "m1.safetensors")",
             "tensor 'd' is not in m1.safetensors");
  with_index(R"("a": "m1.safetensors", "b": "m1.safetensors", "c": "m3.safetensors")",
             "m3.safetensors: file @0: ");
  const TempFolder twice;
  write_sharded(twice);
  twice.write("m2.safetensors", small_safetensors({"c", "a"}));
  expect_open_refused(twice, "tensor 'a' is here, but");
  const TempFolder empty;
  write_sharded(empty);
  empty.write("m2.safetensors", "");
  expect_open_refused(empty, "m2.safetensors: header @0: needs 8 bytes");
}

TEST(HfFolder, TotalSizeThatContradictsIsAWarning) {
  const TempFolder folder;
  write_sharded(folder);
  const char* const map = R"("weight_map": {"a": "m1.safetensors", "b": "m1.safetensors",
                                           "c": "m2.safetensors"}})";
  folder.write("model.safetensors.index.json", cat(R"({"metadata": {"total_size": 23}, )", map));
  const auto model = open(folder);
  ASSERT_EQ(model->warnings().size(), 1u);
  EXPECT_NE(model->warnings()[0].find("have 23 bytes, they have 24"), std::string::npos);
  folder.write("model.safetensors.index.json", cat(R"({"metadata": {"total_size": 24}, )", map));
  EXPECT_TRUE(open(folder)->warnings().empty());
}

TEST(HfFolder, S16PathsNeverLeaveTheFolder) {
  const TempFolder outside;
  outside.write("m2.safetensors", small_safetensors({"c"}));
  const auto points = [&](std::string_view name, std::string_view part) {
    const TempFolder folder;
    write_sharded(folder);
    fs::remove(folder.path() / "m2.safetensors");
    fs::create_symlink(outside.path() / "m2.safetensors", folder.path() / "link.safetensors");
    fs::create_directory(folder.path() / "dir.safetensors");
    EXPECT_EQ(::mkfifo((folder.path() / "fifo.safetensors").c_str(), 0600), 0);
    folder.write(
        "model.safetensors.index.json",
        index_of(cat(R"("a": "m1.safetensors", "b": "m1.safetensors", "c": ")", name, "\"")));
    expect_open_refused(folder, part);
  };
  for (const char* name : {"../../etc/passwd", "/etc/passwd", "C:\\\\x", "a/b.safetensors",
                           "model.safetensors.index.json", "..", ""}) {
    points(name, "expected a plain file name");
  }
  points(cat("..", outside.string(), "/m2.safetensors"), "expected a plain file name");
  points("link.safetensors", "link.safetensors: file @0: ");
  points("dir.safetensors", "dir.safetensors: file @0: ");
  points("fifo.safetensors", "fifo.safetensors: file @0: ");
}

TEST(HfFolder, LinksInsideTheFolderAreFollowed) {
  const TempFolder folder;
  write_single(folder);
  fs::rename(folder.path() / "model.safetensors", folder.path() / "blob");
  fs::create_symlink("blob", folder.path() / "model.safetensors");
  EXPECT_EQ(open(folder)->tensors().size(), 2u);
}

TEST(HfFolder, S20ConfigThatCannotBeRead) {
  const TempFolder folder;
  write_single(folder);
  folder.write("config.json", std::string(9'000'000, ' '));
  expect_open_refused(folder, "config.json: ");
  fs::remove(folder.path() / "config.json");
  fs::create_directory(folder.path() / "config.json");
  expect_open_refused(folder, "config.json: file @0: ");
  folder.write("generation_config.json", "{}");
}

TEST(HfFolder, GenerationConfigIsRead) {
  const TempFolder folder;
  write_single(folder);
  folder.write("generation_config.json", R"({"eos_token_id": [3, 4]})");
  EXPECT_EQ(ids_of(open(folder)->config().ends), (std::vector<std::int32_t>{3, 4}));
  folder.write("generation_config.json", R"({"eos_token_id": 999})");
  expect_open_refused(folder, "generation_config.json: config @0: eos_token_id is 999");
}

TEST(HfFolder, S25WhatIsChosen) {
  const TempFolder folder;
  expect_open_refused(folder, "no model found: looked for config.json");
  folder.write("pytorch_model.bin", "PK\3\4");
  expect_open_refused(folder, "pickle files are not supported, convert to safetensors");
  folder.write("config.json", ConfigText().text());
  expect_open_refused(folder, "found pytorch_model.bin");
  fs::remove(folder.path() / "pytorch_model.bin");
  expect_open_refused(folder, "neither model.safetensors nor model.safetensors.index.json");
  folder.write("other.safetensors", small_safetensors({"a"}));
  expect_open_refused(folder, "neither model.safetensors nor model.safetensors.index.json");
  // A GGUF file counts while there are no safetensors.
  folder.write("model.gguf", "GGUF");
  expect_open_refused(folder, "model.gguf: header @");
  folder.write("model.safetensors", small_safetensors({"a"}));
  folder.write("model.safetensors.index.json", "broken");
  const auto model = open(folder);
  EXPECT_EQ(model->config().naming, Naming::kHuggingFace);
  EXPECT_TRUE(warns(*model, "model.gguf in the folder is not read"));
  EXPECT_TRUE(warns(*model, "other.safetensors in the folder is not read"));
  EXPECT_TRUE(warns(*model, "model.safetensors.index.json in the folder is not read"));
  EXPECT_EQ(model->warnings().size(), 3u);
  fs::remove(folder.path() / "config.json");
  expect_open_refused(folder, "model.gguf: header @");
  folder.write("second.gguf", "GGUF");
  expect_open_refused(folder, "there are 2 GGUF files, name the one that is meant");
  fs::remove(folder.path() / "second.gguf");
  fs::remove(folder.path() / "model.gguf");
  folder.write("m-00001-of-00002.gguf", "GGUF");
  folder.write("m-00002-of-00002.gguf", "GGUF");
  expect_open_refused(folder, "m-00001-of-00002.gguf: header @");
  folder.write("n-00002-of-00002.gguf", "GGUF");
  expect_open_refused(folder, "there are 3 GGUF files");
}

TEST(HfFolder, StrayShardsAreNamed) {
  const TempFolder folder;
  write_sharded(folder);
  folder.write("stray.safetensors", "");
  const auto model = open(folder);
  EXPECT_TRUE(warns(*model, "stray.safetensors in the folder is not read"));
  EXPECT_EQ(model->warnings().size(), 1u);
}

TEST(HfFolder, TheTokenizerBesideTheModel) {
  const TempFolder folder;
  write_single(folder);
  folder.write("tokenizer.json", testing::wordpiece_json());
  ASSERT_NE(open(folder)->tokenizer(), nullptr);
  EXPECT_EQ(open(folder)->tokenizer()->tokens.size(), 5u);
  folder.write("tokenizer.json", "{}");
  expect_open_refused(folder, "there is no vocabulary beside the settings");
}

TEST(Checkpoint, PathsThatAreNoModel) {
  const TempFolder folder;
  write_single(folder);
  const std::string base = folder.string();
  EXPECT_EQ(::mkfifo((folder.path() / "fifo").c_str(), 0600), 0);
  const std::string paths[] = {"",
                               base + "/absent",
                               base + "/fifo",
                               base + "/config.json",
                               base + "/config.json/x",
                               base + std::string("\0", 1),
                               base + "/" + std::string(5000, 'x'),
                               base + "/\xff\x1b",
                               "/dev/zero",
                               "/dev/null"};
  for (const std::string& path : paths) {
    EXPECT_FALSE(refusal([&] { Checkpoint::open(path); }).empty()) << path;
  }
  expect_refused([&] { Checkpoint::open(base + "/model.safetensors"); }, "through their folder");
}

TEST(HfFolder, RealFoldersOpenOrAreRefusedInOneLine) {
  int opened = 0;
  for (const char* place :
       {"goldens/models", "data/models/mlxd", "data/loader/mlxd_configs", "data/models"}) {
    const auto root = shared_folder(place);
    if (!fs::exists(root)) GTEST_SKIP() << "no " << root;
    for (const auto& path : entries(root)) {
      if (!fs::is_directory(path)) continue;
      const std::string message = refusal([&] {
        const auto model = Checkpoint::open(path.string());
        EXPECT_FALSE(model->tensors().empty()) << path;
        for (const TensorInfo& tensor : model->tensors()) {
          EXPECT_EQ(model->find(tensor.name), &tensor);
        }
        model->expect_unchanged();
        ++opened;
      });
      if (std::string_view(place) == "goldens/models") {
        EXPECT_EQ(message, "") << path;
      }
    }
  }
  EXPECT_GT(opened, 20);
}

TEST(HfFolder, RefusalsOfRealFoldersSayWhy) {
  const auto root = shared_folder("data/models/mlxd");
  if (!fs::exists(root)) GTEST_SKIP() << "no " << root;
  for (const auto& path : entries(root)) {
    const std::string name = path.filename().string();
    const std::string message = refusal([&] { Checkpoint::open(path.string()); });
    if (name.ends_with("_tied") || name.ends_with("_sharded")) {
      const bool known = name.find("qwen3_5") == std::string::npos;
      EXPECT_NE(message.find(known ? "quantization method 'affine'" : "model_type 'qwen3_5'"),
                std::string::npos)
          << name << ": " << message;
    } else if (name == "tiny_gemma4") {
      // The language model's members stand in the outer object.
      EXPECT_NE(message.find("text_config is missing"), std::string::npos) << name << message;
    } else if (name == "tiny_qwen3_5") {
      EXPECT_NE(message.find("not supported yet"), std::string::npos) << name << message;
    } else if (name == "shard_index") {
      EXPECT_NE(message.find("no model found"), std::string::npos) << message;
    } else {
      EXPECT_EQ(message, "") << name;
    }
  }
}

}  // namespace
}  // namespace ingot
