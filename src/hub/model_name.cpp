// Parses and checks names of hub models. A valid name is safe in a path and in a URL.
#include "hub/model_name.h"

#include <algorithm>

#include "base/blob_link.h"
#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::size_t kRepoPartMax = 96;
constexpr std::size_t kRevisionMax = 255;
constexpr std::size_t kPathMax = 1024;
constexpr std::size_t kPathPartMax = 255;  // bytes; the longest file name on Linux
constexpr int kPathDepthMax = 8;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

bool is_repo_part(std::string_view part) {
  const auto is_edge = [](char c) { return c == '-' || c == '.'; };
  return !part.empty() && part.size() <= kRepoPartMax &&
         std::all_of(part.begin(), part.end(), is_word) && !is_edge(part.front()) &&
         !is_edge(part.back()) && part.find("--") == part.npos && part.find("..") == part.npos;
}

/// Whether `check` is true for each part between separators.
template <class Check>
bool all_parts(std::string_view text, Check check) {
  for (;;) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    if (!check(text.substr(0, slash))) return false;
    if (slash == text.size()) return true;
    text.remove_prefix(slash + 1);
  }
}

}  // namespace

bool is_repo_name(std::string_view text) {
  return std::count(text.begin(), text.end(), '/') <= 1 && all_parts(text, is_repo_part);
}

bool is_revision(std::string_view text) {
  return text.size() <= kRevisionMax && all_parts(text, [](std::string_view part) {
           return !part.empty() && std::all_of(part.begin(), part.end(), is_word) &&
                  part.front() != '.' && part.back() != '.' && part.find("..") == part.npos;
         });
}

bool is_commit(std::string_view text) { return text.size() == 40 && is_blob_name(text); }

bool is_repo_path(std::string_view text) {
  // A text that `printable` does not change has no control characters, NUL or invalid UTF-8.
  if (text.size() > kPathMax || text.find('\\') != text.npos ||
      printable(text, kPathMax + 1) != text) {
    return false;
  }
  int depth = 0;
  return all_parts(text, [&](std::string_view part) {
    return ++depth <= kPathDepthMax && !part.empty() && part.size() <= kPathPartMax &&
           part != "." && part != "..";
  });
}

std::optional<ModelName> parse_model_name(std::string_view text) {
  ModelName name;
  const std::size_t repo_end = std::min(text.find_first_of("@:"), text.size());
  name.repo = text.substr(0, repo_end);
  text.remove_prefix(repo_end);
  if (text.starts_with('@')) {
    const std::size_t end = std::min(text.find(':'), text.size());
    name.revision = text.substr(1, end - 1);
    text.remove_prefix(end);
  }
  const bool has_file = text.starts_with(':');
  if (has_file) name.file = text.substr(1);
  if (!is_repo_name(name.repo) || !is_revision(name.revision)) return std::nullopt;
  if (has_file && !is_repo_path(name.file)) return std::nullopt;
  return name;
}

std::string to_string(const ModelName& name) {
  return cat(name.repo, name.revision == "main" ? "" : "@" + name.revision,
             name.file.empty() ? "" : ":" + name.file);
}

}  // namespace ingot
