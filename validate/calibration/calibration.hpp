#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

/// What a calibration is, whoever makes it: other people's logs and tables (nccl_log.hpp, transfer_table.hpp,
/// product_table.hpp) or micro-benchmarks on the present hardware. It becomes a hardware file that a scenario names
/// (`hardware: FILE`), docs/calibration.md.
///
/// Measured and fitted numbers stand apart: `Table` is what was measured, `Constant` what was fitted to it, and each
/// constant says which rows tuned it.
namespace lamina::validate::calibration {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// The maps of a hardware file that an entry may stand in.
enum class Kind : std::uint8_t { kAccelerator, kDeviceLink, kHostPath, kNetwork };

/// "accelerators", "device_links", "host_paths", "networks".
[[nodiscard]] std::string plural_of(Kind kind);

/// A named text: a condition, a label of a system, a setting.
struct Label {
  std::string key;
  std::string text;

  bool operator==(const Label&) const = default;
};

/// Medians by size (or shape), as measured: columns of plain numbers in SI base units, named so ("size_bytes",
/// "time_s"). Rows are sorted by their first columns and unique in `keys` of them.
struct Table {
  std::vector<std::string> columns;
  std::size_t keys = 1;
  std::vector<std::vector<double>> rows;  ///< [row][column]; NaN: not measured
};

/// A fitted number.
struct Constant {
  std::string key;       ///< of the entry: "bandwidth", or "cost_model.launch_floor"
  double value = 0;      ///< SI base unit
  std::string text;      ///< as a scenario writes it: "233.5 GB/s"
  std::string tuned_by;  ///< which of the measured rows: "4 sizes from 1 GiB"
  bool resolved = true;  ///< false: the rows hardly depend on it; `tuned_by` says what stands there instead
};

/// Of fitted against measured times, relative: fitted / measured - 1.
struct Residual {
  std::string range;  ///< "64 KiB to 1 MiB", "batched"; empty: all
  std::int64_t points = 0;
  double median = kUnknown;  ///< of the absolute values
  double worst = kUnknown;   ///< absolute
  double bias = kUnknown;    ///< median with its sign
  std::string worst_at;      ///< "64 KiB"
};

/// Rows that were read and not used.
struct LeftOut {
  std::string reason;
  std::int64_t rows = 0;
};

/// One entry of a hardware file with its origin.
struct Entry {
  Kind kind = Kind::kDeviceLink;
  std::string name;
  std::string summary;
  std::string source;
  std::vector<Label> settings;      ///< keys of the entry that were not fitted ("base", "switch_latency"), as YAML text
  std::vector<Constant> constants;  ///< keys of the entry that were
  std::vector<Label> measured;      ///< what: collective, ranks, nodes, data type, file, ...
  std::vector<Label> conditions;    ///< under which: host, date, software, clock, hardware
  Table table;
  double spread =
      kUnknown;  ///< median over sizes of (largest - smallest) / median, where a size was measured repeatedly
  std::vector<Residual> residuals;  ///< the first: all points
  std::vector<std::string> steps;   ///< where the residual jumps: switches of protocol or algorithm
  std::vector<LeftOut> left_out;
  std::vector<std::string> notes;  ///< what a user must know
};

/// Measured, and no hardware that a scenario names: attention, the processor time of messages.
struct Measurement {
  std::string name;
  std::string summary;
  std::vector<std::string> notes;
  Table table;
};

struct Calibration {
  std::vector<std::string> sources;  ///< names of the files read, without folders
  std::vector<Label> conditions;     ///< given by the caller, true of all entries
  std::vector<Entry> entries;
  std::vector<std::string> skipped;       ///< systems of the files that became no entry, with the reason
  std::vector<Measurement> measurements;  ///< of micro-benchmarks only
};

/// Adds to the rows of `reason`, or a first one.
void leave_out(std::vector<LeftOut>& list, const std::string& reason, std::int64_t rows = 1);

/// "Residuals" of one range. @param fitted, measured of equal length; names[i] is what point i is called
[[nodiscard]] Residual residual_of(std::string range, const std::vector<double>& fitted,
                                   const std::vector<double>& measured, const std::vector<std::string>& names);

/// Median; NaN for nothing. Of an even number the mean of the middle two.
[[nodiscard]] double median_of(std::vector<double> values);

/// Small letters, digits and single hyphens: a name for a catalogue.
[[nodiscard]] std::string as_name(const std::string& text);

/// Quantities as a scenario reads them, six digits: "233.5 GB/s", "5.12 us", "312 TFLOP/s".
[[nodiscard]] std::string rate_text(double bytes_per_second);
[[nodiscard]] std::string time_text(double seconds);
[[nodiscard]] std::string work_rate_text(double flops_per_second);

/// "8 B", "64 KiB", "1.5 MiB".
[[nodiscard]] std::string size_text(double bytes);

}  // namespace lamina::validate::calibration
