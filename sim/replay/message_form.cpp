#include "sim/replay/message_form.hpp"

#include <algorithm>
#include <numeric>

namespace lamina::replay {

MessageForm::MessageForm(const std::vector<deployment::GroupMessage>& messages, std::size_t members)
    : messages_(messages), members_(members) {
  for (const deployment::GroupMessage& message : messages) {
    steps_ = std::max(steps_, static_cast<std::size_t>(message.step) + 1);
  }
  needed_.assign(members_ * steps_, 0);
  first_send_.assign(members_ * steps_ + 1, 0);
  const auto slot = [this](std::int32_t member, std::int32_t step) {
    return static_cast<std::size_t>(member) * steps_ + static_cast<std::size_t>(step);
  };
  for (const deployment::GroupMessage& message : messages) {
    ++needed_[slot(message.from, message.step)];
    ++needed_[slot(message.to, message.step)];
    ++first_send_[slot(message.from, message.step) + 1];
  }
  std::partial_sum(first_send_.begin(), first_send_.end(), first_send_.begin());
  std::vector<std::uint32_t> next(first_send_.begin(), first_send_.end() - 1);
  sends_.resize(messages.size());
  for (std::uint32_t i = 0; i < messages.size(); ++i) {
    sends_[next[slot(messages[i].from, messages[i].step)]++] = i;
  }
}

void MessageForm::begin(Progress& progress, std::vector<std::uint32_t>& starting) const {
  progress.remaining = needed_;
  progress.step.assign(members_, 0);
  progress.left = messages_.size();
  for (std::size_t member = 0; member < members_; ++member) {
    send_step(member * steps_, starting);
    advance(progress, member, starting);
  }
}

void MessageForm::finish(Progress& progress, std::uint32_t message, std::vector<std::uint32_t>& starting) const {
  --progress.left;
  const deployment::GroupMessage& ended = messages_[message];
  for (const std::int32_t end : {ended.from, ended.to}) {
    const auto member = static_cast<std::size_t>(end);
    --progress.remaining[member * steps_ + static_cast<std::size_t>(ended.step)];
    advance(progress, member, starting);
  }
}

void MessageForm::advance(Progress& progress, std::size_t member, std::vector<std::uint32_t>& starting) const {
  std::uint32_t& step = progress.step[member];
  while (step + 1 < steps_ && progress.remaining[member * steps_ + step] == 0) {
    ++step;
    send_step(member * steps_ + step, starting);
  }
}

void MessageForm::send_step(std::size_t slot, std::vector<std::uint32_t>& starting) const {
  for (std::uint32_t i = first_send_[slot]; i < first_send_[slot + 1]; ++i) {
    starting.push_back(sends_[i]);
  }
}

}  // namespace lamina::replay
