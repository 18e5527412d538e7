// DomainHistories: which requests see which texts, and which domains make room.
#include "runtime/draft/domain_histories.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

using Ids = std::vector<std::int32_t>;

const Ids kText = {1, 2, 3, 4};

PrefixKey key_of(std::uint64_t domain, std::uint64_t tenant = 0) {
  return {.domain = {domain, 7}, .tenant = tenant};
}

/// The tokens behind the first two of kText in a key's history.
Ids draft(DomainHistories& histories, const PrefixKey& key) {
  const TokenHistory* history = histories.find(key);
  if (history == nullptr) return {};
  Ids out(4);
  out.resize(to_size(history->continuation(history->find(std::span(kText).first(2)).place, out)));
  return out;
}

TEST(DomainHistories, RequestsOfADomainSeeEarlierOutputs) {
  DomainHistories histories;
  histories.add_output(key_of(1), kText);
  EXPECT_EQ(draft(histories, key_of(1)), (Ids{3, 4}));
  PrefixKey same = key_of(1, 9);
  same.adapter_from = 5;
  EXPECT_EQ(draft(histories, same), (Ids{3, 4})) << "a tenant and a row of a prompt do not matter";
}

TEST(DomainHistories, NoRequestSeesAnotherDomainOrAdapter) {
  DomainHistories histories;
  histories.add_output(key_of(1), kText);
  PrefixKey other = key_of(1);
  other.domain[1] = 8;
  PrefixKey adapted = key_of(1);
  adapted.adapter = 1;
  for (const PrefixKey& key : {key_of(2), other, adapted, PrefixKey{}}) {
    EXPECT_EQ(histories.find(key), nullptr);
    histories.add_output(key, Ids{1, 2, 9});
    EXPECT_EQ(draft(histories, key), Ids{9});
  }
  EXPECT_EQ(draft(histories, key_of(1)), (Ids{3, 4}));
}

TEST(DomainHistories, TextsOfADomainDoNotRunIntoEachOther) {
  DomainHistories histories;
  histories.add_output(key_of(1), Ids{5, 6, 1});
  histories.add_output(key_of(1), Ids{2, 3, 4});
  EXPECT_EQ(draft(histories, key_of(1)), Ids{});
}

TEST(DomainHistories, ADomainKeepsItsLatestTokens) {
  DomainHistories histories(1, 8);
  histories.add_output(key_of(1), kText);
  histories.add_output(key_of(1), Ids{5, 6, 7});
  EXPECT_EQ(draft(histories, key_of(1)), Ids{}) << "overwritten, with two breaks";
  histories.add_output(key_of(1), Ids(100, 5));
  histories.add_output(key_of(1), kText);
  EXPECT_EQ(draft(histories, key_of(1)), (Ids{3, 4}));
}

TEST(DomainHistories, TheLeastRecentlyUsedDomainMakesRoom) {
  DomainHistories histories(2, 64);
  histories.add_output(key_of(1), kText);
  histories.add_output(key_of(2), kText);
  EXPECT_NE(histories.find(key_of(1)), nullptr);
  histories.add_output(key_of(3), Ids{8, 1, 2});
  EXPECT_EQ(histories.find(key_of(2)), nullptr);
  EXPECT_EQ(draft(histories, key_of(1)), (Ids{3, 4}));
  EXPECT_EQ(draft(histories, key_of(3)), Ids{}) << "the text of domain 2, whose memory it has";
  histories.add_output(key_of(4), Ids{1, 2});
  EXPECT_EQ(histories.find(key_of(4)), nullptr) << "nothing can match in two tokens";
  EXPECT_NE(histories.find(key_of(1)), nullptr);
}

TEST(DomainHistories, SaltsOfOneTenantTakeNoRoomOfOthers) {
  DomainHistories histories(3, 64);
  histories.add_output(key_of(1, 1), kText);
  for (std::uint64_t salt = 10; salt < 20; ++salt) histories.add_output(key_of(salt, 2), kText);
  EXPECT_NE(histories.find(key_of(1, 1)), nullptr);
  EXPECT_EQ(histories.find(key_of(17, 2)), nullptr);
  EXPECT_NE(histories.find(key_of(18, 2)), nullptr);
  EXPECT_NE(histories.find(key_of(19, 2)), nullptr);
}

}  // namespace
}  // namespace ingot
