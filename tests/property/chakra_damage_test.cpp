// A trace with a few bytes changed, lost or added is refused with a reason, or still makes sense; nothing else happens.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fuzz/chakra_input.hpp"
#include "tests/support/chakra_bytes.hpp"

namespace lamina {
namespace {

namespace et = tests::et;

/// Three files with every kind of node, as fuzz::broken_chakra_promise takes them.
std::string good_trace() {
  const std::string meta = et::metadata();
  const std::string first = meta + et::compute(0, 16500) + et::send(1, 1, 1 << 20, 4, et::after({0})) +
                            et::receive(2, 1, 1 << 20, 5) + et::collective(3, 0, 4096, "1", et::after({1, 2})) +
                            et::collective(4, 2, 512, "2", et::after({3})) +
                            et::collective(5, 9, 0, "", et::after({4}));
  const std::string second = meta + et::receive(0, 0, 1 << 20, 4) + et::compute(1, 33000, et::after({0})) +
                             et::send(2, 0, 1 << 20, 5, et::after({1})) +
                             et::collective(3, 0, 4096, "1", et::after({2})) +
                             et::collective(4, 9, 0, "", et::after({3})) + et::collective(5, 7, 64, "3");
  const std::string third =
      meta + et::node(7, et::kLoad, et::integer("tensor_size", 2048)) +
      et::compute(3, 5, et::truth("is_cpu_op", true) + et::after({7})) +
      et::compute(4, 12, et::attribute("duration_ns", et::bits(3, 12345.6)) + et::after({3})) +
      et::node(5, et::kMetadata, et::after({4})) + et::node(6, et::kStore, et::integer("tensor_size", 1)) +
      et::collective(8, 2, 512, "2", et::after({5, 6})) + et::collective(9, 9, 0, "", et::after({8}));
  std::string text;
  for (const std::string& file : {first, second}) {
    text += static_cast<char>(file.size() & 0xFFU);
    text += static_cast<char>(file.size() >> 8U);
    text += file;
  }
  return text + third;
}

std::size_t place(std::mt19937& random, std::size_t size) {
  return std::uniform_int_distribution<std::size_t>(0, size - 1)(random);
}

void damage(std::mt19937& random, std::string& text) {
  const std::size_t at = place(random, text.size());
  const auto byte = static_cast<char>(place(random, 256));
  switch (place(random, 6)) {
    case 0:
      text[at] = byte;
      break;
    case 1:
      text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << place(random, 8)));
      break;
    case 2:
      text.insert(at, 1, byte);
      break;
    case 3:
      text.erase(at, 1 + place(random, 8));
      break;
    case 4:
      text.insert(at, text.substr(place(random, text.size()), place(random, 40)));
      break;
    default:
      text[at] = "\x00\x01\x7f\x80\xff"[place(random, 5)];
  }
}

TEST(DamagedChakraTrace, TheWholeOneIsAccepted) {
  bool accepted = false;
  EXPECT_EQ(fuzz::broken_chakra_promise(good_trace(), &accepted), "");
  EXPECT_TRUE(accepted);
}

TEST(DamagedChakraTrace, IsRefusedWithAReasonOrStillMakesSense) {
  std::mt19937 random(2026);
  const std::string good = good_trace();
  int accepted = 0;
  constexpr int kTries = 30'000;
  for (int i = 0; i < kTries; ++i) {
    std::string text = good;
    for (std::size_t times = 1 + place(random, 3); times > 0; --times) {
      damage(random, text);
    }
    bool is_accepted = false;
    ASSERT_EQ(fuzz::broken_chakra_promise(text, &is_accepted), "") << "try " << i;
    accepted += is_accepted ? 1 : 0;
  }
  EXPECT_GT(accepted, kTries / 100);  // names, durations and tags that fit still
  EXPECT_LT(accepted, kTries / 2);
}

TEST(DamagedChakraTrace, CutAnywhereIsRefusedWithAReasonOrStillMakesSense) {
  const std::string good = good_trace();
  for (std::size_t length = 0; length < good.size(); ++length) {
    bool is_accepted = false;
    ASSERT_EQ(fuzz::broken_chakra_promise(good.substr(0, length), &is_accepted), "") << length;
    EXPECT_FALSE(is_accepted) << length;  // the last node of every rank is a collective of all
  }
}

}  // namespace
}  // namespace lamina
