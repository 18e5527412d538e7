// Helpers of op tests: random rows, weights and batches; device memory; backends under test;
// comparisons.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernel_table.h"
#include "backend/late_backend_test_util.h"
#include "base/full_run_test_util.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "quant/formats.h"

namespace ingot {

/// Returns avx2_kernels() with dot products in the instruction encoding of AVX-512 VNNI.
const KernelTable& avx2_evex_kernels();
/// Returns scalar_kernels() with AMX tiles, which plain C++ emulates.
const KernelTable& scalar_tiles_kernels();
/// Number of steps in which scalar_tiles_kernels() multiplied rounded rows on this thread.
std::int64_t products_of_tiles();

}  // namespace ingot

namespace ingot::testing {

/// Largest relative error of one rounding to float: half a unit in the last place of 1.
inline constexpr double kEps = 0x1p-24;

/// Returns an upper bound of the relative error of n successive roundings: n eps / (1 - n eps).
/// Source: Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1.
inline double gamma(std::int64_t n) {
  const double t = static_cast<double>(n) * kEps;
  return t / (1 - t);
}

/// Returns how many random seeds a randomised test runs with: 10 in a full run, else 1.
inline std::uint64_t seeds() { return is_full_run() ? 10 : 1; }

inline constexpr Act kActs[] = {Act::kSilu, Act::kGeluTanh, Act::kGeluErf, Act::kTanh,
                                Act::kGptOss};

/// Random numbers, equal on every machine. Source: SplitMix64 (Vigna 2015, public domain).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// Returns a number in [0, n).
  std::int32_t below(std::int64_t n) {
    return static_cast<std::int32_t>(next() % static_cast<std::uint64_t>(n));
  }
  /// Returns a number in [-1, 1).
  float uniform() { return static_cast<float>(next() >> 40) * 0x1p-23f - 1.0f; }
  /// Returns a scaled sum of four uniform numbers: bell-shaped, with variance 1.
  float normal() { return (uniform() + uniform() + uniform() + uniform()) * 0.8660254f; }

 private:
  std::uint64_t state_;
};

