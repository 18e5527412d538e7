// Backend: the interface of a compute device: its memory, and the ops of a forward pass.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backend/batch.h"
#include "backend/buffer.h"
#include "backend/moe_stages.h"
#include "backend/ops.h"
#include "backend/weight.h"
#include "base/check.h"
#include "base/function_ref.h"
#include "base/order.h"
#include "base/view.h"

namespace ingot {

/// A device's memory and ops. Views, Buffers, pages and the data of Weights are device memory;
/// spans are host memory.
///
/// The comment at each op is its specification: every CPU kernel table evaluates exactly this
/// expression tree. Tests compare ReferenceBackend with the tables, within derived tolerances.
/// A "chain" is a sequence of fma from +0 in ascending order. "Lanes" are 16 chains: lane l has
/// elements l, l + 16, ... A "tree" adds lane i + 8 to lane i, then i + 4, i + 2, i + 1.
/// Activations are float32 Views, maybe with row gaps. Ops do not allocate or throw; INGOT_CHECKs
/// check shapes. Inputs and outputs overlap only if an op says so. `next` says what ops read `out`.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  /// Returns the name of the order in which ops compute. Equal names give equal bits.
  virtual std::string_view numerics() const { return kNumericsProfile; }
  /// Returns what of a model the ops cannot compute, as in "a head dimension of 512"; empty if they
  /// compute all of it.
  virtual std::string unsupported(const ModelOps& /*model*/) const { return {}; }

  // Device memory.

  /// Allocates zeroed device memory. Errors: Error{kDoesNotFit}.
  virtual Buffer allocate(std::int64_t bytes) = 0;
  /// Returns whether the host can read and write device memory while no step is under way.
  virtual bool host_memory() const { return true; }
  /// Returns the free bytes of device memory. Callers ask only without `host_memory`.
  virtual std::int64_t free_memory() const { return 0; }
  /// `write` copies host memory to the device; `read` copies back. Both happen after all steps that
  /// were begun, and before later steps. They return when the copy is complete.
  ///
  /// Errors: Error{kInternal} if the device failed. `wait` reports the failure of a step too.
  virtual void write(std::byte* to, std::span<const std::byte> from);
  virtual void read(const std::byte* from, std::span<std::byte> to) const;
  /// Copies `values` to the device as a float32 row vector. Errors: Error{kDoesNotFit}.
  Tensor upload(std::span<const float> values);

  // Weights.

  /// Packs matrices of equal width, stacked one below the other, into one Weight. `use` may change
  /// the layout, but no result of an op.
  ///
  /// `moe` takes the experts' gate_up with Use::kGated or kGatedExact. All other weights that
  /// `linear_activate` does not take are kPlain. `linear` takes both.
  ///
  /// Shapes: parts[i] [rows_i, K] in host memory, in a format of quant/formats.h; bias [sum of
  /// rows_i] or empty.
  virtual Weight prepare(std::span<const View> parts, std::span<const float> bias, Use use) = 0;
  /// Returns the version of the packed layout, which files of packed weights store. They store
  /// neither numerics nor Use, so layouts that depend on these have different numbers. 0 means that
  /// files cannot store this backend's weights. With `host_memory`, a Weight's packed bytes are
  /// those of its `storage`.
  virtual std::uint32_t packed_layout() const { return 0; }
  /// Copies a Weight's packed bytes, which `adopt` takes, to `out`: [prepared_bytes without bias].
  virtual void packed(const Weight& w, std::span<std::byte> out) const;
  /// Makes a Weight from `packed` in host memory: the packed bytes of another Weight, which
  /// `prepare` made from equal parts and use in this layout. `packed` is aligned to 64 bytes and
  /// outlives the result. `parts` may have null data. A wrong size or `packed_layout` 0 is a bug.
  virtual Weight adopt(std::span<const View> /*parts*/, std::span<const float> /*bias*/,
                       std::span<const std::byte> /*packed*/, Use /*use*/) {
    INGOT_CHECK(false, name(), " does not keep packed weights");
    return {};
  }
  /// Returns the bytes that `prepare` allocates for `parts`, whose data may be null. kGated counts
  /// as kPlain, kGatedExact as kExact.
  virtual std::int64_t prepared_bytes(std::span<const View> parts, bool bias, Use use) const = 0;

