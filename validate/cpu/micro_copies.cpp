#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "validate/cpu/micro_rank.hpp"

namespace lamina::validate::cpu {
namespace {

constexpr std::size_t kPage = 4096;

struct Free {
  void operator()(char* data) const { std::free(data); }
};

using Memory = std::unique_ptr<char, Free>;

/// Pages that exist, full of numbers that do not compress. Empty when there is not so much memory.
Memory memory_of(std::size_t bytes) {
  Memory memory(static_cast<char*>(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage)));
  std::uint64_t state = 1;
  for (std::size_t i = 0; memory && i + sizeof state <= bytes; i += sizeof state) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(memory.get() + i, &state, sizeof state);
  }
  return memory;
}

MicroTiming row(MicroGroup group, std::size_t index, MicroFate fate = MicroFate::kMeasured) {
  MicroTiming timing;
  timing.group = group;
  timing.index = static_cast<std::int32_t>(index);
  timing.fate = fate;
  return timing;
}

/// A file without a name: it goes away with this object, whatever ends the process.
class ScratchFile {
 public:
  explicit ScratchFile(const std::filesystem::path& folder) {
    std::string name = (folder / "lamina-XXXXXX").string();
    number_ = mkostemp(name.data(), O_DIRECT | O_CLOEXEC);
    direct_ = number_ >= 0;
    if (!direct_ && errno == EINVAL) {  // the file system knows no direct access
      unlink(name.c_str());             // some make the file before they refuse
      name = (folder / "lamina-XXXXXX").string();
      number_ = mkostemp(name.data(), O_CLOEXEC);
    }
    if (number_ < 0) {
      problem_ = fmt::format("no file can be made in {}: {}", folder.string(), std::strerror(errno));
      return;
    }
    unlink(name.c_str());

    struct statvfs space {};

    if (fstatvfs(number_, &space) == 0) {
      free_bytes_ = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
    }
  }

  ~ScratchFile() {
    if (number_ >= 0) {
      close(number_);
    }
  }

  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] const std::string& problem() const { return problem_; }

  [[nodiscard]] bool direct() const { return direct_; }

  [[nodiscard]] double free_bytes() const { return free_bytes_; }

  void write(const char* data, std::size_t bytes) {
    move(bytes, [&](std::size_t done) {
      return pwrite(number_, data + done, std::min(bytes - done, kPiece), static_cast<off_t>(done));
    });
    if (!direct_ && fdatasync(number_) != 0) {
      note("fdatasync");
    }
  }

  void read(char* data, std::size_t bytes) {
    if (!direct_) {
      (void)posix_fadvise(number_, 0, 0, POSIX_FADV_DONTNEED);
    }
    move(bytes, [&](std::size_t done) {
      return pread(number_, data + done, std::min(bytes - done, kPiece), static_cast<off_t>(done));
    });
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{4} << 20;

  template <class Piece>
  void move(std::size_t bytes, Piece piece) {
    for (std::size_t done = 0; done < bytes && problem_.empty();) {
      const ssize_t moved = piece(done);
      if (moved > 0) {
        done += static_cast<std::size_t>(moved);
      } else if (moved == 0 || errno != EINTR) {
        note(moved == 0 ? "end of the file" : "a transfer");
      }
    }
  }

  void note(const char* what) { problem_ = fmt::format("{}: {}", what, std::strerror(errno)); }

  int number_ = -1;
  bool direct_ = false;
  double free_bytes_ = std::numeric_limits<double>::infinity();
  std::string problem_;
};

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
    const Memory from = fits ? memory_of(bytes) : Memory();
    const Memory to = fits ? memory_of(bytes) : Memory();
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
  Allowance allowance(end_s, 2 * plan.files.size());
  ScratchFile file(folder);
  std::size_t done = 0;
  for (const std::size_t i : measuring_order(plan.files.size())) {
    if (!file.problem().empty()) {
      break;
    }
    const bool may_wait = done++ >= kInAnyCase;
    const std::size_t bytes = plan.files[i];
    const bool fits = 4.0 * static_cast<double>(bytes) < std::min(file.free_bytes(), available_memory());
    for (const MicroGroup group : {MicroGroup::kFileWrites, MicroGroup::kFileReads}) {
      const double until = allowance.next();
      if (!fits || (may_wait && allowance.over())) {
        timings.push_back(row(group, i, fits ? MicroFate::kNoTime : MicroFate::kNoMemory));
        continue;
      }
      const Memory memory = memory_of(bytes);
      const auto run = [&] {
        group == MicroGroup::kFileWrites ? file.write(memory.get(), bytes) : file.read(memory.get(), bytes);
      };
      MicroTiming timing = row(group, i);
      if (memory) {
        if (group == MicroGroup::kFileReads) {
          file.write(memory.get(), bytes);  // however little the write before it got done
        }
        summarize(sample(until, run), timing);
      }
      if (memory && file.problem().empty()) {
        timings.push_back(timing);
      }
    }
  }
  if (!file.problem().empty()) {
    return fmt::format("files were not measured: {}", file.problem());
  }
  return file.direct() ? "direct (O_DIRECT), in pieces of 4 MiB"
                       : "buffered, written through by fdatasync, dropped from the cache before they are read";
}

}  // namespace lamina::validate::cpu
