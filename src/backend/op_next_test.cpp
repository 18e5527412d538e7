// Next::kLinears: rows that an op keeps for linears give the bits of rows that linears quantise.
#include "backend/op_test_attention.h"
#include "backend/op_test_util.h"

namespace ingot::testing {
namespace {

constexpr std::int64_t kCols = 256;

/// A weight of every format of a K that all have.
std::vector<Rows> weights(Random& random) {
  std::vector<Rows> all;
  for_each_type(Formats{},
                [&]<class T>() { all.push_back(random_rows(T::kFormat, 19, kCols, random)); });
  return all;
}

/// in W^T, by a backend that keeps no rows.
Matrix product(const KernelTable& table, const Matrix& x, const Rows& rows) {
  const Device d = device(table, 1);
  d->plan({.rows = std::int32_t(x.rows()), .cols = kCols, .hidden = kCols});
  const Weight w = d->prepare({&rows.view, 1}, {}, Use::kPlain);
  const OnDevice in(*d, x), out(*d, x.rows(), w.rows);
  run_rows(*d, x.rows(), [&] { d->linear(in.view(), w, out.view()); });
  return out.matrix();
}

std::vector<Weight> prepare_all(const Device& d, const std::vector<Rows>& all) {
  std::vector<Weight> prepared;
  prepared.reserve(all.size());
  for (const Rows& rows : all) prepared.push_back(d->prepare({&rows.view, 1}, {}, Use::kPlain));
  return prepared;
}

/// The linears of all weights over some rows, which an op of the same step wrote for them.
class Products {
 public:
  Products(const Device& d, const std::vector<Weight>& prepared, std::int64_t rows)
      : device_(d), prepared_(prepared) {
    for (const Weight& w : prepared) out_.emplace_back(*d, rows, w.rows);
  }

  void multiply(View in) const {
    for (std::size_t i = 0; i < out_.size(); ++i) {
      device_->linear(in, prepared_[i], out_[i].view());
    }
  }

  /// Checks the products after the step. `in` is what the op wrote.
  void check(const KernelTable& table, const std::vector<Rows>& all, const Matrix& in) const {
    for (std::size_t i = 0; i < out_.size(); ++i) {
      EXPECT_TRUE(same_bits(out_[i].matrix(), product(table, in, all[i])))
          << device_.isa << " " << format_name(all[i].view.format);
    }
  }

