// ConstraintCache: one thread compiles a new constraint; the others that ask for it wait.
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "constraint/constraint.h"

namespace ingot {

struct ConstraintCache::Entries {
  /// A constraint that is being compiled, or that is finished.
  struct Entry {
    std::string key;
    bool is_done = false;
    std::shared_ptr<const Constraint> constraint{};  ///< null: compiling failed
    std::optional<Error> error{};  ///< empty: no memory was left for the constraint or the error
    std::uint64_t last_use = 0;
  };
  using EntryPtr = std::shared_ptr<Entry>;
  using Compile = std::function<std::shared_ptr<const Constraint>()>;

  std::shared_ptr<const TokenTrie> trie;
  mutable std::mutex mutex;
  std::condition_variable done;
  std::unordered_map<std::string_view, EntryPtr> by_key;  ///< keys lie in the entries
  std::size_t kept = 0;                                   ///< finished entries, and their bytes
  std::size_t bytes = 0;
  std::uint64_t uses = 0;

  static std::size_t bytes_of(const Entry& entry) {
    return entry.key.size() + entry.constraint->bytes;
  }

  void evict_oldest() {
    auto oldest = by_key.end();
    for (auto i = by_key.begin(); i != by_key.end(); ++i) {
      if (!i->second->is_done) continue;
      if (oldest == by_key.end() || i->second->last_use < oldest->second->last_use) oldest = i;
    }
    const EntryPtr entry = oldest->second;  // holds the key until it is erased
    by_key.erase(oldest);
    bytes -= bytes_of(*entry);
    --kept;
  }

  /// Ends the compilation of an entry and wakes its waiters. Nothing here can fail.
  void finish(const EntryPtr& entry) {
    const std::lock_guard lock(mutex);
    entry->is_done = true;
    done.notify_all();
    if (entry->constraint == nullptr || bytes_of(*entry) > kBytesMax) {
      by_key.erase(entry->key);
      return;
    }
    entry->last_use = ++uses;
    bytes += bytes_of(*entry);
    ++kept;
    while (kept > kCountMax || bytes > kBytesMax) evict_oldest();
  }

  /// Runs `work` for the entry's waiters and for this thread. The waiters wake whatever happens,
  /// also if there is no memory for an error's text.
  void compile(const EntryPtr& entry, const Compile& work) {
    try {
      run(*entry, work);
    } catch (...) {  // no memory for the error
      entry->error.reset();
    }
    finish(entry);
  }

  static void run(Entry& entry, const Compile& work) {
    try {
      entry.constraint = work();
      if (entry.constraint == nullptr) {
        entry.error.emplace(ErrorCode::kInternal, "a constraint was compiled to nothing");
      }
    } catch (const Error& error) {
      entry.error = error;
    } catch (const std::bad_alloc&) {  // the error stays empty
    } catch (const std::exception& error) {
      entry.error.emplace(ErrorCode::kInternal, error.what());
    } catch (...) {
      entry.error.emplace(ErrorCode::kInternal, "a constraint was not compiled");
    }
  }

  EntryPtr get(const std::string& key, const Compile& work) {
    EntryPtr entry;
    {
      std::unique_lock lock(mutex);
      const auto found = by_key.find(key);
      if (found != by_key.end()) {
        entry = found->second;
        done.wait(lock, [&] { return entry->is_done; });
        entry->last_use = ++uses;
        return entry;
      }
      entry = std::make_shared<Entry>();
      entry->key = key;
      by_key.emplace(entry->key, entry);
    }
    compile(entry, work);
    return entry;
  }
};

ConstraintCache::ConstraintCache(std::shared_ptr<const TokenTrie> trie)
    : entries_(std::make_unique<Entries>()) {
  entries_->trie = std::move(trie);
}

ConstraintCache::~ConstraintCache() = default;

std::shared_ptr<const Constraint> ConstraintCache::get(const ConstraintSpec& spec) {
  spec.check_limits();
  return get(spec.cache_key(), [&] { return compile_constraint(spec, entries_->trie); });
}

std::shared_ptr<const Constraint> ConstraintCache::get(
    const std::string& key, const std::function<std::shared_ptr<const Constraint>()>& compile) {
  const Entries::EntryPtr entry = entries_->get(key, compile);
  if (entry->constraint != nullptr) return entry->constraint;
  if (entry->error.has_value()) throw Error(*entry->error);
  throw Error(ErrorCode::kDoesNotFit, "no memory is left for the constraint");
}

const std::shared_ptr<const TokenTrie>& ConstraintCache::trie() const { return entries_->trie; }

std::size_t ConstraintCache::count() const {
  const std::lock_guard lock(entries_->mutex);
  return entries_->kept;
}

std::size_t ConstraintCache::bytes() const {
  const std::lock_guard lock(entries_->mutex);
  return entries_->bytes;
}

}  // namespace ingot
