// ReferenceBackend: the ops as plain loops in double precision, with libm, on one thread.
#include "backend/reference/reference_backend.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/reference/reference_math.h"
#include "base/check.h"
#include "base/fp_env.h"
#include "base/index.h"
#include "quant/formats.h"

namespace ingot {
namespace {

bool any_nan(const reference::Row& x) {
  return std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
}

std::int32_t largest(const reference::Row& x) {
  if (any_nan(x)) return -1;
  return static_cast<std::int32_t>(std::max_element(x.begin(), x.end()) - x.begin());
}

void reduce_row(const reference::Row& x, std::int64_t r, const LogitsReduce& reduce) {
  if (reduce.full && r < reduce.full.rows) reference::write_row(x, reduce.full.row<float>(r));
  const auto row = to_size(r);
  if (!reduce.argmax.empty()) reduce.argmax[row] = largest(x);
  const double max = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double v : x) sum += std::exp(v - max);
  const auto logprob = [&](std::int32_t id) {
    return static_cast<float>(at(x, id) - max - std::log(sum));
  };
  const auto ids = to_size(reduce.ids_per_row);
  for (std::size_t i = row * ids; i < (row + 1) * ids; ++i) {
    reduce.id_logprobs[i] = logprob(reduce.ids[i]);
  }
  const auto top_k = to_size(reduce.top_k);
  if (top_k == 0) return;
  std::vector<std::int32_t> order =
      any_nan(x) ? std::vector<std::int32_t>{} : reference::ranking(x);
  std::erase_if(order, [&](std::int32_t id) { return reduce.ranked != 0 && id >= reduce.ranked; });
  for (std::size_t i = 0; i < top_k; ++i) {
    const bool exists = i < order.size();
    reduce.top[row * top_k + i] = exists ? TokenScore{order[i], logprob(order[i])}
                                         : TokenScore{-1, std::numeric_limits<float>::quiet_NaN()};
  }
}

}  // namespace

Buffer ReferenceBackend::allocate(std::int64_t bytes) { return allocate_host(bytes); }

Weight ReferenceBackend::prepare(std::span<const View> parts, std::span<const float> bias, Use) {
  Weight w;
  w.cols = parts[0].cols;
  for (const View& part : parts) {
    INGOT_CHECK(part.cols == w.cols, "a part has ", part.cols, " columns, the first ", w.cols);
    w.rows += part.rows;
  }
  w.storage = allocate_host(w.rows * w.cols * 4);
  auto* out = reinterpret_cast<float*>(w.storage.data());
  for (const View& part : parts) {
    for (std::int64_t r = 0; r < part.rows; ++r, out += w.cols) {
      decode_row(part.format, part.row_data(r), w.cols, out);
    }
  }
  w.segments = {Segment{.format = Format{0}, .rows = w.rows, .data = w.storage.data()}};
  if (!bias.empty()) {
    INGOT_CHECK(static_cast<std::int64_t>(bias.size()) == w.rows, "bias of ", bias.size(), " for ",
                w.rows, " rows");
    w.bias = upload(bias);
  }
  return w;
}

std::int64_t ReferenceBackend::prepared_bytes(std::span<const View> parts, bool bias, Use) const {
  std::int64_t bytes = 0;
  for (const View& part : parts) bytes += 4 * part.rows * (part.cols + (bias ? 1 : 0));
  return bytes;
}

std::int64_t ReferenceBackend::scratch_bytes(const StepLimits&) const { return 0; }

void ReferenceBackend::plan(const StepLimits&) {}

void ReferenceBackend::step(const Batch& batch, FunctionRef<void()> body) {
  set_canonical_fp();
  batch_ = &batch;
  has_pooled_ = false;
  body();
  batch_ = nullptr;
}

std::vector<double> ReferenceBackend::adapted(const Weight& w, const std::vector<double>& x,
                                              std::int64_t t) const {
  reference::Row y = reference::multiply(w, x);
  const std::int32_t list = batch_ == nullptr ? -1 : batch_->adapter_of(t);
  if (list < 0) return y;
  for (const AdapterUse& use : at(batch_->adapters, list)) {
    const AdapterLinear* change = use.weights->find(w);
    if (change == nullptr) continue;
    const reference::Row u = reference::multiply(change->a, x);
    for (const AdapterPart& part : change->parts) reference::add_part(part, use.scale, u, y);
  }
  return y;
}

void ReferenceBackend::embed(const Batch& batch, const Embedding& e, View x) {
  for (std::int32_t t = 0; t < batch.rows(); ++t) {
    reference::Row row;
    if (const std::byte* given = batch.embedding(t)) {
      row = reference::read_row(reinterpret_cast<const float*>(given), x.cols);
    } else {
      const std::int32_t token = at(batch.tokens, t);
      INGOT_CHECK(token >= 0 && token < e.tokens->rows, "token ", token, " of ", e.tokens->rows);
      row = reference::read_row(reference::weight_row(*e.tokens, token), x.cols);
      for (double& v : row) v *= double{e.scale};
      const std::int32_t list = batch.adapter_of(t);
      for (std::size_t i = 0; list >= 0 && i < at(batch.adapters, list).size(); ++i) {
        const AdapterUse& use = at(batch.adapters, list)[i];
        const AdapterEmbedding* change = use.weights->find_embedding(*e.tokens);
        if (change == nullptr) continue;
        const reference::Row u =
            reference::read_row(reference::weight_row(change->a, token), change->a.cols);
        reference::add_part(change->part, double{use.scale} * double{e.scale}, u, row);
      }
    }
    const auto add = [&](const View& table, std::int64_t r) {
      for (std::size_t i = 0; table && i < row.size(); ++i)
        row[i] += double{table.row<float>(r)[i]};
    };
    add(e.types, batch.types.empty() ? 0 : at(batch.types, t));
    add(e.positions, at(batch.positions, t) + e.position_offset);
    reference::write_row(row, x.row<float>(t));
  }
}

