#include "validate/numeric/transport_exchange.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "validate/cpu/ring.hpp"
#include "validate/numeric/build_device.hpp"

namespace lamina::validate::numeric {
namespace {

using graph::CollectiveKind;

/// In front of a message's numbers.
struct Header {
  std::int32_t stage = 0;
  std::int32_t micro_batch = 0;
  std::int32_t rows = 0;
  std::int32_t columns = 0;
};

std::size_t most_units(const std::vector<ProgramFacts>& facts) {
  std::size_t most = 0;
  for (const ProgramFacts& program : facts) {
    most = std::max(most, program.units.size());
  }
  return most;
}

/// Room for any message, and any slice of a collective.
std::size_t most_bytes(const World& world, const std::vector<ProgramFacts>& facts) {
  const auto tokens = static_cast<std::size_t>(world.tokens());
  std::size_t most = std::max(tokens * static_cast<std::size_t>(world.shape.hidden), 2 * tokens);
  for (const ProgramFacts& program : facts) {
    for (const Unit& unit : build_units(world, program, 0, 0)) {
      most = std::max(most, unit.places.size());
    }
  }
  return sizeof(Header) + (most + 1) * sizeof(float);
}

}  // namespace

tl::expected<NumberPlan, error::Infeasible> plan_numbers(const World& world, const graph::OperationGraph& graph,
                                                         const deployment::Deployment& deployment,
                                                         const std::vector<ProgramFacts>& facts) {
  auto pipes = cpu::plan_pipes(graph, deployment);
  if (!pipes) {
    return tl::unexpected(std::move(pipes.error()));
  }
  NumberPlan result{std::move(*pipes), {}};
  const std::size_t rings = 1 + (world.strategy.sequence_parallel ? most_units(facts) : 0);
  for (const deployment::Rank& rank : deployment.ranks) {
    const std::int32_t group = rank.groups[static_cast<std::size_t>(graph::GroupKind::kTensor)];
    if (world.strategy.tensor_parallel == 1 || result.beside.find(group) != result.beside.end()) {
      continue;
    }
    result.beside[group] = result.plan.pipes.size();
    const std::vector<std::int32_t>& members = deployment.groups[static_cast<std::size_t>(group)].members;
    for (std::size_t edge = 0; edge < rings * members.size(); ++edge) {
      const std::size_t from = edge % members.size();
      result.plan.pipes.push_back({members[from], members[(from + 1) % members.size()], -1, 0});
    }
  }
  const std::size_t bytes = most_bytes(world, facts);
  for (cpu::Pipe& pipe : result.plan.pipes) {
    pipe.most_bytes = bytes;
  }
  return result;
}

TransportExchange::TransportExchange(const World& world, const deployment::Deployment& deployment,
                                     const NumberPlan& plan, std::int32_t rank, cpu::Transport& transport)
    : world_(world), deployment_(deployment), plan_(plan), rank_(rank), transport_(transport) {}

std::size_t TransportExchange::message_bytes() const {
  return sizeof(Header) +
         static_cast<std::size_t>(world_.tokens()) * static_cast<std::size_t>(world_.shape.hidden) * sizeof(float);
}

void TransportExchange::send(std::int32_t channel, Message message) {
  const Matrix& content = message.content;
  std::vector<std::byte> bytes(message_bytes());
  const Header header{message.stage, message.micro_batch, content.rows, content.columns};
  if (bytes.size() != sizeof header + content.values.size() * sizeof(float)) {
    throw error::InternalError("sends a matrix that is not tokens x hidden");
  }
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, content.values.data(), content.values.size() * sizeof(float));
  transport_.send(static_cast<std::size_t>(channel), bytes);
}

void TransportExchange::receive(std::int32_t channel, std::function<void(Message)> deliver) {
  std::vector<std::byte> bytes(message_bytes());
  transport_.receive(static_cast<std::size_t>(channel), bytes);
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.rows != world_.tokens() || header.columns != world_.shape.hidden) {
    throw error::InternalError("received a matrix that is not tokens x hidden");
  }
  Message message{header.stage, header.micro_batch, Matrix(header.rows, header.columns)};
  std::memcpy(message.content.values.data(), bytes.data() + sizeof header, bytes.size() - sizeof header);
  deliver(std::move(message));
}

void TransportExchange::run(CollectiveKind kind, const cpu::RingMember& member, std::vector<float>& values) {
  const auto size = static_cast<std::size_t>(member.size);
  const std::size_t slice = values.size() / size + 1;
  if (slice * sizeof(float) > plan_.plan.pipes[member.out].most_bytes) {
    throw error::InternalError("exchanges more than there is room for");
  }
  std::vector<float> scratch(slice);
  cpu::run_ring(kind, member, values, scratch, transport_);
  if (kind == CollectiveKind::kAllGather) {
    return;
  }
  for (float& value : values) {
    value *= static_cast<float>(member.size);  // rings give means
  }
  if (kind == CollectiveKind::kReduceScatter) {
    keep_slice(values, static_cast<std::size_t>(member.index), size);
  }
}

void TransportExchange::collective(const Meeting& meeting, std::vector<float> values,
                                   std::function<void(std::vector<float>)> deliver) {
  const auto ring = plan_.plan.rings.find({meeting.group, meeting.phase});
  const auto member =
      cpu::ring_member(ring, deployment_.groups[static_cast<std::size_t>(meeting.group)], rank_).value();
  run(meeting.kind, member, values);
  deliver(std::move(values));
}

cpu::RingMember TransportExchange::beside(std::size_t ring) const {
  const std::int32_t group =
      deployment_.ranks[static_cast<std::size_t>(rank_)].groups[static_cast<std::size_t>(graph::GroupKind::kTensor)];
  const std::vector<std::int32_t>& members = deployment_.groups[static_cast<std::size_t>(group)].members;
  const auto index = static_cast<std::size_t>(std::find(members.begin(), members.end(), rank_) - members.begin());
  const std::size_t first = plan_.beside.at(group) + ring * members.size();
  cpu::RingMember member;
  member.index = static_cast<int>(index);
  member.size = static_cast<int>(members.size());
  member.out = first + index;
  member.in = first + (index + members.size() - 1) % members.size();
  return member;
}

std::vector<Exponentials> TransportExchange::whole_vocabulary(std::int32_t /*rank*/,
                                                              const graph::Operation& /*operation*/,
                                                              std::vector<Exponentials> own) {
  const cpu::RingMember member = beside(0);
  const std::size_t slice = 2 * own.size();
  std::vector<float> all(slice * static_cast<std::size_t>(member.size));
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::size_t at = slice * static_cast<std::size_t>(member.index) + 2 * i;
    all[at] = own[i].largest;
    all[at + 1] = own[i].sum;
  }
  run(CollectiveKind::kAllGather, member, all);
  std::vector<Exponentials> whole(own.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    whole[i] = {all[2 * i], all[2 * i + 1]};
    for (std::size_t at = slice + 2 * i; at < all.size(); at += slice) {
      whole[i] = combine(whole[i], {all[at], all[at + 1]});
    }
  }
  return whole;
}

std::vector<float> TransportExchange::sum_replicated(std::int32_t /*rank*/, int unit, std::vector<float> own) {
  run(CollectiveKind::kAllReduce, beside(1 + static_cast<std::size_t>(unit)), own);
  return own;
}

}  // namespace lamina::validate::numeric
