// Adapters with pairs for all modules of all families: converted, and merged into models.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"
#include "base/shared_data_test_util.h"
#include "base/temp_folder_test_util.h"
#include "base/text.h"
#include "convert/adapter/adapter_changes.h"
#include "convert/adapter/convert_adapter.h"
#include "convert/adapter/merge_folder.h"
#include "convert/convert_test_util.h"
#include "load/adapter/adapter_test_util.h"
#include "quant/encode.h"
#include "support/adapter_deltas.h"
#include "support/full_adapter.h"
#include "support/random_model.h"
#include "support/zero_gpt_oss.h"

namespace ingot::testing_support {
namespace {

namespace fs = std::filesystem;

/// Runs a check for a model of every family, as random models in memory and as files.
void for_each_base(const std::function<void(Base&, const std::string& path)>& check) {
  for (const RandomModel& m : random_models(F32::kFormat)) {
    SCOPED_TRACE(m.name);
    Base base(make_checkpoint(m, 1));
    check(base, "");
  }
  for (const std::string_view folder : {"references/families", "references/families-gguf",
                                        "references/embeddings", "references/rerank"}) {
    for (const fs::path& path : shared_entries(folder)) {
      if (path.extension() != ".gguf" && !fs::exists(path / "config.json")) continue;
      SCOPED_TRACE(path.string());
      Base base(Checkpoint::open(path.string()));
      check(base, path.string());
    }
  }
}

std::string adapter_path(const TempFolder& temp, std::string_view name, Naming naming) {
  return temp.path(cat(name, naming == Naming::kGguf ? ".gguf" : ""));
}

Naming other(Naming naming) {
  return naming == Naming::kGguf ? Naming::kHuggingFace : Naming::kGguf;
}

bool is_tied_head(const Base& base, const std::string& name) {
  return base.bound.spec.tied && name.ends_with("lm_head");
}

void expect_same_change(const Base& base, const AdapterFile& a, const AdapterFile& b) {
  const Deltas want = loaded_deltas(a, base), got = loaded_deltas(b, base);
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [number, delta] : want) EXPECT_EQ(got.at(number), delta) << "weight " << number;
}

/// Whether only a fused pair of these files can say what the apart pairs of the other files say.
bool loses_apart_pairs(const Base& base, Naming from) {
  const std::string& architecture = base.bound.spec.architecture;
  return from == Naming::kGguf && (architecture == "gpt-oss" || architecture == "granitemoe");
}

TEST(AdapterFiles, ConversionsChangeTheSameRowsByTheSameValues) {
  for_each_base([](Base& base, const std::string&) {
    for (const Naming naming : {Naming::kGguf, Naming::kHuggingFace}) {
      const TempFolder temp;
      const std::string first = adapter_path(temp, "first", naming);
      const std::string second = adapter_path(temp, "second", other(naming));
      const std::string third = adapter_path(temp, "third", naming);
      write_full_adapter(base.targets, naming, first,
                         [&](const std::string& name) { return !is_tied_head(base, name); });
      const AdapterFile file = open_adapter(first);
      if (loses_apart_pairs(base, naming)) {
        EXPECT_THROW(convert_adapter(file, *base.checkpoint, second), Error);
        continue;
      }
      try {
        convert_adapter(file, *base.checkpoint, second);
        convert_adapter(open_adapter(second), *base.checkpoint, third);
      } catch (const Error& error) {
        ADD_FAILURE() << error.message();
        continue;
      }
      expect_same_change(base, file, open_adapter(second));
      expect_same_change(base, file, open_adapter(third));
    }
  });
}

TEST(AdapterFiles, PairsWithoutEffectAreNamed) {
  using namespace testing_adapter;
  const auto models = random_models(F32::kFormat);
  const auto gemma = std::find_if(models.begin(), models.end(),
                                  [](const RandomModel& m) { return m.name == "gemma4 F32"; });
  ASSERT_NE(gemma, models.end());
  const Base base(make_checkpoint(*gemma, 1));
  std::int64_t shared = 0;
  while (base.bound.spec.layer(shared).kv_source < 0) ++shared;
  const LayerSpec& s = base.bound.spec.layer(shared);
  const std::int64_t h = base.bound.spec.hidden;
  const std::string module = cat("model.layers.", shared, ".self_attn.");
  const auto k = pair_of(module + "k_proj", 2, h, s.k_cols());
  const auto q = pair_of(module + "q_proj", 2, h, s.q_cols());
  const auto config = [&](std::string_view more) {
    return cat(R"("r": 2, "target_modules": [")", module, "k_proj\"", more, "]");
  };
  const TempFolder peft, out;
  write_peft(peft, joined({k, q}), config(cat(", \"", module, "q_proj\"")));
  const AdapterFile both = open_adapter(peft.path());
  const std::string warning =
      cat("1 pairs have no effect, the first with tensor base_model.model.", module,
          "k_proj.lora_A.weight: their layers read keys and values of other layers");
  EXPECT_EQ(convert_adapter(both, *base.checkpoint, out.path("x.gguf")),
            std::vector<std::string>{warning});
  EXPECT_EQ(AdapterChanges(both, base.bound, base.targets, 1).unused_warning(), warning);
  write_peft(peft, k, config(""));
  try {
    convert_adapter(open_adapter(peft.path()), *base.checkpoint, out.path("y.gguf"));
    ADD_FAILURE() << "it was converted";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("no pair has an effect"), std::string::npos) << error.message();
  }
}

