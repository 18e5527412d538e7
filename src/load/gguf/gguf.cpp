// Opens GGUF files as checkpoints: maps them, finds the parts of split models, joins their tensors.
#include "load/gguf/gguf.h"

#include <algorithm>
#include <utility>

#include "base/mapped_file.h"
#include "base/text.h"
#include "load/gguf/gguf_config.h"
#include "load/gguf/gguf_file.h"
#include "load/gguf/gguf_metadata.h"
#include "load/gguf/gguf_tokenizer.h"

namespace ingot {

namespace {

/// Most parts of a split model, because all files stay open. Real models have fewer.
constexpr std::int64_t kPartsMax = 1024;

/// The metadata of a split model in one of its parts.
struct Split {
  std::int64_t index = 0;
  std::int64_t count = 1;
  std::optional<std::int64_t> tensors;  ///< number of tensors in all parts
};

/// Source: llama.cpp, tools/gguf-split: types and names of the keys; a merged file has count 0.
Split read_split(GgufKeys& keys) {
  const auto index = keys.uint16("split.no");
  const auto count = keys.uint16("split.count");
  const Split split{index.value_or(0), std::max<std::int64_t>(count.value_or(1), 1),
                    keys.int32("split.tensors.count")};
  if (split.index >= split.count) {
    keys.refuse("split.no", cat("must be less than split.count, ", split.count));
  }
  if (split.count > kPartsMax) keys.refuse("split.count", cat("is over the limit of ", kPartsMax));
  if (split.count > 1 && (!index || !split.tensors)) {
    keys.fail("split.no or split.tensors.count is missing");
  }
  if (split.tensors && (*split.tensors < 0 || *split.tensors > std::int64_t{kGgufTensorsMax})) {
    keys.refuse("split.tensors.count", cat("must be from 0 to ", kGgufTensorsMax));
  }
  return split;
}

std::string five_digits(std::int64_t number) {
  const std::string digits = cat(number);
  return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

/// The end of the name of part `index`: "-00001-of-00003.gguf".
std::string part_suffix(std::int64_t index, std::int64_t count) {
  return cat("-", five_digits(index + 1), "-of-", five_digits(count), ".gguf");
}

/// A mapped file and its parsed content.
struct Part {
  MappedFile mapped;
  GgufFile file;
};

Part open_part(File file) {
  Part part{MappedFile(std::move(file)), {}};
  part.file = parse_gguf(part.mapped.bytes(), part.mapped.name());
  return part;
}

/// Opens all parts of the split model of `first`, which is the file at `path`.
std::vector<Part> open_set(const std::string& path, const Part& first, const Split& split) {
  const std::string suffix = part_suffix(split.index, split.count);
  const std::size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  const std::string base = slash == std::string::npos ? path : path.substr(slash + 1);
  if (!base.ends_with(suffix)) {
    GgufKeys(first.file)
        .fail(cat("a split model's part ", split.index + 1, " of ", split.count,
                  " must be named ...", suffix));
  }
  const std::string stem = base.substr(0, base.size() - suffix.size());
  const Directory directory(folder);
  std::vector<Part> parts;
  for (std::int64_t i = 0; i < split.count; ++i) {
    parts.push_back(open_part(directory.open(stem + part_suffix(i, split.count))));
    GgufKeys keys(parts.back().file);
    const Split own = read_split(keys);
    if (own.index != i || own.count != split.count || own.tensors != split.tensors) {
      keys.fail(cat("part ", own.index + 1, " of ", own.count, " with ", own.tensors.value_or(0),
                    " tensors, expected part ", i + 1, " of ", split.count, " with ",
                    split.tensors.value_or(0)));
    }
  }
  return parts;
}

std::vector<Part> open_parts(const std::string& path) {
  std::vector<Part> parts;
  parts.push_back(open_part(File(path)));
  GgufKeys keys(parts.front().file);
  const Split split = read_split(keys);
  return split.count > 1 ? open_set(path, parts.front(), split) : std::move(parts);
}

class GgufCheckpoint final : public Checkpoint {
 public:
  GgufCheckpoint(std::string name, std::vector<Part> parts) : mapped_(parts.size()) {
    std::vector<GgufFile> files;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      mapped_[i] = std::move(parts[i].mapped);
      files_.push_back(mapped_[i].name());
      files.push_back(std::move(parts[i].file));
    }
    fill(std::move(name), std::move(files));
  }

  /// A checkpoint over bytes that the caller owns.
  GgufCheckpoint(std::string name, GgufFile file) {
    std::vector<GgufFile> files;
    files.push_back(std::move(file));
    fill(std::move(name), std::move(files));
  }

  std::span<const GgufEntry> gguf_entries() const override { return entries_; }
  const std::string& file_of(const TensorInfo& tensor) const override {
    return names_[static_cast<std::size_t>(tensor.file)];
  }
  void release(const TensorInfo& tensor) override {
    if (mapped_.empty()) return;
    mapped_[static_cast<std::size_t>(tensor.file)].release(tensor.offset, tensor.bytes);
  }
  std::vector<FileIdentity> identities() const override {
    std::vector<FileIdentity> all;
    for (const MappedFile& mapped : mapped_) all.push_back(mapped.identity());
    return all;
  }
  void expect_unchanged() const override {
    for (const MappedFile& mapped : mapped_) mapped.expect_unchanged();
  }

 private:
  void fill(std::string name, std::vector<GgufFile> files);
  void take_tensors(std::vector<GgufFile>& files);
  void check_names() const;

  std::vector<MappedFile> mapped_;
  std::vector<std::string> names_;
  std::vector<GgufEntry> entries_;  ///< views of the first file
};

void GgufCheckpoint::fill(std::string name, std::vector<GgufFile> files) {
  name_ = std::move(name);
  GgufKeys keys(files.front());
  const Split split = read_split(keys);
  if (split.count != static_cast<std::int64_t>(files.size())) {
    keys.fail(cat("holds one of ", split.count, " parts of a split model"));
  }
  tokenizer_ = gguf_tokenizer(keys);
  take_tensors(files);
  if (tensors_.empty()) {
    keys.fail(tokenizer_ ? "holds a vocabulary only: no tensors" : "holds no tensors");
  }
  const auto total = static_cast<std::int64_t>(tensors_.size());
  if (split.tensors && *split.tensors != total) {
    keys.refuse("split.tensors.count", cat("does not agree with the ", total, " tensors found"));
  }
  config_ = gguf_config(keys, tokenizer_.get());
  metadata_.reserve(files.front().entries.size());
  for (const GgufEntry& entry : files.front().entries) {
    metadata_.emplace_back(entry.key, gguf_json(entry));
  }
  entries_ = std::move(files.front().entries);
  index_tensors();
}

void GgufCheckpoint::take_tensors(std::vector<GgufFile>& files) {
  for (GgufFile& file : files) {
    const auto index = static_cast<std::int32_t>(names_.size());
    for (TensorInfo& tensor : file.tensors) {
      tensor.file = index;
      tensors_.push_back(std::move(tensor));
    }
    names_.push_back(file.name);
  }
  if (files.size() > 1) check_names();
}

/// Checks that tensor names are unique across all parts. Within a part they are already.
void GgufCheckpoint::check_names() const {
  std::vector<const TensorInfo*> order;
  for (const TensorInfo& tensor : tensors_) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const TensorInfo* a, const TensorInfo* b) {
    return a->name != b->name ? a->name < b->name : a->file < b->file;
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i]->name == order[i - 1]->name) {
      throw model_error(
          file_of(*order[i]), "tensor table", 0,
          cat("tensor ", order[i]->name, " is also in ", printable(file_of(*order[i - 1]))));
    }
  }
}

}  // namespace

std::unique_ptr<Checkpoint> open_gguf(const std::string& path) {
  return std::make_unique<GgufCheckpoint>(path, open_parts(path));
}

std::unique_ptr<Checkpoint> open_gguf_bytes(std::span<const std::byte> bytes, std::string name) {
  GgufFile file = parse_gguf(bytes, name);
  return std::make_unique<GgufCheckpoint>(std::move(name), std::move(file));
}

std::unique_ptr<TokenizerData> read_gguf_tokenizer(const std::string& path) {
  const std::vector<Part> parts = open_parts(path);
  GgufKeys keys(parts.front().file);
  std::unique_ptr<TokenizerData> tokenizer = gguf_tokenizer(keys);
  if (!tokenizer) keys.fail("holds no tokenizer");
  for (const Part& part : parts) part.mapped.expect_unchanged();
  return tokenizer;
}

}  // namespace ingot
