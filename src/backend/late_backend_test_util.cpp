// LateBackend: records ops with copies of what they read, and runs them when the host waits.
#include "backend/late_backend_test_util.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/index.h"

namespace ingot::testing_support {

namespace {

/// A byte of an array that holds no value yet, or none any more. As a token, a position or a row it
/// is out of every range.
constexpr std::byte kGarbage{0xA5};

/// The device memory of all LateBackends. Any thread may allocate and free.
class ProtectedMemory {
 public:
  static ProtectedMemory& all() {
    static ProtectedMemory memory;
    return memory;
  }

  Buffer allocate(const LateBackend* owner, std::int64_t bytes) {
    if (bytes == 0) return {};
    void* data = mmap(nullptr, to_size(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    INGOT_CHECK(data != MAP_FAILED, "no memory for ", bytes, " bytes");
    const std::lock_guard lock(mutex_);
    regions_[static_cast<std::byte*>(data)] = {.owner = owner, .bytes = whole_pages(bytes)};
    return {static_cast<std::byte*>(data), bytes, free};
  }

  /// Changes the access to all memory of one backend. Adjacent regions share a system call, because
  /// a model has many weights and each `wait` calls this function twice.
  void protect(const LateBackend* owner, int access) {
    const std::lock_guard lock(mutex_);
    for (auto next = regions_.begin(); next != regions_.end();) {
      std::byte* const begin = next->first;
      std::byte* end = begin;
      for (; next != regions_.end() && next->first == end && next->second.owner == owner; ++next) {
        end += next->second.bytes;
      }
      if (end == begin) {
        ++next;
        continue;
      }
      INGOT_CHECK(mprotect(begin, to_size(end - begin), access) == 0,
                  "memory that cannot be protected");
    }
  }

 private:
  struct Region {
    const LateBackend* owner = nullptr;
    std::size_t bytes = 0;  ///< a multiple of the page size
  };

  static std::size_t whole_pages(std::int64_t bytes) {
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    return to_size((bytes + page - 1) / page * page);
  }
  static void free(std::byte* data, std::int64_t bytes) {
    ProtectedMemory& memory = all();
    const std::lock_guard lock(memory.mutex_);
    memory.regions_.erase(data);
    munmap(data, to_size(bytes));
  }

  std::mutex mutex_;
  std::map<std::byte*, Region> regions_;
};

/// Allows access to a backend's memory while it lives.
class DeviceAccess {
 public:
  explicit DeviceAccess(const LateBackend* owner) : owner_(owner) {
    ProtectedMemory::all().protect(owner_, PROT_READ | PROT_WRITE);
  }
  ~DeviceAccess() { ProtectedMemory::all().protect(owner_, PROT_NONE); }
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  const LateBackend* owner_;
};

void fill_garbage(std::span<std::byte> bytes) { std::fill(bytes.begin(), bytes.end(), kGarbage); }

bool is_garbage(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == kGarbage; });
}

void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  std::copy(from.begin(), from.end(), to.begin());
}

/// Returns whether two float32 views overlap. A view includes the gaps between its rows.
bool rows_overlap(View a, View b) {
  const std::less<> before;
  const auto end = [](View v) { return v.row_data(v.rows - 1) + v.cols * 4; };
  return a.rows > 0 && b.rows > 0 && before(a.data, end(b)) && before(b.data, end(a));
}

}  // namespace

/// Ops that run together: those of a step, or those between two steps.
class LateBackend::Group {
 public:
  explicit Group(bool is_step) : is_step_(is_step) {}

  bool is_step() const { return is_step_; }

  // Recording.

