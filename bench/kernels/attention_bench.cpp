// The ladder of `attention`: every kernel table and type of keys and values, rows at the end of a
// long context, each with the digest of its output.
//
// A step up the ladder counts only when the digest beside it stays the same.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/text.h"
#include "bench_util.h"

namespace ingot::bench {
namespace {

/// The heads of Qwen3-0.6B.
constexpr std::int32_t kHeads = 16;
constexpr std::int32_t kKvHeads = 8;
constexpr std::int32_t kHeadDim = 128;
/// Rows that one chunk of a prefill has.
constexpr std::int64_t kChunkRows = 512;

const Attention& shape() {
  static const Attention a{.heads = kHeads,
                           .kv_heads = kKvHeads,
                           .head_dim = kHeadDim,
                           .scale = 1 / std::sqrt(static_cast<float>(kHeadDim))};
  return a;
}

/// Keys and values of several layers, one sequence in each, that all hold the same numbers: enough
/// layers that none is found in a cache.
class Pages {
 public:
  Pages(CpuBackend& backend, KvType type, std::int32_t context, std::int64_t total_bytes)
      : table_(static_cast<std::size_t>(context / kBlockTokens)) {
    std::iota(table_.begin(), table_.end(), 0);
    const std::int64_t block = backend.kv_block_bytes(shape(), type);
    do {
      memory_.push_back(backend.allocate(block * std::ssize(table_)));
      layers_.push_back({.pages = memory_.back().data(),
                         .type = type,
                         .blocks = static_cast<std::int32_t>(table_.size()),
                         .block_bytes = block});
    } while (std::ssize(layers_) * block * std::ssize(table_) < total_bytes);
  }

  std::span<const KvLayer> layers() const { return layers_; }
  std::span<const std::int32_t> table() const { return table_; }
  std::int64_t bytes_of_one() const { return memory_.front().bytes(); }

 private:
  std::vector<std::int32_t> table_;
  std::vector<Buffer> memory_;
  std::vector<KvLayer> layers_;
};

/// The last `rows` tokens of a sequence of `context`, as a step has them.
struct LastRows {
  std::vector<std::int32_t> slots;
  std::vector<std::int32_t> q_start;
  std::vector<std::int32_t> kv_len;
  KvBlocks blocks;
  Batch batch;

  LastRows(std::int32_t rows, std::int32_t context, std::span<const std::int32_t> table)
      : slots(static_cast<std::size_t>(rows)), q_start{0, rows}, kv_len{context} {
    std::iota(slots.begin(), slots.end(), context - rows);
    blocks = {
        .slots = slots, .tables = table, .blocks_max = static_cast<std::int32_t>(table.size())};
    batch.positions = slots;
    batch.q_start = q_start;
    batch.kv_len = kv_len;
    batch.groups = {&blocks, 1};
  }
  LastRows(const LastRows&) = delete;
  LastRows& operator=(const LastRows&) = delete;
};

std::vector<float> random_floats(std::int64_t count) {
  std::mt19937 rng(1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& x : values) x = std::normal_distribution<float>()(rng);
  return values;
}

/// Multiplications and additions of `rows` rows at the end of the context, for one layer.
double operations(std::int64_t rows, std::int64_t context) {
  const std::int64_t pairs = rows * context - rows * (rows - 1) / 2;
  return 4.0 * kHeadDim * kHeads * static_cast<double>(pairs);
}

/// One step's attention, layer after layer, beside reading the pages alone in turn; and beside the
/// float peak, which it counts against whatever the type.
void run_attention(benchmark::State& state, const KernelTable& table, KvType type,
                   std::int32_t rows, std::int32_t context) {
  ThreadPool pool(available_cpus());
  CpuBackend backend(pool, table);
  const Attention& a = shape();
  backend.plan({.rows = context, .cols = a.qkv_cols()});
  const bool reads = rows == 1;
  const Pages pages(backend, type, context, reads ? std::int64_t{1} << 28 : 0);
  std::vector<float> all = random_floats(context * a.qkv_cols());
  const LastRows whole(context, context, pages.table());
  for (const KvLayer& layer : pages.layers()) {
    backend.kv_write(f32_view(all.data(), context, a.qkv_cols()), whole.batch, a, layer);
  }
  const LastRows last(rows, context, pages.table());
  std::vector<float> out(static_cast<std::size_t>(rows * a.q_cols()));
  float* first = all.data() + (context - rows) * a.qkv_cols();
  const Buffer block =
      readable_block(reads ? pages.bytes_of_one() * std::ssize(pages.layers()) : 0);

  std::vector<double> reading{0};
  std::vector<double> computing;
  for (auto _ : state) {
    if (reads) {
      reading.push_back(seconds_of([&] {
        read_all(pool, table, {block.data(), static_cast<std::size_t>(block.bytes())});
      }));
    }
    computing.push_back(seconds_of([&] {
      for (const KvLayer& layer : pages.layers()) {
        backend.attention(f32_view(first, rows, a.qkv_cols()), last.batch, a, layer,
                          f32_view(out.data(), rows, a.q_cols()), Next::kAnyone);
      }
    }));
    state.SetIterationTime(computing.back());
  }
  state.SetLabel(digest_of(out));
  const auto layers = static_cast<double>(pages.layers().size());
  const double seconds = median(computing);
  if (reads) {
    reading.erase(reading.begin());
    state.counters["GB/s"] = layers * static_cast<double>(pages.bytes_of_one()) / 1e9 / seconds;
    state.counters["of_read"] = median(reading) / seconds;
  }
  state.counters["of_f32"] =
      layers * operations(rows, context) / 1e9 / seconds / peaks_of(table).f32_gflop_s;
}

struct NamedType {
  KvType type;
  const char* name;
};

const bool registered = [] {
  constexpr NamedType kTypes[] = {{KvType::kF32, "F32"},
                                  {KvType::kF16, "F16"},
                                  {KvType::kBF16, "BF16"},
                                  {KvType::kInt8, "INT8"}};
  for (const KernelTable* table : kernel_tables()) {
    for (const NamedType& kv : kTypes) {
      for (const std::int64_t rows : {std::int64_t{1}, kChunkRows}) {
        for (const std::int32_t context : {1024, 4096}) {
          benchmark::RegisterBenchmark(
              cat("attention/", std::string_view(table->name), "/", std::string_view(kv.name),
                  "/rows:", rows, "/context:", context)
                  .c_str(),
              [=](benchmark::State& state) {
                run_attention(state, *table, kv.type, static_cast<std::int32_t>(rows), context);
              })
              ->UseManualTime();
        }
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace ingot::bench