TEST(AdapterFiles, ATiedHeadHasNoPlaceInGguf) {
  for_each_base([](Base& base, const std::string&) {
    if (!base.bound.spec.tied) return;
    const TempFolder temp;
    write_full_adapter(base.targets, Naming::kHuggingFace, temp.path("peft"),
                       [&](const std::string& name) { return is_tied_head(base, name); });
    try {
      convert_adapter(open_adapter(temp.path("peft")), *base.checkpoint, temp.path("out.gguf"));
      ADD_FAILURE() << "it was converted";
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("lm_head.lora_B.weight"), std::string::npos)
          << error.message();
    }
    EXPECT_FALSE(fs::exists(temp.path("out.gguf")));
  });
}

/// The weights of a model except embedding and head, by their numbers in the unmerged model.
std::map<std::int32_t, const BoundWeight*> inner_weights(const BoundModel& bound) {
  std::map<std::int32_t, const BoundWeight*> inner;
  std::int32_t number = 0;
  for (const BoundWeight* w : all_weights(bound, {})) {
    if (w != &bound.embedding && w != &bound.head) inner[number] = w;
    // Untied models have a head behind the embedding, merged ones perhaps only since the merge.
    if (w != &bound.head) ++number;
  }
  return inner;
}

/// What the embedding's pair adds.
Values embedding_delta(const AdapterFile& file, const Base& base) {
  FloatBackend backend;
  const auto adapter = load_adapter(file, base.targets, backend);
  const AdapterEmbedding& e = adapter->weights.embedding;
  Values delta(to_size(e.a.rows * e.part.b.rows));
  for (std::int64_t v = 0; v < e.a.rows; ++v) {
    for (std::int64_t h = 0; h < e.part.b.rows; ++h) {
      for (std::int64_t r = 0; r < e.a.cols; ++r) {
        at(delta, v * e.part.b.rows + h) += static_cast<double>(e.part.scale) *
                                            static_cast<double>(FloatBackend::row(e.part.b, h)[r]) *
                                            static_cast<double>(FloatBackend::row(e.a, v)[r]);
      }
    }
  }
  return delta;
}

std::vector<float> decoded_row(const BoundPart& part, std::int64_t row) {
  const PartRows rows = read_part(part);
  std::vector<float> values(to_size(part.cols));
  decode_row(rows.view.format, rows.view.row_data(row), part.cols, values.data());
  return values;
}

/// The values that a format gives to a row.
std::vector<float> rounded(Format format, std::vector<float> row) {
  std::vector<std::byte> bytes(to_size(row_bytes(format, std::ssize(row))));
  encode_row(format, row.data(), std::ssize(row), bytes.data());
  decode_row(format, bytes.data(), std::ssize(row), row.data());
  return row;
}

