// Backend: the ops that a device offers to the one forward path.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "backend/batch.h"
#include "backend/buffer.h"
#include "backend/ops.h"
#include "backend/weight.h"
#include "base/check.h"
#include "base/function_ref.h"
#include "base/view.h"

namespace ingot {

/// A device's memory and ops.
///
/// The doc comment of each op is its specification: every CPU kernel table evaluates exactly this
/// expression tree, other devices and `reference` are held to it by derived tolerances. In it,
/// "chain" is a sequence of fma from +0 in ascending order, "lanes" are 16 chains over elements l,
/// l + 16, ..., and "tree" adds lane i + 8 to i, then 4, 2, 1. Activations are float32 Views whose
/// rows need not be contiguous. Ops neither allocate nor throw; a shape that does not fit is a bug
/// (INGOT_CHECK). Inputs and outputs do not overlap unless an op says so. `next` says who reads
/// `out` next.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;

  // Loading.

  /// Memory of the device, zeroed. Errors: Error{kDoesNotFit}.
  virtual Buffer allocate(std::int64_t bytes) = 0;
  /// Packs matrices of equal width, one below the other, into one Weight.
  ///
  /// Shapes: parts[i] [rows_i, K] in a format of quant/formats.h; bias empty or sum(rows_i) long.
  virtual Weight prepare(std::span<const View> parts, std::span<const float> bias) = 0;
  /// Version of the form in which `prepare` packs, for what is kept beyond this process; 0: nothing
  /// can be kept.
  virtual std::uint32_t packed_layout() const { return 0; }
  /// The Weight that `prepare` would make of these parts, whose data may be null, around the bytes
  /// that another `prepare` of the same layout made of them (`Weight::storage`): aligned to 64,
  /// outliving it. A wrong size is a bug, as is a call where `packed_layout` is 0.
  virtual Weight adopt(std::span<const View> /*parts*/, std::span<const float> /*bias*/,
                       std::span<const std::byte> /*packed*/) {
    INGOT_CHECK(false, name(), " does not keep packed weights");
    return {};
  }
  /// Bytes that `prepare` will allocate for parts of these shapes and formats; their data may be
  /// null.
  virtual std::int64_t prepared_bytes(std::span<const View> parts, bool bias) const = 0;
  /// A float32 row vector on the device.
  virtual Tensor upload(std::span<const float> values) = 0;
  /// Bytes of one KV block of 16 tokens of one layer.
  virtual std::int64_t kv_block_bytes(const Attention& a, KvType type) const = 0;

  /// Block `to` of one layer becomes a copy of block `from`; between steps. A device whose pages
  /// are not in host memory has its own.
  virtual void kv_copy(const KvLayer& kv, std::int32_t from, std::int32_t to) {
    std::copy_n(kv.pages + from * kv.block_bytes, kv.block_bytes, kv.pages + to * kv.block_bytes);
  }

  /// Block `block` of one layer out of its page, as it is, in the layout of KvRows; between steps.
  /// Tokens that were never written give whatever is there.
  virtual void kv_read(const Attention& /*a*/, const KvLayer& /*kv*/, std::int32_t /*block*/,
                       std::span<std::byte> /*out*/) const {
    INGOT_CHECK(false, name(), " does not read blocks");
  }
  /// The way back: a block that holds what `kv_read` gave, of any backend, bit for bit.
  virtual void kv_load(const Attention& /*a*/, const KvLayer& /*kv*/, std::int32_t /*block*/,
                       std::span<const std::byte> /*in*/) {
    INGOT_CHECK(false, name(), " does not load blocks");
  }

  /// Scratch memory for steps up to `limits`: its size, and its allocation. Errors:
  /// Error{kDoesNotFit}.
  virtual std::int64_t scratch_bytes(const StepLimits& limits) const = 0;
  virtual void plan(const StepLimits& limits) = 0;

  // A step.

  /// Runs `body`, which calls ops and nothing else: the place where a device may capture or replay
  /// a graph. On the CPU: rounding to nearest even with denormals on, in every thread, whatever the
  /// host process has set.
  virtual void step(const Batch& batch, FunctionRef<void()> body) = 0;

  /// x[t] = row tokens[t] of `table`, decoded exactly; or the sequence's row of batch.embeddings
  /// where it has some.
  ///
  /// Shapes: table [V, H] (may be null when no row is a token), x [T, H]. Errors: a token outside
  /// [0, V) is a bug.
  virtual void embed(const Batch& batch, const Weight* table, View x) = 0;

  /// x += add (where given); out = norm(x) (where given).
  ///
  /// rms:   inv = 1 / sqrt(tree(lanes of x*x) / n + eps);  y = (x * inv) * w
  /// layer: mean = tree(lane sums of x) / n;  c = x - mean;
  ///        inv = 1 / sqrt(tree(lanes of c*c) / n + eps);
  ///        y = (c * inv) * w, with a bias fma(c * inv, w, b)
  ///
  /// Shapes: x, add, out [T, n]. `out` may be `x`.
  virtual void norm(View x, View add, const Norm& n, View out, Next next) = 0;

