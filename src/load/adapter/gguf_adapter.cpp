// gguf_pairs: "blk.0.attn_q.weight.lora_a" and "blk.0.attn_q.weight.lora_b" are a pair.
#include "load/adapter/gguf_adapter.h"

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "load/gguf/gguf_metadata.h"

namespace ingot {

namespace {

constexpr std::string_view kGgufHalves[] = {".lora_a", ".lora_b"};
constexpr double kGgufAlphaMax = 1e6;

double read_gguf_alpha(GgufKeys& keys) {
  const auto alpha = keys.float32("adapter.lora.alpha");
  if (!alpha) keys.fail("adapter.lora.alpha is missing");
  if (std::abs(*alpha) > kGgufAlphaMax) {
    keys.refuse("adapter.lora.alpha",
                cat("must have a magnitude up to ", static_cast<std::int64_t>(kGgufAlphaMax)));
  }
  return *alpha;
}

/// Reads the keys of the adapter, and refuses unknown keys. Returns alpha.
double read_gguf_adapter_keys(GgufKeys& keys, AdapterFile& file) {
  if (keys.text("general.type") != "adapter") {
    keys.refuse("general.type", "must be 'adapter': the file is no adapter");
  }
  if (keys.text("adapter.type") != "lora") keys.refuse("adapter.type", "must be 'lora'");
  const auto architecture = keys.text("general.architecture");
  if (!architecture) keys.fail("general.architecture is missing");
  file.architecture = *architecture;
  if (const auto base = keys.text("general.base_model.0.name")) file.base_model = *base;
  for (const std::string_view key : {"adapter.lora.task_name", "adapter.lora.prompt_prefix"}) {
    if (const auto value = keys.text(key)) file.notes.push_back(cat(key, ": ", printable(*value)));
  }
  constexpr std::string_view kTokens = "adapter.alora.invocation_tokens";
  if (const GgufEntry* tokens = keys.array(kTokens, GgufType::kUint32)) {
    constexpr std::uint64_t kTokensMax = 4096;
    if (tokens->count == 0 || tokens->count > kTokensMax)
      keys.refuse(kTokens, "has no usable size");
    for (std::uint64_t i = 0; i < tokens->count; ++i) {
      const auto id = tokens->number<std::uint32_t>(i);
      if (id > INT32_MAX) keys.refuse(kTokens, cat("holds ", id, ", which is no token"));
      file.invocation_tokens.push_back(static_cast<std::int32_t>(id));
    }
  }
  const double alpha = read_gguf_alpha(keys);
  const auto unknown = keys.unread("adapter.");
  if (!unknown.empty()) {
    keys.refuse(unknown.front()->key,
                "is a key that ingot does not know, which may change results");
  }
  return alpha;
}

void check_gguf_pair(const AdapterFile& file, const AdapterPair& pair) {
  const auto& a = pair.a->shape;
  const auto& b = pair.b->shape;
  const std::size_t dims = pair.kind == AdapterPairKind::kStack ? 3 : 2;
  for (const TensorInfo* t : {pair.a, pair.b}) {
    if (t->shape.size() != dims) {
      file.fail(*t, cat("it has ", t->shape.size(), " dimensions, expected ", dims));
    }
  }
  const std::int64_t rank = pair.kind == AdapterPairKind::kEmbedding ? a.back() : a[dims - 2];
  if (b.back() != rank) {
    file.fail(*pair.b, cat("its rank is ", b.back(), ", but that of lora_a is ", rank));
  }
  if (dims == 3 && a.front() != b.front()) {
    file.fail(*pair.b, cat("it has ", b.front(), " experts, but lora_a has ", a.front()));
  }
  if (rank == 0) file.fail(*pair.b, "its rank is 0");
}

}  // namespace

void gguf_pairs(GgufFile parsed, AdapterFile& file) {
  GgufKeys keys(parsed);
  const double alpha = read_gguf_adapter_keys(keys, file);
  file.naming = Naming::kGguf;
  file.tensors = std::move(parsed.tensors);
  std::map<std::string, const TensorInfo*, std::less<>> halves[2];
  for (const TensorInfo& t : file.tensors) {
    const std::string_view name = t.name;
    const bool is_b = name.ends_with(kGgufHalves[1]);
    if (!is_b && !name.ends_with(kGgufHalves[0])) {
      file.fail(t, "it is no matrix of a LoRA pair, and ingot applies nothing else");
    }
    halves[to_size(std::int64_t{is_b})].emplace(name.substr(0, name.size() - kGgufHalves[0].size()),
                                                &t);
  }
  for (const int half : {0, 1}) {
    for (const auto& [module, t] : at(halves, half)) {
      if (!at(halves, 1 - half).contains(module)) {
        file.fail(*t, cat("the other half of its pair is missing, ",
                          at(kGgufHalves, 1 - half).substr(1)));
      }
    }
  }
  for (const auto& [module, a] : halves[0]) {
    AdapterPair pair{.module = module, .a = a, .b = halves[1].find(module)->second};
    if (module == "token_embd.weight") pair.kind = AdapterPairKind::kEmbedding;
    if (a->shape.size() == 3) pair.kind = AdapterPairKind::kStack;
    check_gguf_pair(file, pair);
    pair.rank = pair.b->shape.back();
    pair.alpha = alpha;
    pair.scale = alpha == 0 ? 1 : alpha / static_cast<double>(pair.rank);
    file.pairs.push_back(std::move(pair));
  }
  if (file.pairs.empty()) keys.fail("the file holds no tensors of an adapter");
}

}  // namespace ingot