/// Float rows with NaN in the gaps between them. A read of a gap gives NaN; gaps_intact() detects a
/// write to a gap. No gap follows the last row, so the address sanitizer detects accesses after it.
class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t cols)
      : rows_(rows),
        cols_(cols),
        values_(static_cast<std::size_t>(rows * (cols + kGap) - kGap), std::nanf("")) {}

  /// Sets all elements to mean + scale * random.normal().
  Matrix& fill(Random& random, float scale = 1, float mean = 0) {
    for (std::int64_t r = 0; r < rows_; ++r) {
      for (std::int64_t c = 0; c < cols_; ++c) at(r, c) = mean + scale * random.normal();
    }
    return *this;
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  float* row(std::int64_t r) { return values_.data() + r * (cols_ + kGap); }
  const float* row(std::int64_t r) const { return values_.data() + r * (cols_ + kGap); }
  float& at(std::int64_t r, std::int64_t c) { return row(r)[c]; }
  float at(std::int64_t r, std::int64_t c) const { return row(r)[c]; }
  /// Returns the rows [first, first + count).
  Matrix slice(std::int64_t first, std::int64_t count) const {
    Matrix out(count, cols_);
    for (std::int64_t r = 0; r < count; ++r) std::copy_n(row(first + r), cols_, out.row(r));
    return out;
  }
  /// Returns the rows in host memory. Ops under test read and write an OnDevice.
  View view() const {
    auto* data = const_cast<float*>(values_.data());
    return {reinterpret_cast<std::byte*>(data), Format{0}, rows_, cols_,
            (cols_ + kGap) * std::int64_t{sizeof(float)}};
  }
  /// All rows with the gaps between them.
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(values_)); }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(values_)); }
  bool gaps_intact() const {
    for (std::int64_t r = 0; r + 1 < rows_; ++r) {
      for (std::int64_t c = cols_; c < cols_ + kGap; ++c) {
        if (!std::isnan(row(r)[c])) return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::int64_t kGap = 3;  ///< floats in a gap; odd, so that rows are unaligned
  std::int64_t rows_;
  std::int64_t cols_;
  std::vector<float> values_;
};

inline std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// Checks that two matrices are bit-equal (all NaNs are equal), and that the gaps of `got` are NaN.
inline ::testing::AssertionResult same_bits(const Matrix& got, const Matrix& want) {
  if (got.rows() != want.rows() || got.cols() != want.cols()) {
    return ::testing::AssertionFailure() << "shapes differ";
  }
  if (!got.gaps_intact()) return ::testing::AssertionFailure() << "wrote between rows";
  for (std::int64_t r = 0; r < got.rows(); ++r) {
    for (std::int64_t c = 0; c < got.cols(); ++c) {
      const float a = got.at(r, c);
      const float b = want.at(r, c);
      if (bits(a) == bits(b) || (std::isnan(a) && std::isnan(b))) continue;
      return ::testing::AssertionFailure()
             << "row " << r << " column " << c << ": got " << std::hex << bits(a) << " (" << a
             << "), want " << bits(b) << " (" << b << ")";
    }
  }
  return ::testing::AssertionSuccess();
}

/// Checks that |got - want| <= bound(r, c) for all elements; a NaN fails.
template <class Bound>
::testing::AssertionResult within(const Matrix& got, const Matrix& want, Bound&& bound) {
  if (!got.gaps_intact()) return ::testing::AssertionFailure() << "wrote between rows";
  for (std::int64_t r = 0; r < got.rows(); ++r) {
    for (std::int64_t c = 0; c < got.cols(); ++c) {
      const double error = std::abs(double{got.at(r, c)} - double{want.at(r, c)});
      // Results near the smallest normal float lose their relative accuracy.
      const double limit = bound(r, c) + 0x1p-140;
      if (error <= limit) continue;
      return ::testing::AssertionFailure()
             << "row " << r << " column " << c << ": got " << got.at(r, c) << ", want "
             << want.at(r, c) << ", error " << error << " over " << limit;
    }
  }
  return ::testing::AssertionSuccess();
}

/// Rows in a weight format, and the memory that holds them.
struct Rows {
  std::vector<std::byte> bytes;
  View view;
};

inline Rows rows_of(Format format, std::int64_t rows, std::int64_t cols) {
  Rows out;
  const std::int64_t bytes = row_bytes(format, cols);
  out.bytes.resize(static_cast<std::size_t>(rows * bytes));
  out.view = {out.bytes.data(), format, rows, cols, bytes};
  return out;
}

/// Makes a block of random bits, so that every code and integer scale occurs. The scale d and the
/// minimum have ordinary sizes and both signs. Sometimes they are zero or subnormal.
template <BlockFormat T>
typename T::Block random_block(Random& random) {
  typename T::Block block;
  std::byte raw[sizeof block];
  for (std::byte& b : raw) b = static_cast<std::byte>(random.next() >> 56);
  std::memcpy(&block, raw, sizeof block);
  // Weights of all formats get similar sizes: codes reach 2^kBits, and integer scales reach 32.
  const float unit = std::ldexp(T::kSubScales ? 0x1p-5f : 1.0f, -T::kBits);
  const auto scale = [&] {
    const std::int32_t kind = random.below(32);
    if (kind == 0) return std::uint16_t{0};
    if (kind == 1) return static_cast<std::uint16_t>(1 + random.below(1023));
    return float_to_half(unit * (1.0f + 0.5f * random.uniform()) * (kind < 8 ? -1.0f : 1.0f));
  };
  if constexpr (requires { block.e; }) {
    // The scale is 2^(e - 128), sometimes denormal.
    const bool small = random.below(8) == 0;
    block.e = static_cast<std::uint8_t>(small ? random.below(128) : 120 + random.below(8));
  }
  if constexpr (requires { block.d; }) block.d = scale();
  if constexpr (requires { block.m; }) block.m = scale();
  if constexpr (requires { block.dmin; }) block.dmin = scale();
  return block;
}

/// Makes rows of random weights in any format.
inline Rows random_rows(Format format, std::int64_t rows, std::int64_t cols, Random& random) {
  Rows out = rows_of(format, rows, cols);
  visit_format(format, [&]<class T>() {
    for (std::size_t at = 0; at < out.bytes.size(); at += std::size_t{block_bytes<T>()}) {
      if constexpr (DenseFormat<T>) {
        const typename T::Element element = T::narrow(random.normal());
        std::memcpy(out.bytes.data() + at, &element, sizeof element);
      } else {
        const typename T::Block block = random_block<T>(random);
        std::memcpy(out.bytes.data() + at, &block, sizeof block);
      }
    }
  });
  return out;
}

/// Fills rows in a block format with `byte`, but keeps the scales d and the minimums.
inline void fill_blocks(Rows& rows, std::uint8_t byte) {
  visit_format(rows.view.format, [&]<class T>() {
    if constexpr (BlockFormat<T>) {
      for (std::size_t at = 0; at < rows.bytes.size(); at += std::size_t{block_bytes<T>()}) {
        typename T::Block before, block;
        std::memcpy(&before, rows.bytes.data() + at, sizeof before);
        std::memset(&block, byte, sizeof block);
        if constexpr (requires { block.e; }) block.e = before.e;
        if constexpr (requires { block.d; }) block.d = before.d;
        if constexpr (requires { block.m; }) block.m = before.m;
        if constexpr (requires { block.dmin; }) block.dmin = before.dmin;
        std::memcpy(rows.bytes.data() + at, &block, sizeof block);
      }
    }
  });
}

/// Copies a float matrix from host memory to the device, with the same distance between rows.
/// Returns null for a null View.
inline Tensor copy_to_device(Backend& backend, View host) {
  if (!host) return {};
  const std::int64_t bytes = (host.rows - 1) * host.row_bytes + host.cols * 4;
  Tensor t{.buffer = backend.allocate(bytes), .view = host};
  backend.write(t.buffer.data(), {host.data, static_cast<std::size_t>(bytes)});
  t.view.data = t.buffer.data();
  return t;
}

/// A Matrix in device memory, with its gaps. Ops read and write `view`.
///
/// The CPU allocates exactly the bytes of a Matrix below 2 MiB, so the address sanitizer detects
/// accesses after the last row. Larger ones end somewhere in a page: a test that is about their end
/// passes `Matrix::view` to a CpuBackend.
class OnDevice {
 public:
  OnDevice(Backend& backend, const Matrix& m)
      : backend_(&backend), rows_(copy_to_device(backend, m.view())) {}
  /// Makes rows of NaN.
  OnDevice(Backend& backend, std::int64_t rows, std::int64_t cols)
      : OnDevice(backend, Matrix(rows, cols)) {}

  View view() const { return rows_.view; }
  /// Copies the rows and the gaps back from the device.
  Matrix matrix() const {
    Matrix m(rows_.view.rows, rows_.view.cols);
    backend_->read(rows_.buffer.data(), m.bytes());
    return m;
  }
  /// Replaces the rows by those of a Matrix of the same shape.
  void write(const Matrix& m) { backend_->write(rows_.buffer.data(), m.bytes()); }

 private:
  Backend* backend_;
  Tensor rows_;
};

/// A norm whose weight and bias are copies in device memory.
struct NormOnDevice {
  NormOnDevice(Backend& backend, const Norm& host)
      : weight(copy_to_device(backend, host.weight)),
        bias(copy_to_device(backend, host.bias)),
        norm(host) {
    norm.weight = weight.view;
    norm.bias = bias.view;
  }
  Tensor weight, bias;
  Norm norm;
};

/// Head norms whose weights and biases are copies in device memory.
struct HeadNormsOnDevice {
  HeadNormsOnDevice(Backend& backend, const HeadNorms& host)
      : q(backend, host.q),
        k(backend, host.k),
        v(backend, host.v),
        norms{.q = q.norm, .k = k.norm, .v = v.norm, .after_rope = host.after_rope} {}
  NormOnDevice q, k, v;
  HeadNorms norms;
};

/// A rotary table whose cosines and sines are copies in device memory.
struct RopeOnDevice {
  RopeOnDevice(Backend& backend, const RopeTable& host)
      : cos(copy_to_device(backend, host.cos)),
        sin(copy_to_device(backend, host.sin)),
        table(host) {
    table.cos = cos.view;
    table.sin = sin.view;
  }
  Tensor cos, sin;
  RopeTable table;
};

/// An attention whose sinks, position biases and rotary table are copies in device memory.
struct AttentionOnDevice {
  AttentionOnDevice(Backend& backend, const Attention& host)
      : sinks(copy_to_device(backend, host.sinks)),
        bias(copy_to_device(backend, host.position_bias)),
        rope(backend, host.rope != nullptr ? *host.rope : RopeTable{}),
        attention(host) {
    attention.sinks = sinks.view;
    attention.position_bias = bias.view;
    if (host.rope != nullptr) attention.rope = &rope.table;
  }
  AttentionOnDevice(const AttentionOnDevice&) = delete;
  AttentionOnDevice& operator=(const AttentionOnDevice&) = delete;
  Tensor sinks, bias;
  RopeOnDevice rope;
  Attention attention;
};

/// Returns the bytes of device memory.
inline std::vector<std::byte> bytes_of(const Backend& backend, const Buffer& buffer) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.bytes()));
  backend.read(buffer.data(), bytes);
  return bytes;
}

