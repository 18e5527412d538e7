// convert_pairs: asks for each module of the other naming which planned rows it has.
#include "convert/adapter/adapter_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "quant/encode.h"
#include "quant/formats.h"

namespace ingot {

namespace {

AdapterMatrix copied(const StridedMatrix& m) {
  return {.format = m.format(), .rows = m.rows, .cols = m.cols, .bytes = gathered(m)};
}

bool is_same(const StridedMatrix& a, const StridedMatrix& b) {
  if (a.rows != b.rows || a.cols != b.cols || a.format() != b.format()) return false;
  return (a.tensor == b.tensor && a.first == b.first) || gathered(a) == gathered(b);
}

/// Converts a matrix's elements to F32.
AdapterMatrix widened(const AdapterMatrix& m) {
  AdapterMatrix out{.format = F32::kFormat, .rows = m.rows, .cols = m.cols, .bytes = {}};
  out.bytes.resize(to_size(m.rows * m.cols) * sizeof(float));
  decode_row(m.format, m.bytes.data(), m.rows * m.cols, reinterpret_cast<float*>(out.bytes.data()));
  return out;
}

/// Rows of a weight that a module has, and the planned part in which they are.
struct FoundRows {
  const AdapterTarget* target = nullptr;  ///< the module's
  const PlannedPart* part = nullptr;
  const StridedMatrix* a = nullptr;
  std::int64_t first_row = 0;  ///< row of the Weight
  std::int64_t rows = 0;
};

class PairConverter {
 public:
  PairConverter(const AdapterFile& file, const AdapterPlan& plan, const AdapterTargets& targets,
                Naming naming)
      : file_(file), plan_(plan), targets_(targets), naming_(naming) {}

  std::vector<NewPair> convert(std::string_view prefix) {
    for (const AdapterModule& module : targets_.modules(naming_, prefix)) add_module(module);
    check_coverage();
    return std::move(pairs_);
  }

 private:
  void add_module(const AdapterModule& module);
  void add_embedding(const AdapterModule& module);
  std::optional<std::vector<FoundRows>> find_rows(const AdapterTargetList& list,
                                                  std::int64_t expert) const;
  bool add_rows(const AdapterTarget& target, std::int64_t expert,
                std::vector<FoundRows>& rows) const;
  static bool is_one_pair(const std::vector<FoundRows>& rows, const FoundRows& like);
  static AdapterMatrix outputs(const std::vector<FoundRows>& rows);
  void check_coverage() const;

