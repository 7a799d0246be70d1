#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/error/error.hpp"
#include "tests/support/free_port.hpp"
#include "validate/ranks/remote.hpp"

namespace lamina::validate::ranks {
namespace {

using testing::HasSubstr;

Variables set(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string fault_of(const Variables& variables) {
  try {
    (void)find_place(variables);
  } catch (const error::EnvironmentError& fault) {
    return fault.what();
  }
  return "none";
}

TEST(FindPlace, ReadsTorchrunsVariablesAndTakesThePortBehindItsStore) {
  const auto place = find_place(set(
      {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "1234"}}));
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->rank, 3);
  EXPECT_EQ(place->size, 8);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->address, "node7");
  EXPECT_EQ(place->port, 1235);
}

TEST(FindPlace, ReadsOpenMpisVariables) {
  const auto place = find_place(set({{"OMPI_COMM_WORLD_RANK", "1"},
                                     {"OMPI_COMM_WORLD_SIZE", "2"},
                                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                     {"LAMINA_PORT", "4000"}}));
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->rank, 1);
  EXPECT_EQ(place->address, "127.0.0.1");  // all on one machine
  EXPECT_EQ(place->port, 4000);
}

TEST(FindPlace, FindsNothingWithoutLauncherOrCompany) {
  EXPECT_FALSE(find_place(set({})).has_value());
  EXPECT_FALSE(find_place(set({{"RANK", "0"}, {"WORLD_SIZE", "1"}})).has_value());
  EXPECT_FALSE(find_place(set({{"RANK", "0"}})).has_value());  // some shells set it
}

TEST(FindPlace, SaysWhatIsMissingOrWrong) {
  EXPECT_THAT(fault_of(set({{"RANK", "1"}, {"WORLD_SIZE", "2"}})), HasSubstr("has not set LOCAL_RANK"));
  EXPECT_THAT(fault_of(set({{"RANK", "one"}, {"WORLD_SIZE", "2"}})), HasSubstr("RANK is \"one\""));
  EXPECT_THAT(fault_of(set({{"RANK", "2"}, {"WORLD_SIZE", "2"}})), HasSubstr("rank 2 of 2"));
  EXPECT_THAT(fault_of(set({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}})), HasSubstr("MASTER_ADDR"));
  EXPECT_THAT(fault_of(set({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"MASTER_PORT", "65535"}})),
              HasSubstr("LAMINA_PORT"));
}

/// A process as a launcher starts it.
pid_t start(const Place& place, const std::string& fingerprint, double patience_s, const RankBody& body) {
  const pid_t process = fork();
  if (process == 0) {
    try {
      (void)join(place, fingerprint, patience_s, body);
      _exit(0);
    } catch (const error::EnvironmentError&) {
      _exit(6);
    }
  }
  return process;
}

int status_of(pid_t process) {
  int status = 0;
  (void)waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Place place_of(int rank, int size, int port) {
  Place place;
  place.rank = rank;
  place.size = size;
  place.port = port;
  return place;
}

void say_rank(int rank, Control& control) {
  const Round round = control.gather(std::to_string(rank));
  std::string all;
  for (const std::string& content : round.contents) {
    all += content;
  }
  control.report(all);
}

TEST(Join, BringsProcessesOfALauncherTogether) {
  const int port = tests::free_port();
  std::vector<pid_t> others;
  for (int rank = 1; rank < 4; ++rank) {  // they come before rank 0 listens
    others.push_back(start(place_of(rank, 4, port), "same", 10, say_rank));
  }
  const auto coordinator = join(place_of(0, 4, port), "same", 10, say_rank);
  ASSERT_NE(coordinator, nullptr);
  coordinator->greet(10);
  std::vector<std::string> reports;
  coordinator->serve([] { return 10.0; }, [&](const std::vector<std::string>& all) { reports = all; });
  EXPECT_THAT(reports, testing::ElementsAre("0123", "0123", "0123", "0123"));
  for (const pid_t other : others) {
    EXPECT_EQ(status_of(other), 0);
  }
}

TEST(Join, ARankThatNeverStartsIsNamed) {
  const int port = tests::free_port();
  const pid_t other = start(place_of(1, 3, port), "same", 10, say_rank);
  try {
    (void)join(place_of(0, 3, port), "same", 0.7, say_rank);
    FAIL() << "rank 2 does not exist";
  } catch (const error::EnvironmentError& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("have not come within 1 s: 2 (of 3)"));
  }
  EXPECT_EQ(status_of(other), 6);  // sent home
}

