// Compares what a loader reads from GGUF keys with the model that the keys describe.
#include "convert/read_back.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/fp_env.h"
#include "base/index.h"
#include "base/text.h"
#include "load/gguf/gguf_file.h"
#include "model/make_spec.h"
#include "model/rope.h"

namespace ingot {

namespace {

/// Relative difference that rounding to float32 may cause: the rounding itself is 2^-24, and a few
/// operations follow.
constexpr double kRounding = 1e-6;
/// Smaller differences are none: frequencies of pairs that do not rotate are 0 or nearly 0.
constexpr double kNothing = 1e-20;
/// Bytes of a property that a message shows.
constexpr std::size_t kShownMax = 120;

/// Removes the first part of `text` up to `end`, and returns it.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

std::optional<double> number_of(std::string_view word) {
  const std::string text(word);
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) return std::nullopt;
  return number;
}

bool is_same_word(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto x = number_of(a);
  const auto y = number_of(b);
  if (!x || !y) return false;
  const double difference = std::fabs(*x - *y);
  return difference <= kNothing || difference <= kRounding * std::max(std::fabs(*x), std::fabs(*y));
}

bool is_same_line(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (!is_same_word(take_until(a, ' '), take_until(b, ' '))) return false;
  }
  return a.empty() && b.empty();
}

/// The Spec that a loader makes from the keys and the tensors' names and factors.
Spec spec_of_values(const std::string& name, const std::vector<ListedTensor>& tensors,
                    const GgufValues& values) {
  const auto find = [&](std::string_view wanted) {
    return std::find_if(tensors.begin(), tensors.end(),
                        [&](const ListedTensor& t) { return t.name == wanted; });
  };
  Config config = read_config(
      values, name, [&](std::string_view wanted) { return find(wanted) != tensors.end(); });
  const auto values_of = [&](TensorRole role) {
    const auto tensor = find(tensor_name(role, Naming::kGguf));
    return tensor == tensors.end() ? std::vector<float>() : tensor->values;
  };
  for (RopeConfig& rope : config.ropes) {
    const std::vector<float> shorts = values_of(TensorRole::kShortFactors);
    const std::vector<float> longs = values_of(TensorRole::kLongFactors);
    rope.scaling.short_factors.assign(shorts.begin(), shorts.end());
    rope.scaling.long_factors.assign(longs.begin(), longs.end());
  }
  Spec spec = make_spec(config, 0);
  const std::vector<float> divisors = values_of(TensorRole::kRopeFreqs);
  if (!divisors.empty()) divide_frequencies(spec.ropes.front(), divisors);
  return spec;
}

/// The tensors of layer `layer` with one of the roles.
std::vector<ListedTensor*> find_roles(std::vector<ListedTensor>& tensors, std::int64_t layer,
                                      std::initializer_list<TensorRole> roles) {
  std::vector<ListedTensor*> found;
  for (ListedTensor& tensor : tensors) {
    const bool wanted = std::find(roles.begin(), roles.end(), tensor.role) != roles.end();
    if (wanted && tensor.layer == layer) found.push_back(&tensor);
  }
  return found;
}

/// Multiplies each layer's queries by what a reader's factor of attention scores lacks. Returns the
/// last such factor; 1: there is none.
double scale_queries(const Spec& want, Spec& got, std::vector<ListedTensor>& tensors) {
  double last = 1;
  for (std::int64_t i = 0; i < want.layers; ++i) {
    LayerSpec& read = at(got.layer_specs, i);
    const float scale = want.layer(i).attention_scale;
    const double factor = static_cast<double>(scale) / static_cast<double>(read.attention_scale);
    if (std::fabs(factor - 1) <= kRounding) continue;
    auto queries = find_roles(tensors, i,
                              {TensorRole::kQNorm, TensorRole::kQNormWide, TensorRole::kQNormEach});
    if (queries.empty()) queries = find_roles(tensors, i, {TensorRole::kQ, TensorRole::kQBias});
    if (queries.empty()) continue;
    for (ListedTensor* tensor : queries) tensor->factor = factor;
    read.attention_scale = scale;
    last = factor;
  }
  return last;
}

bool has_adjacent_pairs(const Spec& spec, std::int64_t layer) {
  const std::int32_t rope = spec.layer(layer).rope;
  return rope >= 0 && at(spec.ropes, rope).adjacent_pairs;
}

