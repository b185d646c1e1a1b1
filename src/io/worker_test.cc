#include "io/worker.h"

#include <gtest/gtest.h>

#include <atomic>

#include "io/loop_test.h"

namespace paddock::io {

namespace {

Task<void> ask(Worker* worker, int number, std::vector<int>* answers) {
  int answer = 0;
  std::thread::id thread;
  std::function<void()> work = [&] {
    answer = number * 2;
    thread = std::this_thread::get_id();
  };
  co_await worker->run(work);
  EXPECT_NE(thread, std::this_thread::get_id());
  answers->push_back(answer);
}

Task<void> ask_many(Loop* loop, std::vector<int>* answers) {
  std::unique_ptr<Worker> worker = Worker::create(*loop, 3).value();
  for (int i = 0; i < 100; ++i) spawn(ask(worker.get(), i, answers));
  while (answers->size() < 100) co_await loop->sleep(1);
  worker.reset();
  co_await loop->sleep(1);
  loop->stop();
}

}  // namespace

TEST(Worker, GivesEveryAnswerToItsWaiterOnTheLoop) {
  Loop* loop = &fresh_loop();
  std::vector<int> answers;
  spawn(ask_many(loop, &answers));
  loop->run();
  int sum = 0;
  for (int answer : answers) sum += answer;
  EXPECT_EQ(sum, 9900);
}

}  // namespace paddock::io
