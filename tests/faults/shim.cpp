// A library to preload into ingot: system calls on chosen files fail, come short, are interrupted,
// or wait until the test has done something to the file.
//
// The environment says what happens:
//   INGOT_FAULT_PATH   calls on files whose path begins with this are concerned
//   INGOT_FAULT_CALLS  names of the calls concerned, separated by commas; all when absent
//   INGOT_FAULT        what happens to a concerned call:
//                        short       it reads or writes half of what was asked for, at least a byte
//                        eintr       every other one is interrupted
//                        errno:N@K   number K fails with errno N (the first is number 1)
//                        shrink@K    before number K the file loses its second half
//                        stop@K      number K waits: a byte goes to INGOT_FAULT_NOTIFY, then one is
//                                    awaited from INGOT_FAULT_RESUME (both descriptors)
//   INGOT_FAULT_LOG    a file that gets a line with the call's name when number K has come
//
// The calls are those of base/: stat, open (also openat and openat2), fstat, fstatfs, read, pread,
// mmap, mapped (no call: a mapping has just been made), madvise, write, fsync, rename, close.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

using Syscall = long (*)(long, ...);

/// The system's own `syscall`: the one below stands in front of it.
Syscall system_call() {
  static const auto found = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
  return found;
}

struct Settings {
  std::string_view path, calls, fault, log;
  long number = 0;  ///< K
  int error = 0;    ///< N
  int notify = -1;
  int resume = -1;
};

std::string_view variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

Settings read_settings() {
  Settings s;
  s.path = variable("INGOT_FAULT_PATH");
  s.calls = variable("INGOT_FAULT_CALLS");
  s.log = variable("INGOT_FAULT_LOG");
  s.fault = variable("INGOT_FAULT");
  if (const auto at = s.fault.find('@'); at != s.fault.npos) {
    s.number = atol(s.fault.data() + at + 1);
    s.fault = s.fault.substr(0, at);
  }
  if (const auto colon = s.fault.find(':'); colon != s.fault.npos) {
    s.error = atoi(s.fault.data() + colon + 1);
    s.fault = s.fault.substr(0, colon);
  }
  if (const auto fd = variable("INGOT_FAULT_NOTIFY"); !fd.empty()) s.notify = atoi(fd.data());
  if (const auto fd = variable("INGOT_FAULT_RESUME"); !fd.empty()) s.resume = atoi(fd.data());
  return s;
}

const Settings& settings() {
  static const Settings read = read_settings();
  return read;
}

bool is_listed(std::string_view call) {
  std::string_view calls = settings().calls;
  if (calls.empty()) return true;
  while (!calls.empty()) {
    const auto comma = std::min(calls.find(','), calls.size());
    if (calls.substr(0, comma) == call) return true;
    calls.remove_prefix(std::min(comma + 1, calls.size()));
  }
  return false;
}

/// A path on the stack, ended by a NUL.
struct Path {
  char text[PATH_MAX + 64] = "";

  static Path of(int fd) {
    Path p;
    char link[32] = "/proc/self/fd/";
    char digits[16];
    int n = 0;
    do {
      digits[n++] = static_cast<char>('0' + fd % 10);
      fd /= 10;
    } while (fd > 0);
    std::size_t end = strlen(link);
    while (n > 0) link[end++] = digits[--n];
    link[end] = '\0';
    const long size = system_call()(SYS_readlinkat, AT_FDCWD, link, p.text, PATH_MAX);
    p.text[std::max(size, 0L)] = '\0';
    return p;
  }
  static Path in(int folder, const char* name) {
    Path p;
    if (name[0] != '/' && folder != AT_FDCWD) p = of(folder);
    if (p.text[0] != '\0') strcat(p.text, "/");
    strncat(p.text, name, sizeof p.text - strlen(p.text) - 1);
    return p;
  }
};

std::atomic<long> calls_seen{0};

void note(const char* call) {
  const Settings& s = settings();
  if (s.log.empty()) return;
  const long fd = system_call()(SYS_openat, AT_FDCWD, s.log.data(),
                                O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  system_call()(SYS_write, fd, call, strlen(call));
  system_call()(SYS_write, fd, "\n", 1L);
  system_call()(SYS_close, fd);
}

void lose_half(const char* path) {
  struct stat st {};
  if (system_call()(SYS_newfstatat, AT_FDCWD, path, &st, 0) == 0) {
    system_call()(SYS_truncate, path, st.st_size / 2);
  }
}

void wait_for_test() {
  char byte = 'x';
  system_call()(SYS_write, settings().notify, &byte, 1L);
  while (system_call()(SYS_read, settings().resume, &byte, 1L) < 0 && errno == EINTR) {
  }
}

enum class Fate { kGoOn, kShort, kFail };

/// Decides whether a call fails; sets errno with kFail.
Fate fate_of(const char* call, const Path& path) {
  const Settings& s = settings();
  if (s.fault.empty() || !std::string_view(path.text).starts_with(s.path) || !is_listed(call)) {
    return Fate::kGoOn;
  }
  if (s.fault == "short") {
    note(call);
    return Fate::kShort;
  }
  const long number = ++calls_seen;
  if (s.fault == "eintr") {
    if (number % 2 == 0) return Fate::kGoOn;
    note(call);
    errno = EINTR;
    return Fate::kFail;
  }
  if (number != s.number) return Fate::kGoOn;
  note(call);
  if (s.fault == "shrink") lose_half(path.text);
  if (s.fault == "stop") wait_for_test();
  errno = s.error;
  return s.fault == "errno" ? Fate::kFail : Fate::kGoOn;
}

std::size_t shortened(Fate fate, std::size_t count) {
  return fate == Fate::kShort ? std::max<std::size_t>(count / 2, count > 0 ? 1 : 0) : count;
}

int open_file(int folder, const char* name, int flags, unsigned mode) {
  if (fate_of("open", Path::in(folder, name)) == Fate::kFail) return -1;
  return static_cast<int>(system_call()(SYS_openat, folder, name, flags, mode));
}

}  // namespace

