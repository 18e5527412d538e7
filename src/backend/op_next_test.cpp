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

/// in W^T, by a backend that was left nothing.
Matrix product(const KernelTable& table, View in, const Rows& rows) {
  const Device d = device(table, 1);
  d->plan({.rows = std::int32_t(in.rows), .cols = kCols, .hidden = kCols});
  const Weight w = d->prepare({&rows.view, 1}, {});
  Matrix out(in.rows, w.rows);
  d->step({}, [&] { d->linear(in, w, out.view()); });
  return out;
}

/// Checks the linears of all weights over `in`, which an op of the step under way wrote for them.
void check_linears(const Device& d, const KernelTable& table, const std::vector<Rows>& all,
                   const std::vector<Weight>& prepared, View in) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    Matrix got(in.rows, prepared[i].rows);
    d->linear(in, prepared[i], got.view());
    EXPECT_TRUE(same_bits(got, product(table, in, all[i])))
        << d.isa << " " << format_name(all[i].view.format);
  }
}

std::vector<Weight> prepare_all(const Device& d, const std::vector<Rows>& all) {
  std::vector<Weight> prepared;
  prepared.reserve(all.size());
  for (const Rows& rows : all) prepared.push_back(d->prepare({&rows.view, 1}, {}));
  return prepared;
}

/// Checks rows after norm and activate, for the weights `all`, which may or may not read a matrix.
void check_normed_and_activated(const std::vector<Rows>& all, Random& random) {
  Matrix x(40, kCols), both(40, 2 * kCols), weight(1, kCols);
  x.fill(random);
  both.fill(random);
  weight.fill(random);
  const Norm norm{.eps = 1e-5f, .weight = weight.view()};
  for (const KernelTable* table : linear_tables()) {
    const Device d = device(*table, 2);
    d->plan({.rows = 40, .cols = kCols, .hidden = kCols});
    const std::vector<Weight> prepared = prepare_all(d, all);
    Matrix h(40, kCols), f(40, kCols);
    d->step({}, [&] {
      d->norm(x.view(), {}, norm, h.view(), Next::kLinears);
      check_linears(d, *table, all, prepared, h.view());
      // Parts that begin with 16 rows, with a tile of four, and others.
      check_linears(d, *table, all, prepared, h.view().slice(16, 24));
      check_linears(d, *table, all, prepared, h.view().slice(4, 5));
      check_linears(d, *table, all, prepared, h.view().slice(3, 6));
      d->norm(x.view(), {}, norm, h.view(), Next::kLinears);
      d->activate(both.view(), Act::kSilu, true, f.view(), Next::kLinears);
      check_linears(d, *table, all, prepared, f.view());
      check_linears(d, *table, all, prepared, h.view());
    });
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
  const Norm norm{.eps = 1e-5f, .weight = weight.view()};
  for (const KernelTable* table : tested_tables()) {
    const Device d = device(*table, 2);
    d->plan({.rows = 6, .cols = kCols, .hidden = kCols});
    const std::vector<Weight> prepared = prepare_all(d, all);
    Matrix h(6, kCols);
    d->step({}, [&] {
      d->norm(x.view(), {}, norm, h.view(), Next::kLinears);
      d->norm(y.view(), {}, norm, h.view(), Next::kAnyone);
      check_linears(d, *table, all, prepared, h.view());
      const std::int32_t all_rows[] = {0, 1, 2, 3, 4, 5};
      d->norm(x.view(), {}, norm, h.view(), Next::kLinears);
      d->gather(y.view(), all_rows, h.view());
      check_linears(d, *table, all, prepared, h.view());
      d->norm(x.view(), {}, norm, h.view(), Next::kLinears);
      d->norm(h.view(), y.view(), {}, {}, Next::kAnyone);
      check_linears(d, *table, all, prepared, h.view());
      d->norm(x.view(), {}, norm, h.view(), Next::kLinears);
    });
    // Between steps any code may write the rows.
    h.fill(random);
    d->step({}, [&] { check_linears(d, *table, all, prepared, h.view()); });
  }
}

std::int64_t quantised_rows = 0;

TEST(Next, KeptRowsAreQuantisedOnce) {
  Random random(229);
  const std::vector<Rows> all = weights(random);
  Matrix x(6, kCols), weight(1, kCols);
  x.fill(random);
  weight.fill(random);
  const Norm norm{.eps = 1e-5f, .weight = weight.view()};
  KernelTable counting = scalar_kernels();
  counting.quantise = [](const float* row, std::int64_t cols, int at, QuantisedGroup* groups,
                         MatrixGroup* matrix) {
    ++quantised_rows;
    scalar_kernels().quantise(row, cols, at, groups, matrix);
  };
  const Device d = device(counting, 1);
  d->plan({.rows = 6, .cols = kCols, .hidden = kCols});
  const std::vector<Weight> prepared = prepare_all(d, all);
  Matrix h(6, kCols);
  for (const Next next : {Next::kLinears, Next::kAnyone}) {
    quantised_rows = 0;
    d->step({}, [&] {
      d->norm(x.view(), {}, norm, h.view(), next);
      for (const Weight& w : prepared) {
        Matrix out(6, w.rows);
        d->linear(h.view(), w, out.view());
      }
    });
    // All but the three dense formats read them.
    EXPECT_EQ(quantised_rows, next == Next::kLinears ? 6 : 6 * 13);
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
        Matrix out(p.rows.rows(), kCols);
        const Batch b = p.batch.get();
        d->step(b, [&] {
          d->attention(p.rows.view(), b, a, pages.layer, out.view(), Next::kLinears);
          check_linears(d, *table, all, prepared, out.view());
        });
      }
    }
  }
}

}  // namespace
}  // namespace ingot::testing