/// Each row is the base's and its part of `delta`, rounded to F32 and then to the format. Null: no
/// row changes.
void expect_sum(const BoundWeight& merged, const BoundWeight& base, const Values* delta,
                std::string_view what) {
  ASSERT_EQ(merged.parts.size(), base.parts.size()) << what;
  std::int64_t first = 0;
  for (std::size_t p = 0; p < base.parts.size(); ++p) {
    const BoundPart& part = base.parts[p];
    ASSERT_EQ(merged.parts[p].format(), part.format()) << what;
    for (std::int64_t r = 0; r < part.rows; ++r, first += part.cols) {
      std::vector<float> want = decoded_row(part, r);
      if (delta != nullptr) {
        for (std::int64_t k = 0; k < part.cols; ++k) {
          at(want, k) =
              static_cast<float>(static_cast<double>(at(want, k)) + at(*delta, first + k));
        }
        want = rounded(part.format(), std::move(want));
      }
      ASSERT_EQ(decoded_row(merged.parts[p], r), want) << what << ", part " << p << ", row " << r;
    }
  }
}

/// Every weight of the merged model is the base's and what the engine would add.
void expect_merged(const BoundModel& merged, const Base& base, const AdapterFile& file) {
  // Adapters of this test have values of few bits, so that all sums are exact in float64.
  const Deltas deltas = loaded_deltas(file, base);
  const auto weights = all_weights(base.bound, {});
  const auto got = inner_weights(merged);
  for (const auto& [number, w] : inner_weights(base.bound)) {
    const auto own = std::find(weights.begin(), weights.end(), w);
    const auto delta = deltas.find(static_cast<std::int32_t>(own - weights.begin()));
    expect_sum(*got.at(number), *w, delta == deltas.end() ? nullptr : &delta->second,
               cat("weight ", number));
  }
  const Spec& spec = base.bound.spec;
  const BoundWeight& base_head = spec.tied ? base.bound.embedding : base.bound.head;
  const bool uses_head = spec.pooling == Pooling::kNone || spec.labels > 0;
  EXPECT_EQ(merged.spec.tied, spec.tied && !uses_head);
  if (base_head && uses_head) {
    const auto own = std::find(weights.begin(), weights.end(), &base_head);
    expect_sum(merged.head, base_head, &deltas.at(static_cast<std::int32_t>(own - weights.begin())),
               "head");
  }
  if (!base.bound.embedding) return;
  const Values delta = embedding_delta(file, base);
  expect_sum(merged.embedding, base.bound.embedding, &delta, "embedding");
}

std::vector<TensorReport> merge_to_gguf(Base& base, const AdapterChanges& changes,
                                        const std::string& out, const Recipe* recipe = nullptr) {
  ThreadPool pool(2);
  const QuantisePlan plan =
      plan_quantised(*base.checkpoint, {.recipe = recipe, .tokenizer = false, .adapter = &changes});
  return write_quantised(*base.checkpoint, plan, out, pool, [](std::uint64_t, std::uint64_t) {});
}

TEST(MergedModels, WeightsAreSumsInFilesOfTheSameForm) {
  for_each_base([](Base& base, const std::string& path) {
    if (path.empty()) return;  // a model in memory has no keys for a file
    const bool gguf = base.checkpoint->config().naming == Naming::kGguf;
    const TempFolder temp;
    write_full_adapter(base.targets, Naming::kHuggingFace, temp.path("peft"),
                       [](const std::string&) { return true; });
    const AdapterFile file = open_adapter(temp.path("peft"));
    const AdapterChanges changes(file, base.bound, base.targets, 1);
    const std::string out = temp.path(gguf ? "out.gguf" : "out");
    try {
      if (gguf) {
        merge_to_gguf(base, changes, out);
      } else {
        ThreadPool pool(2);
        write_merged_folder(*base.checkpoint, path, changes, out, pool,
                            [](std::uint64_t, std::uint64_t) {});
      }
      const Base merged(Checkpoint::open(out));
      expect_merged(merged.bound, base, file);
    } catch (const Error& error) {
      ADD_FAILURE() << error.message();
    }
  });
}

