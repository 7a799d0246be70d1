#pragma once

#include "sim/report/console_style.hpp"
#include "sim/report/report.hpp"

/// Parts of the console report, in the order in which they are printed. Each ends without an empty line and prints
/// nothing when it has nothing to say.
namespace lamina::report {

void add_title(Page& page, const Report& report);         ///< name, model, cluster, strategy
void add_answer(Page& page, const Report& report);        ///< step time, throughput, utilisation, memory, training
void add_disturbances(Page& page, const Report& report);  ///< what is wrong with the cluster; times with jitter
void add_times(Page& page, const Report& report);         ///< where the step time goes, per role
void add_critical_path(Page& page, const Report& report);
void add_network(Page& page, const Report& report);    ///< one row per link class
void add_memory(Page& page, const Report& report);     ///< breakdown of the fullest role
void add_reference(Page& page, const Report& report);  ///< published figures beside the simulated ones
void add_warnings(Page& page, const Report& report);
void add_models(Page& page, const Report& report);  ///< cost model, collectives, transport, folding

/// "agrees", "differs as stated", "differs".
struct Verdict {
  std::string word;
  Tone tone = Tone::kPlain;
};

[[nodiscard]] Verdict verdict_of(const ReferenceRow& row);

/// A reference value in a readable unit, judged by its dotted name: bytes, seconds, bytes per second or plain.
[[nodiscard]] std::string readable(std::string_view name, double value);

}  // namespace lamina::report
