// pull_model: lists a repository, downloads missing blobs, links them, and sets the reference.
#include "hub/pull.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "hub/cache.h"
#include "hub/file_lock.h"
#include "hub/find_model.h"
#include "hub/http.h"
#include "hub/incomplete_blob.h"
#include "hub/listing.h"
#include "hub/retry.h"
#include "hub/snapshot_model.h"
#include "load/hf/safetensors_index.h"

namespace ingot {

namespace fs = std::filesystem;

namespace {

/// Bytes of progress after which the count of attempts begins again. With fewer bytes, a server
/// that breaks every transfer would be retried endlessly.
constexpr std::uint64_t kProgressBytes = std::uint64_t{1} << 20;
/// Time limit for a whole listing, as a multiple of `timeout_seconds`.
constexpr int kListingTimeouts = 10;

/// Collects a body in memory, up to kHubListingBytesMax.
class ListingText final : public HttpSink {
 public:
  explicit ListingText(const std::string& source) : source_(source) {}

  const std::string& text() const { return text_; }
  void begin(std::uint64_t) override { text_.clear(); }
  void write(std::span<const std::byte> bytes) override {
    if (bytes.size() > kHubListingBytesMax - text_.size()) {
      throw model_error(source_, "hub",
                        cat("the answer has more than ", kHubListingBytesMax, " bytes"));
    }
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

 private:
  const std::string& source_;
  std::string text_;
};

/// Why a request was refused, or its target does not exist; empty for other statuses.
std::string refusal_text(const HttpReply& reply, const ModelName& name, const HubOptions& options) {
  const std::string& code = reply.error_code;
  const bool has_token = !options.token.empty();
  if (code == "GatedRepo" || reply.status == 403) {
    return cat("access is restricted: accept its terms at ", options.endpoint, "/", name.repo,
               has_token ? " with the account of the token in HF_TOKEN"
                         : ", then set HF_TOKEN to a token of that account");
  }
  if (code == "RevisionNotFound") return cat("it has no revision '", name.revision, "'");
  if (code == "EntryNotFound") return "the file is not there";
  if (reply.status == 401 || reply.status == 404) {
    return cat("there is no such model, or it is private: ",
               has_token ? "the token in HF_TOKEN may not read it"
                         : "set HF_TOKEN to a token that may read it");
  }
  return {};
}

/// A short description of a failure: "the server answered 503", "could not resolve host: ...".
std::string problem_text(const HttpReply& reply) {
  return reply.transport == Transport::kDone ? cat("the server answered ", reply.status)
                                             : reply.problem;
}

/// The error for a failed request. `what` is the requested repository or file.
///
/// Source: the hub's X-Error-Code values: huggingface_hub, hf_raise_for_status.
Error hub_error(const HttpReply& reply, const ModelName& name, std::string_view what,
                const HubOptions& options) {
  const bool is_reply = reply.transport == Transport::kDone;
  if (const auto text = refusal_text(reply, name, options); is_reply && !text.empty()) {
    return model_error(what, "hub", text);
  }
  return {ErrorCode::kUnavailable,
          cat(printable(what), ": ", problem_text(reply), " (", printable(options.endpoint, 256),
              reply.status == 429 ? ": too many requests)" : ")")};
}

/// The path of a model in the cache. Reports a default choice.
const std::string& path_of(const FoundModel& found, PullWatch& watch) {
  if (!found.note.empty()) watch.choice(found.note);
  return found.path;
}

class Pull {
 public:
  Pull(const ModelName& name, const HubOptions& options, PullWatch& watch)
      : name_(name),
        options_(options),
        watch_(watch),
        cache_(options.cache, name.repo),
        client_({.token = options.token,
                 .user_agent = options.user_agent,
                 .timeout_seconds = options.timeout_seconds}) {}

