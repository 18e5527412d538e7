// Parses and checks GGUF's header, metadata entries and tensor table.
#include "load/gguf/gguf_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "base/checked.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "quant/formats.h"

namespace ingot {

namespace {

constexpr std::uint32_t kDefaultAlignment = 32;
/// Fewest bytes of a record. The remaining bytes of a file bound its counts by these.
constexpr std::uint64_t kEntryBytesMin = 8 + 1 + 4 + 1;           // length, key, type, value
constexpr std::uint64_t kTensorBytesMin = 8 + 1 + 4 + 8 + 4 + 8;  // name, rank, size, type, offset
/// Most elements of a tensor. The file's size bounds the tensor's bytes.
constexpr std::uint64_t kElementsMax = std::uint64_t{1} << 62;

/// Bytes of a value of this type; 0 for strings and arrays, which store their size.
std::uint64_t width(GgufType type) {
  constexpr std::array<std::uint8_t, 13> kWidths{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return at(kWidths, type);
}

/// Parses one file, and limits everything before the data section.
class Parser {
 public:
  /// `bytes` may be the beginning of a file of `file_bytes` bytes.
  Parser(std::span<const std::byte> bytes, std::uint64_t file_bytes, const std::string& name)
      : reader_(bytes, name), file_bytes_(file_bytes) {
    file_.name = name;
  }

  GgufFile parse() {
    read_header();
    read_metadata();
    read_alignment();
    read_tensors();
    place_tensors();
    return std::move(file_);
  }

  /// Reads entries up to the one with this key. Returns nothing if the bytes end before.
  std::optional<GgufEntry> find_entry(std::string_view key) {
    read_header();
    reader_.section("metadata");
    try {
      for (std::uint64_t i = 0; i < entry_count_; ++i) {
        const GgufEntry entry = read_entry();
        if (entry.key == key) return entry;
      }
    } catch (const Error&) {
      // The bytes end, or the whole file is refused for the same reason.
    }
    return std::nullopt;
  }

 private:
  void read_header() {
    const std::string_view magic = reader_.text(4);
    if (magic != "GGUF") {
      reader_.fail_at(0, cat("not a GGUF file: it begins with '", printable(magic), "'"));
    }
    const auto version = reader_.read<std::uint32_t>();
    if (version != 2 && version != 3) {
      const bool swapped = version != 0 && (version & 0xffff) == 0;
      reader_.fail_at(
          4, swapped ? cat("version ", version, ": the file is big-endian, which is not supported")
                     : cat("version ", version, " is not supported (2 and 3 are)"));
    }
    file_.version = version;

    const auto bounded_count = [&](std::string_view what, std::uint64_t limit) {
      const std::uint64_t at = reader_.offset();
      const auto count = reader_.read<std::uint64_t>();
      if (count > limit) reader_.fail_at(at, cat(count, " ", what, ", the limit is ", limit));
      return count;
    };
    tensor_count_ = bounded_count("tensors", kGgufTensorsMax);
    entry_count_ = bounded_count("key-value pairs", kGgufEntriesMax);
    const std::uint64_t left = file_bytes_ - reader_.offset();
    if (tensor_count_ > left / kTensorBytesMin) {
      reader_.fail_at(8, cat(tensor_count_, " tensors do not fit in ", left, " bytes"));
    }
    if (entry_count_ > left / kEntryBytesMin) {
      reader_.fail_at(16, cat(entry_count_, " key-value pairs do not fit in ", left, " bytes"));
    }
  }

  void read_metadata() {
    reader_.section("metadata");
    file_.metadata_begin = reader_.offset();
    file_.entries.reserve(entry_count_);
    for (std::uint64_t i = 0; i < entry_count_; ++i) file_.entries.push_back(read_entry());

    auto& order = file_.by_key;
    order.resize(file_.entries.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key = [&](std::uint32_t i) { return file_.entries[i].key; };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return key(a) != key(b) ? key(a) < key(b) : a < b;
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (key(order[i]) == key(order[i - 1])) {
        reader_.fail_at(file_.entries[order[i]].offset,
                        cat("key ", printable(key(order[i])), " appears twice"));
      }
    }
  }

  void read_alignment() {
    const GgufEntry* entry = file_.find("general.alignment");
    if (entry == nullptr) return;
    if (entry->type != GgufType::kUint32) {
      reader_.fail_at(entry->offset, "general.alignment is not of type uint32");
    }
    alignment_ = entry->number<std::uint32_t>();
    if (!std::has_single_bit(alignment_) || alignment_ < kGgufAlignmentMin ||
        alignment_ > kGgufAlignmentMax) {
      reader_.fail_at(entry->offset,
                      cat("general.alignment is ", alignment_, ", must be a power of two from ",
                          kGgufAlignmentMin, " to ", kGgufAlignmentMax));
    }
  }

  void read_tensors() {
    reader_.section("tensor table");
    file_.tensors.reserve(tensor_count_);
    records_.reserve(tensor_count_);
    for (std::uint64_t i = 0; i < tensor_count_; ++i) {
      records_.push_back(reader_.offset());
      file_.tensors.push_back(read_tensor());
      check_head_size();
    }
    std::vector<std::string_view> names;
    names.reserve(file_.tensors.size());
    for (const TensorInfo& tensor : file_.tensors) names.push_back(tensor.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) reader_.fail(cat("tensor ", *twice, " appears twice"));
  }

  /// Converts offsets in the data section to offsets in the file. Each tensor must begin at the end
  /// of the previous tensor, rounded up to the alignment. So no tensors overlap, and no bytes are
  /// hidden between them. The last tensor's padding may be absent. Bytes behind it are counted.
  void place_tensors() {
    const std::uint64_t head = reader_.offset();
    const std::uint64_t size = head + reader_.remaining();
    const std::uint64_t begin = *Checked(head).align_up(alignment_).value();  // head is bounded
    std::uint64_t end = head;  // end of the placed tensors, without padding
    for (std::size_t i = 0; i < file_.tensors.size(); ++i) {
      TensorInfo& tensor = file_.tensors[i];
      const std::uint64_t at = *Checked(end).align_up(alignment_).value();  // end <= size
      if (tensor.offset != at - begin) {
        reader_.fail_at(records_[i], cat("tensor ", tensor.name, " has offset ", tensor.offset,
                                         ", expected ", at - begin));
      }
      const std::optional<std::uint64_t> last = (Checked(at) + tensor.bytes).at_most(size);
      if (!last) {
        reader_.section("data");
        reader_.fail_at(std::min(at, size),
                        cat("tensor ", tensor.name, " needs ", tensor.bytes, " bytes, ",
                            at < size ? size - at : 0, " are left"));
      }
      end = *last;
      reader_.seek(at);
      tensor.offset = at;
      tensor.data = reader_.bytes(tensor.bytes).data();
    }
    const std::uint64_t padded = *Checked(end).align_up(alignment_).value();  // end <= size
    if (size == end || size == padded) return;
    file_.trailing_bytes = size - end;
    if (file_.trailing_bytes > kGgufTrailingMax) {
      reader_.section("data");
      reader_.fail_at(
          end, cat(size - end, " bytes follow the last tensor, the limit is ", kGgufTrailingMax));
    }
    refuse_another_record(head, padded - begin);
  }

  /// Refuses a tensor table that is longer than its stated count: the rest of the table would be
  /// taken for data. Such a file is recognised by a record with the next tensor's offset.
  void refuse_another_record(std::uint64_t head, std::uint64_t next_offset) {
    reader_.section("tensor table");
    reader_.seek(head);
    std::optional<TensorInfo> more;
    try {
      more = read_tensor();
    } catch (const Error&) {
      return;  // padding or data
    }
    if (more->offset == next_offset) {
      reader_.fail_at(8, cat("there are more than the stated ", tensor_count_, " tensors"));
    }
  }

  GgufEntry read_entry() {
    GgufEntry entry;
    entry.key = read_name("key", kGgufKeyMax);
    entry.type = read_type();
    entry.element = entry.type;
    entry.offset = reader_.offset();
    if (entry.type == GgufType::kString) {
      const std::string_view text = read_text("string", kGgufStringMax);
      entry.data = std::as_bytes(std::span(text));
    } else if (entry.type == GgufType::kArray) {
      read_array(entry);
    } else {
      entry.data = reader_.bytes(width(entry.type));
    }
    if (entry.element == GgufType::kBool) check_bools(entry);
    check_head_size();
    return entry;
  }

  GgufType read_type() {
    const std::uint64_t at = reader_.offset();
    const auto type = reader_.read<std::uint32_t>();
    if (type > static_cast<std::uint32_t>(GgufType::kFloat64)) {
      reader_.fail_at(at, cat("value type ", type, " is unknown"));
    }
    return GgufType{type};
  }

  void read_array(GgufEntry& entry) {
    entry.element = read_type();
    if (entry.element == GgufType::kArray) reader_.fail("an array of arrays is not supported");
    const std::uint64_t at = reader_.offset();
    entry.count = reader_.read<std::uint64_t>();
    if (entry.count > kGgufArrayMax) {
      reader_.fail_at(at, cat("array of ", entry.count, " elements, the limit is ", kGgufArrayMax));
    }
    if (entry.element != GgufType::kString) {
      entry.data = reader_.bytes(entry.count * width(entry.element));  // both bounded: no overflow
      return;
    }
    if (entry.count > reader_.remaining() / 8) {
      reader_.fail_at(at, cat("array of ", entry.count, " strings does not fit in ",
                              reader_.remaining(), " bytes"));
    }
    const std::uint64_t begin = reader_.offset();
    for (std::uint64_t i = 0; i < entry.count; ++i) {
      read_text("string", kGgufStringMax);
      check_head_size();
    }
    const std::uint64_t end = reader_.offset();
    reader_.seek(begin);
    entry.data = reader_.bytes(end - begin);
  }

  void check_bools(const GgufEntry& entry) const {
    for (std::uint64_t i = 0; i < entry.count; ++i) {
      const auto value = entry.number<std::uint8_t>(i);
      if (value > 1) {
        reader_.fail_at(entry.offset, cat("key ", printable(entry.key), " holds the bool ",
                                          std::uint32_t{value}, ", must be 0 or 1"));
      }
    }
  }

  TensorInfo read_tensor() {
    TensorInfo tensor;
    tensor.name = read_name("tensor name", kGgufNameMax);
    const std::uint64_t at = reader_.offset();
    const auto rank = reader_.read<std::uint32_t>();
    if (rank < 1 || rank > 4) {
      reader_.fail_at(at,
                      cat("tensor ", tensor.name, " has ", rank, " dimensions, must be 1 to 4"));
    }
    Checked elements(1);
    for (std::uint32_t i = 0; i < rank; ++i) {
      const auto size = reader_.read<std::uint64_t>();
      if (size == 0) reader_.fail_at(at, cat("tensor ", tensor.name, " has a dimension of 0"));
      elements = elements * size;
      if (!elements.at_most(kElementsMax)) {
        reader_.fail_at(at, cat("tensor ", tensor.name, " has too many elements"));
      }
      tensor.shape.push_back(static_cast<std::int64_t>(size));
    }
    std::reverse(tensor.shape.begin(), tensor.shape.end());  // the file has the row length first

    const Format format = read_format();
    const FormatInfo& info = format_info(format);
    tensor.format = format;
    tensor.type_name = info.name;
    const auto row = static_cast<std::uint64_t>(tensor.shape.back());
    const auto block = static_cast<std::uint64_t>(info.block);
    if (row % block != 0) {
      reader_.fail_at(at, cat("tensor ", tensor.name, " has rows of ", row, " ", info.name,
                              " elements, not a multiple of ", block));
    }
    const std::optional<std::uint64_t> bytes =
        (Checked(*elements.value() / block) * static_cast<std::uint64_t>(info.block_bytes)).value();
    if (!bytes) reader_.fail_at(at, cat("tensor ", tensor.name, " is too large"));
    tensor.bytes = *bytes;
    tensor.offset = reader_.read<std::uint64_t>();  // in the data section, until it is placed
    return tensor;
  }

  Format read_format() {
    const std::uint64_t at = reader_.offset();
    const auto type = reader_.read<std::uint32_t>();
    if (const std::optional<Format> format = format_from_ggml(type)) return *format;
    const char* known = ggml_type_name(type);
    reader_.fail_at(at, known != nullptr
                            ? cat("tensor type ", type, " (", known, ") is not supported")
                            : cat("tensor type ", type, " is unknown"));
  }

  std::string_view read_text(std::string_view what, std::uint64_t bytes_max) {
    const std::uint64_t at = reader_.offset();
    const auto length = reader_.read<std::uint64_t>();
    if (length > bytes_max) {
      reader_.fail_at(at, cat(what, " has ", length, " bytes, the limit is ", bytes_max));
    }
    return reader_.text(length);
  }

  /// Reads a name. It must be valid UTF-8 and not empty, without control characters, which could
  /// act on a terminal.
  std::string_view read_name(std::string_view what, std::uint64_t bytes_max) {
    const std::uint64_t at = reader_.offset();
    const std::string_view name = read_text(what, bytes_max);
    if (name.empty()) reader_.fail_at(at, cat(what, " is empty"));
    if (printable(name, name.size()) != name) {
      reader_.fail_at(
          at, cat(what, " '", printable(name), "' has control characters or is not valid UTF-8"));
    }
    return name;
  }

  void check_head_size() const {
    if (reader_.offset() > kGgufHeadMax) {
      reader_.fail(cat("metadata and tensor table exceed the limit of ", kGgufHeadMax, " bytes"));
    }
  }

  ByteReader reader_;
  std::uint64_t file_bytes_ = 0;
  GgufFile file_;
  std::vector<std::uint64_t> records_;  ///< byte at which each tensor's record begins, for messages
  std::uint64_t tensor_count_ = 0;
  std::uint64_t entry_count_ = 0;
  std::uint32_t alignment_ = kDefaultAlignment;
};

}  // namespace

const GgufEntry* GgufFile::find(std::string_view key) const {
  const auto less = [&](std::uint32_t i, std::string_view k) { return entries[i].key < k; };
  const auto at = std::lower_bound(by_key.begin(), by_key.end(), key, less);
  return at != by_key.end() && entries[*at].key == key ? &entries[*at] : nullptr;
}

GgufFile parse_gguf(std::span<const std::byte> bytes, const std::string& name) {
  return Parser(bytes, bytes.size(), name).parse();
}

std::optional<std::string_view> find_gguf_text(std::span<const std::byte> beginning,
                                               std::uint64_t file_bytes, const std::string& name,
                                               std::string_view key) {
  const auto entry = Parser(beginning, file_bytes, name).find_entry(key);
  return entry && entry->type == GgufType::kString ? std::optional(entry->text()) : std::nullopt;
}

}  // namespace ingot