 private:
  const Device& device_;
  const std::vector<Weight>& prepared_;
  std::vector<OnDevice> out_;
};

/// The rows of norm(x), without a hint.
Matrix normed_rows(Backend& backend, const OnDevice& x, const Norm& norm) {
  const OnDevice out(backend, x.view().rows, kCols);
  run_rows(backend, x.view().rows,
           [&] { backend.norm(x.view(), {}, norm, out.view(), Next::kAnyone); });
  return out.matrix();
}

Matrix activated_rows(Backend& backend, const OnDevice& x) {
  const OnDevice out(backend, x.view().rows, kCols);
  run_rows(backend, x.view().rows,
           [&] { backend.activate(x.view(), Act::kSilu, true, out.view(), Next::kAnyone); });
  return out.matrix();
}

/// Checks rows after norm and activate, for the weights `all`, which may or may not read a matrix.
void check_normed_and_activated(const std::vector<Rows>& all, Random& random) {
  Matrix x(40, kCols), both(40, 2 * kCols), weight(1, kCols);
  x.fill(random);
  both.fill(random);
  weight.fill(random);
  for (const KernelTable* table : linear_tables()) {
    const Device d = device(*table, 2);
    d->plan({.rows = 40, .cols = kCols, .hidden = kCols});
    const std::vector<Weight> prepared = prepare_all(d, all);
    const NormOnDevice norm(*d, {.eps = 1e-5f, .weight = weight.view()});
    const OnDevice in(*d, x), gate_up(*d, both), h(*d, 40, kCols), f(*d, 40, kCols);
    const Products whole(d, prepared, 40), again(d, prepared, 40), activated(d, prepared, 40);
    // Parts that begin with 16 rows, with a tile of four, and others.
    const Products from_16(d, prepared, 24), from_4(d, prepared, 5), from_3(d, prepared, 6);
    run_rows(*d, 40, [&] {
      d->norm(in.view(), {}, norm.norm, h.view(), Next::kLinears);
      whole.multiply(h.view());
      from_16.multiply(h.view().slice(16, 24));
      from_4.multiply(h.view().slice(4, 5));
      from_3.multiply(h.view().slice(3, 6));
      d->norm(in.view(), {}, norm.norm, h.view(), Next::kLinears);
      d->activate(gate_up.view(), Act::kSilu, true, f.view(), Next::kLinears);
      activated.multiply(f.view());
      again.multiply(h.view());
    });
    const Matrix normed = normed_rows(*d, in, norm.norm);
    whole.check(*table, all, normed);
    from_16.check(*table, all, normed.slice(16, 24));
    from_4.check(*table, all, normed.slice(4, 5));
    from_3.check(*table, all, normed.slice(3, 6));
    activated.check(*table, all, activated_rows(*d, gate_up));
    again.check(*table, all, normed);
  }
}

TEST(Next, LinearsOfNormedAndActivatedRows) {
  Random random(211);
  std::vector<Rows> all = weights(random);
  check_normed_and_activated(all, random);
  // Without the one that no table reads as a matrix, many rows are left as a matrix alone.
  std::erase_if(all, [](const Rows& rows) { return rows.view.format == Q2_K::kFormat; });
  check_normed_and_activated(all, random);
}

TEST(Next, RowsWrittenAgainAreReadAnew) {
  Random random(223);
  const std::vector<Rows> all = weights(random);
  Matrix x(6, kCols), y(6, kCols), weight(1, kCols);
  x.fill(random);
  y.fill(random);
  weight.fill(random);
  const std::int32_t all_rows[] = {0, 1, 2, 3, 4, 5};
  const TestBatch batch = plain_batch(6, random);
  Batch b = batch.get();
  b.out_rows = all_rows;
  for (const KernelTable* table : tested_tables()) {
    const Device d = device(*table, 2);
    d->plan({.rows = 6, .cols = kCols, .hidden = kCols});
    const std::vector<Weight> prepared = prepare_all(d, all);
    const NormOnDevice norm(*d, {.eps = 1e-5f, .weight = weight.view()});
    const OnDevice first(*d, x), second(*d, y), h(*d, 6, kCols);
    const auto norm_first = [&] { d->norm(first.view(), {}, norm.norm, h.view(), Next::kLinears); };
    const Products normed(d, prepared, 6), gathered(d, prepared, 6), added(d, prepared, 6);
    run_step(*d, b, [&] {
      norm_first();
      d->norm(second.view(), {}, norm.norm, h.view(), Next::kAnyone);
      normed.multiply(h.view());
      norm_first();
      d->gather(second.view(), b, h.view());
      gathered.multiply(h.view());
      norm_first();
      d->norm(h.view(), second.view(), {}, {}, Next::kAnyone);
      added.multiply(h.view());
      norm_first();
    });
    normed.check(*table, all, normed_rows(*d, second, norm.norm));
    gathered.check(*table, all, y);
    Matrix sum = normed_rows(*d, first, norm.norm);
    for (std::int64_t t = 0; t < 6; ++t) {
      for (std::int64_t i = 0; i < kCols; ++i) sum.at(t, i) += y.at(t, i);
    }
    added.check(*table, all, sum);
  }
}

TEST(Next, RowsWrittenBetweenStepsAreReadAnew) {
  Random random(224);
  const std::vector<Rows> all = weights(random);
  Matrix x(6, kCols), later(6, kCols), weight(1, kCols);
  x.fill(random);
  later.fill(random);
  weight.fill(random);
  for (const KernelTable* table : tested_tables()) {
    const Device d = device(*table, 2);
    d->plan({.rows = 6, .cols = kCols, .hidden = kCols});
    const std::vector<Weight> prepared = prepare_all(d, all);
    const NormOnDevice norm(*d, {.eps = 1e-5f, .weight = weight.view()});
    const OnDevice in(*d, x);
    OnDevice h(*d, 6, kCols);
    const Products products(d, prepared, 6);
    run_rows(*d, 6, [&] { d->norm(in.view(), {}, norm.norm, h.view(), Next::kLinears); });
    h.write(later);
    run_rows(*d, 6, [&] { products.multiply(h.view()); });
    products.check(*table, all, later);
  }
}

std::int64_t quantised_rows = 0;

TEST(Next, KeptRowsAreQuantisedOnce) {
  Random random(229);
  const std::vector<Rows> all = weights(random);
  Matrix x(6, kCols), weight(1, kCols);
  x.fill(random);
  weight.fill(random);
  KernelTable counting = scalar_kernels();
  counting.quantise = [](const float* row, std::int64_t cols, int at, QuantisedGroup* groups,
                         MatrixGroup* matrix) {
    ++quantised_rows;
    scalar_kernels().quantise(row, cols, at, groups, matrix);
  };
  const Device d = device(counting, 1);
  d->plan({.rows = 6, .cols = kCols, .hidden = kCols});
  const std::vector<Weight> prepared = prepare_all(d, all);
  const NormOnDevice norm(*d, {.eps = 1e-5f, .weight = weight.view()});
  const OnDevice in(*d, x), h(*d, 6, kCols);
  const Products products(d, prepared, 6);
  for (const Next next : {Next::kLinears, Next::kAnyone}) {
    quantised_rows = 0;
    run_rows(*d, 6, [&] {
      d->norm(in.view(), {}, norm.norm, h.view(), next);
      products.multiply(h.view());
    });
    // All formats except F32 and F16 have the rows made; those of BF16 are made with the others.
    EXPECT_EQ(quantised_rows, next == Next::kLinears ? 6 : 6 * 14);
  }
}

TEST(Next, LinearsOfAttendedRows) {
  Random random(227);
  const std::vector<Rows> all = weights(random);
  // Heads of whole groups of 32, and heads that share one.
  for (const std::int32_t head_dim : {64, 16}) {
    const auto heads = static_cast<std::int32_t>(kCols / head_dim);
    const Attention a{.heads = heads, .kv_heads = heads / 2, .head_dim = head_dim, .scale = 0.125f};
    // The last so long that threads share its splits.
    for (const std::vector<TestBatch::Sequence>& sequences :
         {std::vector<TestBatch::Sequence>{{7, 40}, {1, 20}, {9, 9}},
          std::vector<TestBatch::Sequence>{{1, 20}, {2, 9000}}}) {
      AttentionProblem p(a, KvType::kF16, sequences, random);
      for (const KernelTable* table : tested_tables()) {
        const Device d = device(*table, 2);
        const Pages pages = p.fill_pages(*d);
        const std::vector<Weight> prepared = prepare_all(d, all);
        const OnDevice rows(*d, p.rows), out(*d, p.rows.rows(), kCols);
        const Products products(d, prepared, p.rows.rows());
        const Batch b = p.batch.get();
        run_step(*d, b, [&] {
          d->attention(rows.view(), b, a, pages.layer, out.view(), Next::kLinears);
          products.multiply(out.view());
        });
        products.check(*table, all, p.attend(*d, pages));
      }
    }
  }
}

}  // namespace
}  // namespace ingot::testing
