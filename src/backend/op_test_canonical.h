// The ops in canonical order, written directly from backend.h with std::fma. Slow; tests compare
// every kernel table with these ops, bit for bit.
#pragma once

#include <array>
#include <cmath>
#include <functional>

#include "backend/op_test_attention.h"
#include "backend/op_test_moe.h"
#include "base/half.h"
#include "base/math.h"

namespace ingot::testing::canonical {

using Floats = std::vector<float>;

inline Floats row_of(const Matrix& x, std::int64_t r) { return {x.row(r), x.row(r) + x.cols()}; }

/// Adds 16 lanes: lane i += lane i + 8, then i + 4, i + 2, i + 1.
inline float tree(std::array<float, 16> lanes) {
  for (std::size_t half = 8; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) lanes[i] = lanes[i] + lanes[i + half];
  }
  return lanes[0];
}

inline float sum(const Floats& x) {
  std::array<float, 16> lanes{};
  for (std::size_t i = 0; i < x.size(); ++i) lanes[i % 16] += x[i];
  return tree(lanes);
}

inline float sum_of_squares(const Floats& x) {
  std::array<float, 16> lanes{};
  for (std::size_t i = 0; i < x.size(); ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
  return tree(lanes);
}

/// Normalises x with row `r` of the weights.
inline Floats normalised(Floats x, const Norm& n, std::int64_t r = 0) {
  const auto count = static_cast<float>(x.size());
  if (n.kind == NormKind::kLayer) {
    const float mean = sum(x) / count;
    for (float& v : x) v = v - mean;
  }
  const float inv = 1.0f / std::sqrt(sum_of_squares(x) / count + n.eps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float w = n.weight.row<float>(r)[i];
    const float scaled = x[i] * inv;
    x[i] = n.bias ? std::fma(scaled, w, n.bias.row<float>(r)[i]) : scaled * w;
  }
  return x;
}

inline void rotate(float* head, const RopeTable& table, std::int32_t position) {
  const std::int32_t pairs = table.dims / 2;
  for (std::int32_t i = 0; i < pairs; ++i) {
    float& a = head[table.adjacent_pairs ? 2 * i : i];
    float& b = head[table.adjacent_pairs ? 2 * i + 1 : i + pairs];
    const float cos = table.cos.row<float>(position)[i];
    const float sin = table.sin.row<float>(position)[i];
    const float turned = std::fma(-b, sin, a * cos);
    b = std::fma(a, sin, b * cos);
    a = turned;
  }
}

/// A group of 32 quantised activations: integers q and a scale d.
struct Group {
  float d = 0;
  std::vector<int> q;
};

inline Group quantised(std::span<const float> x) {
  std::uint32_t amax_bits = 0;
  for (const float v : x) amax_bits = std::max(amax_bits, bits(v) & 0x7fffffffu);
  const auto amax = std::bit_cast<float>(amax_bits);
  Group group{.q = std::vector<int>(x.size())};
  if (amax_bits >= 0x7f800000u) {
    group.d = std::nanf("");
  } else if (amax >= 0x1p-100f) {
    group.d = amax / 127.0f;
    const float r = 127.0f / amax;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const float rounded = std::nearbyint(x[k] * r);  // rounds to nearest even
      group.q[k] = static_cast<int>(std::min(127.0f, std::max(-127.0f, rounded)));
    }
  }
  return group;
}

/// Returns the chain `acc` plus the dot product of a group of 32 weights and `x`.
template <BlockFormat T>
float group_chain(const GroupCodes& codes, const Group& x, float acc) {
  constexpr int kPart = kGroup / T::kScales;
  float t = 0;
  for (int j = 0; j < T::kScales; ++j) {
    int i = 0;
    for (int k = j * kPart; k < (j + 1) * kPart; ++k) {
      i += T::value(codes.code[k]) * x.q[std::size_t(k)];
    }
    const float w = T::scale_value(codes.d) * static_cast<float>(codes.scale[j]);
    t = j == 0 ? static_cast<float>(i) * w : std::fma(static_cast<float>(i), w, t);
  }
  for (int j = 0; j < T::kScales && T::kMinSign != 0; ++j) {
    int s = 0;
    for (int k = j * kPart; k < (j + 1) * kPart; ++k) s += x.q[std::size_t(k)];
    const float m = T::scale_value(codes.m) * static_cast<float>(codes.min[j]);
    t = std::fma(static_cast<float>(T::kMinSign) * m, static_cast<float>(s), t);
  }
  return std::fma(t, x.d, acc);
}