  void add(std::function<void()> op) { ops_.push_back(std::move(op)); }
  /// Returns a copy of an array, which lives as long as the group.
  template <class T>
  std::span<T> copy(std::span<const T> from) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (from.empty()) return {};
    memory_.push_back(std::make_unique<std::byte[]>(from.size_bytes()));
    std::memcpy(memory_.back().get(), from.data(), from.size_bytes());
    return {reinterpret_cast<T*>(memory_.back().get()), from.size()};
  }
  /// Copies an array that holds garbage from `scribble` to `restore`.
  template <class T>
  std::span<T> take(std::span<const T> from) {
    const std::span<T> taken = copy(from);
    auto* const data = reinterpret_cast<std::byte*>(const_cast<T*>(from.data()));
    arrays_.push_back({.host = {data, from.size_bytes()}, .copy = std::as_bytes(taken)});
    return taken;
  }
  /// Fills a result span with garbage. Returns the memory to which the op writes the results.
  template <class T>
  std::span<T> result(std::span<T> to) {
    fill_garbage(std::as_writable_bytes(to));
    const std::span<T> staging = copy(std::span<const T>(to));
    results_.push_back({.host = std::as_writable_bytes(to), .copy = std::as_bytes(staging)});
    return staging;
  }
  /// Returns a batch with copies of all arrays.
  Batch copy_of(const Batch& b);
  void take_batch(const Batch& b);
  /// Returns the copy that an op uses in place of `b`.
  Batch batch_for(const Batch& b) {
    const bool is_own = is_step_ && b.positions.data() == caller_batch_.positions.data();
    return is_own ? batch_ : copy_of(b);
  }

  /// Checks that an op other than a linear may read `rows`.
  void reads(View rows) const {
    const bool may_read = std::none_of(for_linears_.begin(), for_linears_.end(),
                                       [&](View written) { return rows_overlap(written, rows); });
    INGOT_CHECK(may_read, "an op reads rows that were written for linears alone");
  }
  /// Notes that an op of a step writes `rows`, and which ops may read them in this step.
  void writes(View rows, Next next = Next::kAnyone) {
    std::erase_if(for_linears_, [&](View written) { return rows_overlap(written, rows); });
    if (is_step_ && next == Next::kLinears) for_linears_.push_back(rows);
  }

  void scribble() const {
    for (const Array& a : arrays_) fill_garbage(a.host);
  }
  void restore() const {
    for (const Array& a : arrays_) {
      if (is_garbage(a.host)) copy_bytes(a.copy, a.host);
    }
  }

  // Running.

  /// Replaces tokens ~r by entries of `drawn`; null: it is not known what was drawn.
  void resolve(const std::vector<std::int32_t>* drawn) const;
  /// Runs all ops, or the first half of them.
  void run(Backend& inner, bool half);
  bool has_run() const { return has_run_; }
  void deliver() const {
    for (const Array& r : results_) copy_bytes(r.copy, r.host);
  }

  std::vector<std::int32_t> drawn;  ///< what the step's rows of logits drew

 private:
  /// An array of the caller, and its copy.
  struct Array {
    std::span<std::byte> host;
    std::span<const std::byte> copy;
  };

  bool is_step_;
  bool has_run_ = false;
  Batch caller_batch_;
  Batch batch_;
  std::span<std::int32_t> tokens_;  ///< the tokens of `batch_`
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<std::function<void()>> ops_;
  std::vector<Array> arrays_;
  std::vector<Array> results_;
  std::vector<View> for_linears_;  ///< rows written with Next::kLinears
};

Batch LateBackend::Group::copy_of(const Batch& b) {
  Batch c;
  c.tokens = copy(b.tokens);
  c.types = copy(b.types);
  c.positions = copy(b.positions);
  c.q_start = copy(b.q_start);
  c.kv_len = copy(b.kv_len);
  c.out_rows = copy(b.out_rows);
  c.pool_seqs = copy(b.pool_seqs);
  c.adapter = copy(b.adapter);
  c.adapter_from = copy(b.adapter_from);
  const std::span<std::span<const AdapterUse>> adapters = copy(b.adapters);
  for (std::span<const AdapterUse>& list : adapters) list = copy(list);
  c.adapters = adapters;
  const std::span<KvBlocks> groups = copy(b.groups);
  for (KvBlocks& g : groups) {
    g.slots = copy(g.slots);
    g.tables = copy(g.tables);
  }
  c.groups = groups;
  const std::span<View> embeddings = copy(b.embeddings);
  for (View& rows : embeddings) {
    if (!rows) continue;
    const auto bytes = to_size((rows.rows - 1) * rows.row_bytes + rows.cols * 4);
    rows.data = copy(std::span<const std::byte>(rows.data, bytes)).data();
  }
  c.embeddings = embeddings;
  return c;
}

/// The rows of embeddings keep their values: choices of one request share them.
void LateBackend::Group::take_batch(const Batch& b) {
  caller_batch_ = b;
  batch_ = copy_of(b);
  tokens_ = copy(b.tokens);
  batch_.tokens = tokens_;
  for (const auto& array : {b.tokens, b.types, b.positions, b.q_start, b.kv_len, b.out_rows,
                            b.pool_seqs, b.adapter, b.adapter_from}) {
    take(array);
  }
  for (const std::span<const AdapterUse> list : b.adapters) take(list);
  take(b.adapters);
  for (const KvBlocks& g : b.groups) {
    take(g.slots);
    take(g.tables);
  }
  take(b.groups);
  take(b.embeddings);
}

