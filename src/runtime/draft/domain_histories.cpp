// DomainHistories: a bounded list of histories, in which old domains make room for new ones.
#include "runtime/draft/domain_histories.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"

namespace ingot {

namespace {

bool shares_drafts(const PrefixKey& a, const PrefixKey& b) {
  return a.domain == b.domain && a.adapter == b.adapter;
}

}  // namespace

DomainHistories::DomainHistories(std::int32_t domains_max, std::int64_t tokens_max)
    : domains_max_(domains_max), tokens_max_(tokens_max) {
  INGOT_CHECK(domains_max > 0, domains_max, " domains");
  domains_.reserve(to_size(domains_max));
}

void DomainHistories::add_output(const PrefixKey& key, std::span<const std::int32_t> tokens) {
  // A shorter text has no pair with a token behind it, so no other domain has to make room for it.
  if (std::ssize(tokens) <= kMatchMin) return;
  Domain* domain = domain_of(key);
  if (domain == nullptr) {
    try {
      domain = &make_room(key);
    } catch (const std::bad_alloc&) {
      return;
    }
  }
  domain->history.add(tokens);
  domain->history.add_break();
}

const TokenHistory* DomainHistories::find(const PrefixKey& key) {
  const Domain* domain = domain_of(key);
  return domain == nullptr ? nullptr : &domain->history;
}

/// Returns the domain of a key, which is then the latest used; null if there is none.
DomainHistories::Domain* DomainHistories::domain_of(const PrefixKey& key) {
  const auto found = std::find_if(domains_.begin(), domains_.end(), [&](const Domain& domain) {
    return shares_drafts(domain.key, key);
  });
  if (found == domains_.end()) return nullptr;
  found->used = ++uses_;
  return &*found;
}

/// Returns an empty domain for a key.
DomainHistories::Domain& DomainHistories::make_room(const PrefixKey& key) {
  if (std::ssize(domains_) < domains_max_) {
    return domains_.emplace_back(
        Domain{.key = key, .history = TokenHistory(tokens_max_), .used = ++uses_});
  }
  Domain& oldest =
      *std::min_element(domains_.begin(), domains_.end(), [&](const Domain& a, const Domain& b) {
        return std::pair(-domains_of_tenant(a), a.used) < std::pair(-domains_of_tenant(b), b.used);
      });
  oldest.history.clear();
  oldest.key = key;
  oldest.used = ++uses_;
  return oldest;
}

std::int64_t DomainHistories::domains_of_tenant(const Domain& domain) const {
  return std::count_if(domains_.begin(), domains_.end(),
                       [&](const Domain& other) { return other.key.tenant == domain.key.tenant; });
}

}  // namespace ingot