  // Keys and values. All layers of a call belong to one KV group, so their sizes are equal.

  /// Returns the bytes of a page: one KV block (16 tokens) in one layer.
  virtual std::int64_t kv_block_bytes(const Attention& a, KvType type) const = 0;

  /// Copies block `from` to block `to` in all `layers`, after the steps that were begun and before
  /// later steps. Like an op, it may return before the copy is complete.
  virtual void kv_copy(std::span<const KvLayer> layers, std::int32_t from, std::int32_t to) = 0;
  /// Copies a block from its pages to `out`, layer after layer in the layout of KvRows. Slots that
  /// no step wrote have undefined bytes. Waits as `read` does.
  virtual void kv_read(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
                       std::span<std::byte> out) const = 0;
  /// Copies a block from `in` to its pages, bit for bit. `in` is the output of `kv_read` of any
  /// backend. Waits as `write` does.
  virtual void kv_load(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
                       std::span<const std::byte> in) = 0;

  // Steps and their ops.

  /// Returns the bytes of scratch memory that steps within `limits` need.
  virtual std::int64_t scratch_bytes(const StepLimits& limits) const = 0;
  /// Allocates scratch memory for steps within `limits`. Errors: Error{kDoesNotFit}.
  virtual void plan(const StepLimits& limits) = 0;

  /// Returns the limit on the steps begun and not waited for: 1 or 2. Only 1 with `host_memory`.
  virtual std::int32_t steps_ahead() const { return 1; }
  /// Returns whether `logits` draws tokens, and `embed` takes them for the next step.
  virtual bool draws() const { return false; }
  /// Begins a step: runs `body`, which only calls ops. A device may capture the ops as a graph or
  /// replay a graph, and may compute them after the return.
  ///
  /// When `step` returns, the batch's arrays, the rows of its embeddings and all spans that ops
  /// read belong to the caller again. Ops write to result spans until `wait`, so the caller keeps
  /// these spans and does not read them. CPU threads round to nearest even and keep denormals in
  /// every floating-point mode.
  ///
  /// Errors: Error{kInternal} if the step cannot begin. Then no op of it is computed.
  virtual void step(const Batch& batch, FunctionRef<void()> body) = 0;
  /// Waits for the oldest step begun and not waited for. Its result spans are filled then.
  ///
  /// Errors: Error{kInternal} if the device failed. Steps may then write until `drain` returns.
  virtual void wait() {}
  /// Waits until no step computes or writes. Results of steps not waited for are lost, and so are
  /// copies by `kv_copy` that have not happened.
  virtual void drain() noexcept {}

  /// x[t] = ((row of tokens[t] * scale) + row of types[t]) + row of positions[t] + position_offset.
  ///
  /// For each of the row's adapters that changes e.tokens, in order: y = fma(s, u B^T, y) with the
  /// product y, the token's row u of A, and s = (part's scale * AdapterUse::scale) * e.scale. Rows
  /// with an embedding have no adapters.
  ///
  /// The token's row is decoded exactly, except that weights of BF16 below 2^-48 are +0. A row with
  /// an embedding has this embedding in place of the product. Null parts of `e` are not added. See
  /// Batch::tokens for negative tokens.
  ///
  /// Shapes: x [T, H]. A token, type or position outside its table is a bug, and so is a token
  /// without e.tokens.
  virtual void embed(const Batch& batch, const Embedding& e, View x) = 0;