void LateBackend::Group::resolve(const std::vector<std::int32_t>* drawn) const {
  for (std::int64_t t = 0; t < std::ssize(tokens_); ++t) {
    std::int32_t& token = at(tokens_, t);
    if (token >= 0 || batch_.embedding(t) != nullptr) continue;
    INGOT_CHECK(drawn != nullptr, "row ", t, " continues a step of which nothing is known");
    token = std::max(0, at(*drawn, ~token));
  }
}

void LateBackend::Group::run(Backend& inner, bool half) {
  const std::span<const std::function<void()>> ops =
      std::span(ops_).first(half ? ops_.size() / 2 : ops_.size());
  const auto body = [&] {
    for (const auto& op : ops) op();
  };
  if (is_step_) {
    inner.step(batch_, body);
  } else {
    body();
  }
  has_run_ = !half;
}

/// The groups that were recorded. Steps stay in the queue until `wait` or `drain`.
class LateBackend::Queue {
 public:
  Queue(const LateBackend* owner, Backend& inner, LateOptions options)
      : owner_(owner), inner_(inner), options_(std::move(options)) {}

  const LateOptions& options() const { return options_; }
  /// Records ops that read no arrays, or that read arrays of the group.
  Group& recorded() {
    if (current_ != nullptr) return *current_;
    check_usable();
    if (groups_.empty() || groups_.back().is_step() || groups_.back().has_run()) {
      groups_.emplace_back(false);
    }
    return groups_.back();
  }
  Group& recorded_step() {
    INGOT_CHECK(current_ != nullptr, "an op with results outside a step");
    return *current_;
  }
  void step(const Batch& batch, FunctionRef<void()> body);
  void wait();
  void drain();
  /// Runs everything that was recorded, then `body`, which may access device memory.
  void run_all(FunctionRef<void()> body);

 private:
  void check_usable() const { INGOT_CHECK(!has_failed_, "a call between a failure and `drain`"); }
  void run(Group& group, bool half = false);

  const LateBackend* owner_;
  Backend& inner_;
  LateOptions options_;
  std::deque<Group> groups_;
  Group* current_ = nullptr;         ///< the step whose body runs
  std::int32_t under_way_ = 0;       ///< number of steps in `groups_`
  bool has_failed_ = false;          ///< true from a failed `wait` until `drain`
  bool knows_drawn_ = false;         ///< false after `drain`
  std::vector<std::int32_t> drawn_;  ///< what the step drew that ran last
  int steps_ = 0;
  int waits_ = 0;
};

void LateBackend::Queue::step(const Batch& batch, FunctionRef<void()> body) {
  check_usable();
  INGOT_CHECK(under_way_ < options_.steps_ahead, under_way_, " steps are under way");
  if (options_.on_step) options_.on_step(steps_++, batch);
  current_ = &groups_.emplace_back(true);
  ++under_way_;
  current_->take_batch(batch);
  body();
  current_->scribble();
  current_ = nullptr;
}

void LateBackend::Queue::run(Group& group, bool half) {
  if (group.has_run()) return;
  group.resolve(knows_drawn_ ? &drawn_ : nullptr);
  group.run(inner_, half);
  if (!group.is_step()) return;
  drawn_ = group.drawn;
  knows_drawn_ = true;
}

void LateBackend::Queue::wait() {
  check_usable();
  INGOT_CHECK(under_way_ > 0 && current_ == nullptr, "no step is under way");
  const DeviceAccess access(owner_);
  for (; !groups_.front().is_step(); groups_.pop_front()) run(groups_.front());
  Group& oldest = groups_.front();
  oldest.restore();
  try {
    if (options_.on_wait) options_.on_wait(waits_++);
  } catch (...) {
    has_failed_ = true;
    run(oldest, true);
    throw;
  }
  run(oldest);
  oldest.deliver();
  groups_.pop_front();
  --under_way_;
}

void LateBackend::Queue::drain() {
  INGOT_CHECK(current_ == nullptr, "a drain in a step");
  for (const Group& group : groups_) group.restore();
  if (options_.completes_at_drain) {
    const DeviceAccess access(owner_);
    for (Group& group : groups_) run(group);
  }
  groups_.clear();
  under_way_ = 0;
  has_failed_ = false;
  knows_drawn_ = false;
}

void LateBackend::Queue::run_all(FunctionRef<void()> body) {
  check_usable();
  INGOT_CHECK(current_ == nullptr, "a copy in a step");
  const DeviceAccess access(owner_);
  for (Group& group : groups_) run(group);
  body();
}

