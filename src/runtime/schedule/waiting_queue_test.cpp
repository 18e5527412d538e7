// WaitingQueue: the order by arrival, by priority with ageing, and by tenants' virtual times.
#include "runtime/schedule/waiting_queue.h"

#include "runtime/schedule/scheduler_test_util.h"

namespace ingot {
namespace {

class WaitingQueueTest : public ::testing::Test {
 protected:
  Sequence& add(WaitingQueue& queue, const SchedulingTerms& terms) {
    sequences_.push_back(sequence_of(pool_, 1));
    sequences_.back()->terms = terms;
    queue.add(*sequences_.back());
    return *sequences_.back();
  }
  static std::vector<const Sequence*> order(const WaitingQueue& queue) {
    std::vector<const Sequence*> order;
    queue.visit([&](const Sequence& s) {
      order.push_back(&s);
      return true;
    });
    return order;
  }
  using Order = std::vector<const Sequence*>;

  Pool pool_{4};
  std::vector<std::unique_ptr<Sequence>> sequences_;
};

TEST_F(WaitingQueueTest, FirstComeFirstServedWhateverThePriority) {
  WaitingQueue queue({});
  Sequence& second = add(queue, {.priority = -5, .arrival = 2});
  Sequence& first = add(queue, {.priority = 5, .arrival = 1});
  Sequence& third = add(queue, {.arrival = 2});
  EXPECT_EQ(order(queue), (Order{&first, &second, &third}));
  queue.erase(second);
  EXPECT_EQ(order(queue), (Order{&first, &third}));
  EXPECT_EQ(queue.size(), 2);
}

TEST_F(WaitingQueueTest, AWaitMakesUpForPriority) {
  WaitingQueue queue({.policy = Policy::kPriority, .ageing = 10});
  Sequence& plain = add(queue, {.priority = 1, .arrival = 0});
  Sequence& soon = add(queue, {.priority = 0, .arrival = 9});
  Sequence& late = add(queue, {.priority = 0, .arrival = 11});
  EXPECT_EQ(order(queue), (Order{&soon, &plain, &late}));
}

TEST_F(WaitingQueueTest, WhoGaveWayComesBeforeNewOnes) {
  WaitingQueue queue({});
  Sequence& old = add(queue, {.arrival = 1});
  Sequence& returned = add(queue, {.arrival = 5});
  Sequence& older = add(queue, {.arrival = 3});
  queue.erase(returned);
  queue.erase(older);
  queue.add_returned(returned);
  queue.add_returned(older);
  EXPECT_EQ(order(queue), (Order{&older, &returned, &old}));
  queue.erase(returned);
  EXPECT_EQ(queue.size(), 2);
}

TEST_F(WaitingQueueTest, TheTenantThatGotLeastForItsWeightIsFirst) {
  WaitingQueue queue({.weights = {{2, 3.0}}});
  Sequence& one = add(queue, {.tenant = 1, .arrival = 1});
  Sequence& two = add(queue, {.tenant = 2, .arrival = 2});
  queue.serve(one, 100);
  EXPECT_EQ(order(queue), (Order{&two, &one}));
  queue.serve(two, 290);  // its weight is three
  EXPECT_EQ(order(queue), (Order{&two, &one}));
  queue.serve(two, 20);
  EXPECT_EQ(order(queue), (Order{&one, &two}));
}

TEST_F(WaitingQueueTest, IdlingSavesNothingUp) {
  WaitingQueue queue({});
  Sequence& busy = add(queue, {.tenant = 1, .arrival = 1});
  queue.serve(busy, 1000);
  Sequence& fresh = add(queue, {.tenant = 2, .arrival = 2});
  queue.serve(fresh, 1);
  EXPECT_EQ(order(queue), (Order{&busy, &fresh})) << "it begins at what the others have";
  queue.erase(fresh);
  queue.leave(fresh);
  EXPECT_EQ(queue.tenants(), 1);
}

TEST_F(WaitingQueueTest, LeavingPaysNoDebt) {
  WaitingQueue queue({});
  Sequence& patient = add(queue, {.tenant = 1, .arrival = 1});
  Sequence& greedy = add(queue, {.tenant = 2, .arrival = 2});
  queue.serve(patient, 10);
  queue.serve(greedy, 1000);
  queue.erase(greedy);
  queue.leave(greedy);
  EXPECT_EQ(queue.tenants(), 1);
  Sequence& again = add(queue, {.tenant = 2, .arrival = 0});
  queue.serve(patient, 900);
  EXPECT_EQ(order(queue), (Order{&patient, &again})) << "it had 1000 when it left";
  queue.serve(patient, 100);
  EXPECT_EQ(order(queue), (Order{&again, &patient}));
}

TEST_F(WaitingQueueTest, DebtsEndOnceOthersHaveAsMuch) {
  WaitingQueue queue({});
  Sequence& patient = add(queue, {.tenant = 1, .arrival = 1});
  Sequence& greedy = add(queue, {.tenant = 2, .arrival = 2});
  queue.serve(greedy, 1000);
  queue.erase(greedy);
  queue.leave(greedy);
  queue.serve(patient, 2000);
  Sequence& again = add(queue, {.tenant = 2, .arrival = 3});
  queue.serve(again, 1);
  EXPECT_EQ(order(queue), (Order{&patient, &again})) << "it begins at what the others have";
}

TEST_F(WaitingQueueTest, WhatNobodyWaitedForIsNoDebt) {
  WaitingQueue queue({});
  Sequence& runs = add(queue, {.tenant = 1, .arrival = 1});
  queue.erase(runs);  // it runs
  queue.serve(runs, 1000);
  Sequence& one = add(queue, {.tenant = 1, .arrival = 2});
  Sequence& two = add(queue, {.tenant = 2, .arrival = 3});
  queue.serve(two, 1);
  EXPECT_EQ(order(queue), (Order{&one, &two}));
}

TEST_F(WaitingQueueTest, WhoRunsAndWantsNoMoreSavesNothingUp) {
  WaitingQueue queue({});
  Sequence& stream = add(queue, {.tenant = 1, .arrival = 1});
  queue.erase(stream);  // it runs, and gets a row now and then
  Sequence& busy = add(queue, {.tenant = 2, .arrival = 2});
  queue.serve(busy, 1000);
  Sequence& more = add(queue, {.tenant = 1, .arrival = 3});
  Sequence& third = add(queue, {.tenant = 3, .arrival = 4});
  queue.serve(more, 1);
  queue.serve(third, 2);
  EXPECT_EQ(order(queue), (Order{&busy, &more, &third}));
}

}  // namespace
}  // namespace ingot