/// Computes one output of a linear in segments of 1,024 inputs. Each segment is one chain.
template <class T>
float output(const std::byte* row, const Floats& x, const std::vector<Group>& groups) {
  const auto cols = static_cast<std::int64_t>(x.size());
  float total = 0;
  for (std::int64_t begin = 0; begin < cols; begin += 1024) {
    const std::int64_t end = std::min(cols, begin + 1024);
    float acc = 0;
    if constexpr (DenseFormat<T>) {
      for (std::int64_t k = begin; k < end; ++k) {
        typename T::Element element;
        std::memcpy(&element, row + k * block_bytes<T>(), sizeof element);
        acc = std::fma(T::widen(element), x[std::size_t(k)], acc);
      }
    } else {
      for (std::int64_t k = begin; k < end; k += kGroup) {
        typename T::Block block;
        std::memcpy(&block, row + k / T::kBlock * block_bytes<T>(), sizeof block);
        GroupCodes codes;
        T::unpack(block, static_cast<int>(k % T::kBlock / kGroup), codes);
        acc = group_chain<T>(codes, groups[std::size_t(k / kGroup)], acc);
      }
    }
    total = begin == 0 ? acc : total + acc;
  }
  return total;
}

/// Computes one output of BF16 weights and rounded inputs, in blocks of 32.
inline float rounded_output(const std::byte* row, const Floats& x) {
  const auto cols = x.size();
  float total = 0;
  for (std::size_t segment = 0; segment < cols; segment += 1024) {
    float acc = 0;
    for (std::size_t block = segment; block < std::min(cols, segment + 1024); block += 32) {
      float chains[2] = {};  // over the even and the odd elements
      for (std::size_t k = block; k < std::min(cols, block + 32); ++k) {
        std::uint16_t w;
        std::memcpy(&w, row + 2 * k, 2);
        const float kept = std::abs(bfloat16_to_float(w)) < 0x1p-48f ? 0 : bfloat16_to_float(w);
        const float rounded = bfloat16_to_float(rounded_bfloat16(x[k]));
        chains[k % 2] = std::fma(kept, rounded, chains[k % 2]);
      }
      acc = acc + (chains[0] + chains[1]);
    }
    total = segment == 0 ? acc : total + acc;
  }
  return total;
}

/// Computes W x + b for one row x; W is the stack of `parts`, prepared for `use`.
inline Floats linear(std::span<const View> parts, std::span<const float> bias, const Floats& x,
                     Use use = Use::kPlain) {
  std::vector<Group> groups;
  for (std::size_t k = 0; k + 32 <= x.size(); k += 32)
    groups.push_back(quantised(std::span(x).subspan(k, 32)));
  Floats y;
  for (const View& part : parts) {
    visit_format(part.format, [&]<class T>() {
      for (std::int64_t r = 0; r < part.rows; ++r) {
        const float total = rounds_rows(part.format, use) ? rounded_output(part.row_data(r), x)
                                                          : output<T>(part.row_data(r), x, groups);
        y.push_back(bias.empty() ? total : total + bias[y.size()]);
      }
    });
  }
  return y;
}

inline float activation(Act act, float x) {
  switch (act) {
    case Act::kSilu:
      return x * math::sigmoid(x);
    case Act::kGeluTanh: {
      const float cubic = std::fma(0.044715f * (x * x), x, x);
      return 0.5f * x * (1.0f + math::tanh(0.7978845608028654f * cubic));
    }
    case Act::kGeluErf:
      return 0.5f * x * (1.0f + math::erf(x * 0.7071067811865476f));
    case Act::kTanh:
      return math::tanh(x);
    case Act::kGptOss:
      break;
  }
  return 0;
}

inline float gated_activation(Act act, float gate, float up) {
  if (act != Act::kGptOss) return activation(act, gate) * up;
  const float x = gate > 7 ? 7 : gate;
  const float u = up > 7 ? 7 : up < -7 ? -7 : up;
  return x * math::sigmoid(1.702f * x) * (u + 1);
}

inline Floats activated(Act act, bool gated, const Floats& x) {
  Floats y(gated ? x.size() / 2 : x.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = gated ? gated_activation(act, x[i], x[y.size() + i]) : activation(act, x[i]);
  }
  return y;
}

inline Floats softmax(Floats x) {
  const float max = *std::max_element(x.begin(), x.end());
  for (float& v : x) v = math::exp(v - max);
  const float inv = 1.0f / sum(x);
  for (float& v : x) v = v * inv;
  return x;
}

