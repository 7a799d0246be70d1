#include "validate/cuda/plugin/communicators.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "sim/error/error.hpp"

namespace lamina::validate::cuda {
namespace {

struct Plan {
  std::vector<std::int32_t> members;
  bool between_two = false;  ///< a channel
};

/// Channels, then groups; the same in all processes.
std::vector<Plan> plans_of(const deployment::Deployment& deployment) {
  std::vector<Plan> plans;
  for (const deployment::Channel& channel : deployment.channels) {
    plans.push_back({{channel.sender, channel.receiver}, true});
  }
  for (const deployment::Group& group : deployment.groups) {
    plans.push_back({group.size > 1 ? group.members : std::vector<std::int32_t>{}, false});
  }
  return plans;
}

/// Names of the communicators: each is given by the process of its first member.
std::vector<ncclUniqueId> exchange_names(const std::vector<Plan>& plans, std::int32_t rank, Peers& peers) {
  std::string own;
  for (std::size_t plan = 0; plan < plans.size(); ++plan) {
    if (!plans[plan].members.empty() && plans[plan].members.front() == rank) {
      ncclUniqueId name;
      LAMINA_CHECKED(ncclGetUniqueId(&name));
      const auto number = static_cast<std::uint64_t>(plan);
      own.append(reinterpret_cast<const char*>(&number), sizeof number);
      own.append(name.internal, sizeof name.internal);
    }
  }
  std::vector<ncclUniqueId> names(plans.size());
  constexpr std::size_t kEntry = sizeof(std::uint64_t) + sizeof(ncclUniqueId);
  for (const std::string& content : peers.gather(own)) {
    for (std::size_t at = 0; at + kEntry <= content.size(); at += kEntry) {
      std::uint64_t number = 0;
      std::memcpy(&number, content.data() + at, sizeof number);
      if (number >= names.size()) {
        throw error::EnvironmentError("another process has more communicators than this one");
      }
      std::memcpy(names[number].internal, content.data() + at + sizeof number, sizeof(ncclUniqueId));
    }
  }
  return names;
}

}  // namespace

Communicators::Communicators(const DeviceSetup& setup)
    : channels_(setup.deployment->channels.size()), groups_(setup.deployment->groups.size()) {
  const std::int32_t rank = setup.ranks.front();
  const std::vector<Plan> plans = plans_of(*setup.deployment);
  const std::vector<ncclUniqueId> names = exchange_names(plans, rank, *setup.peers);
  std::vector<ncclComm_t> made(plans.size(), nullptr);
  LAMINA_CHECKED(ncclGroupStart());
  for (std::size_t plan = 0; plan < plans.size(); ++plan) {
    const auto& members = plans[plan].members;
    const auto here = std::find(members.begin(), members.end(), rank);
    if (here == members.end()) {
      continue;
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    if (plans[plan].between_two) {  // messages overlap with compute: bounds the multiprocessors that they take from it
      config.minCTAs = 1;
      config.maxCTAs = 4;
    }
    LAMINA_CHECKED(ncclCommInitRankConfig(&made[plan], static_cast<int>(members.size()), names[plan],
                                          static_cast<int>(here - members.begin()), &config));
  }
  LAMINA_CHECKED(ncclGroupEnd());
  for (std::size_t plan = 0; plan < plans.size(); ++plan) {
    (plan < channels_.size() ? channels_[plan] : groups_[plan - channels_.size()]).reset(made[plan]);
  }
}

ncclComm_t Communicators::of_channel(std::int32_t channel) const {
  return channels_[static_cast<std::size_t>(channel)].get();
}

ncclComm_t Communicators::of_group(std::int32_t group) const {
  return groups_[static_cast<std::size_t>(group)].get();
}

void Communicators::check_errors() const {
  for (const auto* all : {&channels_, &groups_}) {
    for (const Communicator& communicator : *all) {
      if (communicator) {
        ncclResult_t state = ncclSuccess;
        LAMINA_CHECKED(ncclCommGetAsyncError(communicator.get(), &state));
        check(state, {"ncclCommGetAsyncError(communicator.get(), &state)", __FILE__, __LINE__});
      }
    }
  }
}

}  // namespace lamina::validate::cuda
