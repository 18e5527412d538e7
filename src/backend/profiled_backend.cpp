// ProfiledBackend: measures each op, and detects where layers begin and end.
#include "backend/profiled_backend.h"

#include <chrono>

#include "base/index.h"

namespace ingot {

namespace {

using Clock = std::chrono::steady_clock;

// Reserved entries, enough for ordinary models. With more, the first steps allocate memory.
constexpr std::size_t kLinears = 16;
constexpr std::size_t kLayers = 128;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

ProfiledBackend::ProfiledBackend(Backend& inner) : inner_(inner) {
  for (StepProfile& profile : profiles_) {
    profile.linears.reserve(kLinears);
    profile.layers.reserve(kLayers);
  }
}

StepProfile ProfiledBackend::profile() const {
  StepProfile all;
  for (const StepProfile& profile : profiles_) all += profile;
  return all;
}

void ProfiledBackend::clear() {
  for (StepProfile& profile : profiles_) {
    profile.steps = 0;
    profile.rows = 0;
    profile.seconds = 0;
    profile.ops = {};
    profile.moe = {};
    profile.linears.clear();
    profile.layers.clear();
  }
}

template <class Call>
double ProfiledBackend::timed(OpKind kind, std::int64_t rows, Call call) {
  const auto start = Clock::now();
  call();
  const double seconds = seconds_since(start);
  if (current_ == nullptr) return seconds;
  const auto k = to_size(kind);
  current_->ops[k] += {.calls = 1, .rows = rows, .seconds = seconds};
  step_[k] += seconds;
  layer_[k] += seconds;
  return seconds;
}

void ProfiledBackend::step(const Batch& batch, FunctionRef<void()> body) {
  current_ = &at(profiles_, step_kind(batch));
  step_ = {};
  layer_ = {};
  layers_ = 0;
  activated_ = attention_ = false;
  feed_forward_ = true;
  const auto start = Clock::now();
  inner_.step(batch, body);
  current_->seconds += seconds_since(start);
  current_->steps += 1;
  current_->rows += batch.rows();
  end_layer();
  current_ = nullptr;
}

void ProfiledBackend::end_layer() {
  if (current_ != nullptr && attention_) current_->add_layer(layers_++, layer_);
  layer_ = {};
  attention_ = false;
}

void ProfiledBackend::embed(const Batch& batch, const Embedding& e, View x) {
  timed(OpKind::kEmbed, x.rows, [&] { inner_.embed(batch, e, x); });
}

void ProfiledBackend::norm(View x, Term add, const Norm& n, View out, Next next) {
  if (feed_forward_ && out.data != x.data) {
    end_layer();
    feed_forward_ = false;
  }
  timed(OpKind::kNorm, x.rows, [&] { inner_.norm(x, add, n, out, next); });
}

void ProfiledBackend::scale(View x, float factor) {
  timed(OpKind::kScale, x.rows, [&] { inner_.scale(x, factor); });
}

void ProfiledBackend::linear(View in, const Weight& w, View out) {
  const double seconds = timed(OpKind::kLinear, in.rows, [&] { inner_.linear(in, w, out); });
  if (current_ == nullptr) return;
  current_->add_linear({.outputs = w.rows,
                        .inputs = w.cols,
                        .totals = {.calls = 1, .rows = in.rows, .seconds = seconds}});
  feed_forward_ = feed_forward_ || activated_;
  activated_ = false;
}

void ProfiledBackend::linear_heads(View in, std::span<const Weight> w, std::int32_t extra,
                                   View out) {
  timed(OpKind::kLinearHeads, in.rows, [&] { inner_.linear_heads(in, w, extra, out); });
}

void ProfiledBackend::rope(View qkv, const Batch& b, const HeadNorms& n, const Attention& a) {
  timed(OpKind::kRope, qkv.rows, [&] { inner_.rope(qkv, b, n, a); });
}

void ProfiledBackend::kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) {
  timed(OpKind::kKvWrite, qkv.rows, [&] { inner_.kv_write(qkv, b, a, kv); });
}

void ProfiledBackend::attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                                Next next) {
  timed(OpKind::kAttention, qkv.rows, [&] { inner_.attention(qkv, b, a, kv, out, next); });
  attention_ = true;
}

void ProfiledBackend::activate(View in, Act act, bool gated, View out, Next next) {
  timed(OpKind::kActivate, in.rows, [&] { inner_.activate(in, act, gated, out, next); });
  activated_ = true;
}

void ProfiledBackend::glu(View gate, View up, Act act, View out, Next next) {
  timed(OpKind::kGlu, gate.rows, [&] { inner_.glu(gate, up, act, out, next); });
}

void ProfiledBackend::add_gated(View x, View y, View gate) {
  timed(OpKind::kAddGated, x.rows, [&] { inner_.add_gated(x, y, gate); });
}

void ProfiledBackend::moe(View in, const MoeWeights& w, const Moe& m, View out) {
  MoeSeconds stages{};
  inner_.time_moe(&stages);
  timed(OpKind::kMoe, in.rows, [&] { inner_.moe(in, w, m, out); });
  inner_.time_moe(nullptr);
  for (std::size_t k = 0; current_ != nullptr && k < kMoeStages; ++k) {
    current_->moe[k] += {.calls = 1, .rows = in.rows, .seconds = stages[k]};
  }
  feed_forward_ = true;
}

void ProfiledBackend::gather(View x, const Batch& batch, View out) {
  timed(OpKind::kGather, out.rows, [&] { inner_.gather(x, batch, out); });
}

void ProfiledBackend::logits(View in, const Head& head, const LogitsReduce& reduce) {
  timed(OpKind::kLogits, in.rows, [&] { inner_.logits(in, head, reduce); });
}

void ProfiledBackend::pool(View x, const Batch& batch, Pooling pooling, View out) {
  timed(OpKind::kPool, x.rows, [&] { inner_.pool(x, batch, pooling, out); });
}

void ProfiledBackend::normalise(View x) {
  timed(OpKind::kNormalise, x.rows, [&] { inner_.normalise(x); });
}

}  // namespace ingot
