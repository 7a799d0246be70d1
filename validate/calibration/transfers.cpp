#include "validate/calibration/transfers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace lamina::validate::calibration {
namespace {

struct Spelling {
  std::string_view word;  ///< small letters and digits only
  Collective collective;
};

constexpr std::array<const char*, 9> kNames = {"all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast",
                                               "reduce",     "gather",     "scatter",        "sendrecv"};

constexpr std::array<Spelling, 14> kSpellings = {{{"allreduce", Collective::kAllReduce},
                                                  {"allgather", Collective::kAllGather},
                                                  {"reducescatter", Collective::kReduceScatter},
                                                  {"alltoall", Collective::kAllToAll},
                                                  {"all2all", Collective::kAllToAll},
                                                  {"broadcast", Collective::kBroadcast},
                                                  {"bcast", Collective::kBroadcast},
                                                  {"reduce", Collective::kReduce},
                                                  {"gather", Collective::kGather},
                                                  {"scatter", Collective::kScatter},
                                                  {"sendrecv", Collective::kSendReceive},
                                                  {"sendreceive", Collective::kSendReceive},
                                                  {"collectivepermute", Collective::kSendReceive},
                                                  {"permute", Collective::kSendReceive}}};

}  // namespace

std::string name_of(Collective collective) {
  return kNames.at(static_cast<std::size_t>(collective));
}

std::optional<Collective> collective_of(std::string_view word) {
  std::string plain;
  for (const char letter : word) {
    if (letter >= 'A' && letter <= 'Z') {
      plain += static_cast<char>(letter - 'A' + 'a');
    } else if ((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9')) {
      plain += letter;
    }
  }
  const auto found = std::find_if(kSpellings.begin(), kSpellings.end(),
                                  [&](const Spelling& spelling) { return spelling.word == plain; });
  return found == kSpellings.end() ? std::nullopt : std::optional(found->collective);
}

std::vector<std::string> collective_names() {
  return {kNames.begin(), kNames.end()};
}

double bus_factor(Collective collective, int ranks) {
  const double share = (ranks - 1.0) / ranks;
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * share;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return share;
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendReceive:
      return 1;
  }
  return 1;
}

double node_factor(Collective collective, int ranks, int nodes) {
  if (collective == Collective::kAllToAll) {
    const double inside = static_cast<double>(ranks) / nodes;
    return inside * (ranks - inside) / ranks;
  }
  return bus_factor(collective, ranks);
}

double ring_steps(Collective collective, int ranks) {
  return collective == Collective::kSendReceive ? 1
         : collective == Collective::kAllReduce ? 2.0 * (ranks - 1)
                                                : ranks - 1.0;
}

double node_steps(Collective collective, int ranks, int nodes) {
  const bool every = nodes == 1 || collective == Collective::kAllToAll || collective == Collective::kSendReceive;
  return ring_steps(collective, ranks) * (every ? 1 : static_cast<double>(nodes) / ranks);
}

int ranks_from_factor(Collective collective, double factor) {
  constexpr double kMostRanks = 64;    // beyond, three printed digits do not tell n from n + 1
  constexpr double kNearWhole = 0.08;  // of a rank
  const double share = collective == Collective::kAllReduce ? factor / 2 : factor;
  if (bus_factor(collective, 2) == bus_factor(collective, 3) || !(share > 0) || share >= 1) {
    return 0;
  }
  const double ranks = 1 / (1 - share);
  const double whole = std::round(ranks);
  return whole >= 2 && whole <= kMostRanks && std::abs(ranks - whole) < kNearWhole * std::max(1.0, whole / 8)
             ? static_cast<int>(whole)
             : 0;
}

}  // namespace lamina::validate::calibration
