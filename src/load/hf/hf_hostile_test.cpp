// Every member of every family's config.json, and of the files of sentence-transformers folders,
// with hostile values; and files of these folders that are absent, damaged, or of another kind.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "base/shared_data_test_util.h"
#include "load/checkpoint.h"
#include "load/hf/hf_families.h"
#include "load/hf/hf_fuzz_checks.h"
#include "load/hf/hf_test_util.h"

namespace ingot {
namespace {

using namespace testing_hf;
namespace fs = std::filesystem;

/// JSON texts of every kind, and numbers at the edges.
constexpr std::string_view kHostileJson[] = {"null",
                                             "true",
                                             "false",
                                             "0",
                                             "-0.0",
                                             "1",
                                             "2",
                                             "-1",
                                             "1.5",
                                             "1e-300",
                                             "1e308",
                                             "-1e308",
                                             "2147483647",
                                             "2147483648",
                                             "9223372036854775807",
                                             "9223372036854775808",
                                             "18446744073709551615",
                                             "\"\"",
                                             "\"x\"",
                                             "\"../x\"",
                                             "\"\\u001b[31m\\n\"",
                                             "\"4096\"",
                                             "\"full_attention\"",
                                             "[]",
                                             "[0]",
                                             "[-1]",
                                             "[1, 1, 1, 1]",
                                             "[null]",
                                             "[\"x\"]",
                                             "[[[]]]",
                                             "{}",
                                             "{\"0\": {}}",
                                             "{\"x\": 1}",
                                             "{\"rope_type\": \"yarn\"}"};

using Path = std::vector<std::string>;

/// The paths of all members, also of those of inner objects.
void add_paths(const Json& root, const Path& before, std::vector<Path>& paths) {
  if (root.as_object() == nullptr) return;
  for (const auto& [key, value] : *root.as_object()) {
    Path path = before;
    path.push_back(key);
    paths.push_back(path);
    add_paths(value, path, paths);
  }
}

/// The text of `root` with the member at `path` replaced, or added to its object.
std::string replaced(const Json& root, std::span<const std::string> path, std::string_view value) {
  if (path.empty()) return std::string(value);
  std::string out = "{";
  const auto add = [&](std::string_view key, std::string_view text) {
    if (out.size() > 1) out += ", ";
    append_json(out, key);
    out += cat(": ", text);
  };
  bool found = false;
  for (const auto& [key, member] : *root.as_object()) {
    const bool is_it = key == path.front();
    add(key, is_it ? replaced(member, path.subspan(1), value) : member.dump());
    found = found || is_it;
  }
  if (!found) add(path.front(), value);
  return out + "}";
}

Json hostile_json(std::string_view text) {
  return parse_json(text, "h.json", "config", kHfConfigLimits);
}

/// Folders of the shared data with models of all families.
constexpr std::string_view kReferences[] = {"references/families", "references/embeddings",
                                            "references/rerank"};

/// The configurations of all families, as transformers writes them.
std::vector<Json> family_configs() {
  std::vector<Json> configs;
  for (const std::string_view place : kReferences) {
    for (const auto& entry : shared_entries(place)) {
      if (!fs::exists(entry / "config.json")) continue;
      configs.push_back(hostile_json(read_file(entry / "config.json")));
    }
  }
  return configs;
}

const HfFamily& family_of(const Json& config) {
  for (const HfFamily& family : hf_families()) {
    if (family.model_type == *config.find_string("model_type") && family.only_with.empty()) {
      return family;
    }
  }
  ADD_FAILURE() << config.dump();
  return hf_families().front();
}

/// Accepted values are usable, and refusals are one line: `check_config` sees to both.
TEST(HfHostile, S18EveryMemberOfEveryFamily) {
  for (const std::string_view place : kReferences) INGOT_NEEDS_SHARED(place);
  const std::vector<Json> configs = family_configs();
  int refused = 0;
  for (const Json& config : configs) {
    ASSERT_TRUE(check_config(config.dump())) << config.dump();
    std::vector<Path> paths;
    add_paths(config, {}, paths);
    for (const Path& path : paths) {
      for (const std::string_view value : kHostileJson) {
        refused += check_config(replaced(config, path, value)) ? 0 : 1;
      }
    }
  }
  EXPECT_GT(refused, 10'000);
}

/// A configuration without the lists that replace other keys, and with groups of experts.
Json without_lists(const Json& config) {
  std::string text = config.dump();
  for (const char* key : {"layer_types", "per_layer_config", "no_rope_layers"}) {
    if (config.find(key) != nullptr) {
      text = replaced(hostile_json(text), Path{key}, "null");
    }
  }
  if (config.find("topk_method") != nullptr) {
    text = replaced(hostile_json(text), Path{"topk_method"}, "\"group_limited_greedy\"");
  }
  return hostile_json(text);
}

/// The message with which a configuration is refused whose member `key` is an object.
std::string object_refusal(const Json& config, const std::string& key) {
  return refusal([&] {
    LoadNotes notes;
    read_hf_config(hostile_json(replaced(config, Path{key}, R"({"x": 1})")), "h.json", notes);
  });
}

/// An object is a wrong value of every key, except one. Each family reads all its keys in the
/// table.
TEST(HfHostile, EveryKeyOfTheTableIsReadByItsName) {
  for (const std::string_view place : kReferences) INGOT_NEEDS_SHARED(place);
  const std::vector<Json> configs = family_configs();
  std::set<std::string_view> types;
  int tried = 0;
  for (const Json& config : configs) {
    const HfFamily& family = family_of(config);
    if (!types.insert(family.model_type).second) continue;
    const auto try_key = [&](const HfKey& key) {
      // The rotary object has alpha; nothing rotates without one.
      const bool rotary = key.name == "rope_theta" && family.ropes == HfRopes::kNone;
      if (key.name.empty() || key.name == "quantization_config" || key.name == "alpha" || rotary) {
        return;
      }
      const std::string name(key.key());
      const bool named =
          object_refusal(config, name).find(name) != std::string::npos ||
          object_refusal(without_lists(config), name).find(name) != std::string::npos;
      EXPECT_TRUE(named) << family.model_type << " " << name;
      ++tried;
    };
    for (const HfKey& key : family.keys) try_key(key);
    for (const HfKey& key : hf_common_keys()) {
      if (family.find(key.name) == &key) try_key(key);
    }
  }
  EXPECT_GT(types.size(), 25u);
  EXPECT_GT(tried, 400);
}

std::string st_type(std::string_view name) {
  return cat("\"type\": \"sentence_transformers.models.", name, "\"");
}

/// A folder with every file of sentence-transformers.
class StFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("model.safetensors", small_safetensors({"a"}));
    for (const char* name : {"1_Pooling", "2_Dense", "1_LogitScore"}) {
      fs::create_directory(folder_.path() / name);
    }
    folder_.write("2_Dense/model.safetensors", small_safetensors({"linear.weight", "linear.bias"}));
    write_all();
  }

