// CpuBackend: packs weights and plans scratch memory. Ops are in other files.
#include "backend/cpu/cpu_backend.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "backend/cpu/panel.h"
#include "base/fp_env.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

/// Rows of logits that are computed together if they are only reduced. More rows need more scratch
/// memory; with fewer, the output head is read more often.
constexpr std::int64_t kHeadRows = 16;

/// Floats for each thread for the states of splits that threads share in an attention. For two
/// threads this is enough for 28,000 keys of a sequence with 32 query heads of 128 elements. With
/// less memory splits are not shared, and threads wait at the end of a long sequence.
constexpr std::int64_t kStatesOfThread = 1 << 16;

std::int64_t panels_of(std::int64_t rows) { return (rows + kPanelCols - 1) / kPanelCols; }

/// The row segments of a weight, without data. Consecutive parts of one format form one segment.
std::vector<Segment> segments_of(std::span<const View> parts, Use use) {
  std::vector<Segment> segments;
  std::int64_t row = 0;
  for (const View& part : parts) {
    if (segments.empty() || segments.back().format != part.format) {
      segments.push_back(
          {.format = part.format, .rounds_rows = rounds_rows(part.format, use), .first_row = row});
    }
    segments.back().rows += part.rows;
    row += part.rows;
  }
  for (Segment& s : segments) {
    s.units = panels_of(s.rows);
    s.unit_bytes = panel_bytes(panel_kind(s), parts.front().cols);
  }
  return segments;
}

std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

std::int64_t segment_bytes(std::span<const Segment> segments) {
  std::int64_t bytes = 0;
  for (const Segment& s : segments) bytes += aligned(s.units * s.unit_bytes);
  return bytes;
}

/// Sets the segments' data pointers: segments lie one after the other from `data` on.
void place_segments(Weight& w, const std::byte* data) {
  for (Segment& s : w.segments) {
    s.data = data;
    data += aligned(s.units * s.unit_bytes);
  }
}

/// The rows of a segment. Several parts may hold them, so a panel may span two parts.
class SegmentRows {
 public:
  SegmentRows(std::span<const View> parts, const Segment& s) : segment_(s) {
    std::int64_t row = 0;
    for (const View& part : parts) {
      if (row >= s.first_row && row < s.first_row + s.rows) parts_.push_back(part);
      row += part.rows;
    }
  }

  /// Packs panel `p`. If it spans several parts, copies its rows together first.
  void pack(std::int64_t p, std::byte* out) const {
    std::int64_t row = p * kPanelCols;
    const std::int64_t count = std::min<std::int64_t>(kPanelCols, segment_.rows - row);
    for (const View& part : parts_) {
      if (row + count <= part.rows) return pack(part.slice(row, count), out);
      if (row < part.rows) break;
      row -= part.rows;
    }
    pack_across(p * kPanelCols, count, out);
  }

 private:
  void pack(View rows, std::byte* out) const { pack_panel(rows, 0, segment_.rounds_rows, out); }

  void pack_across(std::int64_t first, std::int64_t count, std::byte* out) const {
    View rows = parts_.front();
    rows.row_bytes = row_bytes(rows.format, rows.cols);
    rows.rows = count;
    std::vector<std::byte> copy(to_size(count * rows.row_bytes));
    rows.data = copy.data();
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t row = first + i;
      const View* part = parts_.data();
      while (row >= part->rows) row -= (part++)->rows;
      std::copy_n(part->row_data(row), rows.row_bytes, rows.row_data(i));
    }
    pack(rows, out);
  }

  Segment segment_;
  std::vector<View> parts_;
};

}  // namespace

Weight CpuBackend::outline(std::span<const View> parts, std::span<const float> bias, Use use) {
  INGOT_CHECK(!parts.empty(), "a weight without parts");
  Weight w;
  w.cols = parts.front().cols;
  for (const View& part : parts) {
    INGOT_CHECK(part.cols == w.cols, "parts of ", part.cols, " and ", w.cols, " columns");
    w.rows += part.rows;
  }
  w.segments = segments_of(parts, use);
  // Adapters have neither blocks nor rounded rows, and are packed while steps read these.
  if (w.has_blocks()) has_block_weights_ = true;
  if (w.rounds_rows()) has_rounded_rows_ = true;
  for (const Segment& s : w.segments) {
    if (format_info(s.format).dense) continue;
    constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    const std::int64_t least = at(table_.linear, s.format).matrix_rows;
    matrix_rows_ = std::max(matrix_rows_, least == 0 ? kNever : least);
  }
  if (!bias.empty()) {
    INGOT_CHECK(std::ssize(bias) == w.rows, "bias of ", bias.size(), " for ", w.rows, " rows");
    w.bias = upload(bias);
  }
  return w;
}