  std::string run() {
    try {
      listing_ = list();
    } catch (const Error& e) {
      if (e.code() != ErrorCode::kUnavailable) throw;
      const auto found = find_cached_model(options_.cache, name_);
      if (!found) throw;
      watch_.note(cat(e.plain_message(), "; using the cache"));
      return path_of(*found, watch_);
    }
    const ModelFiles files = choose();
    plan(files.paths);
    for (const std::string& path : files.paths) fetch(listed(path));
    if (!is_commit(name_.revision)) cache_.set_ref(name_.revision, listing_.commit);
    return cat(cache_.snapshot(listing_.commit), files.opened.empty() ? "" : "/", files.opened);
  }

 private:
  HubListing list() {
    std::string revision;
    // Slashes of a revision must not separate parts of the URL's path.
    for (const char c : name_.revision) revision += c == '/' ? "%2F" : std::string(1, c);
    const FetchRequest request{.url = cat(options_.endpoint, "/api/models/", name_.repo,
                                          "/revision/", revision, "?blobs=true"),
                               .seconds_max = kListingTimeouts * options_.timeout_seconds};
    ListingText body(name_.repo);
    for (int attempt = 1;; ++attempt) {
      const HttpReply reply = client_.get(request, body, [&] { watch_.progress({}); });
      if (reply.transport == Transport::kDone && reply.is_success()) break;
      again(reply, name_.repo, attempt);
    }
    HubListing listing = parse_hub_listing(body.text(), name_.repo);
    if (is_commit(name_.revision) && listing.commit != name_.revision) {
      throw model_error(name_.repo, "hub",
                        cat("the server answered with commit ", listing.commit, ", asked for was ",
                            name_.revision));
    }
    return listing;
  }

  /// The model's files. Downloads an index if there is one, because it names more files.
  ModelFiles choose() {
    const std::vector<std::string> paths = listing_.paths();
    auto chosen = choose_model_files(paths, name_);
    if (!chosen) throw no_model_error(paths, name_.repo, name_.file);
    if (!chosen->note.empty()) watch_.choice(chosen->note);
    if (chosen->index.empty()) return std::move(*chosen);
    const HubFile& index = listed(chosen->index);
    plan({chosen->index});
    fetch(index);
    const File file(cache_.blob(index.blob));
    const SafetensorsIndex shards = parse_safetensors_index(
        file.read_all(kSafetensorsIndexBytesMax), cat(name_.repo, "/", index.path));
    chosen->paths.insert(chosen->paths.end(), shards.files.begin(), shards.files.end());
    return std::move(*chosen);
  }

  const HubFile& listed(const std::string& path) const {
    const HubFile* file = listing_.find(path);
    if (file == nullptr) {
      throw model_error(name_.repo, "hub",
                        cat("its index names '", printable(path), "', which is not there"));
    }
    return *file;
  }

  /// Adds up the bytes to download. Throws if the disk does not have enough space.
  void plan(const std::vector<std::string>& paths) {
    total_ = 0;
    done_ = 0;
    std::uint64_t missing = 0;
    for (const std::string& path : paths) {
      const HubFile& file = listed(path);
      total_ += file.bytes;
      if (is_there(file)) continue;
      std::error_code none;
      const auto begun = fs::file_size(cache_.incomplete(file.blob), none);
      missing += file.bytes - (none ? 0 : std::min<std::uint64_t>(begun, file.bytes));
    }
    make_folders(cat(cache_.folder(), "/blobs"));
    std::error_code unknown;
    const auto space = fs::space(cache_.folder(), unknown);
    if (!unknown && missing > space.available) {
      throw Error(ErrorCode::kIo,
                  cat(printable(cache_.folder(), 4096), ": no space for ", name_.repo,
                      ": it needs ", missing, " more bytes, ", space.available, " are free"));
    }
  }

  /// Downloads a missing file and links it. Holds its lock, so that no process removes it as
  /// unused.
  void fetch(const HubFile& file) {
    make_folders(cache_.lock_folder());
    bool has_said = false;
    const FileLock lock(cache_.lock(file.blob), [&] {
      if (!has_said) watch_.note(cat(file.path, ": waiting for another process that downloads it"));
      has_said = true;
      report();
    });
    if (!is_there(file)) download(file);
    cache_.link(listing_.commit, file.path, file.blob);
    done_ += file.bytes;
    of_file_ = 0;
    report();
  }

