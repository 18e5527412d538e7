// Tests of finding models in the cache by name.
#include "hub/find_model.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "hub/cache_test_util.h"

namespace ingot {
namespace {

using Names = std::vector<std::string>;

/// Two models of one name by two users, one with GGUF files, one with safetensors.
class FindModel : public ::testing::Test {
 protected:
  FindModel() {
    cache_.add("a/gguf", 'c', "m-Q4_0.gguf", '1');
    cache_.add("a/gguf", 'c', "m-Q8_0.gguf", '2', "01234567890123456789");
    cache_.repo("a/gguf").set_ref("main", digits('c'));
    cache_.add("a/Model", 'd', "config.json", '1');
    cache_.add("a/Model", 'd', "model.safetensors", '2');
    cache_.repo("a/Model").set_ref("main", digits('d'));
    cache_.add("a/Model", 'e', "config.json", '3');
    cache_.repo("a/Model").set_ref("v1", digits('e'));
    cache_.add("b/one", 'f', "sub/m-F16.gguf", '1');
  }

  std::string find(const std::string& name) const {
    try {
      const auto found = find_cached_model(cache_.root, parse_model_name(name).value());
      if (!found) return "nothing";
      note_ = found->note;
      return found->path.substr(cache_.root.size() + 1);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalid);
      return e.message();
    }
  }

  TestCache cache_;
  mutable std::string note_;  ///< the note of the last `find`
};

TEST_F(FindModel, ByItsName) {
  EXPECT_EQ(find("a/Model"), "models--a--Model/snapshots/" + digits('d'));
  EXPECT_EQ(find("a/Model@" + digits('d')), "models--a--Model/snapshots/" + digits('d'));
  EXPECT_EQ(find("a/gguf:Q8_0"), "models--a--gguf/snapshots/" + digits('c') + "/m-Q8_0.gguf");
  EXPECT_EQ(find("b/one@" + digits('f')),
            "models--b--one/snapshots/" + digits('f') + "/sub/m-F16.gguf");
}

TEST_F(FindModel, WhatIsNotThere) {
  EXPECT_EQ(find("a/none"), "nothing");
  EXPECT_EQ(find("a/model"), "nothing") << "names with a user are taken as they are";
  EXPECT_EQ(find("b/one"), "nothing") << "main was never pulled";
  EXPECT_EQ(find("a/gguf:Q6_K"), "nothing");
  EXPECT_EQ(find("a/Model@v1"), "nothing") << "no weights";
  EXPECT_EQ(find("a/Model@v2"), "nothing");
}

TEST_F(FindModel, ByItsShortName) {
  EXPECT_EQ(find("model"), find("a/Model"));
  EXPECT_EQ(find("gguf:Q4_0"), find("a/gguf:Q4_0"));
  cache_.add("c/MODEL", 'd', "m.gguf", '1');
  EXPECT_EQ(find("model"), "model could mean any of a/Model, c/MODEL");
  cache_.add("model", 'd', "m.gguf", '1');
  cache_.repo("model").set_ref("main", digits('d'));
  EXPECT_EQ(find("model"), "models--model/snapshots/" + digits('d') + "/m.gguf");
}

TEST_F(FindModel, OneOfSeveralQuantisationsIsTakenAndSaid) {
  const std::string named = find("a/gguf:Q4_0");
  EXPECT_EQ(note_, "");
  EXPECT_EQ(find("gguf"), named);
  EXPECT_EQ(note_, "a/gguf has 2 quantisations, taking Q4_0; a/gguf:Q8_0 names another: Q8_0");
  cache_.add("a/gguf", 'c', "m-Q4_K_M.gguf", '3');
  EXPECT_EQ(find("a/gguf"), find("a/gguf:q4_k_m"));
}

TEST_F(FindModel, DifferentGgufModelsAreListed) {
  cache_.add("a/gguf", 'c', "other-Q4_K_M.gguf", '3');
  EXPECT_EQ(find("a/gguf"),
            "a/gguf has 3 GGUF models, name one as in a/gguf:Q4_0: Q4_0, Q8_0, Q4_K_M");
}

TEST_F(FindModel, EveryListedModelIsFoundAgain) {
  const auto models = cached_models(cache_.root);
  Names names;
  for (const CachedModel& model : models) {
    names.push_back(model.name);
    if (!model.formats.empty()) {
      EXPECT_EQ(cache_.root + "/" + find(model.name), model.path);
    }
  }
  EXPECT_EQ(names,
            (Names{"a/Model", "a/Model@v1", "a/gguf:Q4_0", "a/gguf:Q8_0", "b/one@" + digits('f')}));
  EXPECT_EQ(models[0].formats, Names{"safetensors"});
  EXPECT_EQ(models[0].bytes, 20U);
  EXPECT_EQ(models[1].formats, Names{});
  EXPECT_EQ(models[3].formats, Names{"gguf"});
  EXPECT_EQ(models[3].bytes, 20U);
}

}  // namespace
}  // namespace ingot
