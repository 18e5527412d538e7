// Reads and writes .npy files.
#include "cli/npy.h"

#include <optional>
#include <span>
#include <string_view>

#include "base/byte_reader.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

/// Bytes that are read for the header. A header of version 1 has at most 64 KiB.
constexpr std::uint64_t kHeadBytes = 65'536 + 10;

/// Scans the header, a Python dictionary literal of known form, without interpreting Python.
class HeaderScanner {
 public:
  HeaderScanner(std::string_view text, const ByteReader& reader) : text_(text), reader_(reader) {}

  /// The text that follows a key: {'descr': '<f4', ...}.
  std::string_view value_of(std::string_view key) const {
    for (const char quote : {'\'', '"'}) {
      const std::string quoted = cat(quote, key, quote, ":");
      const std::size_t at = text_.find(quoted);
      if (at == std::string_view::npos) continue;
      std::string_view rest = text_.substr(at + quoted.size());
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      return rest;
    }
    reader_.fail_at(0, cat("the header has no ", key));
  }

  void expect(std::string_view key, std::string_view value) const {
    const std::string_view found = value_of(key);
    if (found.substr(0, value.size()) != value) {
      reader_.fail_at(0, cat(key, " is ", printable(found.substr(0, found.find(',')), 40),
                             ", expected ", value));
    }
  }

  /// The dimensions of "(3, 4)".
  std::vector<std::uint64_t> shape() const {
    std::string_view rest = value_of("shape");
    std::vector<std::uint64_t> dims;
    if (rest.empty() || rest.front() != '(') reader_.fail_at(0, "shape is no tuple");
    rest.remove_prefix(1);
    while (true) {
      rest.remove_prefix(std::min(rest.find_first_not_of(", "), rest.size()));
      std::uint64_t dim = 0;
      const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
      if (result.ec != std::errc()) break;
      dims.push_back(dim);
      rest.remove_prefix(to_size(result.ptr - rest.data()));
    }
    if (rest.empty() || rest.front() != ')') reader_.fail_at(0, "shape holds no plain numbers");
    return dims;
  }

 private:
  std::string_view text_;
  const ByteReader& reader_;
};

}  // namespace

Matrix read_npy(const std::string& path,
                FunctionRef<void(std::int64_t rows, std::int64_t cols)> expect) {
  const File file(path);
  std::vector<std::byte> head(std::min(file.size(), kHeadBytes));
  file.read_at(0, head);
  ByteReader reader(head, path);
  reader.section("npy");
  if (reader.text(6) != "\x93NUMPY") reader.fail_at(0, "it is no .npy file");
  const auto major = reader.read<std::uint8_t>();
  reader.read<std::uint8_t>();
  if (major < 1 || major > 3) reader.fail_at(6, cat("format version ", int{major}, " is unknown"));
  const std::uint64_t length =
      major == 1 ? reader.read<std::uint16_t>() : reader.read<std::uint32_t>();
  const HeaderScanner header(reader.text(length), reader);
  header.expect("descr", "'<f4'");
  header.expect("fortran_order", "False");
  const auto shape = header.shape();
  if (shape.size() != 2) reader.fail_at(0, cat("it has ", shape.size(), " dimensions, expected 2"));
  const auto bytes = (Checked(shape[0]) * shape[1] * sizeof(float)).value();
  const std::uint64_t there = file.size() - reader.offset();
  if (!bytes || *bytes != there) {
    reader.fail(cat(there, " bytes of data for shape (", shape[0], ", ", shape[1], ")"));
  }
  Matrix m{.rows = static_cast<std::int64_t>(shape[0]),
           .cols = static_cast<std::int64_t>(shape[1]),
           .values = {}};
  expect(m.rows, m.cols);
  m.values.resize(*bytes / sizeof(float));
  file.read_at(reader.offset(), std::as_writable_bytes(std::span(m.values)));
  if (!file.is_unchanged()) reader.fail_at(0, "it changed while it was being read");
  return m;
}

std::string npy_header(std::int64_t rows, std::int64_t cols) {
  std::string header =
      cat("{'descr': '<f4', 'fortran_order': False, 'shape': (", rows, ", ", cols, "), }");
  // The data must begin on a 64-byte boundary; the header ends with a newline.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());
  std::string start = "\x93NUMPY";
  start += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  return start + header;
}

NpyWriter::NpyWriter(const std::string& path, std::int64_t rows, std::int64_t cols) : file_(path) {
  file_.write(npy_header(rows, cols));
}

void NpyWriter::write(const float* values, std::int64_t count) {
  file_.write(std::as_bytes(std::span(values, to_size(count))));
}

void NpyWriter::finish() { file_.commit(); }

}  // namespace ingot
