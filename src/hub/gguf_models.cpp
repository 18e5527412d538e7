// Groups GGUF files to models, and matches names such as quantisations.
#include "hub/gguf_models.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/ignore_case.h"
#include "base/text.h"
#include "load/split_name.h"
#include "quant/formats.h"

namespace ingot {

namespace {

constexpr std::string_view kSuffix = ".gguf";
constexpr std::string_view kSeparators = "-./";

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

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The place of `wanted` in a list of texts; the list's size if it is not there.
template <class List>
std::size_t place_in(const List& list, std::string_view wanted) {
  const auto is_wanted = [&](std::string_view one) { return equal_ignoring_case(one, wanted); };
  return static_cast<std::size_t>(std::find_if(list.begin(), list.end(), is_wanted) - list.begin());
}

/// Whether a text is a type's name as tools spell it: Q4_K_M, IQ2_XXS, BF16.
bool is_type_name(std::string_view text) {
  constexpr std::array<std::string_view, 6> kWhole{"f16", "f32", "f64", "bf16", "mxfp4", "mxfp8"};
  constexpr std::array<std::string_view, 13> kEnds{
      "_0", "_1", "_K", "_K_S", "_K_M", "_K_L", "_K_XL", "_XXS", "_XS", "_S", "_M", "_NL", "_L"};
  if (place_in(kWhole, text) < kWhole.size()) return true;
  text.remove_prefix(starts_ignoring_case(text, "iq") || starts_ignoring_case(text, "tq") ? 1 : 0);
  return text.size() > 2 && lower_ascii(text[0]) == 'q' && is_digit(text[1]) &&
         place_in(kEnds, text.substr(2)) < kEnds.size();
}

/// The end of a file's or folder's name if it looks like a quantisation: Q4_K_M, IQ2_XXS, BF16.
/// It begins at the name's begin or behind '-' or '.'. A type's name may stand behind '_' too.
std::string_view quantization_in(std::string_view name) {
  std::string_view last = name.substr(name.find_last_of("-.") + 1);
  const auto is = [&](std::string_view prefix) {
    return last.size() > prefix.size() && is_digit(last[prefix.size()]) &&
           equal_ignoring_case(last.substr(0, prefix.size()), prefix);
  };
  if (is("q") || is("iq") || is("tq") || is("f") || is("bf") || is("mxfp")) return last;
  for (std::size_t at = last.find('_'); at != last.npos; at = last.find('_')) {
    last.remove_prefix(at + 1);
    if (is_type_name(last)) return last;
  }
  return {};
}

/// The quantisation in a file's name, or else in the name of its folder.
std::string_view quantization_of(std::string_view path) {
  const std::string_view stem = stem_of(path);
  const std::string_view own = quantization_in(base_name(stem));
  const std::size_t folder_end = stem.rfind('/');
  if (!own.empty() || folder_end == stem.npos) return own;
  return quantization_in(base_name(stem.substr(0, folder_end)));
}

/// Whether a word of the name begins with `wanted`. '_' ends a word too: "imatrix_of_m.gguf".
bool has_word(std::string_view name, std::string_view wanted) {
  for (std::size_t at = 0; at < name.size(); ++at) {
    const bool begins = at == 0 || is_separator(name[at - 1]) || name[at - 1] == '_';
    if (begins && starts_ignoring_case(name.substr(at), wanted)) return true;
  }
  return false;
}

bool is_model_file(std::string_view path) {
  if (path.size() <= kSuffix.size() || !path.ends_with(kSuffix)) return false;
  const std::string_view name = base_name(stem_of(path));
  return !has_word(name, "mmproj") &&
         (!has_word(name, "imatrix") || !quantization_in(name).empty());
}

std::string lower(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), lower_ascii);
  return low;
}

void set_labels(std::vector<GgufModel>& models) {
  std::map<std::string, int, std::less<>> count;
  for (GgufModel& model : models) {
    model.quantization = quantization_of(model.files[0]);
    ++count[lower(model.quantization)];
  }
  for (GgufModel& model : models) {
    const bool is_own = !model.quantization.empty() && count[lower(model.quantization)] == 1;
    model.label = is_own ? model.quantization : model.files[0];
  }
}

