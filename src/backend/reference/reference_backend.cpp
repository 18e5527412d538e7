// ReferenceBackend: the ops as plain loops in double precision, with libm, on one thread.
#include "backend/reference/reference_backend.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "backend/kv_rows.h"
#include "base/check.h"
#include "base/fp_env.h"
#include "base/half.h"
#include "base/index.h"
#include "quant/formats.h"

namespace ingot {
namespace {

using Row = std::vector<double>;

Row read_row(const float* values, std::int64_t n) { return Row(values, values + n); }

/// Rounds a row to float: the only rounding of an op.
void write_row(const Row& row, float* out) {
  std::transform(row.begin(), row.end(), out, [](double v) { return static_cast<float>(v); });
}

const float* weight_row(const Weight& w, std::int64_t r) {
  return reinterpret_cast<const float*>(w.segments[0].data) + r * w.cols;
}

Row multiply(const Weight& w, const Row& x) {
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

/// Normalises x with row `r` of the weights.
Row normalised(const Row& x, const Norm& n, std::int64_t r = 0) {
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

/// Rotates the elements of a head from `first` on.
void rotate(Row& head, const RopeTable& table, std::int32_t first, std::int32_t position) {
  INGOT_CHECK(position >= 0 && position < table.cos.rows, "position ", position, " of ",
              table.cos.rows);
  const auto pairs = to_size(table.dims / 2);
  for (std::size_t i = 0; i < pairs; ++i) {
    double& a = head[to_size(first) + (table.adjacent_pairs ? 2 * i : i)];
    double& b = head[to_size(first) + (table.adjacent_pairs ? 2 * i + 1 : i + pairs)];
    const double cos = table.cos.row<float>(position)[i];
    const double sin = table.sin.row<float>(position)[i];
    const double turned = a * cos - b * sin;
    b = b * cos + a * sin;
    a = turned;
  }
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double activation(Act act, double x) {
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

double gated_activation(Act act, double gate, double up) {
  if (act != Act::kGptOss) return activation(act, gate) * up;
  if (std::isnan(gate) || std::isnan(up)) return std::numeric_limits<double>::quiet_NaN();
  const double x = std::min(gate, 7.0);
  return x * sigmoid(double{1.702f} * x) * (std::clamp(up, -7.0, 7.0) + 1.0);
}

Row activated(Act act, bool gated, const Row& in) {
  Row out(gated ? in.size() / 2 : in.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = gated ? gated_activation(act, in[i], in[out.size() + i]) : activation(act, in[i]);
  }
  return out;
}

Row softmax(Row x) {
  const double max = *std::max_element(x.begin(), x.end());
  for (double& v : x) v = std::exp(v - max);
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  for (double& v : x) v /= sum;
  return x;
}

/// Indices sorted by value, largest first, ties to the lower index.
std::vector<std::int32_t> ranking(const Row& x) {
  std::vector<std::int32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t i, std::int32_t j) { return at(x, i) > at(x, j); });
  return order;
}

bool any_nan(const Row& x) {
  return std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
}

std::int32_t largest(const Row& x) {
  if (any_nan(x)) return -1;
  return static_cast<std::int32_t>(std::max_element(x.begin(), x.end()) - x.begin());
}

// Pages: blocks of KvRows.

/// The elements of one token's key or value in one kv head.
std::byte* page_head(const Attention& a, const KvLayer& kv, std::int32_t slot, bool value,
                     std::int32_t g) {
  INGOT_CHECK(slot >= 0 && slot / kBlockTokens < kv.blocks, "slot ", slot, " of ", kv.blocks,
              " blocks");
  const KvRows rows(a, kv.type);
  const bool in_key = !value || a.values_in_keys;
  return kv.pages + (slot / kBlockTokens) * kv.block_bytes +
         slot % kBlockTokens * rows.token_bytes + (in_key ? rows.key_at(g) : rows.value_at(g));
}

/// Rounds a group of up to 32 elements to integers times d, where d is the largest magnitude / 127.
/// Returns d.
float quantise(std::span<const float> group, std::int8_t* out) {
  float amax = 0;
  bool finite = true;
  for (const float x : group) {
    amax = std::max(amax, std::abs(x));
    finite = finite && std::isfinite(x);
  }
  const bool any = finite && amax >= 0x1p-100f;
  for (std::size_t i = 0; i < group.size(); ++i) {
    out[i] =
        any ? static_cast<std::int8_t>(std::nearbyint(group[i] * (127.0f / amax))) : std::int8_t{0};
  }
  if (!finite) return std::nanf("");
  return any ? amax / 127.0f : 0.0f;
}

void store_int8(std::span<const float> head, std::byte* to) {
  const std::size_t scale_bytes = (head.size() + 31) / 32 * 4;
  for (std::size_t d = 0; d < head.size(); d += 32) {
    std::int8_t q[32];
    const auto group = head.subspan(d, std::min<std::size_t>(32, head.size() - d));
    const float scale = quantise(group, q);
    std::memcpy(to + d / 32 * 4, &scale, 4);
    std::memcpy(to + scale_bytes + d, q, group.size());
  }
}

void store_head(const float* from, std::int32_t n, KvType type, std::byte* to) {
  if (type == KvType::kInt8) return store_int8({from, to_size(n)}, to);
  for (std::int32_t d = 0; d < n; ++d) {
    const float x = from[d];
    if (type == KvType::kF32) {
      std::memcpy(to + 4 * d, &x, 4);
    } else {
      const std::uint16_t bits = type == KvType::kF16 ? float_to_half(x) : float_to_bfloat16(x);
      std::memcpy(to + 2 * d, &bits, 2);
    }
  }
}

float load_element(const std::byte* head, std::int32_t n, KvType type, std::int32_t d) {
  float value = 0;
  if (type == KvType::kF32) {
    std::memcpy(&value, head + 4 * d, 4);
  } else if (type == KvType::kInt8) {
    std::memcpy(&value, head + d / 32 * 4, 4);
    value *= static_cast<float>(
        std::bit_cast<std::int8_t>(head[KvRows(1, n, KvType::kInt8).key.scale_bytes + d]));
  } else {
    std::uint16_t bits = 0;
    std::memcpy(&bits, head + 2 * d, 2);
    value = type == KvType::kF16 ? half_to_float(bits) : bfloat16_to_float(bits);
  }
  return value;
}

/// The first `count` of a head's n elements.
Row load_head(const std::byte* from, std::int32_t n, KvType type, std::int32_t count) {
  Row head(to_size(count));
  for (std::int32_t d = 0; d < count; ++d) {
    at(head, d) = load_element(from, n, type, d);
  }
  return head;
}

bool sees(const Attention& a, std::int32_t row, std::int32_t key) {
  if (a.causal && key > row) return false;
  return a.window == 0 || std::abs(row - key) < a.window;
}

/// The value of query head `h` that a position bias adds to the score of `key`.
double bias_of(const Attention& a, std::int32_t h, std::int32_t row, std::int32_t key) {
  if (!a.position_bias) return 0;
  const auto reach = static_cast<std::int32_t>((a.position_bias.cols - 1) / 2);
  return a.position_bias.row<float>(h)[reach + std::clamp(key - row, -reach, reach)];
}

/// Query head `h` over the visible keys of its sequence; `table` maps block numbers to blocks.
Row attend(const Attention& a, const KvLayer& kv, const std::int32_t* table, std::int32_t row,
           std::int32_t kv_len, std::int32_t h, const Row& q) {
  const std::int32_t g = h / (a.heads / a.kv_heads);
  Row scores;
  std::vector<std::int32_t> slots;
  for (std::int32_t key = 0; key < kv_len; ++key) {
    if (!sees(a, row, key)) continue;
    slots.push_back(table[key / kBlockTokens] * kBlockTokens + key % kBlockTokens);
    const std::byte* at = page_head(a, kv, slots.back(), false, g);
    const Row k = load_head(at, a.head_dim, kv.type, a.head_dim);
    double s = std::inner_product(q.begin(), q.end(), k.begin(), 0.0) * double{a.scale};
    if (a.score_cap != 0) s = double{a.score_cap} * std::tanh(s / double{a.score_cap});
    scores.push_back(s + bias_of(a, h, row, key));
  }
  INGOT_CHECK(!scores.empty(), "row ", row, " of ", kv_len, " sees no key");
  if (a.sinks) scores.push_back(a.sinks.row<float>(0)[h]);  // the weight of no value
  const Row p = softmax(scores);
  Row out(to_size(a.v_dim()), 0.0);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::byte* at = page_head(a, kv, slots[i], true, g);
    const Row v = load_head(at, a.values_in_keys ? a.head_dim : a.v_dim(), kv.type, a.v_dim());
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += p[i] * v[d];
  }
  return out;
}

void reduce_row(const Row& x, std::int64_t r, const LogitsReduce& reduce) {
  if (reduce.full && r < reduce.full.rows) write_row(x, reduce.full.row<float>(r));
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
  std::vector<std::int32_t> order = any_nan(x) ? std::vector<std::int32_t>{} : ranking(x);
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

std::int64_t ReferenceBackend::prepared_bytes(std::span<const View> parts, bool bias) const {
  std::int64_t bytes = 0;
  for (const View& part : parts) bytes += 4 * part.rows * (part.cols + (bias ? 1 : 0));
  return bytes;
}

std::int64_t ReferenceBackend::kv_block_bytes(const Attention& a, KvType type) const {
  return KvRows(a, type).block_bytes;
}

void ReferenceBackend::kv_copy(std::span<const KvLayer> layers, std::int32_t from,
                               std::int32_t to) {
  for (const KvLayer& kv : layers) {
    std::copy_n(kv.pages + from * kv.block_bytes, kv.block_bytes, kv.pages + to * kv.block_bytes);
  }
}

void ReferenceBackend::kv_read(const Attention&, std::span<const KvLayer> layers,
                               std::int32_t block, std::span<std::byte> out) const {
  std::byte* to = out.data();
  for (const KvLayer& kv : layers) {
    to = std::copy_n(kv.pages + block * kv.block_bytes, kv.block_bytes, to);
  }
}

void ReferenceBackend::kv_load(const Attention&, std::span<const KvLayer> layers,
                               std::int32_t block, std::span<const std::byte> in) {
  const std::byte* from = in.data();
  for (const KvLayer& kv : layers) {
    std::copy_n(from, kv.block_bytes, kv.pages + block * kv.block_bytes);
    from += kv.block_bytes;
  }
}

std::int64_t ReferenceBackend::scratch_bytes(const StepLimits&) const { return 0; }

void ReferenceBackend::plan(const StepLimits&) {}

void ReferenceBackend::step(const Batch&, FunctionRef<void()> body) {
  set_canonical_fp();
  body();
}

void ReferenceBackend::embed(const Batch& batch, const Embedding& e, View x) {
  for (std::int32_t t = 0; t < batch.rows(); ++t) {
    Row row;
    if (const std::byte* given = batch.embedding(t)) {
      row = read_row(reinterpret_cast<const float*>(given), x.cols);
    } else {
      const std::int32_t token = at(batch.tokens, t);
      INGOT_CHECK(token >= 0 && token < e.tokens->rows, "token ", token, " of ", e.tokens->rows);
      row = read_row(weight_row(*e.tokens, token), x.cols);
      for (double& v : row) v *= double{e.scale};
    }
    const auto add = [&](const View& table, std::int64_t r) {
      for (std::size_t i = 0; table && i < row.size(); ++i)
        row[i] += double{table.row<float>(r)[i]};
    };
    add(e.types, batch.types.empty() ? 0 : at(batch.types, t));
    add(e.positions, at(batch.positions, t) + e.position_offset);
    write_row(row, x.row<float>(t));
  }
}

void ReferenceBackend::norm(View x, Term add, const Norm& n, View out, Next) {
  for (std::int64_t t = 0; t < x.rows; ++t) {
    float* row = x.row<float>(t);
    for (std::int64_t i = 0; add.rows && i < x.cols; ++i) {
      const double term = double{add.factor} * double{add.rows.row<float>(t)[i]};
      row[i] = static_cast<float>(double{row[i]} + term);
    }
    if (n) write_row(normalised(read_row(row, x.cols), n), out.row<float>(t));
  }
}

void ReferenceBackend::scale(View x, float factor) {
  for (std::int64_t t = 0; t < x.rows; ++t) {
    for (std::int64_t i = 0; i < x.cols; ++i) x.row<float>(t)[i] *= factor;
  }
}

void ReferenceBackend::linear(View in, const Weight& w, View out) {
  for (std::int64_t t = 0; t < in.rows; ++t) {
    write_row(multiply(w, read_row(in.row<float>(t), in.cols)), out.row<float>(t));
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
      write_row(multiply(head, read_row(x, head.cols)), y);
      std::copy_n(x + head.cols, extra, y + head.rows);
    }
    from += head.cols + extra;
    to += head.rows + extra;
  }
}

namespace {

/// Normalises `count` heads of `dim` elements in place, each head or all together.
void norm_heads(float* x, std::int32_t count, std::int32_t dim, const Norm& n) {
  if (!n) return;
  const bool together = n.weight.cols != dim;
  const std::int64_t width = together ? std::int64_t{count} * dim : dim;
  for (std::int64_t h = 0; h < (together ? 1 : count); ++h) {
    const Row head = read_row(x + h * width, width);
    write_row(normalised(head, n, n.weight.rows == 1 ? 0 : h), x + h * width);
  }
}

void rotate_heads(float* x, std::int32_t count, const Attention& a, std::int32_t position) {
  for (std::int64_t h = 0; a.rope != nullptr && h < count; ++h) {
    Row head = read_row(x + h * a.head_dim, a.head_dim);
    rotate(head, *a.rope, a.rope_first, position);
    write_row(head, x + h * a.head_dim);
  }
}

}  // namespace

void ReferenceBackend::rope(View qkv, const Batch& b, const HeadNorms& n, const Attention& a) {
  for (std::int32_t t = 0; t < b.rows(); ++t) {
    const auto turn = [&](float* x, std::int32_t count, const Norm& norm) {
      if (!n.after_rope) norm_heads(x, count, a.head_dim, norm);
      rotate_heads(x, count, a, at(b.positions, t));
      if (n.after_rope) norm_heads(x, count, a.head_dim, norm);
    };
    float* row = qkv.row<float>(t);
    turn(row, a.heads, n.q);
    if (!a.writes_kv) continue;
    turn(row + a.q_cols(), a.kv_heads, n.k);
    if (!a.values_in_keys) norm_heads(row + a.q_cols() + a.k_cols(), a.kv_heads, a.v_dim(), n.v);
  }
}

void ReferenceBackend::kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) {
  const KvBlocks& blocks = at(b.groups, kv.group);
  for (std::int32_t t = 0; t < b.rows(); ++t) {
    const std::int32_t slot = at(blocks.slots, t);
    if (slot == -1) continue;
    const float* k = qkv.row<float>(t) + a.q_cols();
    const float* v = k + a.k_cols();
    for (std::int64_t g = 0; g < a.kv_heads; ++g) {
      const auto head = static_cast<std::int32_t>(g);
      store_head(k + g * a.head_dim, a.head_dim, kv.type, page_head(a, kv, slot, false, head));
      if (a.values_in_keys) continue;
      store_head(v + g * a.v_dim(), a.v_dim(), kv.type, page_head(a, kv, slot, true, head));
    }
  }
}

void ReferenceBackend::attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                                 Next) {
  const KvBlocks& blocks = at(b.groups, kv.group);
  for (std::int32_t s = 0; s < b.sequences(); ++s) {
    const auto seq = to_size(s);
    const std::int32_t* table = blocks.tables.data() + std::int64_t{s} * blocks.blocks_max;
    for (std::int32_t t = b.q_start[seq]; t < b.q_start[seq + 1]; ++t) {
      const std::int32_t row = b.kv_len[seq] - b.q_start[seq + 1] + t;
      for (std::int32_t h = 0; h < a.heads; ++h) {
        const float* query = qkv.row<float>(t) + std::int64_t{h} * a.head_dim;
        write_row(attend(a, kv, table, row, b.kv_len[seq], h, read_row(query, a.head_dim)),
                  out.row<float>(t) + std::int64_t{h} * a.v_dim());
      }
    }
  }
}

void ReferenceBackend::activate(View in, Act act, bool gated, View out, Next) {
  for (std::int64_t t = 0; t < in.rows; ++t) {
    write_row(activated(act, gated, read_row(in.row<float>(t), in.cols)), out.row<float>(t));
  }
}

void ReferenceBackend::glu(View gate, View up, Act act, View out, Next) {
  for (std::int64_t t = 0; t < gate.rows; ++t) {
    for (std::int64_t i = 0; i < gate.cols; ++i) {
      out.row<float>(t)[i] =
          static_cast<float>(gated_activation(act, gate.row<float>(t)[i], up.row<float>(t)[i]));
    }
  }
}

void ReferenceBackend::add_gated(View x, View y, View gate) {
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const double factor = sigmoid(*gate.row<float>(t));
    for (std::int64_t i = 0; i < x.cols; ++i) {
      float& to = x.row<float>(t)[i];
      to = static_cast<float>(double{to} + factor * double{y.row<float>(t)[i]});
    }
  }
}

