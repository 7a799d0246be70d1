#include "validate/ranks/coordinator.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/error/error.hpp"
#include "validate/ranks/control.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::ranks {

/// One round: the same type of frame from every rank.
struct Coordinator::Contents {
  FrameType type = FrameType::kBlob;
  std::vector<std::string> of_rank;
};

Coordinator::Coordinator(std::vector<int> sockets, std::vector<pid_t> processes, pid_t keeper)
    : sockets_(std::move(sockets)), processes_(std::move(processes)), keeper_(keeper) {}

Coordinator::~Coordinator() {
  end_all(true);
}

void Coordinator::end_all(bool failed) noexcept {
  for (int& socket : sockets_) {
    if (socket >= 0) {
      if (failed) {
        (void)write_frame(socket, FrameType::kFailed, {});
      }
      close(socket);
      socket = -1;
    }
  }
  const auto end = [](pid_t& process) {
    if (process > 0) {
      kill(process, SIGKILL);
      while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
      }
      process = -1;
    }
  };
  std::for_each(processes_.begin(), processes_.end(), end);
  end(keeper_);
}

/// How a rank's process ended, if it is a child that has.
std::string Coordinator::fate(std::size_t rank) {
  if (rank >= processes_.size() || processes_[rank] <= 0) {
    return "its connection broke";
  }
  constexpr int kTries = 50;
  for (int attempt = 0; attempt < kTries; ++attempt) {  // the socket closes a moment before the process is gone
    int status = 0;
    if (waitpid(processes_[rank], &status, WNOHANG) == processes_[rank]) {
      processes_[rank] = -1;
      if (WIFSIGNALED(status)) {
        return fmt::format("its process was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
      }
      return fmt::format("its process ended with status {}", WEXITSTATUS(status));
    }
    sleep_until(monotonic_s() + 0.01);
  }
  return "its connection broke";
}

void Coordinator::give_up(std::size_t rank, const std::string& reason) {
  const std::string text = fmt::format("rank {}: {}", rank, reason);
  end_all(true);
  throw error::EnvironmentError(text);
}

void Coordinator::give_up_on(const std::vector<std::size_t>& ranks, double timeout_s) {
  std::string text;
  for (const std::size_t rank : ranks) {
    text += fmt::format("{}{}", text.empty() ? "rank " : ", ", rank);
  }
  end_all(true);
  throw error::EnvironmentError(fmt::format("{}: no answer for {:.0f} s", text, timeout_s));
}

/// A rank that says it cannot go on may only have seen the end of another one: that one's end is the reason.
void Coordinator::blame(std::size_t rank, const std::string& reason) {
  sleep_until(monotonic_s() + 0.1);
  for (std::size_t other = 0; other < sockets_.size(); ++other) {
    pollfd waiting{sockets_[other], POLLIN, 0};
    if (other == rank || poll(&waiting, 1, 0) <= 0) {
      continue;
    }
    const std::optional<Frame> frame = read_frame(waiting.fd, 1);
    if (!frame) {
      give_up(other, fate(other));
    }
    if (frame->type == FrameType::kFailed && frame->content.find("was killed") != std::string::npos) {
      give_up(other, frame->content);
    }
  }
  give_up(rank, reason);
}

Coordinator::Contents Coordinator::collect(double timeout_s) {
  Contents result;
  std::optional<FrameType> type;
  std::vector<std::optional<std::string>> contents(sockets_.size());
  const double deadline = monotonic_s() + timeout_s;
  for (std::size_t missing = sockets_.size(); missing > 0;) {
    std::vector<pollfd> waiting;
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < sockets_.size(); ++rank) {
      if (!contents[rank]) {
        waiting.push_back({sockets_[rank], POLLIN, 0});
        ranks.push_back(rank);
      }
    }
    const double left = deadline - monotonic_s();
    const int ready = left > 0 ? poll(waiting.data(), waiting.size(), static_cast<int>(left * 1e3) + 1) : 0;
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0) {
      give_up_on(ranks, timeout_s);
    }
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents == 0) {
        continue;
      }
      std::optional<Frame> frame = read_frame(waiting[i].fd, timeout_s);
      if (!frame) {
        give_up(ranks[i], fate(ranks[i]));
      }
      if (frame->type == FrameType::kFailed) {
        blame(ranks[i], frame->content);
      }
      if (frame->type != type.value_or(frame->type) || frame->type == FrameType::kAll) {
        give_up(ranks[i], "it is in another place of the run than the others");
      }
      type = frame->type;
      contents[ranks[i]] = std::move(frame->content);
      --missing;
    }
  }
  result.type = type.value_or(FrameType::kBye);
  for (auto& content : contents) {
    result.of_rank.push_back(std::move(*content));
  }
  return result;
}

void Coordinator::greet(double timeout_s) {
  const Contents contents = collect(timeout_s);
  if (contents.type != FrameType::kHello) {
    give_up(0, "it does not say hello");
  }
  const std::vector<std::string>& hellos = contents.of_rank;
  std::string first;
  for (std::size_t rank = 0; rank < hellos.size(); ++rank) {
    Unpacker hello(hellos[rank]);
    const auto number = hello.value<int>();
    if (number != static_cast<int>(rank)) {
      give_up(rank, fmt::format("it calls itself rank {}", number));
    }
    const std::string fingerprint = hello.text();
    if (rank == 0) {
      first = fingerprint;
    } else if (fingerprint != first) {
      give_up(rank, "it runs another scenario, or another build, than rank 0");
    }
  }
}

void Coordinator::answer(const Contents& contents) {
  const bool share = contents.type == FrameType::kBlob;
  Packer packer;
  packer.value(monotonic_s());
  packer.value(static_cast<std::uint64_t>(share ? contents.of_rank.size() : 0));
  if (share) {
    for (const std::string& content : contents.of_rank) {
      packer.text(content);
    }
  }
  const std::string text = packer.take();
  for (std::size_t rank = 0; rank < sockets_.size(); ++rank) {
    if (!write_frame(sockets_[rank], FrameType::kAll, text)) {
      give_up(rank, fate(rank));
    }
  }
}

void Coordinator::serve(const std::function<double()>& timeout_s,
                        const std::function<void(const std::vector<std::string>&)>& on_report) {
  while (true) {
    const Contents contents = collect(timeout_s());
    if (contents.type == FrameType::kBye) {
      end_all(false);  // they have said goodbye; nothing of value is left in them
      return;
    }
    if (contents.type == FrameType::kReport) {
      on_report(contents.of_rank);
    }
    answer(contents);
  }
}

}  // namespace lamina::validate::ranks
