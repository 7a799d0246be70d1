#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/trace/text.hpp"

namespace lamina::trace {
namespace {

using ::testing::HasSubstr;

/// `printf 'dp_rank,stage\n0,1\n' | gzip -n`, as gzip 1.12 writes it (RFC 1952).
std::string packed() {
  constexpr unsigned char kBytes[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x4b, 0x29, 0x88,
                                      0x2f, 0x4a, 0xcc, 0xcb, 0xd6, 0x29, 0x2e, 0x49, 0x4c, 0x4f, 0xe5, 0x32, 0xd0,
                                      0x31, 0xe4, 0x02, 0x00, 0x61, 0xe6, 0x38, 0x20, 0x12, 0x00, 0x00, 0x00};
  return {reinterpret_cast<const char*>(kBytes), sizeof kBytes};
}

const std::string kText = "dp_rank,stage\n0,1\n";
constexpr std::size_t kPlenty = 1000;

std::string refusal(const std::string& data, std::size_t limit = kPlenty) {
  try {
    (void)unpack(data, "job.csv.gz", limit);
  } catch (const error::ScenarioError& fault) {
    return fault.what();
  }
  return "accepted";
}

TEST(TraceText, PlainTextStaysAsItIs) {
  EXPECT_EQ(unpack(kText, "job.csv", kPlenty), kText);
  EXPECT_EQ(unpack("", "job.csv", kPlenty), "");
}

TEST(TraceText, GzipIsUnpackedWhateverTheFileIsCalled) {
  EXPECT_EQ(unpack(packed(), "job.csv", kPlenty), kText);
}

TEST(TraceText, MembersOfAGzipFileFollowEachOther) {
  EXPECT_EQ(unpack(packed() + packed(), "job.csv.gz", kPlenty), kText + kText);
}

TEST(TraceText, AFileThatEndsEarlyIsRefused) {
  for (std::size_t length = 2; length < packed().size(); ++length) {
    EXPECT_THAT(refusal(packed().substr(0, length)), HasSubstr("ends early")) << length << " bytes";
  }
}

TEST(TraceText, DamagedDataIsRefused) {
  std::string data = packed();
  data[data.size() - 6] = static_cast<char>(data[data.size() - 6] ^ 1);  // in the checksum
  EXPECT_THAT(refusal(data), HasSubstr("damaged"));
  EXPECT_THAT(refusal(packed() + "rest"), HasSubstr("damaged"));
}

TEST(TraceText, TooMuchIsRefused) {
  EXPECT_THAT(refusal(packed(), kText.size() - 1), HasSubstr("too large"));
  EXPECT_THAT(refusal(kText, kText.size() - 1), HasSubstr("too large"));
  EXPECT_EQ(refusal(packed(), kText.size()), "accepted");
}

TEST(TraceText, AMissingFileIsRefused) {
  EXPECT_THROW((void)read_unpacked("/nowhere/at-all.csv"), error::ScenarioError);
}

}  // namespace
}  // namespace lamina::trace