LateBackend::LateBackend(Backend& inner, LateOptions options)
    : inner_(inner), queue_(std::make_unique<Queue>(this, inner, std::move(options))) {}
LateBackend::~LateBackend() = default;

Buffer LateBackend::allocate(std::int64_t bytes) {
  return ProtectedMemory::all().allocate(this, bytes);
}

void LateBackend::write(std::byte* to, std::span<const std::byte> from) {
  queue_->run_all([&] { inner_.write(to, from); });
}

void LateBackend::read(const std::byte* from, std::span<std::byte> to) const {
  queue_->run_all([&] { inner_.read(from, to); });
}

Weight LateBackend::prepare(std::span<const View> parts, std::span<const float> bias, Use use) {
  Weight w = inner_.prepare(parts, bias, use);
  if (inner_.packed_layout() == 0) return w;
  std::vector<std::byte> bytes(to_size(inner_.prepared_bytes(parts, false, use)));
  inner_.packed(w, bytes);
  return adopt(parts, bias, bytes, use);
}

void LateBackend::packed(const Weight& w, std::span<std::byte> out) const {
  queue_->run_all([&] { inner_.packed(w, out); });
}

Weight LateBackend::adopt(std::span<const View> parts, std::span<const float> bias,
                          std::span<const std::byte> packed, Use use) {
  Buffer storage = allocate(std::ssize(packed));
  write(storage.data(), packed);
  Weight w = inner_.adopt(parts, bias, {storage.data(), packed.size()}, use);
  w.storage = std::move(storage);
  return w;
}

void LateBackend::kv_copy(std::span<const KvLayer> layers, std::int32_t from, std::int32_t to) {
  Group& group = queue_->recorded();
  group.add([=, this, copy = group.copy(layers)] { inner_.kv_copy(copy, from, to); });
}

void LateBackend::kv_read(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
                          std::span<std::byte> out) const {
  queue_->run_all([&] { inner_.kv_read(a, layers, block, out); });
}

void LateBackend::kv_load(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
                          std::span<const std::byte> in) {
  queue_->run_all([&] { inner_.kv_load(a, layers, block, in); });
}

std::int32_t LateBackend::steps_ahead() const { return queue_->options().steps_ahead; }
bool LateBackend::draws() const { return static_cast<bool>(queue_->options().draw); }
void LateBackend::step(const Batch& batch, FunctionRef<void()> body) { queue_->step(batch, body); }
void LateBackend::wait() { queue_->wait(); }
void LateBackend::drain() noexcept { queue_->drain(); }

void LateBackend::embed(const Batch& batch, const Embedding& e, View x) {
  Group& group = queue_->recorded();
  group.writes(x);
  group.add([=, this, b = group.batch_for(batch)] { inner_.embed(b, e, x); });
}

void LateBackend::norm(View x, Term add, const Norm& n, View out, Next next) {
  Group& group = queue_->recorded();
  group.reads(x);
  group.reads(add.rows);
  if (add.rows) group.writes(x);
  if (n) group.writes(out, next);
  group.add([=, this] { inner_.norm(x, add, n, out, next); });
}

void LateBackend::scale(View x, float factor) {
  Group& group = queue_->recorded();
  group.reads(x);
  group.writes(x);
  group.add([=, this] { inner_.scale(x, factor); });
}

void LateBackend::linear(View in, const Weight& w, View out) {
  Group& group = queue_->recorded();
  group.writes(out);
  group.add([=, this, w = &w] { inner_.linear(in, *w, out); });
}

void LateBackend::linear_heads(View in, std::span<const Weight> w, std::int32_t extra, View out) {
  Group& group = queue_->recorded();
  group.reads(in);
  group.writes(out);
  group.add([=, this] { inner_.linear_heads(in, w, extra, out); });
}

void LateBackend::rope(View qkv, const Batch& b, const HeadNorms& n, const Attention& a) {
  Group& group = queue_->recorded();
  group.reads(qkv);
  group.writes(qkv);
  group.add([=, this, b = group.batch_for(b)] { inner_.rope(qkv, b, n, a); });
}

void LateBackend::kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) {
  Group& group = queue_->recorded();
  group.reads(qkv);
  group.add([=, this, b = group.batch_for(b)] { inner_.kv_write(qkv, b, a, kv); });
}

void LateBackend::attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                            Next next) {
  Group& group = queue_->recorded();
  group.reads(qkv);
  group.writes(out, next);
  group.add([=, this, b = group.batch_for(b)] { inner_.attention(qkv, b, a, kv, out, next); });
}

