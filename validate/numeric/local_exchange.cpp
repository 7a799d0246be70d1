#include "validate/numeric/local_exchange.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "sim/error/error.hpp"

namespace lamina::validate::numeric {
namespace {

void add(const std::vector<float>& values, std::vector<float>& sum) {
  if (values.size() != sum.size()) {
    throw error::InternalError("meets values of another size");
  }
  std::transform(sum.begin(), sum.end(), values.begin(), sum.begin(), std::plus<>());
}

}  // namespace

void LocalExchange::send(std::int32_t channel, Message message) {
  const auto receiver = receivers_.extract(channel);
  if (!receiver.empty()) {
    receiver.mapped()(std::move(message));
  } else if (!sent_.try_emplace(channel, std::move(message)).second) {
    throw error::InternalError("sends again before its last message was received");
  }
}

void LocalExchange::receive(std::int32_t channel, std::function<void(Message)> deliver) {
  auto message = sent_.extract(channel);
  if (!message.empty()) {
    deliver(std::move(message.mapped()));
  } else if (!receivers_.try_emplace(channel, std::move(deliver)).second) {
    throw error::InternalError("receives again before its last message was sent");
  }
}

void LocalExchange::collective(const Meeting& meeting, std::vector<float> values,
                               std::function<void(std::vector<float>)> deliver) {
  const std::vector<std::int32_t>& members = deployment_.groups[static_cast<std::size_t>(meeting.group)].members;
  std::vector<Arrival>& waiting = arrived_[meeting.group];
  if (!waiting.empty() &&
      (waiting.front().meeting.phase != meeting.phase || waiting.front().meeting.kind != meeting.kind)) {
    throw error::InternalError("meets another collective of its group");
  }
  waiting.push_back({meeting, std::move(values), std::move(deliver)});
  if (waiting.size() < members.size()) {
    return;
  }
  std::vector<Arrival> arrivals = std::exchange(waiting, {});
  std::sort(arrivals.begin(), arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return a.meeting.rank < b.meeting.rank; });
  std::vector<float> outcome = arrivals.front().values;
  for (std::size_t i = 1; i < arrivals.size(); ++i) {
    if (meeting.kind != graph::CollectiveKind::kAllGather) {
      add(arrivals[i].values, outcome);
      continue;
    }
    const auto first = static_cast<std::ptrdiff_t>(slice_begin(outcome.size(), i, arrivals.size()));
    const auto end = static_cast<std::ptrdiff_t>(slice_begin(outcome.size(), i + 1, arrivals.size()));
    if (arrivals[i].values.size() != outcome.size()) {
      throw error::InternalError("meets values of another size");
    }
    std::copy(arrivals[i].values.begin() + first, arrivals[i].values.begin() + end, outcome.begin() + first);
  }
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    std::vector<float> own = outcome;
    if (meeting.kind == graph::CollectiveKind::kReduceScatter) {
      keep_slice(own, i, arrivals.size());
    }
    arrivals[i].deliver(std::move(own));
  }
}

const std::vector<std::int32_t>& LocalExchange::tensor_group(std::int32_t rank) const {
  const std::int32_t group =
      deployment_.ranks[static_cast<std::size_t>(rank)].groups[static_cast<std::size_t>(graph::GroupKind::kTensor)];
  return deployment_.groups[static_cast<std::size_t>(group)].members;
}

std::vector<Exponentials> LocalExchange::whole_vocabulary(std::int32_t rank, const graph::Operation& operation,
                                                          std::vector<Exponentials> own) {
  std::vector<Exponentials> whole;
  for (const std::int32_t member : tensor_group(rank)) {
    const std::vector<Exponentials> part =
        member == rank ? own : ranks_[static_cast<std::size_t>(member)]->vocabulary_part(operation);
    if (whole.empty()) {
      whole = part;
      continue;
    }
    for (std::size_t i = 0; i < whole.size(); ++i) {
      whole[i] = combine(whole[i], part[i]);
    }
  }
  return whole;
}

std::vector<float> LocalExchange::sum_replicated(std::int32_t rank, int unit, std::vector<float> own) {
  const std::vector<std::int32_t>& members = tensor_group(rank);
  const auto [place, is_first] = sums_.try_emplace({members.front(), unit}, std::vector<float>(own.size(), 0));
  for (std::size_t i = 0; i < members.size() && is_first; ++i) {
    add(members[i] == rank ? own : ranks_[static_cast<std::size_t>(members[i])]->replicated(unit), place->second);
  }
  return place->second;
}

void LocalExchange::expect_nobody_waits() const {
  const bool waits =
      std::any_of(arrived_.begin(), arrived_.end(), [](const auto& group) { return !group.second.empty(); });
  if (!sent_.empty() || !receivers_.empty() || waits) {
    throw error::InternalError("an operation was launched without those that it happens together with");
  }
}

}  // namespace lamina::validate::numeric
