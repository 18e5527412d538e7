// Sandbox of the server process: no_new_privs, Landlock, seccomp.
#include "server/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace ingot {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArch = AUDIT_ARCH_AARCH64;
#endif

/// System calls that a server does not need.
constexpr long kRefused[] = {
    SYS_connect,
    SYS_socket,
    SYS_truncate,
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setuid,
    SYS_setgid,
    SYS_init_module,
    SYS_finit_module,
    SYS_kexec_load,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_unshare,
    SYS_setns,
    SYS_openat2,
    SYS_io_uring_setup,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
#if defined(__x86_64__)
    SYS_open,
    SYS_creat,
    SYS_fork,
    SYS_vfork,
#endif
};

constexpr std::uint32_t kWriting = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

sock_filter statement(unsigned code, std::uint32_t k) {
  return {static_cast<std::uint16_t>(code), 0, 0, k};
}

sock_filter jump(unsigned code, std::uint32_t k, unsigned yes, unsigned no) {
  return {static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(yes),
          static_cast<std::uint8_t>(no), k};
}

/// The filter that the kernel runs at each system call. Calls in `kRefused`, and opening files for
/// writing, fail with EPERM.
std::vector<sock_filter> make_filter() {
  constexpr unsigned kLoad = BPF_LD | BPF_W | BPF_ABS;
  constexpr unsigned kEqual = BPF_JMP | BPF_JEQ | BPF_K;
  constexpr unsigned kReturn = BPF_RET | BPF_K;
  const sock_filter refuse = statement(kReturn, SECCOMP_RET_ERRNO | EPERM);
  std::vector<sock_filter> code{
      statement(kLoad, offsetof(seccomp_data, arch)),
      jump(kEqual, kArch, 1, 0),
      statement(kReturn, SECCOMP_RET_KILL_PROCESS),
      statement(kLoad, offsetof(seccomp_data, nr)),
      // System calls of the x32 ABI have this bit; nothing here uses them.
      jump(BPF_JMP | BPF_JSET | BPF_K, 0x40000000, 0, 1),
      statement(kReturn, SECCOMP_RET_KILL_PROCESS),
  };
  for (const long number : kRefused) {
    code.push_back(jump(kEqual, static_cast<std::uint32_t>(number), 0, 1));
    code.push_back(refuse);
  }
  code.push_back(jump(kEqual, SYS_openat, 0, 3));
  code.push_back(statement(kLoad, offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t)));
  code.push_back(jump(BPF_JMP | BPF_JSET | BPF_K, kWriting, 0, 1));
  code.push_back(refuse);
  code.push_back(statement(kReturn, SECCOMP_RET_ALLOW));
  return code;
}

void add_path(int ruleset, const std::string& path, std::uint64_t rights) {
  const Fd folder(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!folder) return;
  const landlock_path_beneath_attr rule{.allowed_access = rights, .parent_fd = folder.get()};
  ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// False if the kernel has no Landlock.
bool restrict_files(const std::vector<std::string>& sockets, const std::string& folder) {
  constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  constexpr std::uint64_t kAll = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1U) - 1;
  const landlock_ruleset_attr attributes{.handled_access_fs = kAll};
  const Fd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!ruleset) return false;
  add_path(ruleset.get(), "/proc", kRead);
  if (!folder.empty()) add_path(ruleset.get(), folder, kRead);
  for (const std::string& path : sockets) {
    add_path(ruleset.get(), folder_of(path), LANDLOCK_ACCESS_FS_REMOVE_FILE);
  }
  return ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0;
}

}  // namespace

std::vector<std::string> enter_sandbox(const std::vector<std::string>& sockets,
                                       const std::string& folder) {
  std::vector<std::string> missing;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    throw Error(ErrorCode::kUnavailable,
                cat("--sandbox: the kernel refuses no_new_privs: ", errno_text(errno)));
  }
  if (!restrict_files(sockets, folder)) {
    missing.emplace_back("--sandbox: the kernel has no Landlock: files can still be read");
  }
  std::vector<sock_filter> code = make_filter();
  const sock_fprog program{static_cast<std::uint16_t>(code.size()), code.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    throw Error(ErrorCode::kUnavailable,
                cat("--sandbox: the kernel has no seccomp filters: ", errno_text(errno)));
  }
  return missing;
}

}  // namespace ingot