void ReferenceBackend::norm(View x, Term add, const Norm& n, View out, Next) {
  for (std::int64_t t = 0; t < x.rows; ++t) {
    float* row = x.row<float>(t);
    for (std::int64_t i = 0; add.rows && i < x.cols; ++i) {
      const double term = double{add.factor} * double{add.rows.row<float>(t)[i]};
      row[i] = static_cast<float>(double{row[i]} + term);
    }
    if (n)
      reference::write_row(reference::normalised(reference::read_row(row, x.cols), n),
                           out.row<float>(t));
  }
}

void ReferenceBackend::scale(View x, float factor) {
  for (std::int64_t t = 0; t < x.rows; ++t) {
    for (std::int64_t i = 0; i < x.cols; ++i) x.row<float>(t)[i] *= factor;
  }
}

void ReferenceBackend::linear(View in, const Weight& w, View out) {
  for (std::int64_t t = 0; t < in.rows; ++t) {
    // The last row of a pooled row's sequence says which adapters it has.
    const std::int64_t row =
        has_pooled_ ? at(batch_->q_start, at(batch_->pool_seqs, t) + 1) - 1 : t;
    reference::write_row(adapted(w, reference::read_row(in.row<float>(t), in.cols), row),
                         out.row<float>(t));
  }
}

void ReferenceBackend::linear_heads(View in, std::span<const Weight> w, std::int32_t extra,
                                    View out) {
  std::int64_t from = 0;
  std::int64_t to = 0;
  for (const Weight& head : w) {
    for (std::int64_t t = 0; t < in.rows; ++t) {
      const float* x = in.row<float>(t) + from;
      float* y = out.row<float>(t) + to;
      reference::write_row(reference::multiply(head, reference::read_row(x, head.cols)), y);
      std::copy_n(x + head.cols, extra, y + head.rows);
    }
    from += head.cols + extra;
    to += head.rows + extra;
  }
}

void ReferenceBackend::activate(View in, Act act, bool gated, View out, Next) {
  for (std::int64_t t = 0; t < in.rows; ++t) {
    reference::write_row(
        reference::activated(act, gated, reference::read_row(in.row<float>(t), in.cols)),
        out.row<float>(t));
  }
}

void ReferenceBackend::glu(View gate, View up, Act act, View out, Next) {
  for (std::int64_t t = 0; t < gate.rows; ++t) {
    for (std::int64_t i = 0; i < gate.cols; ++i) {
      out.row<float>(t)[i] = static_cast<float>(
          reference::gated_activation(act, gate.row<float>(t)[i], up.row<float>(t)[i]));
    }
  }
}

void ReferenceBackend::add_gated(View x, View y, View gate) {
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const double factor = reference::sigmoid(*gate.row<float>(t));
    for (std::int64_t i = 0; i < x.cols; ++i) {
      float& to = x.row<float>(t)[i];
      to = static_cast<float>(double{to} + factor * double{y.row<float>(t)[i]});
    }
  }
}

void ReferenceBackend::gather(View x, const Batch& batch, View out) {
  for (std::size_t i = 0; i < batch.out_rows.size(); ++i) {
    std::memcpy(out.row_data(static_cast<std::int64_t>(i)), x.row_data(batch.out_rows[i]),
                to_size(x.cols) * 4);
  }
}

void ReferenceBackend::logits(View in, const Head& head, const LogitsReduce& reduce) {
  for (std::int64_t r = 0; r < in.rows; ++r) {
    const reference::Row x = reference::read_row(in.row<float>(r), in.cols);
    reference::Row y = adapted(*head.weight, x, batch_ == nullptr ? 0 : at(batch_->out_rows, r));
    for (double& v : y) {
      v *= double{head.scale};
      if (head.cap != 0) v = double{head.cap} * std::tanh(v / double{head.cap});
    }
    reduce_row(y, r, reduce);
  }
}

void ReferenceBackend::pool(View x, const Batch& batch, Pooling pooling, View out) {
  has_pooled_ = true;
  for (std::int64_t i = 0; i < out.rows; ++i) {
    const std::int32_t s = at(batch.pool_seqs, i);
    std::int64_t first = at(batch.q_start, s);
    std::int64_t end = at(batch.q_start, s + 1);
    if (pooling == Pooling::kCls) end = first + 1;
    if (pooling == Pooling::kLast) first = end - 1;
    reference::Row sum(to_size(x.cols), 0.0);
    for (std::int64_t t = first; t < end; ++t) {
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += double{x.row<float>(t)[c]};
    }
    for (double& v : sum) v /= static_cast<double>(end - first);
    reference::write_row(sum, out.row<float>(i));
  }
}

void ReferenceBackend::normalise(View x) {
  for (std::int64_t t = 0; t < x.rows; ++t) {
    reference::Row row = reference::read_row(x.row<float>(t), x.cols);
    const double length = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    if (length == 0) continue;
    for (double& v : row) v /= length;
    reference::write_row(row, x.row<float>(t));
  }
}

}  // namespace ingot