  void download(const HubFile& file) {
    IncompleteBlob blob(cache_.incomplete(file.blob), file, [&] { report(); });
    of_file_ = blob.bytes();
    const bool is_continued = blob.bytes() > 0;
    receive(file, blob);
    std::string checksum = blob.checksum();
    if (checksum != file.blob && is_continued) {
      watch_.note(cat(file.path, ": the unfinished download is damaged, starting over"));
      blob.restart();
      receive(file, blob);
      checksum = blob.checksum();
    }
    if (checksum != file.blob) {
      blob.discard();
      throw model_error(
          file.path, "hub",
          cat("the downloaded file has the checksum ", checksum, ", expected ", file.blob));
    }
    blob.commit(cache_.blob(file.blob));
  }

  void receive(const HubFile& file, IncompleteBlob& blob) {
    const std::string url = cat(options_.endpoint, "/", name_.repo, "/resolve/", listing_.commit,
                                "/", url_escape(file.path));
    for (int attempt = 1; blob.bytes() < file.bytes; ++attempt) {
      const std::uint64_t before = blob.bytes();
      HttpReply reply = client_.get({.url = url, .offset = before}, blob, [&] { count(blob); });
      count(blob);
      if (blob.bytes() == file.bytes) return;
      if (reply.is_range_refused) {
        blob.restart();
        reply.transport = Transport::kBroken;
        reply.problem = "the server does not continue a download";
      } else if (reply.transport == Transport::kDone && reply.is_success()) {
        reply.transport = Transport::kBroken;
        reply.problem = cat("the server sent ", blob.bytes(), " of ", file.bytes, " bytes");
      }
      // The server sent the listing, so it is only unreachable now, and a retry may help.
      if (reply.transport == Transport::kUnreachable) reply.transport = Transport::kBroken;
      if (blob.bytes() >= before + kProgressBytes) attempt = 1;
      again(reply, file.path, attempt);
    }
  }

  bool is_there(const HubFile& file) const {
    std::error_code none;
    const std::string path = cache_.blob(file.blob);
    return fs::is_regular_file(fs::symlink_status(path, none)) &&
           fs::file_size(path, none) == file.bytes && !none;
  }

  /// Waits before the next attempt, or throws if there should be none.
  void again(const HttpReply& reply, std::string_view what, int attempt) {
    const auto wait = retry_wait_ms(reply, attempt);
    if (!wait) throw hub_error(reply, name_, what, options_);
    watch_.note(cat(what, ": ", problem_text(reply), ", trying again",
                    *wait == 0 ? "" : cat(" in ", *wait / 1000.0, " s")));
    wait_ms(*wait, [&] { report(); });
  }

  /// Counts the bytes that came, and reports the progress.
  void count(const IncompleteBlob& blob) {
    // A server may send the whole file again, so that the blob becomes smaller.
    received_ += blob.bytes() - std::min(of_file_, blob.bytes());
    of_file_ = blob.bytes();
    report();
  }

  void report() {
    watch_.progress({.done = done_ + of_file_, .total = total_, .received = received_});
  }

  const ModelName& name_;
  const HubOptions& options_;
  PullWatch& watch_;
  RepoCache cache_;
  FetchClient client_;
  HubListing listing_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;      ///< bytes of the finished files
  std::uint64_t of_file_ = 0;   ///< bytes of the unfinished file
  std::uint64_t received_ = 0;  ///< bytes that came from the hub, except listings
};

}  // namespace

std::string pull_model(const ModelName& name, const HubOptions& options, PullWatch& watch) {
  if (!options.offline) return Pull(name, options, watch).run();
  const auto found = find_cached_model(options.cache, name);
  if (!found) {
    throw Error(
        ErrorCode::kUnavailable,
        cat(to_string(name), " is not in the cache, and HF_HUB_OFFLINE forbids to download it"));
  }
  return path_of(*found, watch);
}

}  // namespace ingot
