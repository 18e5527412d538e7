// ServedAdapters: loads adapters beside running requests, and chooses which ones make room.
#include "server/common/served_adapters.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

ServedAdapters::ServedAdapters(AdapterStore& store, AdapterSettings settings)
    : store_(store), settings_(std::move(settings)) {
  for (const auto& adapter : store_.all()) {
    entries_[adapter->source.name].warnings = adapter->adapter->warnings;
  }
}

const std::string* ServedAdapters::name_of(std::int64_t id) const {
  return id >= 0 && id < std::ssize(settings_.ids) ? &at(settings_.ids, id) : nullptr;
}

std::shared_ptr<const LoadedAdapter> ServedAdapters::use(std::string_view name) {
  auto adapter = store_.find(name);
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry != entries_.end()) entry->second.last_use = ++uses_;
  return adapter;
}

bool ServedAdapters::is_in_folder(std::string_view name) const {
  return has_folder() && settings_.folder->contains(name);
}

void ServedAdapters::count(const std::shared_ptr<const AdapterList>& list) {
  if (list == nullptr) return;
  const std::lock_guard lock(mutex_);
  for (const std::string& name : list->names) {
    const auto entry = entries_.find(name);
    if (entry != entries_.end()) ++entry->second.requests;
  }
}

std::vector<AdapterState> ServedAdapters::states() const {
  std::vector<AdapterState> states;
  for (auto& adapter : store_.all()) states.push_back({.adapter = std::move(adapter)});
  const std::lock_guard lock(mutex_);
  for (AdapterState& state : states) {
    const auto entry = entries_.find(state.adapter->source.name);
    if (entry == entries_.end()) continue;
    state.warnings = entry->second.warnings;
    state.requests = entry->second.requests;
  }
  return states;
}

std::vector<std::string> ServedAdapters::load(const AdapterSource& source) {
  const std::lock_guard one_load(loading_);
  failures_.clear();
  return load_file(source, open_adapter(source.path), false);
}

std::vector<std::string> ServedAdapters::load_from_folder(const AdapterSource& source) {
  const std::lock_guard one_load(loading_);
  failures_.clear();
  const bool comes_back = source.name == source.path && source.scale == 1;
  return load_entry(source, comes_back);
}

std::shared_ptr<const LoadedAdapter> ServedAdapters::use_or_load(const std::string& name) {
  const std::lock_guard one_load(loading_);
  // Another request may have loaded it meanwhile.
  if (auto adapter = use(name)) return adapter;
  load_for_request(name);
  return use(name);
}

void ServedAdapters::load_for_request(const std::string& name) {
  const FolderState state = settings_.folder->state(name).value_or(FolderState{});
  const Error* known = failures_.find(name, state, LoadFailures::Clock::now());
  if (known != nullptr) throw *known;
  require_place(name);
  try {
    load_entry({.name = name, .path = name}, true);
  } catch (const Error& error) {
    failures_.add(name, state, error, LoadFailures::Clock::now());
    throw;
  }
}

/// Refuses a load for which no adapter can make room, before its files are read.
void ServedAdapters::require_place(std::string_view name) const {
  const auto loaded = std::ssize(store_.all());
  if (loaded < store_.adapters_max() || !evictable().empty()) return;
  throw Error(ErrorCode::kInvalid, cat("adapter ", printable(name), ": ", loaded,
                                       " are loaded, which is the limit, and none makes room"));
}

bool ServedAdapters::unload(std::string_view name) {
  const std::lock_guard one_load(loading_);
  failures_.clear();
  {
    const std::lock_guard lock(mutex_);
    if (const auto entry = entries_.find(name); entry != entries_.end()) entries_.erase(entry);
  }
  return store_.unload(name);
}

std::vector<std::string> ServedAdapters::load_entry(const AdapterSource& source, bool comes_back) {
  try {
    return load_file(source, settings_.folder->open(source.path), comes_back);
  } catch (const Error& error) {
    throw AdapterFolder::with_name(error, source.path);
  }
}

std::vector<std::string> ServedAdapters::load_file(const AdapterSource& source,
                                                   const AdapterFile& file, bool comes_back) {
  const auto loaded = store_.load(source, file, evictable());
  std::vector<std::string> warnings = loaded->adapter->warnings;
  if (auto warning = base_model_warning(file, settings_.model_path); !warning.empty()) {
    warnings.push_back(std::move(warning));
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const auto& entry) {
    return entry.first != source.name && store_.find(entry.first) == nullptr;
  });
  Entry& entry = entries_[source.name];
  entry.last_use = ++uses_;
  entry.comes_back = comes_back;
  entry.warnings = warnings;
  return warnings;
}

/// The adapters that may make room, the first ones first.
std::vector<std::string> ServedAdapters::evictable() const {
  std::vector<std::tuple<bool, std::uint64_t, std::string>> order;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : entries_) {
    if (entry.comes_back) order.emplace_back(store_.is_in_use(name), entry.last_use, name);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> names;
  names.reserve(order.size());
  for (auto& [is_in_use, last_use, name] : order) names.push_back(std::move(name));
  return names;
}

}  // namespace ingot
