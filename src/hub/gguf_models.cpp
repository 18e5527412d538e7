// Groups GGUF files to models, and matches names such as quantisations.
#include "hub/gguf_models.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "load/split_name.h"

namespace ingot {

namespace {

constexpr std::string_view kSuffix = ".gguf";
constexpr std::string_view kSeparators = "-./";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_separator(char c) { return kSeparators.find(c) != kSeparators.npos; }

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// A path without ".gguf" and without the number of a split file.
std::string_view stem_of(std::string_view path) {
  if (const auto split = parse_split_name(path)) return split->stem;
  return path.substr(0, path.size() - kSuffix.size());
}

/// Whether `wanted` occurs in `text` between separators.
bool has_part(std::string_view text, std::string_view wanted) {
  for (std::size_t at = 0; at + wanted.size() <= text.size(); ++at) {
    const std::size_t end = at + wanted.size();
    if ((at == 0 || is_separator(text[at - 1])) &&
        (end == text.size() || is_separator(text[end])) &&
        equal_ignoring_case(text.substr(at, wanted.size()), wanted)) {
      return true;
    }
  }
  return false;
}

/// The last part of a file name if it looks like a quantisation: Q4_K_M, IQ2_XXS, BF16.
std::string_view quantization_of(std::string_view path) {
  const std::string_view stem = base_name(stem_of(path));
  const std::string_view last = stem.substr(stem.find_last_of("-.") + 1);
  const auto is = [&](std::string_view prefix) {
    return last.size() > prefix.size() && last[prefix.size()] >= '0' &&
           last[prefix.size()] <= '9' && equal_ignoring_case(last.substr(0, prefix.size()), prefix);
  };
  return is("q") || is("iq") || is("tq") || is("f") || is("bf") || is("mxfp") ? last
                                                                              : std::string_view{};
}

bool is_model_file(std::string_view path) {
  return path.size() > kSuffix.size() && path.ends_with(kSuffix) &&
         !base_name(path).starts_with("mmproj");
}

void set_labels(std::vector<GgufModel>& models) {
  std::map<std::string, int, std::less<>> count;
  for (const GgufModel& model : models) ++count[std::string(quantization_of(model.files[0]))];
  for (GgufModel& model : models) {
    const std::string quantization(quantization_of(model.files[0]));
    const bool is_own = !quantization.empty() && count[quantization] == 1;
    model.label = is_own ? quantization : model.files[0];
  }
}

template <class Test>
std::vector<GgufModel> keep(std::span<const GgufModel> models, Test test) {
  std::vector<GgufModel> kept;
  std::copy_if(models.begin(), models.end(), std::back_inserter(kept), test);
  return kept;
}

}  // namespace

std::vector<GgufModel> find_gguf_models(std::span<const std::string> paths) {
  std::vector<GgufModel> models;
  std::map<std::pair<std::string, int>, std::vector<std::string>> sets;
  for (const std::string& path : paths) {
    if (!is_model_file(path)) continue;
    const auto split = parse_split_name(path);
    if (!split) {
      models.push_back({{path}, {}});
      continue;
    }
    auto& parts = sets[{std::string(split->stem), split->parts}];
    // The paths are sorted by number, so another number than the next means a missing part.
    if (split->part == std::ssize(parts) + 1) parts.push_back(path);
  }
  for (auto& [set, parts] : sets) {
    if (!parts.empty() && std::ssize(parts) == set.second) models.push_back({std::move(parts), {}});
  }
  set_labels(models);
  return models;
}

std::vector<GgufModel> match_gguf_models(std::span<const GgufModel> models,
                                         std::string_view wanted) {
  const auto holds = [&](const std::string& path) {
    return keep(models, [&](const GgufModel& model) {
      return std::find(model.files.begin(), model.files.end(), path) != model.files.end();
    });
  };
  const auto is_label = [&](const GgufModel& model) {
    return equal_ignoring_case(model.label, wanted);
  };
  const auto has = [&](const GgufModel& model) {
    return has_part(stem_of(model.files[0]), wanted);
  };
  auto found = holds(std::string(wanted));
  if (found.empty()) found = holds(cat(wanted, kSuffix));
  if (found.empty()) found = keep(models, is_label);
  if (found.empty() && !wanted.empty()) found = keep(models, has);
  return found;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string list_labels(std::span<const GgufModel> models) {
  constexpr std::size_t kShownMax = 24;
  std::string text;
  for (const GgufModel& model : models.first(std::min(models.size(), kShownMax))) {
    text += cat(text.empty() ? "" : ", ", printable(model.label));
  }
  return models.size() > kShownMax ? cat(text, " and ", models.size() - kShownMax, " more") : text;
}

}  // namespace ingot
