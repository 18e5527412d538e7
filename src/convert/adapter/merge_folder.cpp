// write_merged_folder: writes shard after shard, then the files beside them.
#include "convert/adapter/merge_folder.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/index.h"
#include "base/output_file.h"
#include "base/output_folder.h"
#include "base/text.h"
#include "convert/tensor_work.h"
#include "load/hf/hf_config.h"
#include "load/hf/safetensors.h"
#include "load/hf/safetensors_index.h"
#include "load/hf/safetensors_writer.h"
#include "load/json_object.h"
#include "model/bind.h"
#include "model/family.h"

namespace ingot {

namespace {

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::uint64_t kSideFileMax = 1 << 30;
constexpr std::size_t kCopyBytes = 1 << 20;

/// Ends of the names of files about a model that hold no weights. `auto_map` names Python files.
constexpr std::array kSideFiles = std::to_array<std::string_view>(
    {".json", ".jinja", ".model", ".txt", ".tiktoken", ".md", ".py"});

/// A tensor of a new file: a stored tensor as it is, or a changed one.
struct MergedTensor {
  SafetensorsEntry entry;
  const TensorInfo* source = nullptr;
  std::optional<PlannedTensor> work;  ///< absent: the bytes stay
};

/// The object `__metadata__` of a safetensors file.
Json metadata_of(const std::string& path) {
  const File file(path);
  std::uint64_t size = 0;
  file.read_at(0, std::as_writable_bytes(std::span(&size, 1)));
  std::string text(std::min(size, kSafetensorsHeaderMax), '\0');
  file.read_at(sizeof size, std::as_writable_bytes(std::span(text)));
  const Json header = parse_json(text, path, "header", {.bytes_max = kSafetensorsHeaderMax});
  const Json* metadata = header.find("__metadata__");
  return metadata == nullptr ? Json() : *metadata;
}

class FolderMerge {
 public:
  FolderMerge(Checkpoint& checkpoint, const std::string& folder, const AdapterChanges& adapter,
              const std::string& out, ThreadPool& pool, QuantiseProgress progress)
      : checkpoint_(checkpoint),
        folder_(folder),
        adapter_(adapter),
        bound_(bind_model(checkpoint)),
        out_(out),
        pool_(pool),
        progress_(progress) {
    plan();
  }

  std::vector<TensorReport> write() {
    for (const auto& [path, tensors] : files_) write_file(path, tensors);
    write_side_files();
    advance(0);
    checkpoint_.expect_unchanged();
    out_.commit();
    return std::move(reports_);
  }

 private:
  void plan();
  void add(const TensorInfo& stored, const ListedTensor* source);
  void add_own_head();
  std::string place_of(const std::string& path) const;
  void write_file(const std::string& path, const std::vector<MergedTensor>& tensors);
  void write_tensor(const MergedTensor& tensor, SafetensorsWriter& writer);
  void copy_file(const File& file, const std::string& place, bool counts);
  void write_side_files();
  void write_side_file(const File& file, const std::string& place);
  void write_text(const std::string& place, std::string_view text) const;
  Json untied(const Json& config) const;
  Json with_head(const Json& index) const;
  /// Shows progress, and ends the work after a signal.
  void advance(std::uint64_t bytes);

