#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim/error/error.hpp"
#include "validate/ranks/launch.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::ranks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kPatience = 20;

void serve(Coordinator& coordinator, std::vector<std::vector<std::string>>& reports, double patience = kPatience) {
  coordinator.greet(patience);
  coordinator.serve([&] { return patience; },
                    [&](const std::vector<std::string>& contents) { reports.push_back(contents); });
}

std::string failure_of(const RankBody& body, double patience = kPatience) {
  const auto coordinator = launch(3, body);
  std::vector<std::vector<std::string>> reports;
  try {
    serve(*coordinator, reports, patience);
  } catch (const error::EnvironmentError& fault) {
    return fault.what();
  }
  return "no failure";
}

TEST(Ranks, GatherWhatEachOneSays) {
  const auto coordinator = launch(3, [](int rank, Control& control) {
    const Round round = control.gather(std::string(static_cast<std::size_t>(rank) + 1, 'x'));
    std::string all;
    for (const std::string& content : round.contents) {
      all += content + ",";
    }
    control.report(all);
    control.report("rank " + std::to_string(rank));
  });
  std::vector<std::vector<std::string>> reports;
  serve(*coordinator, reports);
  EXPECT_THAT(reports, ElementsAre(ElementsAre("x,xx,xxx,", "x,xx,xxx,", "x,xx,xxx,"),
                                   ElementsAre("rank 0", "rank 1", "rank 2")));
}

TEST(Ranks, StartTogetherAtADateThatHasNotPassedAnywhere) {
  const auto coordinator = launch(4, [](int /*rank*/, Control& control) {
    const double start = control.start_together();
    Packer packer;
    packer.value(start);
    packer.value(monotonic_s());
    control.report(packer.take());
  });
  std::vector<std::vector<std::string>> reports;
  serve(*coordinator, reports);
  ASSERT_EQ(reports.size(), 1U);
  const auto common = Unpacker(reports[0][0]).value<double>();
  for (const std::string& report : reports[0]) {
    Unpacker unpacker(report);
    EXPECT_EQ(unpacker.value<double>(), common);
    EXPECT_GE(unpacker.value<double>(), common);
  }
}

TEST(Ranks, AKilledOneEndsAllWithItsSignal) {
  const std::string text = failure_of([](int rank, Control& control) {
    if (rank == 1) {
      raise(SIGKILL);
    }
    (void)control.gather("");
  });
  EXPECT_THAT(text, HasSubstr("rank 1: its process was killed by signal 9"));
}

TEST(Ranks, AFailureIsToldInItsOwnWords) {
  const std::string text = failure_of([](int rank, Control& control) {
    if (rank == 2) {
      throw error::EnvironmentError("no such library");
    }
    (void)control.gather("");
  });
  EXPECT_EQ(text, "rank 2: no such library");
}

TEST(Ranks, ASilentOneIsNotWaitedForForEver) {
  const std::string text = failure_of(
      [](int rank, Control& control) {
        if (rank == 0) {
          pause();
        }
        (void)control.gather("");
      },
      0.5);
  EXPECT_THAT(text, HasSubstr("rank 0: no answer"));
}

TEST(Ranks, OnesInDifferentPlacesAreRefused) {
  const std::string text = failure_of([](int rank, Control& control) {
    if (rank == 1) {
      control.report("");
    } else {
      (void)control.gather("");
    }
  });
  EXPECT_THAT(text, HasSubstr("in another place of the run"));
}

TEST(Ranks, NoneOutlivesItsCoordinator) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  {
    const auto coordinator = launch(2, [&](int /*rank*/, Control& /*control*/) { pause(); });
    close(pipe_ends[1]);  // the ranks hold the other writing ends
  }
  char byte = 0;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0);  // the end of the pipe: nobody holds it any more
  close(pipe_ends[0]);
}

TEST(Coordinator, RefusesRanksOfDifferentScenarios) {
  int first[2];
  int second[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, first), 0);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, second), 0);
  Coordinator coordinator({first[0], second[0]}, {});
  const auto hello = [](int socket, int rank, const std::string& fingerprint) {
    Packer packer;
    packer.value(rank);
    packer.text(fingerprint);
    ASSERT_TRUE(write_frame(socket, FrameType::kHello, packer.take()));
  };
  hello(first[1], 0, "one scenario");
  hello(second[1], 1, "another scenario");
  try {
    coordinator.greet(kPatience);
    FAIL() << "greeted";
  } catch (const error::EnvironmentError& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("rank 1: it runs another scenario"));
  }
  close(first[1]);
  close(second[1]);
}

TEST(Coordinator, DoesNotTakeAStrangersWordForARanks) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  Coordinator coordinator({pair[0]}, {});
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_EQ(write(pair[1], request.data(), request.size()), static_cast<ssize_t>(request.size()));
  EXPECT_THROW(coordinator.greet(kPatience), error::EnvironmentError);
  close(pair[1]);
}

TEST(Unpacker, RefusesWhatIsCutOff) {
  Packer packer;
  packer.array(std::vector<double>{1, 2, 3});
  const std::string text = packer.take();
  EXPECT_THAT(Unpacker(text).array<double>(), ElementsAre(1, 2, 3));
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_THROW((void)Unpacker(text.substr(0, length)).array<double>(), error::EnvironmentError) << length;
  }
}

}  // namespace
}  // namespace lamina::validate::ranks