/// Whether files of this quantisation hold only formats with kernels. "Q4_K_M" is a mixture of
/// K formats; "Q4_0_4_4" is another format than Q4_0.
bool has_kernels(std::string_view quantization) {
  bool has = false;
  for_each_type(Formats{}, [&]<class T>() {
    const std::string_view name = format_name(T::kFormat);
    has = has || equal_ignoring_case(quantization, name) ||
          (name.ends_with("_K") && starts_ignoring_case(quantization, cat(name, "_")));
  });
  return has;
}

/// A quantisation's rank as a default: smaller is better. See default_gguf_model.
std::array<std::size_t, 3> rank_of(const GgufModel& model) {
  constexpr std::array<std::string_view, 9> kBits{"4", "5", "6", "8", "3", "16", "2", "1", "32"};
  constexpr std::array<std::string_view, 9> kKinds{"_K_M", "_K_S", "_K_L", "_K_XL", "_K",
                                                   "_0",   "_1",   "_NL",  "_XS"};
  constexpr std::string_view kDigits = "0123456789";
  const std::string_view name = model.quantization;
  const std::size_t begin = std::min(name.find_first_of(kDigits), name.size());
  const std::size_t end = std::min(name.find_first_not_of(kDigits, begin), name.size());
  return {has_kernels(name) ? std::size_t{0} : std::size_t{1},
          place_in(kBits, name.substr(begin, end - begin)), place_in(kKinds, name.substr(end))};
}

/// A file's or folder's name without its quantisation and without the words that say how it was
/// made.
std::string_view family_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> kWords{"ud", "i1", "imat", "imatrix"};
  const auto trim = [&] {
    while (!name.empty() && (is_separator(name.back()) || name.back() == '_')) {
      name.remove_suffix(1);
    }
  };
  name.remove_suffix(quantization_in(name).size());
  trim();
  const std::string_view last = name.substr(name.find_last_of("-._") + 1);
  if (place_in(kWords, last) < kWords.size()) name.remove_suffix(last.size());
  trim();
  return name;
}

/// What the quantisations of one model have in common: the names of folders and file. Leaves out a
/// name that only repeats the one before, as in "m-Q8_0/m-Q8_0.gguf".
std::string family_of(const GgufModel& model) {
  std::string_view rest = stem_of(model.files[0]);
  std::string family;
  std::string before;
  for (bool is_last = false; !is_last;) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    is_last = end == rest.size();
    const std::string name = lower(family_name(rest.substr(0, end)));
    if (!name.empty() && name != before) family += cat(family.empty() ? "" : "/", name);
    before = name;
    if (!is_last) rest.remove_prefix(end + 1);
  }
  return family;
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
    return equal_ignoring_case(model.quantization, wanted) ||
           has_part(stem_of(model.files[0]), wanted);
  };
  auto found = holds(std::string(wanted));
  if (found.empty()) found = holds(cat(wanted, kSuffix));
  if (found.empty()) found = keep(models, is_label);
  if (found.empty() && !wanted.empty()) found = keep(models, has);
  return found;
}

std::optional<GgufModel> default_gguf_model(std::span<const GgufModel> models) {
  if (models.empty()) return std::nullopt;
  const auto is_unknown = [](const GgufModel& model) { return model.quantization.empty(); };
  if (std::count_if(models.begin(), models.end(), is_unknown) > 1) return std::nullopt;
  const std::string family = family_of(models[0]);
  for (const GgufModel& model : models) {
    if (family_of(model) != family) return std::nullopt;
  }
  // If ranks are equal, the shorter name has fewer words such as "UD".
  const auto is_better = [](const GgufModel& a, const GgufModel& b) {
    const auto rank_a = rank_of(a);
    const auto rank_b = rank_of(b);
    return rank_a != rank_b ? rank_a < rank_b : a.files[0].size() < b.files[0].size();
  };
  return *std::min_element(models.begin(), models.end(), is_better);
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
