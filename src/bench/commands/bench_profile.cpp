// Prints a profile as JSON and as tables.
#include "bench/commands/bench_profile.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

using Cells = std::vector<std::vector<std::string>>;

double per_step(const StepProfile& profile, double seconds) {
  return seconds / static_cast<double>(std::max<std::int64_t>(1, profile.steps));
}

double share(const StepProfile& profile, double seconds) {
  return profile.seconds > 0 ? seconds / profile.seconds : 0;
}

double sum(const OpSeconds& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

/// The kinds of ops that were called.
std::vector<OpKind> called(const StepProfile& profile) {
  std::vector<OpKind> kinds;
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    if (profile.ops[k].calls > 0) kinds.push_back(static_cast<OpKind>(k));
  }
  return kinds;
}

/// Sorts linears by falling time.
std::vector<LinearTotals> slowest_first(std::vector<LinearTotals> linears) {
  std::sort(linears.begin(), linears.end(), [](const LinearTotals& a, const LinearTotals& b) {
    return a.totals.seconds > b.totals.seconds;
  });
  return linears;
}

void set_totals(Json& j, const StepProfile& profile, const OpTotals& totals) {
  j.set("calls", totals.calls);
  j.set("rows", totals.rows);
  j.set("seconds", totals.seconds);
  j.set("share", share(profile, totals.seconds));
}

/// One layer's seconds per step, by op.
Json layer_json(const StepProfile& profile, const OpSeconds& layer) {
  Json ops = Json::object();
  for (const OpKind kind : called(profile)) {
    const double seconds = at(layer, kind);
    if (seconds > 0) ops.set(std::string(to_string(kind)), per_step(profile, seconds));
  }
  Json j = Json::object();
  j.set("step_seconds", per_step(profile, sum(layer)));
  j.set("ops", std::move(ops));
  return j;
}

std::vector<std::string> op_line(const StepProfile& profile, std::string name,
                                 const OpTotals& totals) {
  return {std::move(name),
          cat(totals.calls),
          cat(totals.rows),
          to_fixed(totals.seconds * 1e3, 3),
          to_fixed(per_step(profile, totals.seconds) * 1e6, 1),
          to_fixed(share(profile, totals.seconds), 3)};
}

std::vector<std::string> layer_line(const StepProfile& profile, std::string name,
                                    const OpSeconds& seconds) {
  const auto microseconds = [&](double s) { return to_fixed(per_step(profile, s) * 1e6, 1); };
  std::vector<std::string> line{std::move(name), microseconds(sum(seconds))};
  for (const OpKind kind : called(profile)) {
    line.push_back(microseconds(at(seconds, kind)));
  }
  return line;
}

}  // namespace

void set_profile(Json& object, const StepProfile& profile, bool layers) {
  Json ops = Json::array();
  for (const OpKind kind : called(profile)) {
    Json& j = ops.push(Json::object());
    j.set("op", to_string(kind));
    set_totals(j, profile, profile.op(kind));
  }
  Json linears = Json::array();
  for (const LinearTotals& linear : slowest_first(profile.linears)) {
    Json& j = linears.push(Json::object());
    j.set("outputs", linear.outputs);
    j.set("inputs", linear.inputs);
    set_totals(j, profile, linear.totals);
  }
  Json stages = Json::array();
  for (std::size_t k = 0; k < kMoeStages; ++k) {
    if (profile.moe[k].calls == 0) continue;
    Json& j = stages.push(Json::object());
    j.set("stage", to_string(static_cast<MoeStage>(k)));
    set_totals(j, profile, profile.moe[k]);
  }
  object.set("steps", profile.steps);
  object.set("rows", profile.rows);
  object.set("seconds", profile.seconds);
  object.set("op_seconds", profile.op_seconds());
  object.set("ops", std::move(ops));
  object.set("linears", std::move(linears));
  object.set("moe_stages", std::move(stages));
  if (!layers) return;
  Json list = Json::array();
  for (const OpSeconds& layer : profile.layers) list.push(layer_json(profile, layer));
  object.set("layers", std::move(list));
  object.set("outside_layers", layer_json(profile, profile.outside_layers()));
}

Cells op_cells(const StepProfile& profile, std::string title) {
  Cells cells{{std::move(title), "calls", "rows", "ms", "us a step", "share"}};
  for (const OpKind kind : called(profile)) {
    cells.push_back(op_line(profile, std::string(to_string(kind)), profile.op(kind)));
    for (std::size_t k = 0; kind == OpKind::kMoe && k < kMoeStages; ++k) {
      cells.push_back(
          op_line(profile, cat("- ", to_string(static_cast<MoeStage>(k))), profile.moe[k]));
    }
    if (kind != OpKind::kLinear) continue;
    for (const LinearTotals& linear : slowest_first(profile.linears)) {
      cells.push_back(
          op_line(profile, cat("- ", linear.outputs, " x ", linear.inputs), linear.totals));
    }
  }
  const double between = std::max(0.0, profile.seconds - profile.op_seconds());
  cells.push_back(op_line(profile, "between ops",
                          {.calls = profile.steps, .rows = profile.rows, .seconds = between}));
  cells.push_back(
      op_line(profile, "steps",
              {.calls = profile.steps, .rows = profile.rows, .seconds = profile.seconds}));
  return cells;
}

Cells layer_cells(const StepProfile& profile, std::string title) {
  Cells cells{{std::move(title), "all"}};
  for (const OpKind kind : called(profile)) cells.front().emplace_back(to_string(kind));
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    cells.push_back(layer_line(profile, cat("layer ", i), profile.layers[i]));
  }
  cells.push_back(layer_line(profile, "outside", profile.outside_layers()));
  return cells;
}

}  // namespace ingot
