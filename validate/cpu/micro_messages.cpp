#include <atomic>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "validate/cpu/micro_rank.hpp"
#include "validate/cpu/ring.hpp"
#include "validate/cpu/transport.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::cpu {
namespace {

/// Processor time of this thread, seconds.
double thread_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  constexpr double kNano = 1e-9;
  return static_cast<double>(time.tv_sec) + kNano * static_cast<double>(time.tv_nsec);
}

MicroTiming row(MicroGroup group, std::size_t index) {
  MicroTiming timing;
  timing.group = group;
  timing.index = static_cast<std::int32_t>(index);
  return timing;
}

}  // namespace

class MicroMessages::Impl {
 public:
  Impl(MicroMessages& of, double end_s, std::vector<MicroTiming>& timings)
      : of_(of),
        start_s_(ranks::monotonic_s()),
        end_s_(end_s),
        timings_(timings),
        transport_(connect_sockets(pipes_, of.rank_, "127.0.0.1", of.control_)) {}

  void run() {
    const std::vector<std::size_t>& sizes = of_.plan_.messages;
    for (const MicroGroup group : {MicroGroup::kMessages, MicroGroup::kReductions}) {
      std::size_t done = 0;
      for (const std::size_t i : measuring_order(sizes.size())) {
        if (go(group, i, done++ < kInAnyCase)) {
          group == MicroGroup::kMessages ? messages(i, sizes[i]) : reductions(i, sizes[i]);
        }
      }
    }
    for (std::size_t i = 0; i < of_.plan_.beside.size(); ++i) {
      if (go(MicroGroup::kBeside, i, i == 0)) {
        beside(i, of_.plan_.beside[i]);
      }
    }
  }

 private:
  [[nodiscard]] bool first() const { return of_.rank_ == 0; }

  [[nodiscard]] std::size_t out() const { return first() ? 0 : 1; }

  [[nodiscard]] std::size_t in() const { return first() ? 1 : 0; }

  /// Rank 0 says whether there is time for the next case.
  bool go(MicroGroup group, std::size_t index, bool in_any_case) {
    constexpr double kMessages = 0.45;  // parts of the time
    constexpr double kReductions = 0.75;
    const double part = group == MicroGroup::kMessages ? kMessages : group == MicroGroup::kReductions ? kReductions : 1;
    const bool mine = in_any_case || ranks::monotonic_s() < start_s_ + part * (end_s_ - start_s_);
    const ranks::Round round = of_.control_.gather(mine ? "go" : "stop");
    const bool runs = round.contents.front() == "go";
    if (!runs && first()) {
      timings_.push_back(row(group, index));
      timings_.back().fate = MicroFate::kNoTime;
    }
    return runs;
  }

  /// Executions of a case; by a fixed rule, so that both ends agree.
  [[nodiscard]] int count(std::size_t bytes) const {
    constexpr double kShare = 0.003;  // of the run
    constexpr double kLatency = 50e-6;
    constexpr double kRate = 1e9;
    const double expected = kLatency + static_cast<double>(bytes) / kRate;
    return static_cast<int>(std::clamp(kShare * of_.seconds_ / expected, 7.0, 400.0));
  }