  const AdapterFile& file_;
  const AdapterPlan& plan_;
  const AdapterTargets& targets_;
  Naming naming_;
  std::map<const PlannedPart*, std::int64_t> covered_;  ///< rows that modules have
  std::vector<NewPair> pairs_;
};

/// Adds the planned rows of a target. Returns false if the plan lacks some.
bool PairConverter::add_rows(const AdapterTarget& target, std::int64_t expert,
                             std::vector<FoundRows>& rows) const {
  const auto linear = plan_.linears.find(static_cast<std::int32_t>(target.number + expert));
  if (target.number < 0 || linear == plan_.linears.end()) return false;
  std::int64_t missing = target.rows;
  for (const PlannedPart& part : linear->second.parts) {
    const std::int64_t begin = std::max(part.target->first_row, target.first_row);
    const std::int64_t end =
        std::min(part.target->first_row + part.target->rows, target.first_row + target.rows);
    if (begin >= end) continue;
    rows.push_back({&target, &part, &linear->second.a_of(part), begin, end - begin});
    missing -= end - begin;
  }
  return missing == 0;
}

/// The planned rows of all targets of a module; nothing if the plan lacks some.
std::optional<std::vector<FoundRows>> PairConverter::find_rows(const AdapterTargetList& list,
                                                               std::int64_t expert) const {
  std::vector<FoundRows> all;
  for (const AdapterTarget& target : *list.targets) {
    if (!add_rows(target, expert, all)) return std::nullopt;
  }
  return all;
}

/// Whether one A serves all rows, with the rank and the scale of `like`.
bool PairConverter::is_one_pair(const std::vector<FoundRows>& rows, const FoundRows& like) {
  return std::all_of(rows.begin(), rows.end(), [&](const FoundRows& r) {
    return r.part->scale == like.part->scale && r.a->rows == like.a->rows &&
           is_same(*r.a, *rows.front().a);
  });
}

/// B of a module: the planned rows in the module's order.
AdapterMatrix PairConverter::outputs(const std::vector<FoundRows>& rows) {
  std::vector<AdapterMatrix> pieces;
  for (const FoundRows& r : rows) {
    const StridedMatrix& b = r.part->b;
    pieces.push_back({.format = b.format(),
                      .rows = r.rows,
                      .cols = b.cols,
                      .bytes = gathered(b, r.rows, [&](std::int64_t i) {
                        return r.part->b_row(r.first_row + i);
                      })});
  }
  pieces = in_one_format(std::move(pieces));
  AdapterMatrix out{.format = pieces.front().format,
                    .rows = rows.front().target->module_rows,
                    .cols = pieces.front().cols,
                    .bytes = {}};
  const auto row_size = to_size(row_bytes(out.format, out.cols));
  out.bytes.resize(to_size(out.rows) * row_size);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const FoundRows& r = rows[p];
    for (std::int64_t i = 0; i < r.rows; ++i) {
      const std::int64_t row = r.target->module_row(r.first_row - r.target->first_row + i);
      std::memcpy(out.bytes.data() + to_size(row) * row_size,
                  pieces[p].bytes.data() + to_size(i) * row_size, row_size);
    }
  }
  return out;
}

void PairConverter::add_embedding(const AdapterModule& module) {
  if (plan_.embedding == nullptr) return;
  const MatrixPair m = embedding_matrices(*plan_.embedding, file_.naming);
  pairs_.push_back({.module = module.name,
                    .kind = AdapterPairKind::kEmbedding,
                    .rank = plan_.embedding->rank,
                    .scale = plan_.embedding->scale,
                    .a = {copied(m.a)},
                    .b = {copied(m.b)}});
}

void PairConverter::add_module(const AdapterModule& module) {
  const AdapterTargetList& list = module.list;
  const AdapterTarget& target = list.targets->front();
  if (target.embedding) return add_embedding(module);
  const bool is_stack = target.experts > 0 && list.expert < 0;
  std::vector<std::vector<FoundRows>> experts;
  for (std::int64_t e = 0; e < (is_stack ? target.experts : 1); ++e) {
    auto rows = find_rows(list, is_stack ? e : std::max<std::int64_t>(list.expert, 0));
    if (!rows) return;
    experts.push_back(std::move(*rows));
  }
  const FoundRows first = experts.front().front();
  for (const auto& rows : experts) {
    if (!is_one_pair(rows, first)) return;
  }
  const bool gguf = naming_ == Naming::kGguf;
  NewPair pair{.module = module.name, .rank = first.a->rows, .scale = first.part->scale};
  if (is_stack) pair.kind = gguf ? AdapterPairKind::kStack : AdapterPairKind::kParameter;
  for (const auto& rows : experts) {
    pair.a.push_back(copied(*rows.front().a));
    pair.b.push_back(outputs(rows));
    for (const FoundRows& r : rows) covered_[r.part] += r.rows;
  }
  pairs_.push_back(std::move(pair));
}

/// Refuses a plan of which no module has some rows.
void PairConverter::check_coverage() const {
  const std::string_view form = naming_ == Naming::kGguf ? "GGUF" : "PEFT";
  const bool has_embedding = std::any_of(pairs_.begin(), pairs_.end(), [](const NewPair& pair) {
    return pair.kind == AdapterPairKind::kEmbedding;
  });
  if (plan_.embedding != nullptr && !has_embedding) {
    file_.fail(*plan_.embedding->a, cat(form, " adapters have no embedding"));
  }
  for (const auto& [number, linear] : plan_.linears) {
    for (const PlannedPart& part : linear.parts) {
      const auto found = covered_.find(&part);
      if (found != covered_.end() && found->second == part.target->rows) continue;
      file_.fail(*part.b.tensor,
                 cat(form, " adapters of this ", targets_.architecture(),
                     " model have no module with exactly these outputs: one pair with one scale "
                     "serves more outputs or experts there, or none serves these"));
    }
  }
}

}  // namespace

std::vector<AdapterMatrix> in_one_format(std::vector<AdapterMatrix> matrices) {
  const bool mixed = std::any_of(matrices.begin(), matrices.end(), [&](const AdapterMatrix& m) {
    return m.format != matrices.front().format;
  });
  if (mixed) std::transform(matrices.begin(), matrices.end(), matrices.begin(), widened);
  return matrices;
}

AdapterMatrix multiplied(const AdapterMatrix& m, double factor, const std::string& file,
                         std::string_view tensor) {
  AdapterMatrix out = widened(m);
  const std::int64_t count = m.rows * m.cols;
  std::vector<float> values(to_size(count)), back(to_size(count));
  std::memcpy(values.data(), out.bytes.data(), out.bytes.size());
  for (float& v : values) {
    v = static_cast<float>(static_cast<double>(v) * factor);
    if (std::isfinite(v)) continue;
    throw model_error(file, cat("tensor ", printable(tensor)),
                      cat("times ", factor, " it is too large for F32: scale the adapter down"));
  }
  std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
  AdapterMatrix narrow = m;
  try {
    encode_row(m.format, values.data(), count, narrow.bytes.data());
  } catch (const Error&) {
    return out;  // too large for the format
  }
  decode_row(m.format, narrow.bytes.data(), count, back.data());
  return values == back ? narrow : out;
}

std::vector<NewPair> convert_pairs(const AdapterFile& file, const AdapterPlan& plan,
                                   const AdapterTargets& targets, Naming naming,
                                   std::string_view prefix) {
  return PairConverter(file, plan, targets, naming).convert(prefix);
}

}  // namespace ingot
