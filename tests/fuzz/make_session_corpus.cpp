// Writes the seeds of fuzz_session: small session files of every KV type, with and without blocks.
#include <cstdio>

#include "base/error.h"
#include "base/text.h"
#include "runtime/session/session_file.h"

namespace {

ingot::Session small_session(ingot::KvType type) {
  ingot::Session session{.model = {.weights = {1, 2},
                                   .kv_type = type,
                                   .kv_heads = 1,
                                   .head_dim = 3,
                                   .windows = {0, 8}},
                         .tokens = std::vector<std::int32_t>(17, 5),
                         .generated = 4,
                         .stop = {"end"}};
  session.sampling.temperature = 0.5f;
  session.sampling.end_ids = {7};
  session.sampling.logit_bias = {{2, 1.0f}};
  return session;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_session_corpus FOLDER\n");
    return 1;
  }
  try {
    for (const auto type :
         {ingot::KvType::kF32, ingot::KvType::kF16, ingot::KvType::kBF16, ingot::KvType::kInt8}) {
      for (const int blocks : {0, 1}) {
        ingot::SessionBlocks there{.blocks = blocks, .there = {}};
        if (blocks > 0) there.there = {1, 0};
        const std::string name =
            ingot::cat(argv[1], "/", ingot::to_string(type), "_", blocks, "_blocks");
        ingot::write_session(
            name, small_session(type), there,
            [](std::int64_t, std::int32_t, std::span<std::byte> out) { out[0] = std::byte{1}; });
      }
    }
  } catch (const ingot::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