/// The message of an error; empty if there is none.
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

TEST(MergedModels, MxfpExpertsNeedAType) {
  const TempFolder model, temp;
  write_zero_gpt_oss(model);
  Base base(Checkpoint::open(model.path()));
  write_full_adapter(base.targets, Naming::kHuggingFace, temp.path("peft"),
                     [](const std::string&) { return true; });
  const AdapterFile file = open_adapter(temp.path("peft"));
  const AdapterChanges changes(file, base.bound, base.targets, 1);
  ThreadPool pool(1);
  const auto nothing = [](std::uint64_t, std::uint64_t) {};
  const std::string folder = message_of([&] {
    write_merged_folder(*base.checkpoint, model.path(), changes, temp.path("out"), pool, nothing);
  });
  EXPECT_NE(folder.find("name a .gguf file as OUT"), std::string::npos) << folder;
  const std::string out = temp.path("out.gguf");
  const std::string gguf = message_of([&] { merge_to_gguf(base, changes, out); });
  EXPECT_NE(gguf.find("its type MXFP4: choose one with --type"), std::string::npos) << gguf;
  EXPECT_FALSE(fs::exists(temp.path("out")) || fs::exists(out));
  merge_to_gguf(base, changes, out, find_recipe("F32"));
  // The weights were zero, so these are what the adapter adds.
  const Base merged(Checkpoint::open(out));
  const Deltas deltas = loaded_deltas(file, base);
  const BoundWeight& gate_up = merged.bound.layers.front().expert_gate_up[1];
  const auto weights = all_weights(base.bound, {});
  const auto own =
      std::find(weights.begin(), weights.end(), &base.bound.layers.front().expert_gate_up[1]);
  const Values& delta = deltas.at(static_cast<std::int32_t>(own - weights.begin()));
  const std::vector<float> row = decoded_row(gate_up.parts.front(), 3);
  for (std::size_t k = 0; k < row.size(); ++k) {
    EXPECT_EQ(row[k], static_cast<float>(delta[3 * row.size() + k]));
  }
}

/// What the engine gives with the adapter. Merged F32 models differ by rounding.
std::vector<float> adapted_logits(Base& base, const std::string& adapter,
                                  const std::vector<std::vector<std::int32_t>>& prompts) {
  ModelRunner runner(*base.checkpoint, {.threads = 2,
                                        .kv_type = KvType::kF32,
                                        .model = {.weights = widened(*base.checkpoint)},
                                        .context = 128,
                                        .loads_adapters = true});
  const std::vector<std::size_t> lists(prompts.size(), runner.load(adapter));
  std::vector<float> all;
  for (const auto& rows : runner.run(prompts, whole(prompts), Output::kLogits, lists)) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

TEST(MergedModels, FoldersBecomeFilesWithTheLogitsOfTheirAdapters) {
  INGOT_NEEDS_SHARED("references/families");
  for (const fs::path& path : shared_entries("references/families")) {
    if (!fs::exists(path / "prompts.json")) continue;
    SCOPED_TRACE(path.string());
    Base base(Checkpoint::open(path.string()));
    const TempFolder temp;
    write_full_adapter(base.targets, Naming::kHuggingFace, temp.path("peft"),
                       [](const std::string&) { return true; });
    const AdapterFile file = open_adapter(temp.path("peft"));
    const AdapterChanges changes(file, base.bound, base.targets, 1);
    const std::string refusal = message_of(
        [&] { merge_to_gguf(base, changes, temp.path("out.gguf"), find_recipe("F32")); });
    if (!refusal.empty()) {
      EXPECT_NE(refusal.find("GGUF cannot express"), std::string::npos) << refusal;
      continue;
    }
    std::vector<std::vector<std::int32_t>> prompts = read_prompts(path);
    prompts.resize(1);
    prompts[0].resize(std::min<std::size_t>(prompts[0].size(), 24));
    const auto want = adapted_logits(base, temp.path("peft"), prompts);
    EXPECT_LE(rms(logits_of(temp.path("out.gguf"), prompts), want), 1e-3 * spread(want));
  }
}

}  // namespace
}  // namespace ingot::testing_support
