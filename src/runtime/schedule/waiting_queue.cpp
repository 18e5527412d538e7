// WaitingQueue: orders waiting sequences by their tenants' virtual times and by rank.
#include "runtime/schedule/waiting_queue.h"

#include <algorithm>

#include "base/check.h"
#include "kv/mutant.h"

namespace ingot {

double WaitingQueue::rank(const Sequence& s) const {
  const double steps = options_.policy == Policy::kPriority ? s.terms.priority : 0;
  return s.terms.arrival + steps * options_.ageing;
}

bool WaitingQueue::before(const Sequence& a, const Sequence& b) const {
  const double rank_a = rank(a), rank_b = rank(b);
  return rank_a != rank_b ? rank_a < rank_b : a.id < b.id;
}

void WaitingQueue::add(Sequence& s) {
  const auto [at, is_new] = tenants_.try_emplace(s.terms.tenant);
  Tenant& tenant = at->second;
  if (is_new) {
    const auto weight = options_.weights.find(s.terms.tenant);
    if (weight != options_.weights.end() && !INGOT_MUTANT(20)) tenant.weight = weight->second;
  }
  if (!tenant.waits()) {
    end_debts();
    tenant.served = std::max(tenant.served, min_served().value_or(0));
  }
  try {
    size_ += tenant.line.insert(entry(s)).second ? 1 : 0;
  } catch (...) {
    if (is_new) tenants_.erase(at);
    throw;
  }
  ++tenant.sequences;
}

void WaitingQueue::add_returned(Sequence& s) { size_ += returned_.insert(entry(s)).second ? 1 : 0; }

void WaitingQueue::erase(Sequence& s) {
  size_ -= static_cast<std::int64_t>(returned_.erase(entry(s)));
  const auto tenant = tenants_.find(s.terms.tenant);
  if (tenant != tenants_.end()) {
    size_ -= static_cast<std::int64_t>(tenant->second.line.erase(entry(s)));
  }
}

void WaitingQueue::leave(const Sequence& s) {
  const auto tenant = tenants_.find(s.terms.tenant);
  INGOT_CHECK(tenant != tenants_.end() && tenant->second.sequences > 0, "tenant ", s.terms.tenant,
              " has no sequence");
  --tenant->second.sequences;
  const std::optional<double> least = min_served();
  std::erase_if(tenants_, [&](const auto& entry) {
    return entry.second.sequences == 0 && (!least || entry.second.served <= *least);
  });
}

/// The least virtual time of a waiting tenant; nothing if no tenant waits.
std::optional<double> WaitingQueue::min_served() const {
  std::optional<double> least;
  for (const auto& [id, tenant] : tenants_) {
    if (tenant.waits()) least = std::min(least.value_or(tenant.served), tenant.served);
  }
  return least;
}

/// Sets all virtual times to 0 if no tenant waits.
void WaitingQueue::end_debts() {
  if (min_served()) return;
  for (auto& [id, tenant] : tenants_) tenant.served = 0;
}

std::int64_t WaitingQueue::tenants() const {
  return std::count_if(tenants_.begin(), tenants_.end(),
                       [](const auto& entry) { return entry.second.sequences > 0; });
}

void WaitingQueue::serve(const Sequence& s, std::int64_t rows) {
  const auto tenant = tenants_.find(s.terms.tenant);
  if (tenant == tenants_.end()) return;
  tenant->second.served += static_cast<double>(rows) / tenant->second.weight;
}

void WaitingQueue::visit(FunctionRef<bool(Sequence&)> visit) const {
  for (const Entry& e : returned_) {
    if (!visit(*e.sequence)) return;
  }
  if (tenants_.size() == 1) {
    for (const Entry& e : tenants_.begin()->second.line) {
      if (!visit(*e.sequence)) return;
    }
    return;
  }
  std::vector<const Tenant*> order;
  for (const auto& [id, tenant] : tenants_) {
    if (!tenant.line.empty()) order.push_back(&tenant);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Tenant* a, const Tenant* b) { return a->served < b->served; });
  for (const Tenant* tenant : order) {
    for (const Entry& e : tenant->line) {
      if (!visit(*e.sequence)) return;
    }
  }
}

}  // namespace ingot