namespace {

/// Scores that choose experts: -Inf outside of the chosen groups.
Row limited_to_groups(Row c, const Moe& m) {
  if (m.groups == 1) return c;
  const auto size = to_size(m.experts / m.groups);
  Row scores;
  for (std::size_t first = 0; first < c.size(); first += size) {
    Row group(c.begin() + std::ptrdiff_t(first), c.begin() + std::ptrdiff_t(first + size));
    std::sort(group.begin(), group.end(), std::greater<>());
    scores.push_back(m.group_score == Moe::GroupScore::kBest ? group[0] : group[0] + group[1]);
  }
  const std::vector<std::int32_t> order = ranking(scores);
  for (std::size_t i = to_size(m.groups_used); i < order.size(); ++i) {
    std::fill_n(c.begin() + std::ptrdiff_t(to_size(order[i]) * size), size,
                -std::numeric_limits<double>::infinity());
  }
  return c;
}

/// A row's chosen experts with their weights, best first.
std::vector<std::pair<std::int32_t, double>> chosen_experts(const Row& logits, const MoeWeights& w,
                                                            const Moe& m) {
  const bool is_sigmoid = m.score == Moe::Score::kSigmoid;
  Row p = is_sigmoid ? logits : softmax(logits);
  for (double& v : p) v = is_sigmoid ? sigmoid(v) : v;
  Row c = p;
  for (std::size_t e = 0; w.selection_bias && e < c.size(); ++e) {
    c[e] += double{w.selection_bias.row<float>(0)[e]};
  }
  std::vector<std::int32_t> chosen = ranking(limited_to_groups(c, m));
  chosen.resize(to_size(m.used));
  double sum = is_sigmoid ? 1e-20 : 0;
  for (const std::int32_t e : chosen) sum += at(p, e);
  std::vector<std::pair<std::int32_t, double>> weights;
  for (const std::int32_t e : chosen) {
    weights.emplace_back(e, (m.renormalise ? at(p, e) / sum : at(p, e)) * double{m.scale});
  }
  return weights;
}

}  // namespace