/// Indices by falling value, ties to the lower index.
inline std::vector<std::int32_t> ranked(const Floats& x) {
  std::vector<std::int32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return x[std::size_t(a)] > x[std::size_t(b)];
  });
  return order;
}

/// Whether each group of experts may be chosen, by the choice scores c.
inline std::vector<bool> chosen_groups(const Moe& m, const Floats& c) {
  const auto size = std::size_t(m.experts / m.groups);
  Floats scores;
  for (std::size_t first = 0; first < c.size(); first += size) {
    Floats group(c.begin() + long(first), c.begin() + long(first + size));
    std::sort(group.begin(), group.end(), std::greater<>());
    scores.push_back(m.group_score == Moe::GroupScore::kBest ? group[0] : group[0] + group[1]);
  }
  std::vector<bool> chosen(scores.size());
  const std::vector<std::int32_t> order = ranked(scores);
  for (std::size_t i = 0; i < std::size_t(m.groups_used); ++i) chosen[std::size_t(order[i])] = true;
  return chosen;
}

/// Changes the outputs `y` of a linear with inputs `x`; `number` is that of PreparedMoe.
using Adapt = std::function<void(std::int32_t number, const Floats& x, Floats& y)>;

inline Floats moe(const MoeProblem& p, const Floats& x, const Adapt& adapt = {}) {
  const Moe& m = p.m;
  const bool sigmoid = m.score == Moe::Score::kSigmoid;
  const auto adapted = [&](std::int32_t number, const Floats& in, Floats y) {
    if (adapt) adapt(number, in, y);
    return y;
  };
  Floats shares = adapted(0, x, linear({&p.router.view, 1}, p.router_bias, x, Use::kExact));
  if (sigmoid) {
    for (float& v : shares) v = math::sigmoid(v);
  } else {
    shares = softmax(shares);
  }
  Floats c = shares;
  for (std::size_t e = 0; e < p.selection_bias.size(); ++e) c[e] = c[e] + p.selection_bias[e];
  const std::vector<bool> groups = chosen_groups(m, c);
  std::vector<std::int32_t> order = ranked(c);
  std::erase_if(order,
                [&](std::int32_t e) { return !groups[std::size_t(e * m.groups / m.experts)]; });
  order.resize(std::size_t(m.used));
  float total = 0;
  for (std::int32_t e : order) total += shares[std::size_t(e)];
  if (sigmoid) total = total + 1e-20f;
  Floats y(x.size(), 0.0f);
  for (std::int32_t e : order) {
    const std::vector<View> parts = p.gate_up(e);
    const Floats inner =
        activated(m.act, true, adapted(1 + 2 * e, x, linear(parts, p.gate_up_bias(e), x)));
    const Floats part =
        adapted(2 + 2 * e, inner, linear({&p.down[std::size_t(e)].view, 1}, p.down_bias(e), inner));
    const float share = shares[std::size_t(e)];
    const float weight = (m.renormalise ? share / total : share) * m.scale;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::fma(weight, part[i], y[i]);
  }
  return y;
}

/// Returns the log-probability of token `id` for the logits x.
inline float logprob(const Floats& x, std::int32_t id) {
  const float max = *std::max_element(x.begin(), x.end());
  Floats p;
  for (float v : x) p.push_back(math::exp(v - max));
  return (x[std::size_t(id)] - max) - math::log(sum(p));
}

inline float stored(float x, KvType type) {
  if (type == KvType::kF32) return x;
  return type == KvType::kF16 ? half_to_float(float_to_half(x))
                              : bfloat16_to_float(rounded_bfloat16(x));
}

/// A query, key or value of KvType::kBF16.
struct RoundedHead {
  Floats x;
};

inline RoundedHead rounded_head(const Floats& x) {
  RoundedHead head;
  for (const float v : x) head.x.push_back(stored(v, KvType::kBF16));
  return head;
}

/// The sum e + o of a block: `term(i, chain)` adds element i to its chain. Elements are [begin,
/// end).
template <class Term>
float block_sum(std::size_t begin, std::size_t end, Term&& term) {
  float even = 0;
  float odd = 0;
  for (std::size_t i = begin; i < end; ++i) {
    float& chain = i % 2 == 0 ? even : odd;
    chain = term(i, chain);
  }
  return even + odd;
}

/// Attention state after some chunks: largest score m, sum l of weights, sum o of weighted values.
struct Fold {
  float m = -std::numeric_limits<float>::infinity();
  float l = 0;
  Floats o;

