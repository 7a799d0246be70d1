#pragma once

#include <cstdint>
#include <vector>

#include "sim/deployment/deployment.hpp"

namespace lamina::replay {

/// The order of the messages of a collective in message form: a member sends its messages of a step when it has sent
/// and received all its messages of earlier steps. Knows no time.
class MessageForm {
 public:
  /// One collective under way.
  struct Progress {
    std::vector<std::uint32_t> remaining;  ///< [member x steps + step] messages to send or receive
    std::vector<std::uint32_t> step;       ///< [member] step it has reached
    std::size_t left = 0;                  ///< messages not finished
  };

  /// `messages` must outlive this; indices are checked by the caller.
  MessageForm(const std::vector<deployment::GroupMessage>& messages, std::size_t members);

  /// Appends the messages that start at once to `starting`.
  void begin(Progress& progress, std::vector<std::uint32_t>& starting) const;

  /// Notes that `message` has ended and appends the messages that start now.
  void finish(Progress& progress, std::uint32_t message, std::vector<std::uint32_t>& starting) const;

  [[nodiscard]] const deployment::GroupMessage& message(std::uint32_t index) const { return messages_[index]; }

 private:
  void advance(Progress& progress, std::size_t member, std::vector<std::uint32_t>& starting) const;
  void send_step(std::size_t slot, std::vector<std::uint32_t>& starting) const;

  const std::vector<deployment::GroupMessage>& messages_;
  std::size_t members_ = 0;
  std::size_t steps_ = 0;
  std::vector<std::uint32_t> needed_;      ///< [member x steps + step] messages to send or receive
  std::vector<std::uint32_t> first_send_;  ///< [member x steps + step] into sends_, and the end
  std::vector<std::uint32_t> sends_;       ///< messages by sender and step
};

}  // namespace lamina::replay
