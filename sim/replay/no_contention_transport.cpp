#include "sim/replay/no_contention_transport.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace lamina::replay {
namespace {

struct Event {
  double date = 0;
  std::uint64_t number = 0;  ///< of all events, twice, plus 1 for a flow
  Token token = 0;
};

/// For a heap whose front is the first event.
struct Later {
  bool operator()(const Event& a, const Event& b) const {
    return a.date != b.date ? a.date > b.date : a.number > b.number;
  }
};

class NoContentionTransport final : public Transport {
 public:
  explicit NoContentionTransport(const deployment::Deployment& deployment) : paths_(deployment.paths) {}

  [[nodiscard]] double now() const override { return now_; }

  void start_flow(std::int32_t path, double bytes, Token token) override {
    push(now_ + bytes * paths_[static_cast<std::size_t>(path)].alone_s_per_byte, token, true);
  }

  Timer start_timer(double date, Token token) override { return reinterpret_cast<Timer>(push(date, token, false)); }

  void cancel_timer(Timer timer) override { cancelled_.insert(reinterpret_cast<std::uintptr_t>(timer)); }

  void run(TransportListener& listener) override {
    while (!events_.empty()) {
      std::pop_heap(events_.begin(), events_.end(), Later{});
      const Event event = events_.back();
      events_.pop_back();
      if (!cancelled_.empty() && cancelled_.erase(event.number) > 0) {
        continue;
      }
      now_ = event.date;
      if ((event.number & 1U) != 0) {
        listener.flow_ended(event.token);
      } else {
        listener.timer_ended(event.token);
      }
    }
  }

 private:
  std::uint64_t push(double date, Token token, bool is_flow) {
    const std::uint64_t number = 2 * ++started_ + (is_flow ? 1 : 0);
    events_.push_back({date, number, token});
    std::push_heap(events_.begin(), events_.end(), Later{});
    return number;
  }

  const std::vector<deployment::Path>& paths_;
  std::vector<Event> events_;  ///< a heap
  std::unordered_set<std::uint64_t> cancelled_;
  std::uint64_t started_ = 0;
  double now_ = 0;
};

}  // namespace

std::unique_ptr<Transport> make_no_contention_transport(const deployment::Deployment& deployment) {
  return std::make_unique<NoContentionTransport>(deployment);
}

}  // namespace lamina::replay
