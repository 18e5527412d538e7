// ingot-digest: runs a model over made-up tokens with one kernel table and prints the digest of all
// logits. It needs nothing but the folders below runtime/, so that it is built for another
// processor in a minute and run under an emulator: equal digests mean equal bits.
//
// usage: ingot-digest MODEL TABLE KV_TYPE
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>

#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "kv/kv_cache.h"
#include "load/checkpoint.h"
#include "model/bind.h"
#include "model/memory_plan.h"
#include "model/model.h"
#include "runtime/executor.h"
#include "runtime/sampling/digest.h"

namespace ingot {
namespace {

constexpr std::int32_t kRows = 48;
constexpr std::int32_t kContext = 192;
/// Sequences of several chunks of keys, and short ones.
constexpr std::int32_t kLengths[] = {1, 17, 70, 150};

const KernelTable& find_table(const char* name) {
  for (const KernelTable* table : kernel_tables()) {
    if (std::strcmp(table->name, name) == 0) return *table;
  }
  throw Error(ErrorCode::kInvalid, "this machine does not run that table");
}

KvType find_kv_type(const char* name) {
  constexpr const char* kNames[] = {"f32", "f16", "bf16", "int8"};
  for (int i = 0; i < 4; ++i) {
    if (std::strcmp(kNames[i], name) == 0) return static_cast<KvType>(i);
  }
  throw Error(ErrorCode::kInvalid, "KV_TYPE is f32, f16, bf16 or int8");
}

/// Gives every sequence up to 20 rows a step until all are done, and digests the rows' logits.
void run(Executor& executor, KvCache& cache, std::int64_t vocab, Digest& digest) {
  std::mt19937 random(1);
  std::vector<Sequence> sequences;
  for (const std::int32_t length : kLengths) {
    Sequence& s = sequences.emplace_back(cache);
    for (std::int32_t i = 0; i < length; ++i) {
      s.tokens.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(vocab)));
    }
  }
  for (;;) {
    std::vector<StepPart> parts;
    std::int32_t rows = 0;
    for (Sequence& s : sequences) {
      const auto left = static_cast<std::int32_t>(std::ssize(s.tokens) - s.computed);
      const std::int32_t count = std::min({left, 20, kRows - rows});
      if (count > 0) parts.push_back({.sequence = &s, .rows = count, .outputs = count});
      rows += std::max(0, count);
    }
    if (parts.empty()) return;
    if (!run_next(executor, parts)) throw Error(ErrorCode::kInternal, "too few blocks");
    for (std::int64_t i = 0; i < rows; ++i) digest.add(executor.logits(i));
  }
}

void print_digest(const char* path, const KernelTable& table, KvType type) {
  const auto checkpoint = Checkpoint::open(path);
  ThreadPool pool(1);
  CpuBackend backend(pool, table);
  ModelOptions options;
  options.context = kContext;
  const auto model =
      load_model(*checkpoint, bind_model(*checkpoint), backend, options, [](auto, auto) {});
  auto groups = kv_groups(backend, model->kv_uses(), type);
  constexpr auto kSequences = static_cast<std::int32_t>(std::size(kLengths));
  const auto blocks = kv_blocks(groups, kContext, kSequences, kRows);
  KvCache cache(backend, std::move(groups), type, blocks);
  Executor executor(*model, backend, cache,
                    {.rows = kRows,
                     .out_rows = kRows,
                     .sequences = kSequences,
                     .context = kContext,
                     .logits_rows = kRows});
  Digest digest;
  run(executor, cache, model->spec.vocab, digest);
  std::printf("%s\n", digest.text().c_str());
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s MODEL TABLE KV_TYPE\n", argv[0]);
    return 64;
  }
  try {
    ingot::print_digest(argv[1], ingot::find_table(argv[2]), ingot::find_kv_type(argv[3]));
    return 0;
  } catch (const ingot::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