  /// x = fma(factor, add, x) if `add` is not null. Then out = norm(x) if `n` has a weight.
  ///
  /// rms:   inv = 1 / sqrt(tree(lanes of x*x) / n + eps);  y = (x * inv) * w
  /// layer: mean = tree(lane sums of x) / n;  c = x - mean;
  ///        inv = 1 / sqrt(tree(lanes of c*c) / n + eps);
  ///        y = (c * inv) * w, with a bias fma(c * inv, w, b)
  ///
  /// Shapes: x, add, out [T, n]. `out` may be `x`.
  virtual void norm(View x, Term add, const Norm& n, View out, Next next) = 0;

  /// x = x * factor, in place. Shapes: x [T, n].
  virtual void scale(View x, float factor) = 0;

  /// out = in W^T + b.
  ///
  /// Each segment of 1,024 inputs is one chain. The total is the first segment's sum, plus later
  /// segments' sums in order. With a bias, y = total + b. Dense formats: acc = fma(w, x, acc).
  ///
  /// BF16, except with Use::kExact, kGatedExact or kAdapter, rounds x by rounded_bfloat16, and
  /// takes weights below 2^-48 as +0. A segment is cut into blocks of 32 inputs, the last one
  /// padded with zeros:
  ///   e = chain over elements 0, 2, .. 30 of the block,  o = chain over elements 1, 3, .. 31
  ///   acc = acc + (e + o)
  /// These are the sums of the matrix units of Xeons (TDPBF16PS). Products are multiples of 2^-110,
  /// so no sum is a denormal, and units that flush denormals agree.
  ///
  /// Block formats quantise x by row and group of 32, with amax = largest |x| of a group. If amax
  /// is not finite: d = NaN, q = 0. If amax < 2^-100: d = 0, q = 0. Else d = amax / 127 and
  /// q = x * (127 / amax), to nearest even. A group has a sub-group j for each of its scales:
  ///   i_j = sum of (q_w - zero) * q_x,  s_j = sum of q_x,  exact
  ///   t   = float(i_0) * w_0,  then with two scales  t = fma(float(i_1), w_1, t)
  ///   t   = fma(-m_j, float(s_j), t),  j ascending (+m_j for Q4_1 and Q5_1)
  ///   acc = fma(t, d, acc)
  ///
  /// For each of the row's adapters that changes w, in order: u = x A^T and v = u B^T as dense
  /// linears, then y = fma(s, v, y) with s = part's scale * AdapterUse::scale. Row t of `in` has
  /// the adapters of the batch's row t; behind `pool`, row i has those of the last row of sequence
  /// pool_seqs[i]. In `moe` and `logits`, a row keeps its adapters.
  ///
  /// Shapes: in [T, K], w [M, K], out [T, M].
  virtual void linear(View in, const Weight& w, View out) = 0;

  /// linear of each head h with its own matrix: the first M elements of the head's output are
  /// linear(first K elements of its input, w[h]). The last `extra` elements are copied.
  ///
  /// Multi-head latent attention projects queries [nope | rope] to [latent | rope], and latents to
  /// values. Shapes: N = size of w, w[h] [M, K], in [T, N*(K + extra)], out [T, N*(M + extra)].
  /// `in` was not written for Next::kLinears.
  virtual void linear_heads(View in, std::span<const Weight> w, std::int32_t extra, View out) = 0;

  /// Normalises and rotates the q and k heads of each row, in the order that n.after_rope states.
  /// Normalises the v heads, which never rotate. Works in place. Norms without a weight are absent.
  /// Without a.writes_kv, there are only q heads.
  ///
  /// A norm has the tree of `norm` over its D, or heads * D, elements. A pair (a, b) of rotated
  /// elements with (cos, sin) becomes a' = fma(-b, sin, a * cos), b' = fma(a, sin, b * cos).
  /// Shapes: qkv [T, a.qkv_cols()], see HeadNorms. A position outside the table is a bug.
  virtual void rope(View qkv, const Batch& b, const HeadNorms& n, const Attention& a) = 0;