extern "C" {

int open(const char* name, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const auto mode = va_arg(list, unsigned);  // garbage, and unused, unless flags create a file
  va_end(list);
  return open_file(AT_FDCWD, name, flags, mode);
}

int openat(int folder, const char* name, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const auto mode = va_arg(list, unsigned);  // garbage, and unused, unless flags create a file
  va_end(list);
  return open_file(folder, name, flags, mode);
}

long syscall(long number, ...) noexcept {
  long a[6];
  va_list list;
  va_start(list, number);
  for (long& value : a) value = va_arg(list, long);
  va_end(list);
  if (number == SYS_openat2) {
    const auto* name = reinterpret_cast<const char*>(a[1]);
    if (fate_of("open", Path::in(static_cast<int>(a[0]), name)) == Fate::kFail) return -1;
  }
  return system_call()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int stat(const char* name, struct stat* st) noexcept {
  if (fate_of("stat", Path::in(AT_FDCWD, name)) == Fate::kFail) return -1;
  return static_cast<int>(system_call()(SYS_newfstatat, AT_FDCWD, name, st, 0));
}

int fstat(int fd, struct stat* st) noexcept {
  if (fate_of("fstat", Path::of(fd)) == Fate::kFail) return -1;
  return static_cast<int>(system_call()(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH));
}

int fstatfs(int fd, struct statfs* fs) noexcept {
  if (fate_of("fstatfs", Path::of(fd)) == Fate::kFail) return -1;
  return static_cast<int>(system_call()(SYS_fstatfs, fd, fs));
}

ssize_t read(int fd, void* to, size_t count) {
  const Fate fate = fate_of("read", Path::of(fd));
  if (fate == Fate::kFail) return -1;
  return system_call()(SYS_read, fd, to, shortened(fate, count));
}

ssize_t pread(int fd, void* to, size_t count, off_t offset) {
  const Fate fate = fate_of("pread", Path::of(fd));
  if (fate == Fate::kFail) return -1;
  return system_call()(SYS_pread64, fd, to, shortened(fate, count), offset);
}

void* mmap(void* at, size_t count, int protection, int flags, int fd, off_t offset) noexcept {
  const bool is_file = fd >= 0;
  if (is_file && fate_of("mmap", Path::of(fd)) == Fate::kFail) return MAP_FAILED;
  const long address = system_call()(SYS_mmap, at, count, protection, flags, fd, offset);
  if (is_file) fate_of("mapped", Path::of(fd));
  return reinterpret_cast<void*>(address);
}

/// Advice is about memory, not files: every call with this advice is concerned, whatever the path.
int madvise(void* at, size_t count, int advice) noexcept {
  Path concerned;
  if (advice == MADV_DONTNEED) {
    concerned.text[settings().path.copy(concerned.text, PATH_MAX)] = '\0';
    if (fate_of("madvise", concerned) == Fate::kFail) return -1;
  }
  return static_cast<int>(system_call()(SYS_madvise, at, count, advice));
}

ssize_t write(int fd, const void* from, size_t count) {
  const Fate fate = fate_of("write", Path::of(fd));
  if (fate == Fate::kFail) return -1;
  return system_call()(SYS_write, fd, from, shortened(fate, count));
}

int fsync(int fd) {
  if (fate_of("fsync", Path::of(fd)) == Fate::kFail) return -1;
  return static_cast<int>(system_call()(SYS_fsync, fd));
}

int rename(const char* from, const char* to) noexcept {
  if (fate_of("rename", Path::in(AT_FDCWD, from)) == Fate::kFail) return -1;
  return static_cast<int>(system_call()(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0L));
}

int close(int fd) {
  const Fate fate = fate_of("close", Path::of(fd));
  const int error = errno;
  const auto result = static_cast<int>(system_call()(SYS_close, fd));
  if (fate != Fate::kFail) return result;
  errno = error;
  return -1;
}

}  // extern "C"
