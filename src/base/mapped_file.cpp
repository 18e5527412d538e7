// Maps files, and handles SIGBUS by a table of the mapped ranges.
#include "base/mapped_file.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/forced_exit.h"
#include "base/index.h"
#include "base/signal_stack.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr int kSlots = 4096;
constexpr int kExitIo = 74;
constexpr std::size_t kSignalStackBytes = 64 * 1024;  // an AVX-512 or AMX frame takes 3 to 11 KiB

/// One mapped range. The handler reads it without locks: `begin` is set last and cleared first.
struct Slot {
  std::atomic<std::uintptr_t> begin{0};
  std::uintptr_t end = 0;
  char* message = nullptr;  ///< "error: <file>: file @", owned; null in a free slot
  std::size_t message_bytes = 0;
};

// Constant-initialised and never destroyed: a fault may come before main or during exit.
constinit std::array<Slot, kSlots> table;
constinit std::mutex table_mutex;
struct sigaction previous_action;

void write_truncated_and_exit(const Slot& slot, std::uintptr_t offset) {
  // Several threads may fault at once. The first prints the message, and its exit ends the others.
  static constinit std::atomic_flag said = ATOMIC_FLAG_INIT;
  while (said.test_and_set()) ::pause();
  run_forced_exit_actions();
  char digits[24];
  std::size_t first = sizeof digits;
  do {
    digits[--first] = static_cast<char>('0' + offset % 10);
    offset /= 10;
  } while (offset != 0);
  char tail[] = ": it was truncated or its storage failed while in use\n";
  // A single call, so that other writers cannot split the line.
  const iovec parts[] = {{slot.message, slot.message_bytes},
                         {digits + first, sizeof digits - first},
                         {tail, sizeof tail - 1}};
  while (::writev(STDERR_FILENO, parts, 3) < 0 && errno == EINTR) {
  }
  ::_exit(kExitIo);
}

void on_sigbus(int signal, siginfo_t* info, void*) {
  const bool is_fault = info->si_code > 0;  // not sent by kill()
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const Slot& slot : table) {
    const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
    if (is_fault && begin != 0 && address >= begin && address < slot.end) {
      write_truncated_and_exit(slot, address - begin);
    }
  }
  // Not in the table. The instruction runs again and faults again, now with the previous handler.
  if (previous_action.sa_handler == SIG_DFL) run_forced_exit_actions();
  ::sigaction(SIGBUS, &previous_action, nullptr);
  if (!is_fault) ::raise(signal);
}

void install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &previous_action);
  });
  thread_local const SignalStack stack;
}

/// Adds a range to the table. Returns its slot, or -1 if the table is full.
int take_slot(std::uintptr_t begin, std::size_t bytes, const std::string& name) {
  const std::lock_guard lock(table_mutex);
  for (int i = 0; i < kSlots; ++i) {
    Slot& slot = at(table, i);
    if (slot.message != nullptr) continue;
    const std::string message = cat("error: ", printable(name, 4096), ": file @");
    slot.message = new char[message.size()];
    slot.message_bytes = message.copy(slot.message, message.size());
    slot.end = begin + bytes;
    slot.begin.store(begin, std::memory_order_release);
    return i;
  }
  return -1;
}

void free_slot(int i) {
  const std::lock_guard lock(table_mutex);
  Slot& slot = at(table, i);
  slot.begin.store(0, std::memory_order_release);
  delete[] std::exchange(slot.message, nullptr);
}

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

SignalStack::SignalStack() {
  stack_t old{};
  if (::sigaltstack(nullptr, &old) != 0 || (old.ss_flags & SS_DISABLE) == 0) return;
  // Without memory the handler runs on the thread's own stack, which nearly always has room.
  memory_.reset(new (std::nothrow) char[kSignalStackBytes]);
  if (!memory_) return;
  stack_t ours{};
  ours.ss_sp = memory_.get();
  ours.ss_size = kSignalStackBytes;
  ::sigaltstack(&ours, nullptr);
}

SignalStack::~SignalStack() {
  if (!memory_) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
}

MappedFile::MappedFile(File file) : file_(std::move(file)) {
  if (file_.size() == 0) return;
  if (file_.size() > std::numeric_limits<std::size_t>::max() / 2) {
    throw model_error(name(), "file", cat("cannot be mapped: it has ", file_.size(), " bytes"));
  }
  install_handler();
  const auto size = static_cast<std::size_t>(file_.size());
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file_.fd(), 0);
  if (address == MAP_FAILED) {
    throw model_error(name(), "file",
                      cat("cannot be mapped (", size, " bytes): ", errno_text(errno)));
  }
  bytes_ = {static_cast<const std::byte*>(address), size};
  slot_ = take_slot(reinterpret_cast<std::uintptr_t>(address), size, name());
  if (slot_ < 0) {
    unmap();
    throw model_error(name(), "file", cat("more than ", kSlots, " files are mapped"));
  }
}

MappedFile::~MappedFile() { unmap(); }

MappedFile::MappedFile(MappedFile&& other) noexcept
    : file_(std::move(other.file_)),
      bytes_(std::exchange(other.bytes_, {})),
      slot_(std::exchange(other.slot_, -1)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    file_ = std::move(other.file_);
    bytes_ = std::exchange(other.bytes_, {});
    slot_ = std::exchange(other.slot_, -1);
  }
  return *this;
}

void MappedFile::unmap() {
  if (slot_ >= 0) free_slot(std::exchange(slot_, -1));
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  bytes_ = {};
}

void MappedFile::release(std::uint64_t offset, std::uint64_t count) const {
  if (offset > bytes_.size()) return;
  const std::uint64_t page = page_bytes();
  const std::uint64_t left = bytes_.size() - offset;
  const bool to_end = count >= left;
  const std::uint64_t first = (offset + page - 1) / page * page;
  const std::uint64_t last = to_end ? bytes_.size() : (offset + count) / page * page;
  if (first >= last) return;
  // Advice only: when it fails, the pages stay, and nothing else changes.
  ::madvise(const_cast<std::byte*>(bytes_.data()) + first, last - first, MADV_DONTNEED);
}

void MappedFile::prefer_large_pages() const {
  if (bytes_.empty()) return;
  // Advice only, as above.
  ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_HUGEPAGE);
}

void MappedFile::expect_unchanged() const {
  if (file_.is_unchanged()) return;
  throw section_error(ErrorCode::kIo, name(), "file", "it changed while it was being read");
}

void MappedFile::expect_not_overwritten() const {
  if (!file_.is_overwritten()) return;
  throw section_error(ErrorCode::kIo, name(), "file", "it was changed while in use");
}

}  // namespace ingot