  /// Writes the JSON files anew.
  void write_all() {
    for (const auto& [name, text] : texts()) folder_.write(name, text);
  }

  /// The JSON files of the folder: an embedder's, or a reranker's whose score is a token's logit.
  std::vector<std::pair<std::string, std::string>> texts() const {
    const std::string transformer = cat("[{\"path\": \"\", ", st_type("Transformer"), "}, ");
    if (is_reranker_) {
      return {{"config.json", ConfigText("qwen3").text()},
              {"modules.json",
               cat(transformer, "{\"path\": \"1_LogitScore\", ", st_type("LogitScore"), "}]")},
              {"1_LogitScore/config.json", R"({"true_token_id": 5, "false_token_id": 6})"}};
    }
    return {{"config.json", ConfigText("bert").set("type_vocab_size", "2").text()},
            {"modules.json", cat(transformer, "{\"path\": \"1_Pooling\", ", st_type("Pooling"),
                                 "}, {\"path\": \"2_Dense\", ", st_type("Dense"),
                                 "}, {\"path\": \"3_Normalize\", ", st_type("Normalize"), "}]")},
            {"1_Pooling/config.json",
             R"({"word_embedding_dimension": 64, "pooling_mode_cls_token": false,
                 "pooling_mode_mean_tokens": true, "include_prompt": true})"},
            {"2_Dense/config.json", R"({"in_features": 64, "out_features": 32, "bias": true,
                 "activation_function": "torch.nn.modules.linear.Identity"})"},
            {"config_sentence_transformers.json",
             R"({"prompts": {"query": "q: "}, "default_prompt_name": "query",
                 "model_type": "SentenceTransformer"})"},
            {"sentence_bert_config.json", R"({"max_seq_length": 128, "do_lower_case": false})"}};
  }

  /// The message with which the folder is refused, or "". What opens is usable.
  std::string open() const {
    return refusal([&] {
      const auto model = Checkpoint::open(folder_.string());
      check_accepted(model->config());
      EXPECT_GE(model->embedder().max_tokens, 0);
    });
  }

  TempFolder folder_;
  bool is_reranker_ = false;
};