  /// There and back, halved; then one after the other in one direction, with the processor time of both ends.
  void messages(std::size_t index, std::size_t bytes) {
    std::vector<std::byte> content(bytes, std::byte{1});
    const int times = count(bytes);
    std::vector<double> samples;
    constexpr int kWarm = 2;
    for (int i = -kWarm; i < times; ++i) {
      const double start = ranks::monotonic_s();
      if (first()) {
        transport_->send(out(), content);
        transport_->receive(in(), content);
      } else {
        transport_->receive(in(), content);
        transport_->send(out(), content);
      }
      if (i >= 0) {
        samples.push_back((ranks::monotonic_s() - start) / 2);
      }
    }
    const double start = ranks::monotonic_s();
    const double busy = thread_cpu_s();
    for (int i = 0; i < times; ++i) {
      first() ? transport_->send(out(), content) : transport_->receive(in(), content);
    }
    ranks::Packer packer;
    packer.value((thread_cpu_s() - busy) / times);
    packer.value((ranks::monotonic_s() - start) / times);
    const ranks::Round round = of_.control_.gather(packer.take());
    if (first()) {
      MicroTiming timing = row(MicroGroup::kMessages, index);
      summarize(samples, timing);
      timing.sender_cpu_s = ranks::Unpacker(round.contents[0]).value<double>();
      ranks::Unpacker receiver(round.contents[1]);
      timing.receiver_cpu_s = receiver.value<double>();
      timing.stream_s = receiver.value<double>();
      timings_.push_back(timing);
    }
  }

  void reductions(std::size_t index, std::size_t bytes) {
    std::vector<float> buffer(bytes / sizeof(float), 1.0F);
    std::vector<float> scratch(buffer.size());
    const RingMember member{of_.rank_, 2, out(), in()};
    std::vector<double> samples;
    constexpr int kWarm = 2;
    const int times = count(bytes);
    for (int i = -kWarm; i < times; ++i) {
      const double start = ranks::monotonic_s();
      run_ring(graph::CollectiveKind::kAllReduce, member, buffer, scratch, *transport_);
      if (i >= 0) {
        samples.push_back(ranks::monotonic_s() - start);
      }
    }
    if (first()) {
      MicroTiming timing = row(MicroGroup::kReductions, index);
      summarize(samples, timing);
      timings_.push_back(timing);
    }
  }

  /// A second thread on the core that computes exchanges messages with the other core.
  void beside(std::size_t index, std::size_t bytes) {
    std::vector<std::byte> sent(bytes, std::byte{1});
    std::vector<std::byte> received(bytes);
    constexpr int kTimes = 6;
    const int times = kTimes * count(bytes);
    const auto exchange = [&] {
      for (int i = 0; i < times; ++i) {
        transport_->exchange(out(), sent, in(), received);
      }
    };
    if (!first()) {
      exchange();
      return;
    }
    MicroTiming timing = row(MicroGroup::kBeside, index);
    std::vector<double> alone;
    constexpr int kAlone = 15;
    for (int i = 0; i < kAlone; ++i) {
      const double start = ranks::monotonic_s();
      of_.products_();
      alone.push_back(ranks::monotonic_s() - start);
    }
    std::atomic<bool> busy{true};
    std::vector<double> samples;
    std::thread other([&] {
      exchange();
      busy = false;
    });
    while (busy) {
      const double start = ranks::monotonic_s();
      of_.products_();
      samples.push_back(ranks::monotonic_s() - start);
    }
    other.join();
    if (samples.size() > 1) {
      samples.pop_back();  // it outlived the messages
    }
    summarize(samples, timing);
    double sum = 0;
    for (const double one : samples) {
      sum += one;
    }
    timing.seconds = sum / timing.samples;  // interruptions come in lumps: the median would miss them
    timing.alone_s = quantile(alone, 0.5);
    timings_.push_back(timing);
  }

  static constexpr std::size_t kLargest = std::size_t{1} << 30;

  MicroMessages& of_;
  double start_s_;
  double end_s_;
  std::vector<MicroTiming>& timings_;
  std::vector<Pipe> pipes_ = {{0, 1, -1, kLargest}, {1, 0, -1, kLargest}};
  std::unique_ptr<Transport> transport_;
};

MicroMessages::MicroMessages(const MicroPlan& plan, double seconds, int rank, ranks::Control& control,
                             std::function<void()> products)
    : plan_(plan), seconds_(seconds), rank_(rank), control_(control), products_(std::move(products)) {}

void MicroMessages::run(double end_s, std::vector<MicroTiming>& timings) {
  Impl(*this, end_s, timings).run();
}

}  // namespace lamina::validate::cpu
