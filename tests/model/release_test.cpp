// Loading a model releases the memory pages of its matrices.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>

#include "backend/cpu/cpu_backend.h"
#include "base/text.h"
#include "load/hf/hf_test_util.h"
#include "model/model.h"

namespace ingot {
namespace {

using namespace testing_hf;

/// The tensors of a safetensors file, all zeros.
class ZeroTensors {
 public:
  void add(std::string_view name, std::string_view type, const std::vector<std::int64_t>& shape) {
    std::int64_t bytes = type == "U8" ? 1 : 2;
    std::string sizes = "[";
    for (const std::int64_t size : shape) {
      bytes *= size;
      sizes += cat(sizes.size() > 1 ? "," : "", size);
    }
    header_ += cat(header_.empty() ? "{" : ",",
                   tensor_entry(name, type, sizes + "]", cat("[", end_, ",", end_ + bytes, "]")));
    end_ += bytes;
  }
  std::string file() const {
    return safetensors_file(header_ + "}", std::string(to_size(end_), '\0'));
  }

 private:
  std::string header_;
  std::int64_t end_ = 0;
};

constexpr std::int64_t kHidden = 64;
constexpr std::int64_t kExperts = 128;

/// A folder with GPT-OSS of one layer, whose experts are in MXFP4.
void write_gpt_oss(const TempFolder& folder) {
  folder.write("config.json", cat(R"({"model_type": "gpt_oss", "num_hidden_layers": 1,
      "hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32,
      "intermediate_size": 64, "vocab_size": 8, "max_position_embeddings": 64,
      "num_experts_per_tok": 2, "quantization_config": {"quant_method": "mxfp4"},
      "rope_parameters": {"rope_type": "default", "rope_theta": 150000.0},
      "num_local_experts": )",
                                  kExperts, "}"));
  ZeroTensors tensors;
  const std::string layer = "model.layers.0.", attention = layer + "self_attn.";
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
    tensors.add(name, "BF16", {8, kHidden});
  }
  for (const char* name : {"input_layernorm.weight", "post_attention_layernorm.weight"}) {
    tensors.add(layer + name, "BF16", {kHidden});
  }
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
    tensors.add(cat(attention, name, ".weight"), "BF16", {kHidden, kHidden});
    tensors.add(cat(attention, name, ".bias"), "BF16", {kHidden});
  }
  tensors.add(attention + "sinks", "BF16", {2});
  tensors.add(layer + "mlp.router.weight", "BF16", {kExperts, kHidden});
  tensors.add(layer + "mlp.router.bias", "BF16", {kExperts});
  for (const auto& [name, rows] :
       {std::pair{"gate_up_proj", 2 * kHidden}, {"down_proj", kHidden}}) {
    const std::string experts = cat(layer, "mlp.experts.", name);
    tensors.add(experts + "_bias", "BF16", {kExperts, rows});
    tensors.add(experts + "_blocks", "U8", {kExperts, rows, kHidden / 32, 16});
    tensors.add(experts + "_scales", "U8", {kExperts, rows, kHidden / 32});
  }
  tensors.add("model.norm.weight", "BF16", {kHidden});
  folder.write("model.safetensors", tensors.file());
}

/// The number of memory pages inside a tensor that are mapped now, by Linux's pagemap.
std::int64_t mapped_pages(const TensorInfo& tensor) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uint64_t>(tensor.data);
  const int map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  std::int64_t mapped = map < 0 ? -1 : 0;
  for (std::uint64_t p = (begin + page - 1) / page; map >= 0 && p < (begin + tensor.bytes) / page;
       ++p) {
    std::uint64_t entry = 0;
    EXPECT_EQ(::pread(map, &entry, sizeof entry, static_cast<off_t>(p * sizeof entry)), 8);
    mapped += entry >> 63 != 0 ? 1 : 0;
  }
  if (map >= 0) ::close(map);
  return mapped;
}

TEST(Release, CodesAndScalesOfExperts) {
  const TempFolder folder;
  write_gpt_oss(folder);
  const auto checkpoint = Checkpoint::open(folder.string());
  std::vector<const TensorInfo*> stacks;
  for (const TensorInfo& tensor : checkpoint->tensors()) {
    if (tensor.type_name != "U8") continue;
    stacks.push_back(&tensor);
    for (std::uint64_t i = 0; i < tensor.bytes; ++i) EXPECT_EQ(tensor.data[i], std::byte{0});
    if (mapped_pages(tensor) < 0) GTEST_SKIP() << "no pagemap";
    EXPECT_GE(mapped_pages(tensor), 3) << tensor.name;
  }
  ASSERT_EQ(stacks.size(), 4u);
  ThreadPool pool(1);
  CpuBackend backend(pool, *kernel_tables().back());
  load_model(*checkpoint, bind_model(*checkpoint), backend, {.context = 16},
             [](std::uint64_t, std::uint64_t) {});
  for (const TensorInfo* tensor : stacks) EXPECT_EQ(mapped_pages(*tensor), 0) << tensor->name;
}

}  // namespace
}  // namespace ingot
