#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "validate/cpu/micro_rank.hpp"
#include "validate/cpu/scratch_file.hpp"

namespace lamina::validate::cpu {
namespace {

MicroTiming row(MicroGroup group, std::size_t index, MicroFate fate = MicroFate::kMeasured) {
  MicroTiming timing;
  timing.group = group;
  timing.index = static_cast<std::int32_t>(index);
  timing.fate = fate;
  return timing;
}

void time_file(const ScratchFile& file, const MicroPlan& plan, double end_s, std::vector<MicroTiming>& timings) {
  Allowance allowance(end_s, 2 * plan.files.size());
  std::size_t done = 0;
  for (const std::size_t i : measuring_order(plan.files.size())) {
    const bool may_wait = done++ >= kInAnyCase;
    const std::size_t bytes = plan.files[i];
    const bool fits = 4.0 * static_cast<double>(bytes) < std::min(file.free_bytes(), available_memory());
    for (const MicroGroup group : {MicroGroup::kFileWrites, MicroGroup::kFileReads}) {
      const double until = allowance.next();
      if (!fits || (may_wait && allowance.over())) {
        timings.push_back(row(group, i, fits ? MicroFate::kNoTime : MicroFate::kNoMemory));
        continue;
      }
      const PageMemory memory = page_memory(bytes);
      if (!memory) {
        timings.push_back(row(group, i, MicroFate::kNoMemory));
        continue;
      }
      if (group == MicroGroup::kFileReads) {
        file.write(memory.get(), bytes);  // however little the write before it got done
      }
      MicroTiming timing = row(group, i);
      summarize(sample(until,
                       [&] {
                         group == MicroGroup::kFileWrites ? file.write(memory.get(), bytes)
                                                          : file.read(memory.get(), bytes);
                       }),
                timing);
      timings.push_back(timing);
    }
  }
}

}  // namespace

double available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key; file.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    double kibibytes = 0;
    if (key == "MemAvailable:" && file >> kibibytes) {
      return kibibytes * 1024;
    }
  }
  return std::numeric_limits<double>::infinity();
}

void time_copies(const MicroPlan& plan, double end_s, std::vector<MicroTiming>& timings) {
  Allowance allowance(end_s, plan.copies.size());
  std::size_t done = 0;
  for (const std::size_t i : measuring_order(plan.copies.size())) {
    const std::size_t bytes = plan.copies[i];
    const double until = allowance.next();
    if (done++ >= kInAnyCase && allowance.over()) {
      timings.push_back(row(MicroGroup::kCopies, i, MicroFate::kNoTime));
      continue;
    }
    const bool fits = 4.0 * static_cast<double>(bytes) < available_memory();
    const PageMemory from = fits ? page_memory(bytes) : PageMemory();
    const PageMemory to = fits ? page_memory(bytes) : PageMemory();
    if (!from || !to) {
      timings.push_back(row(MicroGroup::kCopies, i, MicroFate::kNoMemory));
      continue;
    }
    MicroTiming timing = row(MicroGroup::kCopies, i);
    char* const target = to.get();
    summarize(sample(until,
                     [&] {
                       std::memcpy(target, from.get(), bytes);
                       __asm__ volatile("" : : "r"(target) : "memory");  // the copy is used
                     }),
              timing);
    timings.push_back(timing);
  }
}

std::string time_files(const MicroPlan& plan, const std::filesystem::path& folder, double end_s,
                       std::vector<MicroTiming>& timings) {
  try {
    const ScratchFile file(folder);
    time_file(file, plan, end_s, timings);
    return file.how();
  } catch (const error::EnvironmentError& fault) {
    return fmt::format("files were not measured: {}", fault.what());
  }
}

}  // namespace lamina::validate::cpu
