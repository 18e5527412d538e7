// Fairness: checks that tenants get rows in proportion to their weights while all have requests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::sim {

/// Counts rows by tenant, and bounds their distance.
///
/// The scheduler admits the waiting tenant with the fewest rows for its weight. So a tenant is not
/// ahead of the others when one of its sequences is admitted, and then gets at most the rows of its
/// running sequences, `rows_ahead` at most. Source: Theorem 4.4 of "Fairness in Serving Large
/// Language Models", arXiv:2401.00588, which counts prompts at admission.
class Fairness {
 public:
  Fairness(std::span<const double> weights, std::int64_t rows_ahead);

  /// Counts rows that were computed for a tenant.
  void serve(std::uint64_t tenant, std::int64_t rows);
  /// Checks that no tenant is too far ahead of another, and that every tenant gets rows.
  void check() const;

 private:
  struct Tenant {
    double weight = 1;
    std::int64_t rows = 0;
    std::int64_t others_rows = 0;  ///< rows of the other tenants since its own last one
    double got() const { return static_cast<double>(rows) / weight; }
  };
  double others_rows_max(const Tenant& tenant) const;

  double rows_ahead_;
  std::vector<Tenant> tenants_;
};

}  // namespace ingot::sim
