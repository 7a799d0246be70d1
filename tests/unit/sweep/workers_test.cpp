#include "sim/sweep/workers.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lamina::sweep {
namespace {

using testing::HasSubstr;

std::vector<Task> tasks_to(Task count) {
  std::vector<Task> tasks;
  for (Task task = 0; task < count; ++task) {
    tasks.push_back(task);
  }
  return tasks;
}

std::map<Task, Answer> answers(Task count, const std::function<std::string(Task)>& work, WorkerOptions options) {
  std::map<Task, Answer> result;
  run_workers(
      tasks_to(count), work,
      [&](Task task, Answer answer) {
        EXPECT_TRUE(result.emplace(task, std::move(answer)).second) << "answered twice: " << task;
      },
      [] {}, options);
  return result;
}

TEST(Workers, AnswerEveryTaskOnce) {
  for (const int workers : {1, 2, 5}) {
    const auto got = answers(40, [](Task task) { return std::to_string(task * task); }, {workers});
    ASSERT_EQ(got.size(), 40U);
    for (const auto& [task, answer] : got) {
      EXPECT_EQ(answer.value(), std::to_string(task * task));
    }
  }
}

TEST(Workers, AreReplacedWhenTheyAreSpent) {
  const auto got = answers(9, [](Task) { return std::to_string(getpid()); }, {2, [] { return true; }});
  std::map<std::string, int> processes;
  for (const auto& [task, answer] : got) {
    ++processes[answer.value()];
  }
  EXPECT_EQ(processes.size(), 9U);
}

TEST(Workers, ThatDieMakeTheirTaskAnErrorAndNoOther) {
  const auto work = [](Task task) -> std::string {
    if (task == 3) {
      std::raise(SIGKILL);
    }
    if (task == 5) {
      [[maybe_unused]] const auto written = write(STDERR_FILENO, "the disk is on fire", 19);
      _exit(7);
    }
    if (task == 6) {
      throw std::runtime_error("thrown");
    }
    return "done";
  };
  for (const int workers : {1, 3}) {
    const auto got = answers(12, work, {workers});
    ASSERT_EQ(got.size(), 12U);
    for (const auto& [task, answer] : got) {
      EXPECT_EQ(answer.has_value(), task != 3 && task != 5 && task != 6) << task;
    }
    EXPECT_THAT(got.at(3).error(), HasSubstr("signal 9"));
    EXPECT_THAT(got.at(5).error(), HasSubstr("code 7"));
    EXPECT_THAT(got.at(5).error(), HasSubstr("the disk is on fire"));
    EXPECT_THAT(got.at(6).error(), HasSubstr("thrown"));
  }
}

TEST(Workers, LeaveNoProcessBehindWhenTheCallerThrows) {
  EXPECT_THROW(run_workers(
                   tasks_to(8), [](Task) { return ""; },
                   [](Task, const Answer&) { throw std::runtime_error("enough"); }, [] {}, {3}),
               std::runtime_error);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Workers, SendLongAnswersWhole) {
  const auto got = answers(3, [](Task task) { return std::string(3'000'000, static_cast<char>('a' + task)); }, {2});
  EXPECT_EQ(got.at(2).value(), std::string(3'000'000, 'c'));
}

}  // namespace
}  // namespace lamina::sweep