Weight CpuBackend::prepare(std::span<const View> parts, std::span<const float> bias, Use use) {
  Weight w = outline(parts, bias, use);
  const bool is_adapter = use == Use::kAdapter;
  INGOT_CHECK(!is_adapter || !w.has_blocks(), "an adapter's matrix in a block format");
  const std::int64_t bytes = segment_bytes(w.segments);
  w.storage = is_adapter ? allocate_host(bytes) : weights_.allocate(bytes);
  place_segments(w, w.storage.data());
  std::vector<SegmentRows> rows;
  std::int64_t panels = 0;
  for (const Segment& s : w.segments) {
    rows.emplace_back(parts, s);
    panels += s.units;
  }
  const auto pack = [&](std::int64_t panel, int) {
    std::size_t i = 0;
    while (panel >= w.segments[i].units) panel -= w.segments[i++].units;
    const Segment& s = w.segments[i];
    const std::int64_t offset = s.data - w.storage.data() + panel * s.unit_bytes;
    rows[i].pack(panel, w.storage.data() + offset);
  };
  if (is_adapter) {
    for (std::int64_t panel = 0; panel < panels; ++panel) pack(panel, 0);
    return w;
  }
  const auto lease = pool_.acquire();
  // In the order of `linear`: a thread packs the panels that it will read, so that the first touch
  // puts their memory on its node.
  pool_.parallel_for(panels, pack);
  return w;
}

Weight CpuBackend::adopt(std::span<const View> parts, std::span<const float> bias,
                         std::span<const std::byte> packed, Use use) {
  Weight w = outline(parts, bias, use);
  INGOT_CHECK(std::ssize(packed) == segment_bytes(w.segments), packed.size(), " packed bytes for ",
              w.rows, " x ", w.cols);
  place_segments(w, packed.data());
  return w;
}

std::int64_t CpuBackend::prepared_bytes(std::span<const View> parts, bool bias, Use use) const {
  std::int64_t rows = 0;
  for (const View& part : parts) rows += part.rows;
  const std::int64_t bias_bytes = bias ? rows * std::int64_t{sizeof(float)} : 0;
  return segment_bytes(segments_of(parts, use)) + bias_bytes;
}

