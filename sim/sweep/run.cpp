#include "sim/sweep/run.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/replay/replay.hpp"
#include "sim/sweep/workers.hpp"

namespace lamina::sweep {
namespace {

using Rows = std::vector<std::optional<Row>>;

/// In the journal, rows of the first pass of --refine stand behind "coarse ", the others behind "row ".
constexpr std::string_view kCoarse = "coarse ";
constexpr std::string_view kFinal = "row ";

class Run {
 public:
  Run(const Bench& bench, const RunOptions& options, Journal* journal,
      const std::function<void(const Progress&)>& on_progress)
      : bench_(bench),
        options_(options),
        journal_(journal),
        on_progress_(on_progress),
        coarse_(static_cast<std::size_t>(bench.grid.size())),
        final_(static_cast<std::size_t>(bench.grid.size())) {
    progress_.total = bench.grid.size() + std::min(options.refine, bench.grid.size());
  }

  void read(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      const bool coarse = line.starts_with(kCoarse);
      const std::string_view text = std::string_view(line).substr(coarse ? kCoarse.size() : kFinal.size());
      auto row = row_from_json(text);
      Rows& rows = coarse ? coarse_ : final_;
      if (!row || row->point < 0 || row->point >= bench_.grid.size()) {
        throw error::InternalError("a line of the sweep's journal is no row");
      }
      row->coarse = coarse;
      auto& slot = rows[static_cast<std::size_t>(row->point)];
      if (row->status != Status::kFailed && !slot) {
        ++progress_.resumed;
        note(*row);
        slot = std::move(row);
      }
    }
  }

  std::vector<Row> all() {
    if (options_.refine > 0) {
      pass(coarse_, every_point(), scenario::Transport::kNoContention);
      std::vector<std::int64_t> best = ranked(whole(coarse_), options_.sort_by);
      best.resize(std::min(best.size(), static_cast<std::size_t>(options_.refine)));
      progress_.total = bench_.grid.size() + static_cast<std::int64_t>(best.size());
      progress_.best.reset();
      forget_all_but(best);
      pass(final_, best, scenario::Transport::kSimgrid);
    } else {
      pass(final_, every_point(), std::nullopt);
    }
    std::vector<Row> rows;
    for (std::size_t i = 0; i < final_.size(); ++i) {
      rows.push_back(final_[i] ? *final_[i] : *coarse_[i]);
    }
    return rows;
  }

 private:
  /// The journal may hold replays of points that are among the best no more, since others failed the first time.
  void forget_all_but(const std::vector<std::int64_t>& best) {
    Rows kept(final_.size());
    for (const std::int64_t point : best) {
      kept[static_cast<std::size_t>(point)] = std::move(final_[static_cast<std::size_t>(point)]);
    }
    final_ = std::move(kept);
  }

  [[nodiscard]] std::vector<std::int64_t> every_point() const {
    std::vector<std::int64_t> points;
    for (std::int64_t point = 0; point < bench_.grid.size(); ++point) {
      points.push_back(point);
    }
    return points;
  }

  static std::vector<Row> whole(const Rows& rows) {
    std::vector<Row> result;
    for (const auto& row : rows) {
      result.push_back(*row);
    }
    return result;
  }

  [[nodiscard]] std::string line_of(const Row& row) const {
    return to_json_line(row, {bench_.grid.keys(), bench_.grid.point(row.point).texts});
  }

  void pass(Rows& rows, const std::vector<std::int64_t>& points, std::optional<scenario::Transport> transport) {
    std::vector<Task> open;
    for (const std::int64_t point : points) {
      if (!rows[static_cast<std::size_t>(point)]) {
        open.push_back(static_cast<Task>(point));
      }
    }
    const bool estimates = transport == scenario::Transport::kNoContention && is_estimated(options_.sort_by);
    pipeline::CoarseSearch search(bench_.catalogs);  // every worker gets its own when it is forked
    const auto work = [&](Task task) {
      const auto point = static_cast<std::int64_t>(task);
      return line_of(estimates ? estimate(bench_, point, search) : evaluate(bench_, point, transport));
    };
    const auto on_answer = [&](Task task, const Answer& answer) { take(rows, task, answer); };
    on_progress_(progress_);
    // SimGrid serves a process once and may end it. A fork before anything is built costs far less than one behind it.
    run_workers(open, work, on_answer, [&] { on_progress_(progress_); }, {options_.workers, replay::has_used_simgrid});
  }

  void take(Rows& rows, Task task, const Answer& answer) {
    std::optional<Row> row = answer ? row_from_json(*answer) : Row{};
    if (!row) {
      throw error::InternalError("a worker of the sweep answered no row");
    }
    if (!answer) {
      row->point = static_cast<std::int64_t>(task);
      row->status = Status::kFailed;
      row->reason = answer.error();
    }
    row->coarse = &rows == &coarse_;
    if (journal_ != nullptr) {
      journal_->append(fmt::format("{}{}", row->coarse ? kCoarse : kFinal, answer ? *answer : line_of(*row)));
    }
    note(*row);
    rows[task] = std::move(row);
    on_progress_(progress_);
  }

  void note(const Row& row) {
    ++progress_.done;
    if (row.status != Status::kOk) {
      return;
    }
    const double value = row.values[options_.sort_by];
    const bool larger = figures()[options_.sort_by].larger_is_better;
    if (std::isfinite(value) && (!progress_.best || (larger ? value > *progress_.best : value < *progress_.best))) {
      progress_.best = value;
    }
  }

  const Bench& bench_;
  const RunOptions& options_;
  Journal* journal_;
  const std::function<void(const Progress&)>& on_progress_;
  Rows coarse_;
  Rows final_;
  Progress progress_;
};

}  // namespace

std::vector<Row> run(const Bench& bench, const RunOptions& options, Journal* journal,
                     const std::vector<std::string>& lines, const std::function<void(const Progress&)>& on_progress) {
  Run sweep(bench, options, journal, on_progress);
  sweep.read(lines);
  return sweep.all();
}

std::vector<std::int64_t> ranked(const std::vector<Row>& rows, std::size_t sort_by) {
  std::vector<std::pair<double, std::int64_t>> keys;
  const double sign = figures()[sort_by].larger_is_better ? -1 : 1;
  for (const Row& row : rows) {
    if (row.status == Status::kOk && std::isfinite(row.values[sort_by])) {
      keys.emplace_back(sign * row.values[sort_by], row.point);
    }
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::int64_t> points;
  for (const auto& [key, point] : keys) {
    points.push_back(point);
  }
  return points;
}

std::string to_csv(const Grid& grid, const std::vector<Row>& rows) {
  std::string text = csv_head(grid.keys());
  for (const Row& row : rows) {
    text += to_csv_line(row, {grid.keys(), grid.point(row.point).texts});
  }
  return text;
}

std::string to_json_lines(const Grid& grid, const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    text += to_json_line(row, {grid.keys(), grid.point(row.point).texts});
    text += '\n';
  }
  return text;
}

}  // namespace lamina::sweep