  Checkpoint& checkpoint_;
  std::string folder_;
  const AdapterChanges& adapter_;
  BoundModel bound_;
  OutputFolder out_;
  ThreadPool& pool_;
  QuantiseProgress progress_;
  std::map<std::string, std::vector<MergedTensor>> files_;  ///< by path, in the order of the bytes
  std::string new_head_;                                    ///< name of the added head; "": none
  std::string head_file_;
  std::uint64_t head_bytes_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  std::vector<TensorReport> reports_;
};

void FolderMerge::plan() {
  std::map<const TensorInfo*, ListedTensor> listed;
  for (ListedTensor& tensor : list_bound(bound_)) {
    const TensorInfo* source = tensor.source();
    listed.emplace(source, std::move(tensor));
  }
  for (const TensorInfo& tensor : checkpoint_.tensors()) {
    const auto found = listed.find(&tensor);
    add(tensor, found == listed.end() ? nullptr : &found->second);
  }
  if (adapter_.separates_head()) add_own_head();
  for (const auto& [path, tensors] : files_) {
    for (const MergedTensor& tensor : tensors) total_ += tensor.entry.bytes;
  }
}

void FolderMerge::add(const TensorInfo& stored, const ListedTensor* source) {
  MergedTensor tensor{.entry = {.name = stored.name,
                                .dtype = stored.type_name,
                                .shape = stored.shape,
                                .bytes = stored.bytes},
                      .source = &stored,
                      .work = {}};
  if (!stored.format && adapter_.touches(stored)) {
    throw model_error(checkpoint_.file_of(stored), cat("tensor ", printable(stored.name)),
                      stored.offset,
                      "the adapter changes it, and folders cannot hold its type: name a .gguf file "
                      "as OUT, and choose a type with --type");
  }
  if (source != nullptr && stored.format && adapter_.changes(*source)) {
    tensor.work = {.source = *source,
                   .choice = {*stored.format, {}},
                   .importance = {},
                   .adapter = &adapter_,
                   .copies_rows = true};
  }
  files_[checkpoint_.file_of(stored)].push_back(std::move(tensor));
}

/// Gives a head that was the embedding a tensor of its own: the stored copy, or a new one behind
/// the other tensors of the embedding's file.
void FolderMerge::add_own_head() {
  const TensorInfo& embedding = *bound_.embedding.parts.front().tensor;
  std::vector<MergedTensor>& file = files_[checkpoint_.file_of(embedding)];
  const std::string usual = find_family(bound_.spec.architecture, checkpoint_.name())
                                .tensor_name(TensorRole::kHead, Naming::kHuggingFace);
  // In multimodal folders, both names may begin with the same prefix.
  constexpr std::string_view kPrefix = "language_model.";
  const bool has_prefix = embedding.name.starts_with(kPrefix);
  const std::string name = has_prefix ? cat(kPrefix, usual) : usual;
  ListedTensor head{.name = name,
                    .role = TensorRole::kHead,
                    .shape = embedding.shape,
                    .parts = bound_.embedding.parts};
  PlannedTensor work{.source = std::move(head),
                     .choice = {*embedding.format, {}},
                     .importance = {},
                     .adapter = &adapter_,
                     .copies_rows = true};
  for (auto& [path, tensors] : files_) {
    for (MergedTensor& tensor : tensors) {
      if (tensor.entry.name != name && tensor.entry.name != usual) continue;
      tensor.work = std::move(work);
      return;
    }
  }
  new_head_ = name;
  head_file_ = place_of(checkpoint_.file_of(embedding));
  head_bytes_ = embedding.bytes;
  file.push_back({.entry = {.name = name,
                            .dtype = embedding.type_name,
                            .shape = embedding.shape,
                            .bytes = embedding.bytes},
                  .source = &embedding,
                  .work = std::move(work)});
}

/// The path of a file inside the folder.
std::string FolderMerge::place_of(const std::string& path) const {
  std::string_view place = std::string_view(path).substr(folder_.size());
  while (place.starts_with('/')) place.remove_prefix(1);
  return std::string(place);
}

void FolderMerge::advance(std::uint64_t bytes) {
  done_ += bytes;
  progress_(done_, total_);
}

void FolderMerge::write_file(const std::string& path, const std::vector<MergedTensor>& tensors) {
  const bool changes = std::any_of(tensors.begin(), tensors.end(),
                                   [](const MergedTensor& t) { return t.work.has_value(); });
  if (!changes) {
    copy_file(File(path), place_of(path), true);
    return;
  }
  std::vector<SafetensorsEntry> entries;
  entries.reserve(tensors.size());
  for (const MergedTensor& tensor : tensors) entries.push_back(tensor.entry);
  SafetensorsWriter writer(out_.file(place_of(path)), entries, metadata_of(path));
  for (const MergedTensor& tensor : tensors) {
    write_tensor(tensor, writer);
    checkpoint_.release(*tensor.source);
  }
  writer.commit();
}

void FolderMerge::write_tensor(const MergedTensor& tensor, SafetensorsWriter& writer) {
  if (!tensor.work) {
    writer.write({tensor.source->data, tensor.source->bytes});
    return advance(tensor.entry.bytes);
  }
  TensorWork work(checkpoint_, *tensor.work, pool_);
  work.run(
      [&](std::span<const std::byte> bytes) {
        writer.write(bytes);
        advance(bytes.size());
      },
      [](std::int64_t) {});
  reports_.push_back(work.report());
}

void FolderMerge::copy_file(const File& file, const std::string& place, bool counts) {
  OutputFile out(out_.file(place));
  std::vector<std::byte> bytes(kCopyBytes);
  for (std::uint64_t at = 0; at < file.size(); at += bytes.size()) {
    bytes.resize(std::min<std::uint64_t>(kCopyBytes, file.size() - at));
    file.read_at(at, bytes);
    out.write(bytes);
    if (counts) advance(bytes.size());
  }
  out.commit();
}

/// Writes the files that the model was read from, and others about the model.
void FolderMerge::write_side_files() {
  std::set<std::string> done;
  for (const auto& [path, tensors] : files_) done.insert(path);
  for (const std::string& path : checkpoint_.files()) {
    if (done.insert(path).second) write_side_file(File(path), place_of(path));
  }
  const Directory folder(folder_);
  for (const std::string& name : folder.list()) {
    const bool is_side_file =
        std::any_of(kSideFiles.begin(), kSideFiles.end(),
                    [&](std::string_view end) { return name.ends_with(end); }) &&
        !name.starts_with('.') && !name.ends_with(".index.json") && !name.starts_with("adapter_");
    if (!is_side_file || !folder.contains(name)) continue;
    const File file = folder.open(name);
    if (done.insert(file.name()).second) write_side_file(file, name);
  }
}

void FolderMerge::write_side_file(const File& file, const std::string& place) {
  const bool is_config = place == kConfig && adapter_.separates_head();
  const bool is_index = place == kIndex && !new_head_.empty();
  if (!is_config && !is_index) return copy_file(file, place, false);
  const Json old = parse_json_file(file.read_all(kSideFileMax), file.name(), "config");
  const Json changed = is_config ? untied(old) : with_head(old);
  write_text(place, changed.dump(2) + "\n");
}

void FolderMerge::write_text(const std::string& place, std::string_view text) const {
  OutputFile out(out_.file(place));
  out.write(text);
  out.commit();
}

/// The configuration of a model with a head of its own. Without the member in `text_config`,
/// transformers ties the head of most multimodal models.
Json FolderMerge::untied(const Json& config) const {
  constexpr std::string_view kTied = "tie_word_embeddings";
  Json out = with_member(config, kTied, false);
  for (const auto& [key, value] : *config.as_object()) {
    if (value.find(kTied) == nullptr && key != "text_config") continue;
    out = with_member(out, key, with_member(value, kTied, false));
  }
  return out;
}

/// The index with the added head.
Json FolderMerge::with_head(const Json& index) const {
  Json out = with_member(index, "weight_map",
                         with_member(*index.find("weight_map"), new_head_, head_file_));
  const Json* metadata = index.find("metadata");
  const Json* size = metadata == nullptr ? nullptr : metadata->find("total_size");
  if (size == nullptr || !size->as_uint()) return out;
  return with_member(out, "metadata",
                     with_member(*metadata, "total_size", *size->as_uint() + head_bytes_));
}

}  // namespace

std::vector<TensorReport> write_merged_folder(Checkpoint& checkpoint, const std::string& folder,
                                              const AdapterChanges& adapter, const std::string& out,
                                              ThreadPool& pool, QuantiseProgress progress) {
  return FolderMerge(checkpoint, folder, adapter, out, pool, progress).write();
}

}  // namespace ingot
