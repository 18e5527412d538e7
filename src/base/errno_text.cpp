// A table of errno values, because strerror is neither thread-safe nor independent of the locale.
#include "base/errno_text.h"

#include <cerrno>

#include "base/text.h"

namespace ingot {

std::string errno_text(int error) {
  switch (error) {
    case EACCES:
      return "permission denied";
    case EAGAIN:
      return "not available at the moment";
    case EBADF:
      return "not open";
    case EBUSY:
      return "in use";
    case EDQUOT:
      return "disk quota exceeded";
    case EEXIST:
      return "already exists";
    case EFBIG:
      return "file too large";
    case EINTR:
      return "interrupted";
    case EINVAL:
      return "not supported there";
    case EIO:
      return "input/output error";
    case EISDIR:
      return "is a directory";
    case ELOOP:
      return "too many symbolic links";
    case EMFILE:
    case ENFILE:
      return "too many open files";
    case ENAMETOOLONG:
      return "the name is too long";
    case ENODEV:
    case ENXIO:
      return "no such device";
    case ENOENT:
      return "no such file";
    case ENOMEM:
      return "out of memory";
    case ENOSPC:
      return "no space left on device";
    case ENOTDIR:
      return "a part of the path is not a directory";
    case EOVERFLOW:
      return "value too large";
    case EPERM:
      return "not permitted";
    case EPIPE:
      return "the reader has gone";
    case EROFS:
      return "read-only file system";
    case ESTALE:
      return "stale file handle";
    case ETXTBSY:
      return "the file is being executed";
    case EXDEV:
      return "leads outside its folder";
    default:
      return cat("system error ", error);
  }
}

}  // namespace ingot