/// Computes a step. Its results are in host and device memory when this function returns.
inline void run_step(Backend& backend, const Batch& batch, FunctionRef<void()> body) {
  backend.step(batch, body);
  backend.wait();
}

/// Computes a step of `rows` sequences with one row each, for ops that need only the number of
/// rows. The first `out_rows` rows give results.
inline void run_rows(Backend& backend, std::int64_t rows, FunctionRef<void()> body,
                     std::int64_t out_rows = 0) {
  const auto n = static_cast<std::size_t>(rows);
  const std::vector<std::int32_t> zeros(n);
  const std::vector<std::int32_t> ones(n, 1);
  std::vector<std::int32_t> numbers(n + 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  Batch b;
  b.tokens = zeros;
  b.positions = zeros;
  b.q_start = numbers;
  b.kv_len = ones;
  b.out_rows = std::span(numbers).first(static_cast<std::size_t>(out_rows));
  run_step(backend, b, body);
}

/// Computes a step of `logits`, whose input rows are the output rows of the step.
inline void run_logits(Backend& backend, const OnDevice& in, const Weight& head,
                       const LogitsReduce& reduce) {
  const std::int64_t rows = in.view().rows;
  run_rows(
      backend, rows, [&] { backend.logits(in.view(), {.weight = &head}, reduce); }, rows);
}

/// A backend under test, with what it uses.
struct Device {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Backend> inner;  ///< the backend that `backend` calls; or null
  std::unique_ptr<Backend> backend;
  const char* isa = nullptr;

  Backend& operator*() const { return *backend; }
  Backend* operator->() const { return backend.get(); }
};

inline Device device(const KernelTable& table, int threads) {
  Device d;
  d.pool = std::make_unique<ThreadPool>(threads);
  d.backend = std::make_unique<CpuBackend>(*d.pool, table);
  d.isa = table.name;
  return d;
}

/// Returns the kernel tables that this machine can run, scalar first. If the machine has AVX-512
/// VNNI but not AVX-VNNI, the list ends with avx2_evex_kernels().
inline std::vector<const KernelTable*> tested_tables() {
  const std::span<const KernelTable* const> own = kernel_tables();
  std::vector<const KernelTable*> all(own.begin(), own.end());
#ifdef INGOT_X86_TABLES
  const auto has = [&](const KernelTable& table) {
    return std::find(own.begin(), own.end(), &table) != own.end();
  };
  if (has(avx512_kernels()) && !has(avx2_kernels())) all.push_back(&avx2_evex_kernels());
#endif
  return all;
}

/// Returns the tested tables and scalar_tiles_kernels(), for tests of linears.
inline std::vector<const KernelTable*> linear_tables() {
  std::vector<const KernelTable*> all = tested_tables();
  all.push_back(&scalar_tiles_kernels());
  return all;
}

inline std::vector<Format> all_formats() {
  std::vector<Format> formats;
  for_each_type(Formats{}, [&]<class T>() { formats.push_back(T::kFormat); });
  return formats;
}

/// Makes a device that computes later, in memory of its own.
inline Device late_device(int threads) {
  Device late = device(*tested_tables().back(), threads);
  late.inner = std::move(late.backend);
  late.backend = std::make_unique<testing_support::LateBackend>(*late.inner);
  late.isa = "late";
  return late;
}

/// Makes the devices on which every op runs: one for each table of tested_tables(), scalar first,
/// and one that computes later.
inline std::vector<Device> devices(int threads = 2) {
  std::vector<Device> all;
  for (const KernelTable* table : tested_tables()) all.push_back(device(*table, threads));
  all.push_back(late_device(threads));
  return all;
}

/// A batch with one KV group, and the arrays that it points to.
class TestBatch {
 public:
  /// A sequence with kv_len keys after this step. The last `q` keys belong to the step's rows.
  struct Sequence {
    std::int32_t q = 1;
    std::int32_t kv_len = 1;
  };

  /// Gives the sequences random blocks of a pool. If `window` is not 0, leaves out the blocks that
  /// no row of a causal attention sees.
  TestBatch(const std::vector<Sequence>& sequences, std::int32_t window, Random& random) {
    for (const Sequence& s : sequences) blocks_max_ = std::max(blocks_max_, blocks_of(s.kv_len));
    // Each sequence adds one block more than it needs, so that some blocks of the pool are unused.
    for (const Sequence& s : sequences) pool_blocks_ += blocks_of(s.kv_len) + 1;
    std::vector<std::int32_t> free(static_cast<std::size_t>(pool_blocks_));
    std::iota(free.begin(), free.end(), 0);
    for (std::size_t i = free.size(); i > 1; --i) {
      std::swap(free[i - 1], free[static_cast<std::size_t>(random.below(std::int64_t(i)))]);
    }
    q_start_.push_back(0);
    for (const Sequence& s : sequences) {
      const std::int32_t seen = window == 0 ? 0 : std::max(0, s.kv_len - s.q - window + 1);
      for (std::int32_t b = 0; b < blocks_max_; ++b) {
        const bool kept = b < blocks_of(s.kv_len) && (b + 1) * kBlockTokens > seen;
        tables_.push_back(kept ? free.back() : -1);
        if (kept) free.pop_back();
      }
      kv_len_.push_back(s.kv_len);
      for (std::int32_t i = s.kv_len - s.q; i < s.kv_len; ++i) {
        positions_.push_back(i);
        slots_.push_back(slot(kv_len_.size() - 1, i));
      }
      q_start_.push_back(static_cast<std::int32_t>(positions_.size()));
    }
    tokens_.resize(positions_.size());
    group_ = {.slots = slots_, .tables = tables_, .blocks_max = blocks_max_};
  }
  TestBatch(const TestBatch&) = delete;
  TestBatch& operator=(const TestBatch&) = delete;

  Batch get() const {
    Batch b;
    b.tokens = tokens_;
    b.positions = positions_;
    b.q_start = q_start_;
    b.kv_len = kv_len_;
    b.groups = {&group_, 1};
    return b;
  }
  std::int32_t rows() const { return static_cast<std::int32_t>(positions_.size()); }
  std::int32_t pool_blocks() const { return pool_blocks_; }
  std::vector<std::int32_t>& tokens() { return tokens_; }
  std::vector<std::int32_t>& positions() { return positions_; }
  std::vector<std::int32_t>& slots() { return slots_; }
  /// Returns the block table of a sequence; -1 for a block that the constructor left out.
  std::span<const std::int32_t> table(std::size_t sequence) const {
    return std::span(tables_).subspan(sequence * std::size_t(blocks_max_),
                                      std::size_t(blocks_max_));
  }
  /// Returns the slot of a key of a sequence; -1 if the constructor left out the key's block.
  std::int32_t slot(std::size_t sequence, std::int32_t key) const {
    const std::int32_t block = table(sequence)[std::size_t(key / kBlockTokens)];
    return block < 0 ? -1 : block * kBlockTokens + key % kBlockTokens;
  }

 private:
  static std::int32_t blocks_of(std::int32_t tokens) {
    return (tokens + kBlockTokens - 1) / kBlockTokens;
  }

  std::int32_t blocks_max_ = 0;
  std::int32_t pool_blocks_ = 0;
  std::vector<std::int32_t> tokens_, positions_, q_start_, kv_len_, slots_, tables_;
  KvBlocks group_;
};

/// Makes a batch of `rows` sequences with one row each, for ops that need only the number of rows.
inline TestBatch plain_batch(std::int32_t rows, Random& random) {
  return TestBatch(std::vector<TestBatch::Sequence>(std::size_t(rows)), 0, random);
}

/// One layer's pages on a backend. poisoned_pages fills them with 0xFF: NaN in every float type.
struct Pages {
  Buffer buffer;
  KvLayer layer;
};

inline Pages poisoned_pages(Backend& backend, const Attention& a, KvType type,
                            std::int32_t blocks) {
  Pages pages;
  const std::int64_t block_bytes = backend.kv_block_bytes(a, type);
  pages.buffer = backend.allocate(block_bytes * blocks);
  const std::vector<std::byte> poison(std::size_t(block_bytes * blocks), std::byte{0xFF});
  backend.write(pages.buffer.data(), poison);
  pages.layer = {.pages = pages.buffer.data(),
                 .type = type,
                 .blocks = blocks,
                 .block_bytes = block_bytes,
                 .group = 0};
  return pages;
}

}  // namespace ingot::testing