TEST_F(StFolder, EveryMemberOfEveryFile) {
  for (const bool is_reranker : {false, true}) {
    is_reranker_ = is_reranker;
    write_all();
    ASSERT_EQ(open(), "");
    int refused = 0;
    for (const auto& [name, text] : texts()) {
      if (name == "config.json") continue;
      // The modules are members "0", "1", ... of an object here.
      const Json root = hostile_json(text);
      const Json::Array* list = root.as_array();
      const std::size_t entries = list == nullptr ? 1 : list->size();
      for (std::size_t i = 0; i < entries; ++i) {
        const Json& object = list == nullptr ? root : (*list)[i];
        std::vector<Path> paths = {{}};
        add_paths(object, {}, paths);
        for (const Path& path : paths) {
          for (const std::string_view value : kHostileJson) {
            const std::string changed = replaced(object, path, value);
            std::string file = list == nullptr ? changed : "[";
            for (std::size_t k = 0; list != nullptr && k < entries; ++k) {
              file += cat(k > 0 ? ", " : "", k == i ? changed : (*list)[k].dump());
            }
            folder_.write(name, list == nullptr ? file : file + "]");
            refused += open().empty() ? 0 : 1;
          }
        }
      }
      folder_.write(name, text);
    }
    EXPECT_GT(refused, is_reranker ? 150 : 500);
  }
}

TEST_F(StFolder, FilesCutAtEveryByteAreRefused) {
  for (const bool is_reranker : {false, true}) {
    is_reranker_ = is_reranker;
    write_all();
    for (const auto& [name, text] : texts()) {
      for (std::size_t i = 0; i < text.size(); ++i) {
        folder_.write(name, text.substr(0, i));
        EXPECT_NE(open(), "") << name << " with " << i << " bytes";
      }
      folder_.write(name, text);
    }
    EXPECT_EQ(open(), "");
  }
}

TEST_F(StFolder, FilesOfAnotherKindAreRefused) {
  const TempFolder outside;
  outside.write("config.json", "{}");
  std::vector<std::string> names = {"2_Dense/model.safetensors"};
  for (const auto& [name, text] : texts()) names.push_back(name);
  for (const std::string& name : names) {
    const fs::path path = folder_.path() / name;
    const std::string text = read_file(path);
    const auto replace = [&](auto make) {
      fs::remove_all(path);
      make();
      EXPECT_NE(open(), "") << name;
      fs::remove_all(path);
      folder_.write(name, text);
      EXPECT_EQ(open(), "") << name;
    };
    replace([&] { fs::create_directory(path); });
    replace([&] { EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0); });
    replace([&] { fs::create_symlink(outside.path() / "config.json", path); });
    replace([&] { fs::create_symlink(path.filename(), path); });  // a link to itself
    replace([&] { folder_.write(name, std::string(9'000'000, ' ')); });
    replace([&] { folder_.write(name, std::string(100, '\0')); });
  }
}

TEST_F(StFolder, AbsentFiles) {
  const std::pair<const char*, const char*> needed[] = {
      {"1_Pooling/config.json", "1_Pooling/config.json"},
      {"2_Dense/config.json", "2_Dense/config.json"},
      {"2_Dense/model.safetensors", "2_Dense/model.safetensors"}};
  for (const auto& [name, part] : needed) {
    const std::string text = read_file(folder_.path() / name);
    fs::remove(folder_.path() / name);
    EXPECT_NE(open().find(part), std::string::npos) << name;
    folder_.write(name, text);
  }
  for (const char* name : {"config_sentence_transformers.json", "sentence_bert_config.json"}) {
    fs::remove(folder_.path() / name);
    EXPECT_EQ(open(), "") << name;
  }
}

TEST_F(StFolder, ModulesThatShareOrLeaveTheFolder) {
  const auto with_path = [&](std::string_view pooling, std::string_view more) {
    folder_.write("modules.json",
                  cat("[{\"path\": \"\", ", st_type("Transformer"), "}, {\"path\": \"", pooling,
                      "\", ", st_type("Pooling"), "}", more, "]"));
    return open();
  };
  EXPECT_EQ(with_path("1_Pooling", ""), "");
  for (const char* path : {"../1_Pooling", "/tmp", ".", "..", "1_Pooling/", "./1_Pooling", "",
                           "\\u0000", "1_Pooling\\u0000", "absent", "model.safetensors"}) {
    EXPECT_NE(with_path(path, ""), "") << path;
  }
  const std::string dense = cat(", {\"path\": \"2_Dense\", ", st_type("Dense"), "}");
  EXPECT_NE(with_path("1_Pooling", dense + dense), "");  // 64 to 32, and once more from 64
  fs::remove_all(folder_.path() / "1_Pooling");
  fs::create_directory_symlink(".", folder_.path() / "1_Pooling");
  EXPECT_NE(with_path("1_Pooling", "").find("does not exist or is a link"), std::string::npos);
}

}  // namespace
}  // namespace ingot