TEST(Join, DifferentScenariosAreRefused) {
  const int port = tests::free_port();
  const pid_t other = start(place_of(1, 2, port), "another", 10, say_rank);
  const auto coordinator = join(place_of(0, 2, port), "same", 10, say_rank);
  try {
    coordinator->greet(10);
    FAIL() << "the fingerprints differ";
  } catch (const error::EnvironmentError& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("rank 1: it runs another scenario"));
  }
  EXPECT_EQ(status_of(other), 6);
}

TEST(Join, TwoProcessesOfOneRankAreRefused) {
  const int port = tests::free_port();
  const pid_t first = start(place_of(1, 3, port), "same", 10, say_rank);
  const pid_t second = start(place_of(1, 3, port), "same", 10, say_rank);
  EXPECT_THROW((void)join(place_of(0, 3, port), "same", 10, say_rank), error::EnvironmentError);
  EXPECT_EQ(status_of(first), 6);
  EXPECT_EQ(status_of(second), 6);
}

TEST(Join, ARankWithoutRankZeroGivesUp) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    (void)join(place_of(1, 2, tests::free_port()), "same", 0.3, say_rank);
    FAIL() << "nobody listens";
  } catch (const error::EnvironmentError& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("rank 1 cannot reach rank 0 at 127.0.0.1"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Join, AStrangerOnThePortIsSentAway) {
  const int port = tests::free_port();
  const pid_t stranger = fork();
  if (stranger == 0) {  // knocks until somebody opens, then says something else
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int attempt = 0; attempt < 500; ++attempt) {
      const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
      if (connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
        (void)send(socket, "GET / HTTP/1.1\r\n\r\n and some more", 34, MSG_NOSIGNAL);
        _exit(0);
      }
      close(socket);
      usleep(10000);
    }
    _exit(1);
  }
  const RankBody late = [](int rank, Control& control) { say_rank(rank, control); };
  const pid_t other = fork();
  if (other == 0) {
    (void)status_of(stranger);  // not our child: no wait; the sleep is what lets it go first
    usleep(300000);
    try {
      (void)join(place_of(1, 2, port), "same", 10, late);
      _exit(0);
    } catch (const error::EnvironmentError&) {
      _exit(6);
    }
  }
  const auto coordinator = join(place_of(0, 2, port), "same", 10, say_rank);
  coordinator->greet(10);
  coordinator->serve([] { return 10.0; }, [](const std::vector<std::string>&) {});
  EXPECT_EQ(status_of(stranger), 0);
  EXPECT_EQ(status_of(other), 0);
}

TEST(Join, ARankThatDiesLaterIsNoticed) {
  const int port = tests::free_port();
  const pid_t other = start(place_of(1, 2, port), "same", 10, [](int, Control&) { raise(SIGKILL); });
  const auto coordinator = join(place_of(0, 2, port), "same", 10, say_rank);
  try {
    coordinator->greet(10);
    coordinator->serve([] { return 10.0; }, [](const std::vector<std::string>&) {});
    FAIL() << "rank 1 was killed";
  } catch (const error::EnvironmentError& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("rank 1"));
  }
  EXPECT_EQ(status_of(other), 128 + SIGKILL);
}

}  // namespace
}  // namespace lamina::validate::ranks