  /// Rounds each row's keys and values to the KV type, and writes them to the row's slot. With
  /// KvType::kBF16, the rounding is bf16(x) (rounded_bfloat16 of base/half.h).
  ///
  /// Shapes:  qkv [T, a.qkv_cols()], slots [T]; each backend chooses the layout of its pages.
  /// Units:   a slot counts tokens: block * 16 + offset; -1 skips the row (padding).
  /// Errors:  none; a slot outside the pool is a bug, and so is a layer without a.writes_kv.
  /// Source:  PagedAttention, arXiv:2309.06180, section 4.
  virtual void kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) = 0;

  /// Calls `rope`, then `kv_write` if a.writes_kv. A device may fuse them.
  virtual void rope_write(View qkv, const Batch& b, const HeadNorms& n, const Attention& a,
                          KvLayer kv);

  /// Computes each row's attention over the keys and values that the row sees in the pages.
  ///
  /// q *= scale; s = chain over D of q*k; a score cap gives s = cap * tanh(s / cap); a position
  /// bias gives s = s + bias. Chunks of 64 and splits of 1,024 keys begin at key 0. In a split, for
  /// each chunk with a visible key:
  ///   m' = max(m, chunk's max),  p = exp(s - m'),  a = exp(m - m')
  ///   l  = fma(l, a, lsum),  lsum = tree of 16 lane sums of p;  lane = position mod 16
  ///   o  = o * a,  then o = fma(p, v, o), positions ascending
  /// The first split with a visible key gives m1, l1, o1. Each later split joins in order:
  ///   m' = max(m1, m2),  a1 = exp(m1 - m'),  a2 = exp(m2 - m')
  ///   o  = fma(o2, a2, o1 * a1),  l = fma(l2, a2, l1 * a1)
  /// A sink joins last: m' = max(m, sink), a = exp(m - m'), l = fma(l, a, exp(sink - m')), o = o *
  /// a. out = o * (1 / l).
  ///
  /// With KvType::kInt8, each group g of 32 elements has scales k_d and v_d. The op quantises
  /// q * scale by these groups, and p * v_d by chunk and group (0 for keys the row does not see):
  ///   s = chain over g of fma(float(sum of q_q * k_q) * k_d, q_d, s),  sums exact
  ///   o = fma(float(sum of w_q * v_q), w_d, o * a),  w = p * v_d over the chunk
  ///
  /// With KvType::kBF16, q' = bf16(q * scale) and p = bf16(exp(s - m')), and lsum is the sum of
  /// these p. Elements and positions are in blocks of 32, in a chunk only those with a visible key:
  ///   s = s + (e + o), from +0, blocks of D ascending
  ///   o = o * a,  o = +0 if |o| < 2^-100,  then o = o + (e + o'), blocks of the chunk ascending
  /// e is a chain of fma from +0 over the block's even elements of q' and k, or even visible
  /// positions of p and v; o in the first line and o' are chains over the odd ones. D is padded
  /// with zeros. These are the sums of matrix tiles for bfloat16.
  ///
  /// Shapes: qkv [T, a.qkv_cols()] (only q is read), out [T, N*Dv].
  virtual void attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                         Next next) = 0;

  /// Computes out = act(in), or if `gated`, out = act(g) * u with in = [g, u] in each row.
  ///
  /// silu:      x * sigmoid(x)
  /// gelu_tanh: (0.5 * x) * (1 + tanh(c * fma(0.044715 * (x * x), x, x))),  c = sqrt(2 / pi)
  /// gelu_erf:  (0.5 * x) * (1 + erf(x * sqrt(1 / 2)))
  /// tanh:      tanh(x)
  /// gpt_oss:   (x * sigmoid(1.702 * x)) * (u' + 1),  x = min(g, 7),  u' = u within [-7, 7]
  ///
  /// Shapes: in [T, 2F] or [T, F], out [T, F].
  virtual void activate(View in, Act act, bool gated, View out, Next next) = 0;

  /// Computes out = act(gate) * up, as a gated `activate`. Shapes: gate, up, out [T, F].
  virtual void glu(View gate, View up, Act act, View out, Next next) = 0;

  /// x = fma(sigmoid(gate[t][0]), y, x) for the elements of each row t. Shapes: x, y [T, H], gate
  /// [T, 1].
  virtual void add_gated(View x, View y, View gate) = 0;

  /// Calls `linear` from `in` to `between`, then `activate` from there to `out`. A device may fuse
  /// them, and then leaves `between` undefined. If `gated`, `w` was prepared with Use::kGated.
  virtual void linear_activate(View in, const Weight& w, Act act, bool gated, View between,
                               View out, Next next);

  /// Computes a mixture of experts: out = sum of w_e * y_e over the experts e that a row chose.
  ///
  /// r = in router^T + b. Softmax scores are z = exp(r - max) and p = z * (1 / sum), sum = tree of
  /// the lane sums of z; sigmoid scores are p = sigmoid(r). A row chooses by c = p + selection
  /// bias. With groups, it first chooses the m.groups_used groups with the largest scores: a
  /// group's best c, or the sum of its two best c. It chooses its experts from these groups,
  /// ordered by falling c. Ties go to the lower index.
  ///
  /// The weight of a chosen expert is w = p. With m.renormalise, w is divided by the sum of the
  /// chosen p in this order; sigmoid scores add 1e-20 to the sum. Then w = w * m.scale. If a p is
  /// NaN, all w are. Each expert computes y_e by `linear`, `activate`, `linear`. From +0 and in
  /// this order, y = fma(w_e, y_e, y).
  ///
  /// Shapes: in, out [T, H]. The groups that a row chooses have at least m.used experts.
  virtual void moe(View in, const MoeWeights& w, const Moe& m, View out) = 0;

  /// Lets all later calls of `moe` add the seconds of their stages to `seconds`, until the next
  /// call of this function; null: to nothing. Only devices that compute during the call do so.
  virtual void time_moe(MoeSeconds* /*seconds*/) {}

  /// Copies the output rows: out[i] = x[out_rows[i]]. Shapes: x [T, H], out [R, H].
  virtual void gather(View x, const Batch& batch, View out) = 0;

  /// Multiplies rows with the output head, and reduces the logits to what `reduce` asks for. Writes
  /// all logits of the first F rows to `reduce.full` [F, V].
  ///
  /// A logit is y = (output of `linear`) * head.scale, then with a cap c it is c * tanh(y / c). The
  /// log-probability of id is (x[id] - max) - log(sum); the sum is the tree of the 16 lane sums of
  /// exp(x - max). Shapes: in [R, H], head [V, H].
  virtual void logits(View in, const Head& head, const LogitsReduce& reduce) = 0;

  /// Pools the rows of each sequence in batch.pool_seqs: out[i] = pooled rows of pool_seqs[i].
  ///
  /// mean: in each column acc = fma(1, x, acc), rows ascending from +0; out = acc * (1 / count).
  /// cls: the first row. last: the last row. Shapes: x [T, H], out [P, H]. All rows of these
  /// sequences are in this step; for `last`, their last rows suffice. Pooling::kNone is a bug.
  virtual void pool(View x, const Batch& batch, Pooling pooling, View out) = 0;

  /// Divides each row by its length, in place: inv = 1 / sqrt(tree(lanes of x*x)), x = x * inv. A
  /// row whose sum of squares is 0 does not change. Shapes: x [T, n].
  virtual void normalise(View x) = 0;

  /// Copies rows without gaps to the host. `out` is a result span: see `step`. The default is for
  /// devices that compute during the call.
  ///
  /// Shapes: rows [n, m], out [n * m].
  virtual void fetch(View rows, std::span<float> out);
};

}  // namespace ingot
