// Takes addresses of the hub's pages and files apart.
#include "hub/model_url.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/ignore_case.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::string_view kScheme = "://";
constexpr std::array<std::string_view, 3> kHosts{"huggingface.co", "hf.co", "www.huggingface.co"};

[[noreturn]] void refuse_address(std::string_view address, std::string_view reason) {
  throw Error(ErrorCode::kInvalid, cat("'", printable(address), "' ", reason));
}

/// Cuts `text` at the first of `ends`, and returns the part in front.
std::string_view take_until(std::string_view& text, std::string_view ends) {
  const std::size_t end = std::min(text.find_first_of(ends), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end);
  return part;
}

/// Cuts the next part of a path, and the slash behind it.
std::string_view take_part(std::string_view& path) {
  const std::string_view part = take_until(path, "/");
  path.remove_prefix(path.empty() ? 0 : 1);
  return part;
}

/// The text behind "https://"; all of it if there is no scheme.
std::string_view without_scheme(std::string_view address) {
  const std::size_t at = address.find(kScheme);
  return at == address.npos ? address : address.substr(at + kScheme.size());
}

/// Removes the hub's host, and the path of the endpoint. Returns whether the host is a hub's.
bool take_host(std::string_view& address, std::string_view endpoint) {
  const auto take = [&](std::string_view host) {
    const bool is_host = !host.empty() && starts_ignoring_case(address, host) &&
                         (address.size() == host.size() || address[host.size()] == '/');
    if (is_host) address.remove_prefix(std::min(host.size() + 1, address.size()));
    return is_host;
  };
  return take(without_scheme(endpoint)) || std::any_of(kHosts.begin(), kHosts.end(), take);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = lower_ascii(c);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/// The text with "%2F" and the like replaced by their bytes.
std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : hex_digit(text[i + 2]);
    decoded += low < 0 ? text[i] : static_cast<char>(high * 16 + low);
    if (low >= 0) i += 2;
  }
  return decoded;
}

/// The file that a query such as "?show_file_info=m.gguf" names; empty if it names none.
std::string_view file_of_query(std::string_view query) {
  constexpr std::string_view kFile = "show_file_info=";
  query = take_until(query, "#");
  while (!query.empty()) {
    query.remove_prefix(1);
    const std::string_view member = take_until(query, "&");
    if (member.starts_with(kFile)) return member.substr(kFile.size());
  }
  return {};
}

/// Whether a file is a part of a folder's model, which opens as a whole.
bool is_part_of_folder(std::string_view file) {
  return file.starts_with("model") && file.find('/') == file.npos &&
         (file.ends_with(".safetensors") || file.ends_with(".safetensors.index.json"));
}

/// The parts of an address behind the host, as they are written there.
struct HubPath {
  std::string_view repo;
  std::string_view page;      ///< "tree", "resolve", ...; empty: the repository itself
  std::string_view revision;  ///< behind `page`
  std::string_view rest;      ///< behind `revision`
};

bool is_page(std::string_view part) {
  constexpr std::array<std::string_view, 5> kPages{"tree", "resolve", "blob", "raw", "commit"};
  return std::find(kPages.begin(), kPages.end(), part) != kPages.end();
}

/// Takes a path apart. A repository has one part or two; the page's name ends it.
HubPath split_path(std::string_view path) {
  HubPath parts;
  std::string_view rest = path;
  const std::string_view first = take_part(rest);
  std::string_view behind = rest;
  std::string_view second = take_part(behind);
  if (!is_page(second)) {
    parts.repo = path.substr(0, first.size() + (second.empty() ? 0 : 1) + second.size());
    rest = behind;
    second = take_part(behind);
  } else {
    parts.repo = first;
  }
  parts.page = second;
  parts.revision = take_part(behind);
  parts.rest = behind;
  return parts;
}

/// Reads an address with a page, such as "user/name/tree/main".
ModelName name_of_page(std::string_view address, const HubPath& path) {
  const bool is_file = path.page != "tree" && path.page != "commit";
  ModelName name{.repo = percent_decoded(path.repo), .revision = {}, .file = {}};
  std::string_view revision = path.revision;
  std::string_view folder = path.rest;
  // A quantisation may stand behind the last part of a folder's address.
  std::string_view& last = folder.empty() ? revision : folder;
  std::string_view wanted = last;
  if (!is_file) {
    last = take_until(wanted, ":");
    wanted.remove_prefix(wanted.empty() ? 0 : 1);
  }
  name.revision = percent_decoded(revision);
  name.file = percent_decoded(is_file || wanted.empty() ? folder : wanted);
  if (!is_repo_name(name.repo) || !is_revision(name.revision) ||
      (name.file.empty() ? is_file : !is_repo_path(name.file))) {
    refuse_address(address, "is not the address of a model or of a model's file");
  }
  return name;
}

ModelName name_of_path(std::string_view address, std::string_view path) {
  for (const std::string_view kind : {"datasets", "spaces"}) {
    if (!path.starts_with(cat(kind, "/"))) continue;
    refuse_address(address, cat("is an address of the hub's ", kind, ", not of a model"));
  }
  const HubPath parts = split_path(path);
  if (is_page(parts.page)) return name_of_page(address, parts);
  auto name = parse_model_name(percent_decoded(path));
  if (!name)
    refuse_address(address, "is not the address of a model, as https://hf.co/USER/NAME is");
  return std::move(*name);
}

}  // namespace

std::optional<ModelName> read_model_name(std::string_view text, std::string_view endpoint) {
  std::string_view address = text;
  const std::size_t scheme_end = text.find(kScheme);
  const bool has_scheme = scheme_end != text.npos && text.find('/') > scheme_end;
  if (has_scheme) {
    const std::string_view scheme = text.substr(0, scheme_end);
    if (!equal_ignoring_case(scheme, "https") && !equal_ignoring_case(scheme, "http")) {
      refuse_address(text,
                     "cannot be opened: only models of the hub have addresses, which begin "
                     "with https://");
    }
    address.remove_prefix(scheme_end + kScheme.size());
  }
  if (!take_host(address, endpoint)) {
    if (!has_scheme) return parse_model_name(text);
    refuse_address(text, cat("is not an address of the hub, ", printable(endpoint, 256),
                             ": download the file with another program, and name the file"));
  }
  std::string_view path = take_until(address, "?#");
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty()) refuse_address(text, "names no model: expected https://hf.co/USER/NAME");
  ModelName name = name_of_path(text, path);
  const std::string file = percent_decoded(file_of_query(address));
  if (name.file.empty() && is_repo_path(file)) name.file = file;
  if (is_part_of_folder(name.file)) name.file.clear();
  return name;
}

}  // namespace ingot
