// Rows in double precision: the arithmetic that ops of ReferenceBackend share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/adapter.h"
#include "backend/ops.h"
#include "backend/weight.h"
#include "base/check.h"
#include "base/index.h"

namespace ingot::reference {

using Row = std::vector<double>;

/// Widens `n` floats.
inline Row read_row(const float* values, std::int64_t n) { return Row(values, values + n); }

/// Rounds a row to float: the only rounding of an op.
inline void write_row(const Row& row, float* out) {
  std::transform(row.begin(), row.end(), out, [](double v) { return static_cast<float>(v); });
}

/// Returns row `r` of a float32 weight.
inline const float* weight_row(const Weight& w, std::int64_t r) {
  return reinterpret_cast<const float*>(w.segments[0].data) + r * w.cols;
}

/// Returns w x + bias.
inline Row multiply(const Weight& w, const Row& x) {
  INGOT_CHECK(w.cols == static_cast<std::int64_t>(x.size()), "weight has ", w.cols,
              " columns, input ", x.size());
  Row y(to_size(w.rows));
  for (std::int64_t r = 0; r < w.rows; ++r) {
    const float* weights = weight_row(w, r);
    double sum = w.bias ? double{w.bias.view.row<float>(0)[r]} : 0.0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += double{weights[k]} * x[k];
    at(y, r) = sum;
  }
  return y;
}

/// Adds scale * part.scale * B u to the part's elements of y. `u` are the results of all rows of A.
inline void add_part(const AdapterPart& part, double scale, const Row& u, Row& y) {
  const auto first = u.begin() + part.first_rank;
  const Row added = multiply(part.b, Row(first, first + part.b.cols));
  for (std::size_t i = 0; i < added.size(); ++i) {
    y[to_size(part.first_row) + i] += scale * double{part.scale} * added[i];
  }
}

/// Normalises x with row `r` of the weights.
inline Row normalised(const Row& x, const Norm& n, std::int64_t r = 0) {
  const auto count = static_cast<double>(x.size());
  double mean = 0;
  if (n.kind == NormKind::kLayer) mean = std::accumulate(x.begin(), x.end(), 0.0) / count;
  double squares = 0;
  for (double v : x) squares += (v - mean) * (v - mean);
  const double inv = 1.0 / std::sqrt(squares / count + double{n.eps});
  Row y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = (x[i] - mean) * inv * double{n.weight.row<float>(r)[i]};
    if (n.bias) y[i] += double{n.bias.row<float>(r)[i]};
  }
  return y;
}

/// Returns 1 / (1 + exp(-x)).
inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// Returns act(x); NaN for an activation that needs a gate.
inline double activation(Act act, double x) {
  switch (act) {
    case Act::kSilu:
      return x / (1.0 + std::exp(-x));
    case Act::kGeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
    case Act::kGeluErf:
      return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case Act::kTanh:
      return std::tanh(x);
    case Act::kGptOss:
      break;  // not a function of one element
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// Returns act(gate) * up, as Backend::activate defines it.
inline double gated_activation(Act act, double gate, double up) {
  if (act != Act::kGptOss) return activation(act, gate) * up;
  if (std::isnan(gate) || std::isnan(up)) return std::numeric_limits<double>::quiet_NaN();
  const double x = std::min(gate, 7.0);
  return x * sigmoid(double{1.702f} * x) * (std::clamp(up, -7.0, 7.0) + 1.0);
}

/// Activates a row: of [gate, up] halves if `gated`.
inline Row activated(Act act, bool gated, const Row& in) {
  Row out(gated ? in.size() / 2 : in.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = gated ? gated_activation(act, in[i], in[out.size() + i]) : activation(act, in[i]);
  }
  return out;
}

/// Returns the softmax of a row.
inline Row softmax(Row x) {
  const double max = *std::max_element(x.begin(), x.end());
  for (double& v : x) v = std::exp(v - max);
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  for (double& v : x) v /= sum;
  return x;
}

/// Indices sorted by value, largest first, ties to the lower index.
inline std::vector<std::int32_t> ranking(const Row& x) {
  std::vector<std::int32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t i, std::int32_t j) { return at(x, i) > at(x, j); });
  return order;
}

}  // namespace ingot::reference
