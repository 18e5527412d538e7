// Adapters in linear, moe, logits and embed: every kernel table against the canonical order.
#include <map>

#include "backend/op_test_canonical.h"
#include "backend/reference/reference_backend.h"

namespace ingot::testing {
namespace {

using canonical::Floats;

/// A part of an adapter's change of a weight, in host memory.
struct HostPart {
  std::int64_t first_row = 0;
  float scale = 1;
  Rows a;  ///< [rank, K]
  Rows b;  ///< [changed rows, rank]
};

/// An adapter in host memory: the parts of each changed weight, by the weight's number.
using HostAdapter = std::map<std::int32_t, std::vector<HostPart>>;

HostPart random_part(std::int64_t first_row, std::int64_t rows, std::int64_t cols,
                     std::int64_t rank, Random& random) {
  constexpr std::array kFormats{F32::kFormat, F16::kFormat, BF16::kFormat};
  const auto format = [&] { return kFormats[std::size_t(random.below(3))]; };
  return {.first_row = first_row,
          .scale = 0.5f + random.uniform(),
          .a = random_rows(format(), rank, cols, random),
          .b = random_rows(format(), rows, rank, random)};
}

/// y += scale * B A x, in the order of `Backend::linear`.
void add_part(const HostPart& part, float scale, const Floats& x, Floats& y) {
  const Floats u = canonical::linear({&part.a.view, 1}, {}, x, Use::kAdapter);
  const Floats v = canonical::linear({&part.b.view, 1}, {}, u, Use::kAdapter);
  for (std::size_t i = 0; i < v.size(); ++i) {
    float& to = y[std::size_t(part.first_row) + i];
    to = std::fma(part.scale * scale, v[i], to);
  }
}

AdapterWeights prepare(Backend& backend, const HostAdapter& host) {
  AdapterWeights w;
  for (const auto& [number, parts] : host) {
    w.places.resize(std::max(w.places.size(), std::size_t(number) + 1), -1);
    w.places[std::size_t(number)] = std::int32_t(w.linears.size());
    AdapterLinear& linear = w.linears.emplace_back();
    std::vector<View> stacked;
    std::int64_t rank = 0;
    for (const HostPart& part : parts) {
      stacked.push_back(part.a.view);
      linear.parts.push_back({.first_row = part.first_row,
                              .first_rank = rank,
                              .scale = part.scale,
                              .b = backend.prepare({&part.b.view, 1}, {}, Use::kAdapter)});
      rank += part.a.view.rows;
    }
    linear.a = backend.prepare(stacked, {}, Use::kAdapter);
  }
  return w;
}

/// Lists of adapters: of none, one, several and the same twice, with scales of their own.
using Lists = std::vector<std::vector<std::pair<std::size_t, float>>>;
const Lists kLists{{{0, 1.0f}}, {{1, 0.25f}, {0, -2.0f}}, {{2, 1.5f}, {2, 1.0f}, {1, 3.0f}}, {}};

/// A step whose sequences have adapters, some from a later position on.
class AdapterStep {
 public:
  AdapterStep(std::int64_t rows, Random& random) {
    q_start_.push_back(0);
    for (std::int64_t left = rows; left > 0; left -= q_start_.back() - q_start_.end()[-2]) {
      const std::int32_t q = 1 + random.below(std::min<std::int64_t>(left, 5));
      const std::int32_t first = random.below(20);
      for (std::int32_t i = 0; i < q; ++i) {
        positions_.push_back(first + i);
        tokens_.push_back(random.below(kVocab));
      }
      q_start_.push_back(q_start_.back() + q);
      kv_len_.push_back(first + q);
      adapter_.push_back(random.below(std::int64_t(kLists.size()) + 1) - 1);
      from_.push_back(random.below(3) == 0 ? first + random.below(q + 1) : 0);
    }
    for (std::int32_t t = 0; t < std::int32_t(rows); t += 2) out_rows_.push_back(t);
    for (std::int64_t s = std::ssize(kv_len_); s > 0; s -= 2) {
      pool_seqs_.push_back(std::int32_t(s - 1));
    }
  }

