// Signatures of thinking: genuine, changed, and of other processes.
#include "server/common/thinking_signature.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(ThinkingSigner, KnowsItsOwnTexts) {
  const ThinkingSigner signer({1, 2, 3});
  for (const std::string& text : {std::string(), std::string("hm"), std::string(100'000, 'x')}) {
    const std::string signature = signer.sign(text);
    EXPECT_EQ(signer.sign(text), signature);
    EXPECT_EQ(signer.check(text, signature), SignatureCheck::kGenuine);
    EXPECT_EQ(signer.check(text + " ", signature), SignatureCheck::kWrong);
  }
  EXPECT_NE(signer.sign("a"), signer.sign("b"));
}

TEST(ThinkingSigner, EveryChangeOfASignatureIsWrong) {
  const ThinkingSigner signer({1, 2, 3});
  const std::string signature = signer.sign("hm");
  for (std::size_t i = 0; i < signature.size(); ++i) {
    for (const char c : {'A', 'z', '+', '!', '\0'}) {
      std::string changed = signature;
      if (changed[i] == c) continue;
      changed[i] = c;
      EXPECT_EQ(signer.check("hm", changed), SignatureCheck::kWrong) << i;
    }
    EXPECT_EQ(signer.check("hm", signature.substr(0, i)), SignatureCheck::kWrong);
  }
  EXPECT_EQ(signer.check("hm", signature + "AAAA"), SignatureCheck::kWrong);
  EXPECT_EQ(signer.check("hm", ""), SignatureCheck::kWrong);
}

TEST(ThinkingSigner, AnotherKeyIsAnotherProcess) {
  const ThinkingSigner before({1});
  const ThinkingSigner after({2});
  EXPECT_EQ(after.check("hm", before.sign("hm")), SignatureCheck::kOtherProcess);
  EXPECT_EQ(before.check("hm", after.sign("hm")), SignatureCheck::kOtherProcess);
  const ThinkingSigner& process = ThinkingSigner::of_process();
  EXPECT_EQ(process.check("hm", ThinkingSigner::of_process().sign("hm")), SignatureCheck::kGenuine);
}

TEST(ThinkingSigner, SealedTextsAreGivenBack) {
  const ThinkingSigner signer({1, 2, 3});
  for (const std::string& text :
       {std::string(), std::string("hm"), std::string("\0\xff\n", 3), std::string(100'000, 'x')}) {
    const std::string sealed = signer.seal(text);
    EXPECT_EQ(signer.unseal(sealed), text);
    EXPECT_EQ(ThinkingSigner({4}).unseal(sealed), std::nullopt);
  }
}

TEST(ThinkingSigner, EveryChangeOfASealedTextIsWrong) {
  const ThinkingSigner signer({1, 2, 3});
  const std::string sealed = signer.seal("so it is");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    for (const char c : {'A', 'z', '+', '!', '\0'}) {
      std::string changed = sealed;
      if (changed[i] == c) continue;
      changed[i] = c;
      EXPECT_EQ(signer.unseal(changed), std::nullopt) << i;
    }
    EXPECT_EQ(signer.unseal(sealed.substr(0, i)), std::nullopt);
  }
  EXPECT_EQ(signer.unseal(sealed + "AAAA"), std::nullopt);
}

}  // namespace
}  // namespace ingot
