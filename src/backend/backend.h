// Backend: a device's memory, and the ops that the forward path runs on it.
#pragma once

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

/// A device's memory and ops. Views, Buffers, pages and the data of Weights are device memory;
/// spans are host memory.
///
/// The doc comment of each op is its specification: every CPU kernel table evaluates exactly this
/// expression tree; `reference` is held to it by derived tolerances. In it, "chain" is a sequence
/// of fma from +0 in ascending order, "lanes" are 16 chains over elements l, l + 16, ..., and
/// "tree" adds lane i + 8 to i, then 4, 2, 1. Activations are float32 Views whose rows need not be
/// contiguous. Ops neither allocate nor throw; a shape that does not fit is a bug (INGOT_CHECK).
/// Inputs and outputs do not overlap unless an op says so. `next` names the next readers of `out`.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;

  // Memory.

  /// Zeroed device memory. Errors: Error{kDoesNotFit}.
  virtual Buffer allocate(std::int64_t bytes) = 0;
  /// Whether the host may touch device memory between ops.
  virtual bool host_memory() const { return true; }
  /// Copy between host and device memory; between steps.
  virtual void write(std::byte* to, std::span<const std::byte> from);
  virtual void read(const std::byte* from, std::span<std::byte> to) const;
  /// A float32 row vector on the device. Errors: Error{kDoesNotFit}.
  Tensor upload(std::span<const float> values);

  // Weights.

  /// Packs matrices of equal width, one below the other, into one Weight.
  ///
  /// Shapes: parts[i] [rows_i, K] in a format of quant/formats.h; bias empty or sum(rows_i) long.
  virtual Weight prepare(std::span<const View> parts, std::span<const float> bias) = 0;
  /// Version of the layout that `prepare` packs, for files of packed weights; 0: weights cannot be
  /// kept in files.
  virtual std::uint32_t packed_layout() const { return 0; }
  /// The Weight that `prepare` would pack from these parts, whose data may be null, around host
  /// bytes that a `prepare` of equal layout packed into `Weight::storage`: aligned to 64, and
  /// outliving the Weight. A wrong size is a bug, as is a call where `packed_layout` is 0.
  virtual Weight adopt(std::span<const View> /*parts*/, std::span<const float> /*bias*/,
                       std::span<const std::byte> /*packed*/) {
    INGOT_CHECK(false, name(), " does not keep packed weights");
    return {};
  }
  /// Bytes that `prepare` allocates for parts of these shapes and formats; their data may be null.
  virtual std::int64_t prepared_bytes(std::span<const View> parts, bool bias) const = 0;

  // Keys and values. Layers of a call belong to one KV group, and so have equal geometry.

  /// Bytes of one KV block of 16 tokens of one layer.
  virtual std::int64_t kv_block_bytes(const Attention& a, KvType type) const = 0;

  /// Copies block `from` to block `to` in all `layers`; between steps.
  virtual void kv_copy(std::span<const KvLayer> layers, std::int32_t from, std::int32_t to) = 0;
  /// Copies a block out of its pages, layer after layer in the layout of KvRows; between steps.
  /// Tokens that were never written give any bytes.
  virtual void kv_read(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
                       std::span<std::byte> out) const = 0;
  /// Copies a block into its pages, bit for bit, from the bytes of any backend's kv_read; between
  /// steps.
  virtual void kv_load(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
                       std::span<const std::byte> in) = 0;

  // A step.

  /// Bytes of scratch memory for steps up to `limits`.
  virtual std::int64_t scratch_bytes(const StepLimits& limits) const = 0;
  /// Allocates that scratch memory. Errors: Error{kDoesNotFit}.
  virtual void plan(const StepLimits& limits) = 0;

  /// Runs `body`, which only calls ops: a device may capture or replay a graph here. On the CPU
  /// every thread rounds to nearest even with denormals on, whatever the host process has set.
  virtual void step(const Batch& batch, FunctionRef<void()> body) = 0;

  /// x[t] = row tokens[t] of `table`, decoded exactly, or the sequence's row of batch.embeddings.
  ///
  /// Shapes: table [V, H] (may be null when no row is a token), x [T, H]. A token outside [0, V) is
  /// a bug.
  virtual void embed(const Batch& batch, const Weight* table, View x) = 0;

  /// x += add, unless `add` is null; out = norm(x), unless `n` is none.
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

  /// Normalises q and k heads in place, where there is a norm (rms or layer, over D), and rotates
  /// them.
  ///
  /// For a pair (a, b) and its (cos, sin):  a' = fma(-b, sin, a * cos),  b' = fma(a, sin, b * cos).
  /// Shapes: qkv [T, (N + 2G)*D]. A position outside the table is a bug.
  virtual void rope(View qkv, const Batch& b, const Norm& q_norm, const Norm& k_norm,
                    const Attention& a) = 0;

  /// Writes each row's K and V into its page, rounded to the KV type.
  ///
  /// Shapes:  qkv [T, (N + 2G)*D], slots [T]; the pages' layout is the backend's.
  /// Units:   a slot counts tokens: block * 16 + offset; -1 skips the row (padding).
  /// Errors:  none; a slot outside the pool is a bug.
  /// Source:  PagedAttention, arXiv:2309.06180, section 4.
  virtual void kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) = 0;

  /// Attention of each row over the keys and values that it sees, read from the pages.
  ///
  /// q *= scale; s = chain over D of q*k, with a cap cap * tanh(s / cap). Keys are cut into
  /// absolute chunks of 64 and splits of 1,024. Within a split, for each chunk with a visible key:
  ///   m' = max(m, chunk's max),  p = exp(s - m'),  a = exp(m - m')
  ///   l  = fma(l, a, lsum),  lsum the tree of the 16 lane sums of p by position mod 16
  ///   o  = o * a,  then o = fma(p, v, o), positions ascending
  /// The first split with a visible key is copied, later ones are folded in order:
  ///   m' = max(m1, m2),  a1 = exp(m1 - m'),  a2 = exp(m2 - m')
  ///   o  = fma(o2, a2, o1 * a1),  l = fma(l2, a2, l1 * a1)
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
  /// r = softmax(in router^T): p = exp(r - max), p * (1 / sum), sum the tree of lane sums. A row's
  /// experts are ordered by falling p, ties to the lower index; renormalised, p is divided by its
  /// sum in that order. Expert rows pass `linear` and `activate`; y = fma(p_e, y_e, y) in that
  /// order, from +0.
  ///
  /// Shapes: in, out [T, H].
  virtual void moe(View in, const MoeWeights& w, const Moe& m, View out) = 0;

  /// out[i] = x[rows[i]].  Shapes: x [T, H], out [R, H].
  virtual void gather(View x, std::span<const std::int32_t> rows, View out) = 0;

  /// Logits of rows through the head, and their reductions; `reduce.full` keeps the first rows
  /// whole.
  ///
  /// As `linear`; log-probability of id: (x[id] - max) - log(sum), sum = tree of the 16 lane sums
  /// of exp(x - max). Shapes: in [R, H], head [V, H].
  virtual void logits(View in, const Weight& head, const LogitsReduce& reduce) = 0;
};

}  // namespace ingot