void LateBackend::activate(View in, Act act, bool gated, View out, Next next) {
  Group& group = queue_->recorded();
  group.reads(in);
  group.writes(out, next);
  group.add([=, this] { inner_.activate(in, act, gated, out, next); });
}

void LateBackend::glu(View gate, View up, Act act, View out, Next next) {
  Group& group = queue_->recorded();
  group.reads(gate);
  group.reads(up);
  group.writes(out, next);
  group.add([=, this] { inner_.glu(gate, up, act, out, next); });
}

void LateBackend::add_gated(View x, View y, View gate) {
  Group& group = queue_->recorded();
  for (const View rows : {x, y, gate}) group.reads(rows);
  group.writes(x);
  group.add([=, this] { inner_.add_gated(x, y, gate); });
}

void LateBackend::linear_activate(View in, const Weight& w, Act act, bool gated, View between,
                                  View out, Next next) {
  Group& group = queue_->recorded();
  group.writes(between);
  group.writes(out, next);
  group.add([=, this, w = &w] {
    inner_.linear_activate(in, *w, act, gated, between, out, next);
    for (std::int64_t r = 0; r < between.rows; ++r) {
      std::fill_n(between.row<float>(r), between.cols, std::numeric_limits<float>::quiet_NaN());
    }
  });
}

void LateBackend::moe(View in, const MoeWeights& w, const Moe& m, View out) {
  Group& group = queue_->recorded();
  group.writes(out);
  group.add([=, this] { inner_.moe(in, w, m, out); });
}

void LateBackend::gather(View x, const Batch& batch, View out) {
  Group& group = queue_->recorded();
  group.reads(x);
  group.writes(out);
  group.add([=, this, b = group.batch_for(batch)] { inner_.gather(x, b, out); });
}

void LateBackend::logits(View in, const Head& head, const LogitsReduce& reduce) {
  Group& group = queue_->recorded_step();
  group.writes(reduce.full);
  LogitsReduce copy = reduce;
  copy.ids = group.take(reduce.ids);
  copy.argmax = group.result(reduce.argmax);
  copy.id_logprobs = group.result(reduce.id_logprobs);
  copy.top = group.result(reduce.top);
  copy.draw = {};
  copy.biases = {};
  copy.masks = {};
  copy.drawn = {};
  group.add([=, this] { inner_.logits(in, head, copy); });
  if (reduce.draw.empty()) return;
  const View full = reduce.full;
  const auto rows = group.take(reduce.draw);
  const auto biases = group.take(reduce.biases);
  const auto masks = group.take(reduce.masks);
  const auto drawn = group.result(reduce.drawn);
  INGOT_CHECK(draws() && std::ssize(rows) == full.rows && rows.size() == drawn.size(), rows.size(),
              " draws from ", full.rows, " rows to ", drawn.size());
  group.add([=, this, ranked = reduce.ranked, group = &group] {
    for (std::int64_t i = 0; i < full.rows; ++i) {
      const DrawRow& row = at(rows, i);
      const std::int64_t words = (full.cols + 31) / 32;
      INGOT_CHECK(row.bias_first + row.biases <= std::ssize(biases) &&
                      (row.mask + 1) * words <= std::ssize(masks),
                  "row ", i, " has biases or a mask that are not there");
      std::vector<float> logits(full.row<float>(i), full.row<float>(i) + full.cols);
      LateDraw draw{.logits = logits,
                    .row = row,
                    .biases = biases.subspan(to_size(row.bias_first), to_size(row.biases)),
                    .masks = {},
                    .ranked = ranked};
      if (row.mask >= 0) draw.masks = masks.subspan(to_size(row.mask * words), to_size(words));
      at(drawn, i) = queue_->options().draw(draw);
    }
    group->drawn.assign(drawn.begin(), drawn.end());
  });
}

void LateBackend::pool(View x, const Batch& batch, Pooling pooling, View out) {
  Group& group = queue_->recorded();
  group.reads(x);
  group.writes(out);
  group.add([=, this, b = group.batch_for(batch)] { inner_.pool(x, b, pooling, out); });
}

void LateBackend::normalise(View x) {
  Group& group = queue_->recorded();
  group.reads(x);
  group.writes(x);
  group.add([=, this] { inner_.normalise(x); });
}

void LateBackend::fetch(View rows, std::span<float> out) {
  INGOT_CHECK(std::ssize(out) == rows.rows * rows.cols, rows.rows, " x ", rows.cols, " into ",
              out.size());
  Group& group = queue_->recorded_step();
  group.reads(rows);
  group.add([=, this, staging = group.result(out)] { inner_.fetch(rows, staging); });
}

}  // namespace ingot::testing_support