  /// Runs `body` with adapters that `backend` packed.
  void run(Backend& backend, std::span<const AdapterWeights> adapters,
           FunctionRef<void(const Batch&)> body) const {
    std::vector<std::vector<AdapterUse>> uses;
    std::vector<std::span<const AdapterUse>> lists;
    for (const auto& list : kLists) {
      uses.emplace_back();
      for (const auto& [i, scale] : list) uses.back().push_back({&adapters[i], scale});
    }
    for (const auto& list : uses) lists.push_back(list);
    Batch b;
    b.tokens = tokens_;
    b.positions = positions_;
    b.q_start = q_start_;
    b.kv_len = kv_len_;
    b.out_rows = out_rows_;
    b.pool_seqs = pool_seqs_;
    b.adapter = adapter_;
    b.adapter_from = from_;
    b.adapters = lists;
    run_step(backend, b, [&] { body(b); });
  }

  /// Returns the list of row `t`.
  const Lists::value_type& list_of(std::int64_t t) const {
    static const Lists::value_type kNone;
    std::size_t s = 0;
    while (q_start_[s + 1] <= t) ++s;
    const bool has = adapter_[s] >= 0 && positions_[std::size_t(t)] >= from_[s];
    return has ? kLists[std::size_t(adapter_[s])] : kNone;
  }
  std::int64_t rows() const { return std::ssize(positions_); }
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  const std::vector<std::int32_t>& out_rows() const { return out_rows_; }
  /// Returns the last row of each pooled sequence.
  std::vector<std::int64_t> pooled_rows() const {
    std::vector<std::int64_t> rows;
    for (const std::int32_t s : pool_seqs_) rows.push_back(q_start_[std::size_t(s) + 1] - 1);
    return rows;
  }

  static constexpr std::int64_t kVocab = 40;

