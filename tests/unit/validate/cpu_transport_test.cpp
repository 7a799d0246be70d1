#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "validate/cpu/ring.hpp"
#include "validate/cpu/transport.hpp"
#include "validate/ranks/launch.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::cpu {
namespace {

constexpr double kPatience = 20;

/// Ranks in a ring, each edge a link of its own.
struct RingOfRanks {
  explicit RingOfRanks(int count, std::size_t bytes, double bandwidth = 1e12, double latency = 0) {
    for (int rank = 0; rank < count; ++rank) {
      deployment::Link link;
      link.bandwidth = bandwidth;
      deployment.links.push_back(link);
      deployment::Path path;
      path.links = {{rank, 1}};
      path.latency_s = latency;
      path.alone_s_per_byte = 1 / bandwidth;
      deployment.paths.push_back(path);
      pipes.push_back({rank, (rank + 1) % count, rank, bytes});
    }
  }

  deployment::Deployment deployment;
  std::vector<Pipe> pipes;
};

using Body = std::function<std::string(int rank, Transport& transport)>;

/// [rank] what each one's body returns.
std::vector<std::string> run(const RingOfRanks& ring, bool sockets, const Body& body) {
  SharedMemory memory(ring.pipes, ring.deployment);
  const auto coordinator = ranks::launch(static_cast<int>(ring.pipes.size()), [&](int rank, ranks::Control& control) {
    const auto transport = sockets ? connect_sockets(ring.pipes, rank, "127.0.0.1", control) : memory.attach();
    control.report(body(rank, *transport));
  });
  std::vector<std::string> result;
  coordinator->greet(kPatience);
  coordinator->serve([] { return kPatience; }, [&](const std::vector<std::string>& reports) { result = reports; });
  return result;
}

class TransportOf : public testing::TestWithParam<bool> {};

TEST_P(TransportOf, CarriesMessagesInOrderWhateverTheirSize) {
  const RingOfRanks ring(2, 3'000'000);
  const std::vector<std::size_t> sizes = {1, 0, 3'000'000, 17, 65536};
  const auto results = run(ring, GetParam(), [&](int rank, Transport& transport) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::vector<std::byte> content(sizes[i], std::byte(i + 1));
      if (rank == 0) {
        transport.send(0, content);
        continue;
      }
      std::vector<std::byte> received(sizes[i]);
      transport.receive(0, received);
      if (received != content) {
        return std::string("message ") + std::to_string(i) + " is not what was sent";
      }
    }
    return std::string("same");
  });
  EXPECT_EQ(results[1], "same");
}

TEST_P(TransportOf, RingsSumWhatEveryMemberHas) {
  constexpr std::size_t kCount = 1'000'003;  // no multiple of any ring
  for (const int members : {2, 3, 4}) {
    const RingOfRanks ring(members, kCount * sizeof(float));
    const auto results = run(ring, GetParam(), [&](int rank, Transport& transport) {
      const RingMember member{rank, members, static_cast<std::size_t>(rank),
                              static_cast<std::size_t>((rank + members - 1) % members)};
      std::vector<float> buffer(kCount);
      std::vector<float> scratch(kCount);
      const auto value = [](int of_rank, std::size_t i) {
        return static_cast<float>(of_rank + 1) * static_cast<float>(i % 97);
      };
      for (std::size_t i = 0; i < kCount; ++i) {
        buffer[i] = value(rank, i);
      }
      run_ring(graph::CollectiveKind::kAllReduce, member, buffer, scratch, transport);
      for (std::size_t i = 0; i < kCount; ++i) {
        float mean = 0;
        for (int other = 0; other < members; ++other) {
          mean += value(other, i) / static_cast<float>(members);
        }
        if (std::fabs(buffer[i] - mean) > 1e-3F) {
          return "entry " + std::to_string(i) + " is " + std::to_string(buffer[i]);
        }
      }
      return std::string("mean");
    });
    for (const std::string& result : results) {
      EXPECT_EQ(result, "mean") << members;
    }
  }
}

TEST_P(TransportOf, ShardsOfReduceScatterAreThoseOfAllGather) {
  constexpr std::size_t kCount = 1000;
  constexpr int kMembers = 4;
  const RingOfRanks ring(kMembers, kCount * sizeof(float));
  const auto results = run(ring, GetParam(), [&](int rank, Transport& transport) {
    const RingMember member{rank, kMembers, static_cast<std::size_t>(rank),
                            static_cast<std::size_t>((rank + kMembers - 1) % kMembers)};
    std::vector<float> buffer(kCount, static_cast<float>(rank));
    std::vector<float> scratch(kCount);
    run_ring(graph::CollectiveKind::kReduceScatter, member, buffer, scratch, transport);
    for (std::size_t i = 0; i < kCount; ++i) {
      const bool mine = i * kMembers / kCount == static_cast<std::size_t>(rank);
      buffer[i] = mine ? buffer[i] : -1;
    }
    run_ring(graph::CollectiveKind::kAllGather, member, buffer, scratch, transport);
    for (const float value : buffer) {
      if (value != 1.5F) {  // the mean of 0, 1, 2 and 3
        return std::to_string(value);
      }
    }
    return std::string("1.5");
  });
  for (const std::string& result : results) {
    EXPECT_EQ(result, "1.5");
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TransportOf, testing::Values(false, true),
                         [](const auto& kind) { return kind.param ? "Sockets" : "SharedMemory"; });

TEST(SharedMemory, IsNeverFasterThanTheLink) {
  constexpr double kBandwidth = 100e6;
  constexpr double kLatency = 5e-3;
  constexpr std::size_t kBytes = 4'000'000;  // 40 ms
  constexpr int kMessages = 3;
  const RingOfRanks ring(2, kBytes, kBandwidth, kLatency);
  const auto results = run(ring, false, [&](int rank, Transport& transport) {
    std::vector<std::byte> content(kBytes);
    const double start = ranks::monotonic_s();
    for (int i = 0; i < kMessages; ++i) {
      if (rank == 0) {
        transport.send(0, content);
      } else {
        transport.receive(0, content);
      }
    }
    return std::to_string(ranks::monotonic_s() - start);
  });
  EXPECT_GE(std::stod(results[1]), kMessages * (kBytes / kBandwidth + kLatency) * 0.99);
}

TEST(SharedMemory, LetsTwoMessagesShareALink) {
  constexpr double kBandwidth = 100e6;
  constexpr std::size_t kBytes = 5'000'000;  // 50 ms alone
  RingOfRanks ring(2, kBytes, kBandwidth);
  ring.pipes[1].path = 0;  // both directions over one link, as over one bus
  const auto results = run(ring, false, [&](int rank, Transport& transport) {
    std::vector<std::byte> out(kBytes);
    std::vector<std::byte> in(kBytes);
    const double start = ranks::monotonic_s();
    transport.exchange(static_cast<std::size_t>(rank), out, static_cast<std::size_t>(1 - rank), in);
    return std::to_string(ranks::monotonic_s() - start);
  });
  for (const std::string& result : results) {
    EXPECT_GE(std::stod(result), 2 * kBytes / kBandwidth * 0.99);
  }
}

}  // namespace
}  // namespace lamina::validate::cpu