/// Whether the rows of a layer's tensor have the order that readers need: those of queries and keys
/// are reordered by heads if `turned`, all others are not.
bool is_in_order(const ListedTensor& tensor, const LayerSpec& layer, bool turned) {
  switch (tensor.role) {
    case TensorRole::kQ:
    case TensorRole::kQBias:
      return tensor.turned_heads == (turned ? layer.heads : 0);
    case TensorRole::kK:
    case TensorRole::kKBias:
      return tensor.turned_heads == (turned ? layer.kv_heads : 0);
    case TensorRole::kQkv:
    case TensorRole::kQkvBias:
    case TensorRole::kQNorm:
    case TensorRole::kKNorm:
    case TensorRole::kQNormWide:
    case TensorRole::kKNormWide:
    case TensorRole::kQNormEach:
    case TensorRole::kKNormEach:
      return !turned;  // these have no code that reorders them
    default:
      return tensor.turned_heads == 0;
  }
}

/// Checks that rows of queries and keys stand where a reader's rotary embedding pairs them. Whole
/// heads are reordered, which is right only if all of a head rotates.
void check_pairs(const Checkpoint& checkpoint, const Spec& want, const Spec& got,
                 const std::vector<ListedTensor>& tensors) {
  const auto fail = [&](std::string_view reason) {
    throw model_error(
        checkpoint.name(), "config",
        cat("GGUF cannot express that ", reason, " in architecture ", want.architecture));
  };
  for (std::int64_t i = 0; i < std::min(want.layers, got.layers); ++i) {
    const LayerSpec& layer = want.layer(i);
    if (layer.rope < 0 || got.layer(i).rope < 0) continue;
    const bool adjacent = has_adjacent_pairs(want, i);
    const bool turned = has_adjacent_pairs(got, i) && !adjacent;
    if (adjacent && !has_adjacent_pairs(got, i)) fail("rotary pairs are adjacent");
    if (turned && at(want.ropes, layer.rope).dims != layer.head_dim) {
      fail(cat("pairs half a head apart rotate ", at(want.ropes, layer.rope).dims, " of ",
               layer.head_dim, " elements"));
    }
    for (const ListedTensor& tensor : tensors) {
      const bool wrong = tensor.layer == i && !is_in_order(tensor, layer, turned);
      if (wrong) fail(cat("the rotary pairs of ", tensor.name, " are half a head apart"));
    }
  }
}

/// Numbers rotary embeddings by their first layer, equal ones alike. Folders may describe two equal
/// embeddings, or one that no layer has.
void number_ropes(Spec& spec) {
  std::vector<RopeSpec> used;
  for (LayerSpec& layer : spec.layer_specs) {
    if (layer.rope < 0) continue;
    const RopeSpec& own = at(spec.ropes, layer.rope);
    const auto same = std::find(used.begin(), used.end(), own);
    layer.rope = static_cast<std::int32_t>(same - used.begin());
    if (same == used.end()) used.push_back(own);
  }
  spec.ropes = std::move(used);
}

}  // namespace

Config read_config(const GgufValues& values, const std::string& name, const HasTensor& has_tensor) {
  const std::string bytes = values.file();
  const GgufFile file = parse_gguf(std::as_bytes(std::span(bytes)), name);
  GgufKeys keys(file);
  LoadNotes notes;
  return gguf_config(keys, nullptr, has_tensor, notes);
}

Spec without_spelling(Spec spec) {
  spec.norm_plus_one = false;
  spec.position_offset = 0;
  number_ropes(spec);
  for (RopeSpec& rope : spec.ropes) rope.adjacent_pairs = false;
  return spec;
}

std::string_view first_difference(std::string_view want, std::string_view got) {
  while (!want.empty()) {
    const std::string_view line = take_until(want, '\n');
    if (!is_same_line(line, take_until(got, '\n'))) return line;
  }
  return take_until(got, '\n');
}

void fit_to_readers(const Checkpoint& checkpoint, const BoundModel& model, const GgufValues& values,
                    std::vector<ListedTensor>& tensors, std::vector<std::string>& warnings) {
  const CanonicalFp canonical;
  Spec got = spec_of_values(checkpoint.name(), tensors, values);
  // What the tensors say, and what their conversion changes.
  Spec want = model.spec;
  got.vocab = want.vocab;
  got.tied = want.tied;
  want.mla.norm_eps = got.mla.norm_eps;
  check_pairs(checkpoint, want, got, tensors);
  got = without_spelling(std::move(got));
  want = without_spelling(std::move(want));
  if (want.mla.kv_rank == 0 && got.layers == want.layers) {
    const double factor = scale_queries(want, got, tensors);
    if (factor != 1) {
      warnings.push_back(cat("GGUF has no key for the factor of attention scores in architecture ",
                             want.architecture, ": the queries are multiplied by ",
                             static_cast<float>(factor)));
    }
  }
  const std::string wanted = to_string(want);
  const std::string_view line = first_difference(wanted, to_string(got));
  if (line.empty()) return;
  throw model_error(
      checkpoint.name(), "config",
      cat("GGUF cannot express that ", line.substr(0, kShownMax),
          line.size() > kShownMax ? " ..." : "", " in architecture ", want.architecture));
}

}  // namespace ingot