  /// out = in W^T + b.
  ///
  /// K in segments of 1,024: each is one chain, the total starts as the first and adds the others
  /// in order; with a bias y = total + b. Dense formats: acc = fma(w, x, acc).
  ///
  /// Block formats, over x quantised per row and group of 32: amax = largest |x|; not finite:
  /// d = NaN, q = 0; below 2^-100: d = 0, q = 0; else d = amax / 127, q = nearest even of
  /// x * (127 / amax). Per sub-group j of a group, one for each scale:
  ///   i_j = sum of (q_w - zero) * q_x,  s_j = sum of q_x,  exact
  ///   t   = float(i_0) * w_0,  then with two scales  t = fma(float(i_1), w_1, t)
  ///   t   = fma(-m_j, float(s_j), t),  j ascending (+m_j for Q4_1 and Q5_1)
  ///   acc = fma(t, d, acc)
  ///
  /// Shapes: in [T, K], w [M, K], out [T, M].
  virtual void linear(View in, const Weight& w, View out) = 0;

  /// q and k heads in place: normalised per head where there is a norm (rms or layer, over D), then
  /// rotated.
  ///
  /// For a pair (a, b) and its (cos, sin):  a' = fma(-b, sin, a * cos),  b' = fma(a, sin, b * cos).
  /// Shapes: qkv [T, (N + 2G)*D]. Errors: a position outside the table is a bug.
  virtual void rope(View qkv, const Batch& b, const Norm& q_norm, const Norm& k_norm,
                    const Attention& a) = 0;

  /// Writes each row's K and V into its page, rounded to the KV type.
  ///
  /// Shapes:  qkv [T, (N + 2G)*D], slots [T]; the pages' layout is the backend's.
  /// Units:   a slot counts tokens: block * 16 + offset; -1 skips the row (padding).
  /// Errors:  none; a slot outside the pool is a bug (INGOT_CHECK).
  /// Source:  PagedAttention, arXiv:2309.06180, section 4.
  virtual void kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) = 0;

  /// Attention of each row over the keys and values that it sees, all read back from the pages.
  ///
  /// q *= scale; s = chain over D of q*k, with a cap cap * tanh(s / cap). Keys are cut into
  /// absolute chunks of 64 and splits of 1,024. Within a split, for each chunk with a visible key:
  ///   m' = max(m, chunk's max),  p = exp(s - m'),  a = exp(m - m')
  ///   l  = fma(l, a, lsum),  lsum the tree of the 16 lane sums of p by position mod 16
  ///   o  = o * a,  then o = fma(p, v, o), positions ascending
  /// The first such split is copied, later ones are folded in order:
  ///   m' = max(m1, m2),  a1 = exp(m1 - m'),  a2 = exp(m2 - m')
  ///   o  = fma(o2, a2, o1 * a1),  l likewise
  /// out = o * (1 / l).
  ///
  /// Over KvType::kInt8, whose scales are k_d and v_d by group g of 32 elements, q * scale is
  /// quantised by the same groups, and p * v_d by chunk and group (0 where the row sees nothing):
  ///   s = chain over g of fma(float(sum of q_q * k_q) * k_d, q_d, s),  sums exact
  ///   o = fma(float(sum of w_q * v_q), w_d, o * a),  w = p * v_d over the chunk
  ///
  /// Shapes: qkv [T, (N + 2G)*D] (only q is read), out [T, N*D].
  virtual void attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                         Next next) = 0;

  /// y = act(g) * u for gated input [g; u], else act(x).
  ///
  /// silu:      x * sigmoid(x)
  /// gelu_tanh: (0.5 * x) * (1 + tanh(c * fma(0.044715 * (x * x), x, x))),  c = sqrt(2 / pi)
  /// gelu_erf:  (0.5 * x) * (1 + erf(x * sqrt(1 / 2)))
  ///
  /// Shapes: in [T, 2F] or [T, F], out [T, F].
  virtual void activate(View in, Act act, bool gated, View out, Next next) = 0;

  /// out = sum over the chosen experts of weight * expert(in).
  ///
  /// r = softmax(in router^T): p = exp(r - max), p * (1 / sum), sum the tree of lane sums. Slots by
  /// falling p, ties to the lower index; renormalised by division by their sum in slot order.
  /// Expert rows go through `linear` and `activate`; y = fma(w_slot, y_slot, y), slots ascending
  /// from +0.
  ///
  /// Shapes: in, out [T, H].
  virtual void moe(View in, const MoeWeights& w, const Moe& m, View out) = 0;

  /// out[i] = x[rows[i]].  Shapes: x [T, H], out [R, H].
  virtual void gather(View x, std::span<const std::int32_t> rows, View out) = 0;

  /// Logits of rows through the head, reduced on the way; the first ones may be kept whole.
  ///
  /// As `linear`; log-probability of id: (x[id] - max) - log(sum), sum = tree of the 16 lane sums
  /// of exp(x - max). Shapes: in [R, H], head [V, H].
  virtual void logits(View in, const Weight& head, const LogitsReduce& reduce) = 0;

  /// The largest element of each row, ties to the lower index, -1 for a row that holds NaN. Shapes:
  /// x [R, V].
  virtual void argmax(View x, std::span<std::int32_t> out) = 0;
};

}  // namespace ingot
