// Tests of the names that adapters may have.
#include "runtime/adapters/adapter_name.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace ingot {
namespace {

TEST(AdapterName, PlainTextsAreNames) {
  for (const char* name : {"a", "pirate", "org.model-v2", "two words", "größe", "a=b", "..."}) {
    EXPECT_NO_THROW(check_adapter_name(name, "lora_name")) << name;
  }
  EXPECT_NO_THROW(check_adapter_name(std::string(256, 'x'), "lora_name"));
}

// L07: names that lead out of a folder, or that logs and metrics cannot show.
TEST(AdapterName, OthersAreRefusedAtTheirPlace) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../x"), std::string("a/b"),
        std::string("a,b"), std::string("none"), std::string(257, 'x'), std::string("a\nb"),
        std::string("a\x7f"), std::string("a\0b", 3), std::string("\xff")}) {
    try {
      check_adapter_name(name, "lora_name");
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      EXPECT_TRUE(error.message().starts_with("lora_name: ")) << error.message();
    }
  }
}

}  // namespace
}  // namespace ingot
