// Fairness: counts rows, and computes the bounds.
#include "sim/fairness.h"

#include "sim/violation.h"

namespace ingot::sim {

namespace {

/// Tolerance for sums of quotients in another order.
constexpr double kRounding = 1e-6;

}  // namespace

Fairness::Fairness(std::span<const double> weights, std::int64_t rows_ahead)
    : rows_ahead_(static_cast<double>(rows_ahead)) {
  for (const double weight : weights) tenants_.push_back({.weight = weight});
}

void Fairness::serve(std::uint64_t tenant, std::int64_t rows) {
  for (Tenant& other : tenants_) other.others_rows += rows;
  Tenant& served = tenants_[static_cast<std::size_t>(tenant)];
  served.rows += rows;
  served.others_rows = 0;
}

/// The most rows of the others while a tenant gets none: each goes from the farthest behind it to
/// the farthest ahead.
double Fairness::others_rows_max(const Tenant& tenant) const {
  double rows = 0;
  for (const Tenant& other : tenants_) {
    if (&other != &tenant) rows += rows_ahead_ * (other.weight / tenant.weight + 1);
  }
  return rows;
}

void Fairness::check() const {
  for (const Tenant& ahead : tenants_) {
    for (const Tenant& behind : tenants_) {
      SIM_EXPECT("I18", ahead.got() - behind.got() <= rows_ahead_ / ahead.weight + kRounding,
                 "a tenant of weight ", ahead.weight, " got ", ahead.rows, " rows, one of weight ",
                 behind.weight, " got ", behind.rows);
    }
    SIM_EXPECT("I18", static_cast<double>(ahead.others_rows) <= others_rows_max(ahead) + kRounding,
               "a tenant of weight ", ahead.weight, " got none of ", ahead.others_rows, " rows");
  }
}

}  // namespace ingot::sim
