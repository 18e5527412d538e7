// Tests of files that users open in place of a model: each is named, with a way out.
#include "load/wrong_file.h"

#include <gtest/gtest.h>

#include "load/checkpoint.h"
#include "load/hf/hf_test_util.h"
#include "load/tokenizer/tokenizer_files.h"
#include "load/tokenizer/tokenizer_files_test_util.h"

namespace ingot {
namespace {

using namespace testing_hf;
using testing::byte_level_json;

constexpr std::string_view kPointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\nsize "
    "4368439584\n";
constexpr std::string_view kReason =
    "file @0: is a Git LFS pointer to a file of 4368439584 bytes, which is not here: run git lfs "
    "pull in its folder, or get the model with ingot pull USER/NAME";

std::string number(std::uint32_t n) { return {reinterpret_cast<const char*>(&n), sizeof n}; }

/// The first entry of an importance matrix in the older layout.
std::string old_importance(std::uint32_t entries, std::uint32_t length, std::string_view name) {
  return number(entries) + number(length) + std::string(name) + number(1) + number(1) + number(0);
}

TEST(WrongFile, APointerForWeights) {
  const TempFolder folder;
  const auto refuses = [&](const std::string& path, const std::string& file) {
    expect_refused([&] { Checkpoint::open(path); }, cat(file, ": ", kReason));
  };
  folder.write("m.gguf", kPointer);
  refuses(folder.string() + "/m.gguf", folder.string() + "/m.gguf");
  refuses(folder.string(), folder.string() + "/m.gguf");
  std::filesystem::remove(folder.path() / "m.gguf");
  // Each file of a folder may be one.
  folder.write("config.json", ConfigText().text());
  folder.write("generation_config.json", "{}");
  folder.write("model.safetensors", small_safetensors({"b", "a"}));
  folder.write("tokenizer.json", byte_level_json());
  folder.write("tokenizer_config.json", "{}");
  folder.write("special_tokens_map.json", "{}");
  folder.write("chat_template.jinja", "x");
  std::filesystem::create_directory(folder.path() / "additional_chat_templates");
  folder.write("additional_chat_templates/tool_use.jinja", "x");
  EXPECT_NO_THROW(Checkpoint::open(folder.string()));
  for (const std::string file :
       {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
        "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja",
        "additional_chat_templates/tool_use.jinja"}) {
    std::filesystem::rename(folder.path() / file, folder.path() / "kept");
    folder.write(file, kPointer);
    refuses(folder.string(), cat(folder.string(), "/", file));
    std::filesystem::rename(folder.path() / "kept", folder.path() / file);
  }
  std::filesystem::remove(folder.path() / "model.safetensors");
  folder.write("model.safetensors.index.json", kPointer);
  refuses(folder.string(), folder.string() + "/model.safetensors.index.json");
}

TEST(WrongFile, APointerForATokenizer) {
  for (const std::string name :
       {"tokenizer.model", "tokenizer.json", "vocab.txt", "spiece.model"}) {
    const TempFolder folder;
    folder.write(name, kPointer);
    const std::string path = cat(folder.string(), "/", name);
    expect_refused([&] { read_tokenizer_files({{path}}); }, kReason);
    expect_refused([&] { read_tokenizer_files({{folder.string()}}); }, kReason);
  }
}

TEST(WrongFile, WhatIsAPointer) {
  const TempFolder folder;
  const auto check = [&](std::string_view bytes) {
    folder.write("f", bytes);
    refuse_lfs_pointer(File(folder.string() + "/f"));
  };
  expect_refused([&] { check("version https://hawser.github.com/spec/v1\n"); },
                 "is a Git LFS pointer to a file, which");
  expect_refused([&] { check("version https://git-lfs.github.com/spec/v1\nsize x\n"); },
                 "is a Git LFS pointer to a file, which");
  expect_refused([&] { check("version https://git-lfs.github.com/spec/v1\r\nsize 12\r\n"); },
                 "is a Git LFS pointer to a file of 12 bytes, which");
  EXPECT_NO_THROW(check("version https://git-lfs.github.com/spec/v12\n"));
  for (std::size_t cut = 0; cut < 43; ++cut) EXPECT_NO_THROW(check(kPointer.substr(0, cut)));
  EXPECT_NO_THROW(check("Version https://git-lfs.github.com/spec/v1\n"));
  EXPECT_NO_THROW(check(std::string(kPointer) + std::string(1024, 'x')));
}

TEST(WrongFile, AnImportanceMatrixInTheOlderLayout) {
  const TempFolder folder;
  const auto check = [&](std::string_view bytes) {
    folder.write("m.dat", bytes);
    refuse_old_importance(File(folder.string() + "/m.dat"));
  };
  const std::string matrix = old_importance(3, 19, "blk.0.attn_q.weight");
  expect_refused([&] { check(matrix); }, std::string(kImportanceReason));
  expect_refused(
      [&] { Checkpoint::open(folder.string() + "/m.dat"); },
      "/m.dat: file @0: is an importance matrix, not a model: ingot quantize takes it with "
      "--imatrix");
  for (std::size_t cut = 0; cut < 27; ++cut) EXPECT_NO_THROW(check(matrix.substr(0, cut)));
  EXPECT_NO_THROW(check(old_importance(0, 19, "blk.0.attn_q.weight")));
  EXPECT_NO_THROW(check(old_importance(3, 18, "blk.0.attn_q.weight")));
  EXPECT_NO_THROW(check(old_importance(3, 8, "\x1b.weight")));
  EXPECT_NO_THROW(check(old_importance(3, 0xFFFFFFFF, "blk.0.attn_q.weight")));
}

}  // namespace
}  // namespace ingot