 private:
  std::vector<std::int32_t> positions_, tokens_, q_start_, kv_len_, adapter_, from_, out_rows_,
      pool_seqs_;
};

/// Adds what row `t` of a step has of adapters to the outputs of weight `number`.
void adapt(const AdapterStep& step, const std::vector<HostAdapter>& adapters, std::int64_t t,
           std::int32_t number, const Floats& x, Floats& y) {
  for (const auto& [i, scale] : step.list_of(t)) {
    const auto found = adapters[i].find(number);
    if (found == adapters[i].end()) continue;
    for (const HostPart& part : found->second) add_part(part, scale, x, y);
  }
}

void set_row(Matrix& m, std::int64_t r, const Floats& values) {
  std::copy(values.begin(), values.end(), m.row(r));
}

std::vector<AdapterWeights> prepare_all(Backend& backend, const std::vector<HostAdapter>& host) {
  std::vector<AdapterWeights> all;
  for (const HostAdapter& adapter : host) all.push_back(prepare(backend, adapter));
  return all;
}

/// All tables that read dense or block rows, and a device that computes later.
std::vector<Device> adapter_devices() {
  std::vector<Device> all;
  for (const KernelTable* table : linear_tables()) all.push_back(device(*table, 3));
  all.push_back(late_device(2));
  return all;
}

/// Adapters of a weight [64, cols]: one changes all rows, one two slices, one nothing.
std::vector<HostAdapter> linear_adapters(std::int64_t cols, Random& random) {
  std::vector<HostAdapter> adapters(3);
  adapters[0][0].push_back(random_part(0, 64, cols, 8, random));
  adapters[1][0].push_back(random_part(3, 17, cols, 1, random));
  adapters[1][0].push_back(random_part(31, 33, cols, 21, random));
  adapters[2][5].push_back(random_part(0, 64, cols, 4, random));
  return adapters;
}

TEST(Adapters, LinearIsCanonicalOnEveryTable) {
  constexpr std::int64_t kOutputs = 64;
  for (const Format format : {F32::kFormat, BF16::kFormat, Q4_K::kFormat, Q8_0::kFormat}) {
    for (const auto& [rows, cols] :
         {std::pair<std::int64_t, std::int64_t>{1, 256}, {7, 256}, {40, 1280}, {150, 256}}) {
      SCOPED_TRACE(cat(format_name(format), " T ", rows, " K ", cols));
      Random random(std::uint64_t(rows * 7 + cols));
      const Rows w = random_rows(format, kOutputs, cols, random);
      const std::vector<HostAdapter> adapters = linear_adapters(cols, random);
      const AdapterStep step(rows, random);
      const Matrix x = Matrix(rows, cols).fill(random);
      Matrix want(rows, kOutputs);
      for (std::int64_t t = 0; t < rows; ++t) {
        const Floats in = canonical::row_of(x, t);
        Floats y = canonical::linear({&w.view, 1}, {}, in);
        adapt(step, adapters, t, 0, in, y);
        set_row(want, t, y);
      }
      for (const Device& d : adapter_devices()) {
        d->plan({.rows = std::int32_t(rows), .cols = cols, .hidden = cols, .adapters = true});
        Weight weight = d->prepare({&w.view, 1}, {}, Use::kPlain);
        weight.number = 0;
        const std::vector<AdapterWeights> packed = prepare_all(*d, adapters);
        const OnDevice in(*d, x), out(*d, rows, kOutputs);
        step.run(*d, packed, [&](const Batch&) { d->linear(in.view(), weight, out.view()); });
        ASSERT_TRUE(same_bits(out.matrix(), want)) << d.isa;
      }
    }
  }
}

/// Ranks so large that A x of few rows fills the scratch memory.
TEST(Adapters, LargestRanksAreCanonical) {
  Random random(5);
  constexpr std::int64_t kRows = 110, kCols = 1024;
  const Rows w = random_rows(F32::kFormat, 3072, kCols, random);
  std::vector<HostAdapter> adapters(3);
  for (std::int64_t part = 0; part < 3; ++part) {
    adapters[0][0].push_back(random_part(1024 * part, 16, kCols, kAdapterRankMax, random));
  }
  const AdapterStep step(kRows, random);
  const Matrix x = Matrix(kRows, kCols).fill(random);
  Device d = device(*tested_tables().back(), 2);
  d->plan({.rows = kRows, .cols = kCols, .hidden = kCols, .adapters = true});
  Weight weight = d->prepare({&w.view, 1}, {}, Use::kPlain);
  weight.number = 0;
  const std::vector<AdapterWeights> packed = prepare_all(*d, adapters);
  const OnDevice in(*d, x), out(*d, kRows, 3072), base(*d, kRows, 3072);
  step.run(*d, packed, [&](const Batch&) { d->linear(in.view(), weight, out.view()); });
  run_rows(*d, kRows, [&] { d->linear(in.view(), weight, base.view()); });
  const Matrix got = out.matrix(), without = base.matrix();
  for (std::int64_t t = 0; t < kRows; ++t) {
    Floats y = canonical::row_of(without, t);
    adapt(step, adapters, t, 0, canonical::row_of(x, t), y);
    for (std::int64_t c = 0; c < 3072; ++c) {
      ASSERT_EQ(bits(got.at(t, c)), bits(y[std::size_t(c)])) << "row " << t << " column " << c;
    }
  }
}

TEST(Adapters, MoeIsCanonicalOnEveryTable) {
  for (const auto& [gate, down] :
       {std::pair{F32::kFormat, F32::kFormat}, std::pair{BF16::kFormat, BF16::kFormat},
        std::pair{Q4_0::kFormat, Q8_0::kFormat}}) {
    const ExpertFormats formats{.gate = gate, .up = gate, .down = down};
    const MoeProblem p = router_problem(3, formats);
    const std::int64_t hidden = p.x.cols(), ffn = p.m.ffn;
    Random random(9);
    std::vector<HostAdapter> adapters(3);
    for (std::size_t i = 0; i < adapters.size(); ++i) {
      adapters[i][0].push_back(random_part(0, p.m.experts, hidden, 2, random));
      for (std::int32_t e = std::int32_t(i); e < p.m.experts; e += 2) {
        adapters[i][1 + 2 * e].push_back(random_part(ffn, ffn, hidden, 3, random));
        adapters[i][2 + 2 * e].push_back(random_part(0, hidden, ffn, 5, random));
      }
    }
    const AdapterStep step(p.x.rows(), random);
    Matrix want(p.x.rows(), hidden);
    for (std::int64_t t = 0; t < p.x.rows(); ++t) {
      set_row(want, t,
              canonical::moe(p, canonical::row_of(p.x, t),
                             [&](std::int32_t number, const Floats& x, Floats& y) {
                               adapt(step, adapters, t, number, x, y);
                             }));
    }
    for (const Device& d : adapter_devices()) {
      StepLimits limits = p.limits();
      limits.adapters = true;
      d->plan(limits);
      const PreparedMoe weights(*d, p);
      const std::vector<AdapterWeights> packed = prepare_all(*d, adapters);
      const OnDevice in(*d, p.x), out(*d, p.x.rows(), hidden);
      step.run(*d, packed,
               [&](const Batch&) { d->moe(in.view(), weights.weights(), p.m, out.view()); });
      ASSERT_TRUE(same_bits(out.matrix(), want)) << d.isa;
    }
  }
}

/// Output rows keep the adapters of their rows, also where logits are only reduced.
TEST(Adapters, LogitsHaveTheAdaptersOfTheirRows) {
  constexpr std::int64_t kRows = 90, kCols = 256, kFull = 11;
  Random random(21);
  const Rows w = random_rows(Q8_0::kFormat, 64, kCols, random);
  const std::vector<HostAdapter> adapters = linear_adapters(kCols, random);
  const AdapterStep step(kRows, random);
  const auto outputs = std::ssize(step.out_rows());
  const Matrix x = Matrix(outputs, kCols).fill(random);
  Matrix want(kFull, 64);
  std::vector<std::int32_t> best;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const Floats in = canonical::row_of(x, i);
    Floats y = canonical::linear({&w.view, 1}, {}, in);
    adapt(step, adapters, step.out_rows()[std::size_t(i)], 0, in, y);
    for (float& v : y) v = v * 0.5f;
    best.push_back(canonical::ranked(y).front());
    if (i < kFull) set_row(want, i, y);
  }
  for (const Device& d : adapter_devices()) {
    d->plan({.rows = kRows,
             .out_rows = std::int32_t(outputs),
             .cols = kCols,
             .hidden = kCols,
             .vocab = 64,
             .adapters = true});
    Weight weight = d->prepare({&w.view, 1}, {}, Use::kPlain);
    weight.number = 0;
    const std::vector<AdapterWeights> packed = prepare_all(*d, adapters);
    const OnDevice in(*d, x), out(*d, kFull, 64);
    std::vector<std::int32_t> argmax(std::size_t(outputs), -2);
    step.run(*d, packed, [&](const Batch&) {
      d->logits(in.view(), {.weight = &weight, .scale = 0.5f},
                {.full = out.view(), .argmax = argmax});
    });
    ASSERT_TRUE(same_bits(out.matrix(), want)) << d.isa;
    EXPECT_EQ(argmax, best) << d.isa;
  }
}

/// Linears behind `pool` read pooled rows, which have the adapters of their sequences' last rows.
TEST(Adapters, PooledRowsHaveTheAdaptersOfTheirSequences) {
  constexpr std::int64_t kRows = 40, kCols = 256;
  Random random(27);
  const Rows w = random_rows(Q8_0::kFormat, 64, kCols, random);
  const std::vector<HostAdapter> adapters = linear_adapters(kCols, random);
  const AdapterStep step(kRows, random);
  const Matrix x = Matrix(kRows, kCols).fill(random);
  const std::vector<std::int64_t> rows = step.pooled_rows();
  Matrix want(std::ssize(rows), 64);
  for (std::int64_t i = 0; i < want.rows(); ++i) {
    const Floats in = canonical::row_of(x, rows[std::size_t(i)]);
    Floats y = canonical::linear({&w.view, 1}, {}, in);
    adapt(step, adapters, rows[std::size_t(i)], 0, in, y);
    set_row(want, i, y);
  }
  for (const Device& d : adapter_devices()) {
    d->plan({.rows = kRows, .cols = kCols, .hidden = kCols, .adapters = true});
    Weight weight = d->prepare({&w.view, 1}, {}, Use::kPlain);
    weight.number = 0;
    const std::vector<AdapterWeights> packed = prepare_all(*d, adapters);
    const OnDevice in(*d, x), pooled(*d, want.rows(), kCols), out(*d, want.rows(), 64);
    step.run(*d, packed, [&](const Batch& b) {
      d->pool(in.view(), b, Pooling::kLast, pooled.view());
      d->linear(pooled.view(), weight, out.view());
    });
    ASSERT_TRUE(same_bits(out.matrix(), want)) << d.isa;
  }
}

TEST(Adapters, EmbeddingsAreCanonicalOnEveryTable) {
  constexpr std::int64_t kRows = 60, kHidden = 96, kVocab = AdapterStep::kVocab;
  constexpr float kScale = 3.5f;
  Random random(33);
  const Rows w = random_rows(Q4_0::kFormat, kVocab, kHidden, random);
  Matrix positions = Matrix(64, kHidden).fill(random);
  std::vector<HostPart> parts;  // parts of adapters 0 and 2; `a` is [V, rank]
  for (const std::int64_t rank : {3, 0, 18}) {
    parts.push_back(
        {.scale = 0.75f,
         .a = random_rows(F16::kFormat, kVocab, std::max<std::int64_t>(1, rank), random),
         .b = random_rows(F32::kFormat, kHidden, std::max<std::int64_t>(1, rank), random)});
  }
  const AdapterStep step(kRows, random);
  Matrix want(kRows, kHidden);
  for (std::int64_t t = 0; t < kRows; ++t) {
    const std::int32_t token = step.tokens()[std::size_t(t)];
    Floats y(kHidden);
    decode_row(w.view.format, w.view.row_data(token), kHidden, y.data());
    for (float& v : y) v = v * kScale;
    for (const auto& [i, scale] : step.list_of(t)) {
      if (i == 1) continue;
      Floats u(std::size_t(parts[i].a.view.cols));
      decode_row(F16::kFormat, parts[i].a.view.row_data(token), std::ssize(u), u.data());
      const Floats v = canonical::linear({&parts[i].b.view, 1}, {}, u, Use::kAdapter);
      for (std::size_t c = 0; c < v.size(); ++c) {
        y[c] = std::fma(parts[i].scale * scale * kScale, v[c], y[c]);
      }
    }
    set_row(want, t, y);
  }
  for (const Device& d : adapter_devices()) {
    d->plan({.rows = kRows, .cols = kHidden, .hidden = kHidden, .adapters = true});
    Weight weight = d->prepare({&w.view, 1}, {}, Use::kPlain);
    weight.number = 4;
    std::vector<AdapterWeights> packed(3);
    for (const std::size_t i : {0U, 2U}) {
      packed[i].embedding = {.number = 4,
                             .a = d->prepare({&parts[i].a.view, 1}, {}, Use::kAdapter),
                             .part = {.scale = parts[i].scale,
                                      .b = d->prepare({&parts[i].b.view, 1}, {}, Use::kAdapter)}};
    }
    const OnDevice out(*d, kRows, kHidden);
    step.run(*d, packed, [&](const Batch& b) {
      d->embed(b, {.tokens = &weight, .scale = kScale}, out.view());
    });
    ASSERT_TRUE(same_bits(out.matrix(), want)) << d.isa;
    // Positions come after adapters: a row without a token's adapter is as before.
    const OnDevice table(*d, positions);
    step.run(*d, packed, [&](const Batch& b) {
      d->embed(b, {.tokens = &weight, .scale = kScale, .positions = table.view()}, out.view());
    });
    const Matrix got = out.matrix();
    step.run(*d, packed, [&](const Batch& b) {
      for (std::int64_t t = 0; t < kRows; ++t) {
        for (std::int64_t c = 0; c < kHidden; ++c) {
          ASSERT_EQ(bits(got.at(t, c)),
                    bits(want.at(t, c) + positions.at(b.positions[std::size_t(t)], c)));
        }
      }
    });
  }
}

/// The reference computes the same function in double.
TEST(Adapters, ScalarIsNearTheReference) {
  constexpr std::int64_t kRows = 30, kCols = 320;
  Random random(41);
  const Rows w = random_rows(F32::kFormat, 64, kCols, random);
  const std::vector<HostAdapter> adapters = linear_adapters(kCols, random);
  const AdapterStep step(kRows, random);
  const Matrix x = Matrix(kRows, kCols).fill(random);
  const auto run = [&](Backend& backend) {
    backend.plan({.rows = kRows, .cols = kCols, .hidden = kCols, .adapters = true});
    Weight weight = backend.prepare({&w.view, 1}, {}, Use::kPlain);
    weight.number = 0;
    const std::vector<AdapterWeights> packed = prepare_all(backend, adapters);
    const OnDevice in(backend, x), out(backend, kRows, 64);
    step.run(backend, packed, [&](const Batch&) { backend.linear(in.view(), weight, out.view()); });
    return out.matrix();
  };
  ReferenceBackend reference;
  Device scalar = device(scalar_kernels(), 1);
  // |x|, |w| and |u| are small multiples of their deviations: 4 sigma of products and sums.
  EXPECT_TRUE(within(run(*scalar), run(reference), [&](std::int64_t, std::int64_t) {
    return gamma(2 * kCols) * 64 * double(kCols);
  }));
}

}  // namespace
}  // namespace ingot::testing