  /// Replaces the scores `p` by weights. p[i] belongs to key begin + i, a visible key of one chunk.
  /// Returns the factor for the sums of earlier chunks.
  float weigh(std::int32_t begin, Floats& p, bool rounded = false) {
    const float max = std::max(m, *std::max_element(p.begin(), p.end()));
    std::array<float, 16> lanes{};
    for (std::size_t i = 0; i < p.size(); ++i) {
      p[i] = math::exp(p[i] - max);
      if (rounded) p[i] = stored(p[i], KvType::kBF16);
      lanes[(std::size_t(begin) + i) % 16] += p[i];
    }
    const float scale = math::exp(m - max);
    m = max;
    l = std::fma(l, scale, tree(lanes));
    return scale;
  }

  void add_chunk(std::int32_t begin, Floats p, const std::vector<Floats>& v) {
    const float scale = weigh(begin, p);
    for (std::size_t d = 0; d < o.size(); ++d) {
      o[d] = o[d] * scale;
      for (std::size_t i = 0; i < p.size(); ++i) o[d] = std::fma(p[i], v[i][d], o[d]);
    }
  }

  /// Adds a chunk of BF16, in blocks of 32 positions.
  void add_chunk(std::int32_t begin, Floats p, const std::vector<RoundedHead>& v) {
    const float scale = weigh(begin, p, true);
    const auto first = std::size_t(begin);
    const std::size_t last = first + p.size();
    for (std::size_t d = 0; d < o.size(); ++d) {
      o[d] = o[d] * scale;
      if (std::abs(o[d]) < 0x1p-100f) o[d] = 0;
      for (std::size_t block = first / 32 * 32; block < last; block += 32) {
        const float sum = block_sum(std::max(first, block), std::min(last, block + 32),
                                    [&](std::size_t i, float chain) {
                                      return std::fma(p[i - first], v[i - first].x[d], chain);
                                    });
        o[d] = o[d] + sum;
      }
    }
  }

  /// Adds a chunk whose values are 8-bit integers, in groups v[key][group].
  void add_chunk(std::int32_t begin, Floats p, const std::vector<std::vector<Group>>& v) {
    const float scale = weigh(begin, p);
    for (std::size_t g = 0; g < v[0].size(); ++g) {
      Floats w;
      for (std::size_t i = 0; i < p.size(); ++i) w.push_back(p[i] * v[i][g].d);
      const Group weights = quantised(w);
      for (std::size_t d = 0; d < v[0][g].q.size(); ++d) {
        int sum = 0;
        for (std::size_t i = 0; i < p.size(); ++i) sum += weights.q[i] * v[i][g].q[d];
        float& out = o[32 * g + d];
        out = std::fma(static_cast<float>(sum), weights.d, out * scale);
      }
    }
  }

  void add_split(const Fold& later) {
    if (o.empty()) {
      *this = later;
      return;
    }
    const float max = std::max(m, later.m);
    const float a1 = math::exp(m - max);
    const float a2 = math::exp(later.m - max);
    m = max;
    l = std::fma(later.l, a2, l * a1);
    for (std::size_t d = 0; d < o.size(); ++d) o[d] = std::fma(later.o[d], a2, o[d] * a1);
  }
};

/// Quantises a head in groups of 32 elements. The last group may be shorter.
inline std::vector<Group> quantised_head(std::span<const float> x) {
  std::vector<Group> groups;
  for (std::size_t d = 0; d < x.size(); d += 32) {
    groups.push_back(quantised(x.subspan(d, std::min<std::size_t>(32, x.size() - d))));
  }
  return groups;
}

inline float score_of(const Floats& q, const Floats& k) {
  float s = 0;
  for (std::size_t d = 0; d < q.size(); ++d) s = std::fma(q[d], k[d], s);
  return s;
}

inline float score_of(const RoundedHead& q, const RoundedHead& k) {
  float s = 0;
  for (std::size_t d = 0; d < q.x.size(); d += 32) {
    s = s + block_sum(d, std::min(d + 32, q.x.size()),
                      [&](std::size_t i, float chain) { return std::fma(q.x[i], k.x[i], chain); });
  }
  return s;
}

inline float score_of(const std::vector<Group>& q, const std::vector<Group>& k) {
  float s = 0;
  for (std::size_t g = 0; g < q.size(); ++g) {
    int sum = 0;
    for (std::size_t d = 0; d < q[g].q.size(); ++d) sum += q[g].q[d] * k[g].q[d];
    s = std::fma(static_cast<float>(sum) * k[g].d, q[g].d, s);
  }
  return s;
}