void ReferenceBackend::moe(View in, const MoeWeights& w, const Moe& m, View out) {
  for (std::int64_t t = 0; t < in.rows; ++t) {
    const Row x = read_row(in.row<float>(t), in.cols);
    Row y(x.size(), 0.0);
    for (const auto& [e, weight] : chosen_experts(multiply(*w.router, x), w, m)) {
      const Row inner = activated(m.act, true, multiply(at(w.gate_up, e), x));
      const Row part = multiply(at(w.down, e), inner);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += weight * part[i];
    }
    write_row(y, out.row<float>(t));
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
    Row y = multiply(*head.weight, read_row(in.row<float>(r), in.cols));
    for (double& v : y) {
      v *= double{head.scale};
      if (head.cap != 0) v = double{head.cap} * std::tanh(v / double{head.cap});
    }
    reduce_row(y, r, reduce);
  }
}

void ReferenceBackend::pool(View x, const Batch& batch, Pooling pooling, View out) {
  for (std::int64_t i = 0; i < out.rows; ++i) {
    const std::int32_t s = at(batch.pool_seqs, i);
    std::int64_t first = at(batch.q_start, s);
    std::int64_t end = at(batch.q_start, s + 1);
    if (pooling == Pooling::kCls) end = first + 1;
    if (pooling == Pooling::kLast) first = end - 1;
    Row sum(to_size(x.cols), 0.0);
    for (std::int64_t t = first; t < end; ++t) {
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += double{x.row<float>(t)[c]};
    }
    for (double& v : sum) v /= static_cast<double>(end - first);
    write_row(sum, out.row<float>(i));
  }
}

void ReferenceBackend::normalise(View x) {
  for (std::int64_t t = 0; t < x.rows; ++t) {
    Row row = read_row(x.row<float>(t), x.cols);
    const double length = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    if (length == 0) continue;
    for (double& v : row) v /= length;
    write_row(row, x.row<float>(t));
  }
}

}  // namespace ingot
