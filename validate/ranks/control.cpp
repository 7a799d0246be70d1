#include "validate/ranks/control.hpp"

#include <cmath>
#include <ctime>
#include <optional>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "sim/error/error.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::ranks {
namespace {

constexpr int kAnotherRankFailed = 6;
constexpr double kStartDelay = 5e-3;  ///< until every rank has heard of the start

}  // namespace

Control::Control(int socket, int rank, std::string_view fingerprint, bool same_machine)
    : socket_(socket), same_machine_(same_machine) {
  Packer hello;
  hello.value(rank);
  hello.text(fingerprint);
  if (!write_frame(socket_, FrameType::kHello, hello.take())) {
    throw error::EnvironmentError("the coordinator of the ranks does not listen");
  }
  listener_ = std::thread([this] { listen(); });
}

Control::~Control() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  shutdown(socket_, SHUT_RDWR);
  listener_.join();
  close(socket_);
}

void Control::listen() {
  while (true) {
    const std::optional<Frame> frame = read_frame(socket_, -1);
    const std::lock_guard lock(mutex_);
    if (!frame || frame->type != FrameType::kAll) {
      if (!leaving_) {
        _exit(kAnotherRankFailed);
      }
      return;
    }
    Unpacker unpacker(frame->content);
    Round round;
    const auto now = unpacker.value<double>();
    round.start_s = (same_machine_ ? now : monotonic_s()) + kStartDelay;
    const auto count = unpacker.value<std::uint64_t>();
    for (std::uint64_t rank = 0; rank < count; ++rank) {
      round.contents.push_back(unpacker.text());
    }
    rounds_.push_back(std::move(round));
    changed_.notify_all();
  }
}

Round Control::gather(std::string_view content) {
  return exchange(static_cast<int>(FrameType::kBlob), content);
}

void Control::report(std::string_view result) {
  (void)exchange(static_cast<int>(FrameType::kReport), result);
}

Round Control::exchange(int type, std::string_view content) {
  if (!write_frame(socket_, static_cast<FrameType>(type), content)) {
    throw error::EnvironmentError("the coordinator of the ranks is gone");
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !rounds_.empty(); });
  Round round = std::move(rounds_.front());
  rounds_.pop_front();
  return round;
}

double Control::start_together() {
  const Round round = gather({});
  sleep_until(round.start_s);
  return round.start_s;
}

void Control::fail(std::string_view reason) noexcept {
  const std::lock_guard lock(mutex_);
  leaving_ = true;
  (void)write_frame(socket_, FrameType::kFailed, reason);
}

void Control::leave() {
  const std::lock_guard lock(mutex_);
  leaving_ = true;
  (void)write_frame(socket_, FrameType::kBye, {});
}

double monotonic_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void sleep_until(double date_s) {
  timespec date{};
  date.tv_sec = static_cast<time_t>(date_s);
  date.tv_nsec = static_cast<long>((date_s - std::floor(date_s)) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &date, nullptr) != 0) {  // a signal woke us
  }
}

}  // namespace lamina::validate::ranks