/// A query head of a row.
struct Query {
  std::int32_t head = 0;
  std::int32_t key = 0;    ///< the row's key number
  std::int32_t first = 0;  ///< the row sees keys [first, last)
  std::int32_t last = 0;
};

/// Computes the attention of one scaled query head. `k(i)` and `v(i)` return the stored elements of
/// key i. Head is Floats, RoundedHead or a vector of Group.
template <class Head, class Keys, class Values>
Floats attend(const Attention& a, const Head& q, const Query& query, Keys&& k, Values&& v) {
  const auto [head, own_key, first, last] = query;
  Fold total;
  for (std::int32_t split = first / 1024 * 1024; split < last; split += 1024) {
    Fold fold;
    fold.o.assign(std::size_t(a.v_dim()), 0.0f);
    for (std::int32_t chunk = split; chunk < split + 1024; chunk += 64) {
      const std::int32_t begin = std::max(first, chunk);
      const std::int32_t end = std::min(last, chunk + 64);
      Floats scores;
      std::vector<Head> values;
      for (std::int32_t key = begin; key < end; ++key) {
        float s = score_of(q, k(key));
        if (a.score_cap != 0) s = a.score_cap * math::tanh(s / a.score_cap);
        if (a.position_bias) {
          const auto reach = std::int32_t(a.position_bias.cols / 2);
          const std::int32_t distance = std::min(reach, std::max(-reach, key - own_key));
          s = s + a.position_bias.row<float>(head)[reach + distance];
        }
        scores.push_back(s);
        values.push_back(v(key));
      }
      if (!scores.empty()) fold.add_chunk(begin, scores, values);
    }
    total.add_split(fold);
  }
  if (a.sinks) {
    const float sink = a.sinks.row<float>(0)[head];
    const float m = std::max(total.m, sink);
    const float scale = math::exp(total.m - m);
    total.l = std::fma(total.l, scale, math::exp(sink - m));
    for (float& o : total.o) o = o * scale;
  }
  const float inv = 1.0f / total.l;
  for (float& o : total.o) o = o * inv;
  return total.o;
}

/// Computes the expected output of an AttentionProblem.
inline Matrix attention(const AttentionProblem& p) {
  const Attention& a = p.a;
  Matrix out(p.rows.rows(), a.out_cols());
  std::int64_t row = 0;
  for (std::size_t s = 0; s < p.sequences.size(); ++s) {
    const std::int32_t kv_len = p.sequences[s].kv_len;
    for (std::int32_t i = kv_len - p.sequences[s].q; i < kv_len; ++i, ++row) {
      const std::int32_t first = a.window == 0 ? 0 : std::max(0, i - a.window + 1);
      const std::int32_t last = a.causal        ? i + 1
                                : a.window == 0 ? kv_len
                                                : std::min(kv_len, i + a.window);
      for (std::int32_t h = 0; h < a.heads; ++h) {
        const float* query = p.rows.row(row) + h * a.head_dim;
        Floats q(query, query + a.head_dim);
        for (float& x : q) x = x * a.scale;
        const std::int64_t g = h / (a.heads / a.kv_heads);
        const std::int64_t k_at = a.q_cols() + g * a.head_dim;
        const std::int64_t v_at = a.values_in_keys ? k_at : a.q_cols() + a.k_cols() + g * a.v_dim();
        const auto head = [&](std::int32_t key, std::int64_t at, std::int32_t n) {
          const float* from = p.keys.row(p.first_key[s] + key) + at;
          return Floats(from, from + n);
        };
        const auto floats = [&](const Floats& x) {
          Floats values = x;
          for (float& v : values) v = stored(v, p.type);
          return values;
        };
        const auto groups = [&](const Floats& x) { return quantised_head(x); };
        const auto attend_with = [&](const auto& form, const auto& scaled) {
          const auto k = [&](std::int32_t key) { return form(head(key, k_at, a.head_dim)); };
          const auto v = [&](std::int32_t key) { return form(head(key, v_at, a.v_dim())); };
          return attend(a, scaled, {.head = h, .key = i, .first = first, .last = last}, k, v);
        };
        const Floats y = p.type == KvType::kInt8   ? attend_with(groups, quantised_head(q))
                         : p.type == KvType::kBF16 ? attend_with(rounded_head, rounded_head(q))
                                                   : attend_with(floats, q);
        std::copy(y.begin(), y.end(), out.row(row) + h * a.v_dim());
      }
    }
  }
  return out;
}

}  // namespace ingot::testing::canonical
