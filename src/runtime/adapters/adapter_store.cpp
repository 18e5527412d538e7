// AdapterStore: loads beside running requests, and numbers lists so that equal ones share blocks.
#include "runtime/adapters/adapter_store.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

/// Lists with a number. When there are more, the oldest is forgotten: a later equal list gets a new
/// number, and shares no blocks with it.
constexpr std::size_t kNumberedLists = 4096;

}  // namespace

std::shared_ptr<const LoadedAdapter> AdapterStore::load(const AdapterSource& source) {
  return load(source, open_adapter(source.path));
}

/// Chooses the adapters to unload so that another one fits. Adapters in use keep their bytes.
///
/// Errors: those of `load` about room.
AdapterStore::Room AdapterStore::make_room(const AdapterSource& source, const AdapterFile& file,
                                           std::span<const std::string> evictable) const {
  const std::int64_t needed = adapter_bytes(file, model_.adapter_targets, backend_);
  const std::lock_guard lock(mutex_);
  const bool is_new = adapters_.find(source.name) == adapters_.end();
  std::int64_t left = bytes_max_.load() - bytes();
  std::int64_t places = limits_.adapters - std::ssize(adapters_) - (is_new ? 1 : 0);
  Room room{.evicted = {}, .needs_bytes = needed > left};
  for (const std::string& name : evictable) {
    if (places >= 0 && needed <= left) break;
    const auto found = adapters_.find(name);
    if (found == adapters_.end() || name == source.name) continue;
    const bool is_idle = found->second.use_count() == 1;
    if (places >= 0 && !is_idle) continue;
    ++places;
    if (is_idle) left += found->second->adapter->bytes;
    room.evicted.push_back(name);
  }
  if (places < 0) {
    throw Error(ErrorCode::kInvalid, cat("adapter ", printable(source.name), ": ", adapters_.size(),
                                         " are loaded, which is the limit"));
  }
  if (needed > left) {
    throw Error(ErrorCode::kDoesNotFit,
                cat(printable(file.name, 4096), ": needs ", needed, " bytes, ",
                    std::max<std::int64_t>(0, bytes_max_.load() - bytes()),
                    " are available for adapters: unload one, or raise `memory_limit`"));
  }
  return room;
}

std::shared_ptr<const LoadedAdapter> AdapterStore::load(const AdapterSource& source,
                                                        const AdapterFile& file,
                                                        std::span<const std::string> evictable) {
  const std::lock_guard one_load(loading_);
  const Room room = make_room(source, file, evictable);
  const auto evict = [&] {
    for (const std::string& name : room.evicted) unload(name);
  };
  // Memory that is needed now is freed now. Places alone are taken only when the load has worked.
  if (room.needs_bytes) evict();
  auto made = std::make_unique<LoadedAdapter>();
  made->source = source;
  made->base_model = file.base_model;
  made->adapter = load_adapter(file, model_.adapter_targets, backend_);
  const std::int64_t bytes = made->adapter->bytes;
  bytes_->fetch_add(bytes);
  if (!room.needs_bytes) evict();
  std::shared_ptr<const LoadedAdapter> before;  // freed after the lock is released
  const std::lock_guard lock(mutex_);
  made->generation = ++last_number_;
  std::shared_ptr<const LoadedAdapter> loaded(
      made.release(), [bytes, total = bytes_](const LoadedAdapter* adapter) {
        delete adapter;
        total->fetch_sub(bytes);
      });
  before = std::exchange(adapters_[source.name], loaded);
  return loaded;
}

bool AdapterStore::unload(std::string_view name) {
  std::shared_ptr<const LoadedAdapter> before;  // freed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = adapters_.find(name);
  if (found == adapters_.end()) return false;
  before = std::move(found->second);
  adapters_.erase(found);
  std::erase_if(numbers_, [&](const auto& entry) {
    return std::any_of(entry.first.begin(), entry.first.end(),
                       [&](const auto& part) { return part.first == before->generation; });
  });
  return true;
}

std::shared_ptr<const LoadedAdapter> AdapterStore::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = adapters_.find(name);
  return found == adapters_.end() ? nullptr : found->second;
}

bool AdapterStore::is_in_use(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = adapters_.find(name);
  return found != adapters_.end() && found->second.use_count() > 1;
}

std::vector<std::shared_ptr<const LoadedAdapter>> AdapterStore::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const LoadedAdapter>> all;
  for (const auto& [name, adapter] : adapters_) all.push_back(adapter);
  return all;
}

std::shared_ptr<const AdapterList> AdapterStore::list(std::span<const AdapterChoice> choices) {
  if (choices.empty()) return nullptr;
  if (choices.size() > kAdaptersMax) {
    throw Error(ErrorCode::kInvalid,
                cat("lora: ", choices.size(), " adapters are more than ", kAdaptersMax));
  }
  auto list = std::make_shared<AdapterList>();
  ListKey key;
  for (const AdapterChoice& choice : choices) {
    if (!std::isfinite(choice.scale)) {
      throw Error(
          ErrorCode::kInvalid,
          cat("lora: the scale of ", printable(choice.adapter->source.name), " is not finite"));
    }
    key.emplace_back(choice.adapter->generation, choice.scale);
    list->uses.push_back({.weights = &choice.adapter->adapter->weights,
                          .scale = choice.scale * choice.adapter->source.scale});
    list->owners.push_back(choice.adapter);
    list->names.push_back(choice.adapter->source.name);
    list->invocation = choice.adapter->adapter->invocation_tokens;
    if (list->invocation.empty() || choices.size() == 1) continue;
    throw Error(ErrorCode::kInvalid,
                cat("lora: ", printable(choice.adapter->source.name),
                    " acts from its invocation tokens on, so it is used alone"));
  }
  list->number = number_of(key);
  return list;
}

std::uint64_t AdapterStore::number_of(const ListKey& key) {
  if (key.size() == 1 && key.front().second == 1) return key.front().first;
  const std::lock_guard lock(mutex_);
  if (numbers_.size() >= kNumberedLists && numbers_.find(key) == numbers_.end()) {
    numbers_.erase(
        std::min_element(numbers_.begin(), numbers_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
  const auto [entry, is_new] = numbers_.try_emplace(key, last_number_ + 1);
  if (is_new) ++last_number_;
  return entry->second;
}

}  // namespace ingot
