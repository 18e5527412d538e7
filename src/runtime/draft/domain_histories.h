// DomainHistories: what ended requests wrote, for drafts of later requests of the same domain.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/prefix_index.h"
#include "runtime/draft/token_history.h"

namespace ingot {

/// Limit on the domains with a history. A new domain takes the place of the least recently used one
/// of the tenant with the most domains, so that many salts of one key take nothing from other keys.
inline constexpr std::int32_t kDraftDomainsMax = 32;
/// Tokens that a domain's history holds: 12 bytes each, so all domains together take 12 MiB.
inline constexpr std::int64_t kDomainTokensMax = 32768;

/// Histories by the properties on which sequences share cached blocks: `domain` and `adapter` of a
/// PrefixKey. `adapter_from` is left out: it is a row of one prompt, and says nothing about others.
///
/// A draft shows in a request's time, as a cached block does. So no request may see a history of
/// another domain. For the engine's thread.
class DomainHistories {
 public:
  /// Limits as in kDraftDomainsMax and kDomainTokensMax. A domain's memory is taken when its first
  /// request ends. Errors: std::bad_alloc.
  explicit DomainHistories(std::int32_t domains_max = kDraftDomainsMax,
                           std::int64_t tokens_max = kDomainTokensMax);

  /// Returns the most bytes that histories with the default limits take.
  static std::int64_t bytes_max() {
    return kDraftDomainsMax * TokenHistory::bytes(kDomainTokensMax);
  }

  /// Adds what an ended request wrote. If no memory is free for a new domain, it is not added.
  void add_output(const PrefixKey& key, std::span<const std::int32_t> tokens);
  /// Forgets all histories.
  void clear() { domains_.clear(); }
  /// Returns the history of a key's domain until the next `add_output`; null if there is none.
  const TokenHistory* find(const PrefixKey& key);

 private:
  struct Domain {
    PrefixKey key;
    TokenHistory history;
    std::uint64_t used = 0;  ///< value of `uses_` at its last use
  };

  Domain* domain_of(const PrefixKey& key);
  Domain& make_room(const PrefixKey& key);
  std::int64_t domains_of_tenant(const Domain& domain) const;

  std::int32_t domains_max_;
  std::int64_t tokens_max_;
  std::vector<Domain> domains_;
  std::uint64_t uses_ = 0;  ///< number of uses of all domains so far
};

}  // namespace ingot
