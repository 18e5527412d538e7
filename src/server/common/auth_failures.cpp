// AuthFailures: keeps a ring buffer of times for each address.
#include "server/common/auth_failures.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace ingot {

namespace {

constexpr std::size_t kNetworkBytes = 8;
/// The first bytes of an IPv4 address that is written as an IPv6 address.
constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
/// Interval between searches for expired addresses, when the table is full.
constexpr std::chrono::seconds kSweep{1};

/// An IPv6 address with the bits cleared that the owner of the network chooses. IPv4 addresses,
/// also in IPv6 form, are unchanged.
std::string network_of(const std::string& address) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  const std::string number = address.substr(0, address.find('%'));
  if (::inet_pton(AF_INET6, number.c_str(), bytes.data()) != 1) return address;
  if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) return address;
  std::fill(bytes.begin() + kNetworkBytes, bytes.end(), static_cast<unsigned char>(0));
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
}

}  // namespace

AuthFailures::Failures& AuthFailures::of(std::string address, Clock::time_point now) {
  if (failures_.size() >= kAddressesMax && !failures_.contains(address)) {
    if (now >= next_sweep_) {
      next_sweep_ = now + kSweep;
      std::erase_if(failures_,
                    [now](const auto& entry) { return entry.second.last + kWindow <= now; });
    }
    if (failures_.size() >= kAddressesMax) address.clear();
  }
  return failures_[address];
}

std::chrono::seconds AuthFailures::add(const std::string& address, Clock::time_point now) {
  if (most_ == 0) return kWindow;
  const std::lock_guard lock(mutex_);
  Failures& f = of(network_of(address), now);
  if (f.moments.size() < most_) {
    f.moments.push_back(now);
  } else {
    const Clock::time_point free = f.moments[f.oldest] + kWindow;
    if (free > now) return std::chrono::ceil<std::chrono::seconds>(free - now);
    f.moments[f.oldest] = now;
    f.oldest = (f.oldest + 1) % most_;
  }
  f.last = now;
  return {};
}

}  // namespace ingot
