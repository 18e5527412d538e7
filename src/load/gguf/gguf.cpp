// Opens GGUF files as checkpoints: maps them, finds the parts of split models, joins their tensors.
#include "load/gguf/gguf.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "load/gguf/gguf_config.h"
#include "load/gguf/gguf_file.h"
#include "load/gguf/gguf_metadata.h"
#include "load/gguf/gguf_tokenizer.h"
#include "load/wrong_file.h"

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

/// The end of the name of part `index`: "-00001-of-00003.gguf". Both numbers are below 100,000.
std::string part_suffix(std::int64_t index, std::int64_t count) {
  const auto five_digits = [](std::int64_t number) { return cat(100'000 + number).substr(1); };
  return cat("-", five_digits(index + 1), "-of-", five_digits(count), ".gguf");
}

/// Parsed files, and their mappings if they do not lie in memory.
struct Files {
  std::vector<MappedFile> mapped;
  std::vector<GgufFile> parsed;

  void add(File file) {
    refuse_lfs_pointer(file);
    const MappedFile& last = mapped.emplace_back(std::move(file));
    parsed.push_back(parse_gguf(last.bytes(), last.name()));
  }
};

/// Opens all parts of the split model of `first`, which is the file at `path`.
Files open_set(const std::string& path, const GgufFile& first, const Split& split) {
  const std::string suffix = part_suffix(split.index, split.count);
  const std::size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  const std::string base = slash == std::string::npos ? path : path.substr(slash + 1);
  if (!base.ends_with(suffix)) {
    GgufKeys(first).fail(cat("a split model's part ", split.index + 1, " of ", split.count,
                             " must be named ...", suffix));
  }
  const std::string stem = base.substr(0, base.size() - suffix.size());
  const Directory directory(folder);
  Files files;
  for (std::int64_t i = 0; i < split.count; ++i) {
    files.add(directory.open(stem + part_suffix(i, split.count)));
    GgufKeys keys(files.parsed.back());
    const Split own = read_split(keys);
    if (own.index != i || own.count != split.count || own.tensors != split.tensors) {
      keys.fail(cat("part ", own.index + 1, " of ", own.count, " with ", own.tensors.value_or(0),
                    " tensors, expected part ", i + 1, " of ", split.count, " with ",
                    split.tensors.value_or(0)));
    }
  }
  return files;
}

void refuse_importance(const GgufKeys& keys) {
  const GgufEntry* type = keys.file().find("general.type");
  if (type == nullptr || type->type != GgufType::kString || type->text() != "imatrix") return;
  throw model_error(keys.file().name, "metadata", type->offset, kImportanceReason);
}

Files open_files(const std::string& path) {
  Files files;
  File file(path);
  refuse_old_importance(file);
  files.add(std::move(file));
  GgufKeys keys(files.parsed.front());
  refuse_importance(keys);
  const Split split = read_split(keys);
  return split.count > 1 ? open_set(path, files.parsed.front(), split) : std::move(files);
}

class GgufCheckpoint final : public Checkpoint {
 public:
  GgufCheckpoint(std::string name, Files files, const OpenOptions& options);

  std::span<const GgufEntry> gguf_entries() const override { return entries_; }

 private:
  std::vector<GgufEntry> entries_;  ///< views of the first file
};

GgufCheckpoint::GgufCheckpoint(std::string name, Files files, const OpenOptions& options) {
  name_ = std::move(name);
  notes_ = LoadNotes(options.accept_unknown);
  mapped_ = std::move(files.mapped);
  for (const MappedFile& mapped : mapped_) files_.push_back(mapped.name());
  GgufFile& first = files.parsed.front();
  GgufKeys keys(first);
  const Split split = read_split(keys);
  if (split.count != std::ssize(files.parsed)) {
    keys.fail(cat("holds one of ", split.count, " parts of a split model"));
  }
  tokenizer_ = gguf_tokenizer(keys);
  for (std::size_t i = 0; i < files.parsed.size(); ++i) {
    const GgufFile& file = files.parsed[i];
    if (file.trailing_bytes > 0) {
      notes_.warn(cat(printable(file.name, 4096), ": ", file.trailing_bytes,
                      " bytes behind the last tensor are ignored"));
    }
    for (TensorInfo& tensor : files.parsed[i].tensors) {
      tensor.file = static_cast<std::int32_t>(i);
      tensors_.push_back(std::move(tensor));
    }
  }
  index_tensors();
  if (tensors_.empty()) {
    keys.fail(tokenizer_ ? "holds a vocabulary only: no tensors" : "holds no tensors");
  }
  const auto total = static_cast<std::int64_t>(tensors_.size());
  if (split.tensors && *split.tensors != total) {
    keys.refuse("split.tensors.count", cat("does not agree with the ", total, " tensors found"));
  }
  const auto has_tensor = [this](std::string_view tensor) { return find(tensor) != nullptr; };
  config_ = gguf_config(keys, tokenizer_.get(), has_tensor, notes_);
  entries_ = std::move(first.entries);
  for (const GgufEntry& entry : entries_) metadata_.emplace_back(entry.key, gguf_json(entry));
  notes_.warn_of_unused_keys();
}

}  // namespace

std::unique_ptr<Checkpoint> open_gguf(const std::string& path, const OpenOptions& options) {
  return std::make_unique<GgufCheckpoint>(path, open_files(path), options);
}

std::unique_ptr<Checkpoint> open_gguf_bytes(std::span<const std::byte> bytes, std::string name,
                                            const OpenOptions& options) {
  Files files{{}, {parse_gguf(bytes, name)}};
  return std::make_unique<GgufCheckpoint>(std::move(name), std::move(files), options);
}

std::unique_ptr<TokenizerData> read_gguf_tokenizer(const std::string& path) {
  const Files files = open_files(path);
  GgufKeys keys(files.parsed.front());
  std::unique_ptr<TokenizerData> tokenizer = gguf_tokenizer(keys);
  if (!tokenizer) keys.fail("holds no tokenizer");
  for (const MappedFile& mapped : files.mapped) mapped.expect_unchanged();
  return tokenizer;
}

}  // namespace ingot
