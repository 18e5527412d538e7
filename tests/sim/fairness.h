// Fairness: what tenants got of a scheduler, for their weights, while all of them waited for more.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::sim {

/// Counts rows by tenant, and knows how far they can be apart.
///
/// Whoever waits and has got least for its weight is let in first. So a tenant was not ahead of any
/// other when one of its sequences was let in last, and since then it got no more than what its
/// sequences that run can have, `rows_ahead` of them at most. Source: Theorem 4.4 of "Fairness in
/// Serving Large Language Models", arXiv:2401.00588, where prompts are counted as they are let in.
class Fairness {
 public:
  Fairness(std::span<const double> weights, std::int64_t rows_ahead);

  /// Rows that were computed for a tenant.
  void serve(std::uint64_t tenant, std::int64_t rows);
  /// Nobody is further ahead of anybody than he can be, and nobody is left out.
  void check() const;

 private:
  struct Tenant {
    double weight = 1;
    std::int64_t rows = 0;
    std::int64_t others_rows = 0;  ///< computed for the others since it got its last one
    double got() const { return static_cast<double>(rows) / weight; }
  };
  double others_rows_max(const Tenant& tenant) const;

  double rows_ahead_;
  std::vector<Tenant> tenants_;
};

}  // namespace ingot::sim