CpuBackend::Scratch CpuBackend::lay_out(const StepLimits& limits, std::byte* base) const {
  Scratch s;
  const auto take = [&](std::int64_t bytes) {
    std::byte* at = base == nullptr ? nullptr : base + s.bytes;
    s.bytes += aligned(bytes);
    return at;
  };
  const auto array = [&]<class T>(std::int64_t count) {
    auto* data = reinterpret_cast<T*>(take(count * std::int64_t{sizeof(T)}));
    return std::span<T>(data, to_size(data == nullptr ? 0 : count));
  };
  const auto matrix = [&](std::int64_t rows, std::int64_t cols) {
    return f32_view(array.operator()<float>(rows * cols).data(), rows, cols);
  };
  const std::int64_t t = limits.rows;
  // Any model's rows fit: rows_together() is at most kMatrixRows.
  const auto together = [](std::int64_t rows) { return (rows + kMatrixRows - 1) / kMatrixRows; };
  // Memory for `count` times kMatrixRows rows.
  const auto quantised = [&](std::int64_t count) {
    const std::int64_t groups = count * (limits.cols / kGroup);
    LinearInput in;
    in.q = array.operator()<QuantisedGroup>(groups * (kMatrixRows / kTileRows)).data();
    if (table_.reads_matrix) in.matrix = array.operator()<MatrixGroup>(groups).data();
    in.rounded = array.operator()<RoundedTile>(groups).data();
    return in;
  };
  s.q_rows = std::max<std::int64_t>(t, limits.out_rows);
  s.q = quantised(together(s.q_rows));
  for (const LinearKernel& kernel : table_.linear) {
    s.linear_bytes = std::max(s.linear_bytes, aligned(kernel.scratch));
  }
  s.linear = take(pool_.size() * s.linear_bytes);
  if (pool_.size() > 1) {
    s.states_floats = kStatesOfThread * pool_.size();
    s.states = array.operator()<float>(s.states_floats).data();
  }
  s.head_rows = matrix(std::min<std::int64_t>(kHeadRows, limits.out_rows), limits.vocab);
  if (limits.moe.experts != 0) {
    s.router = matrix(t, limits.moe.experts);
    s.choice = matrix(t, limits.moe.experts);
    s.groups = matrix(t, limits.moe.groups);
    s.chosen_groups =
        array.operator()<std::int32_t>(std::int64_t{t} * limits.moe.groups_used).data();
    const std::int64_t pairs = t * limits.moe.used;
    s.cached_rows = cached_rows(limits.moe.ffn);
    const std::int64_t wave = std::min(pairs, std::max(t, s.cached_rows));  // an expert may get all
    s.routed = matrix(pairs, limits.hidden);
    s.gate_up = matrix(wave, 2 * limits.moe.ffn);
    s.ffn = matrix(wave, limits.moe.ffn);
    // Rows of different experts are in different tiles.
    s.wave_q = quantised(std::min(wave, together(wave) + limits.moe.experts));
    s.pair_expert = array.operator()<std::int32_t>(pairs).data();
    s.pair_weight = array.operator()<float>(pairs).data();
    s.experts.routed_rows = array.operator()<std::int32_t>(pairs);
    s.experts.pairs = array.operator()<std::int32_t>(pairs);
    s.experts.experts = array.operator()<ExpertRows>(limits.moe.experts);
    if (limits.adapters) s.routed_lists = array.operator()<std::int32_t>(pairs);
  }
  if (limits.adapters) {
    s.adapter_u = array.operator()<float>(kAdapterFloats).data();
    s.sums_floats = PanelWork::sums_floats(table_);
    s.sums = array.operator()<float>(s.sums_floats * pool_.size()).data();
  }
  return s;
}

std::string CpuBackend::unsupported(const ModelOps& model) const {
  for (const Attention& a : model.attention) {
    const std::int32_t widest = std::max(a.head_dim, a.v_dim());
    if (widest > kHeadDimLimit) return cat("a head dimension of ", widest);
    if (model.kv_type == KvType::kInt8 && a.values_in_keys && a.v_dim() % kGroup != 0) {
      return cat("8-bit keys whose first ", a.v_dim(), " elements are values");
    }
  }
  return {};
}

std::int64_t CpuBackend::scratch_bytes(const StepLimits& limits) const {
  return lay_out(limits, nullptr).bytes;
}

void CpuBackend::plan(const StepLimits& limits) {
  scratch_buffer_ = allocate_host(scratch_bytes(limits));
  limits_ = limits;
  scratch_ = lay_out(limits, scratch_buffer_.data());
  quantised_ = {};
  expert_work_.reserve(to_size(limits.moe.experts));
  if (limits.adapters) {
    adapters_.reserve(limits.rows, limits.out_rows);
    // A run for each row, and a few parts of each. More parts than that allocate once.
    const std::int64_t runs = std::int64_t{limits.rows} * std::max(1, limits.moe.used);
    adapter_runs_.reserve(to_size(runs));
    adapter_work_.reserve(to_size(4 * runs));
  }
  // A multiple of rows_together(), which later weights may raise.
  experts_ = ExpertPlan(scratch_.experts, scratch_.cached_rows, kMatrixRows);
  attention_ = AttentionPlan(limits.rows, pool_.size(), scratch_.states_floats);
  splits_left_ =
      std::vector<std::atomic<std::int32_t>>(to_size(AttentionPlan::counters_max(pool_.size())));
}

void CpuBackend::step(const Batch& batch, FunctionRef<void()> body) {
  const auto lease = pool_.acquire();
  const CanonicalFp canonical;
  quantised_ = {};
  // A step that ran out of memory may have left some.
  adapter_runs_.clear();
  adapter_work_.clear();
  adapter_items_ = 0;
  adapters_.begin(batch);
  INGOT_CHECK(adapters_.empty() || limits_.adapters, "rows with adapters, which are not planned");
  body();
  adapters_.end();
}

}  // namespace ingot
