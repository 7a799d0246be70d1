#include "sim/explain/explain.hpp"

#include "sim/explain/sections.hpp"
#include "sim/explain/writer.hpp"

namespace lamina::explain {

std::string explain(const scenario::Scenario& scenario, const pipeline::Prepared& prepared,
                    const pipeline::Catalogs& catalogs) {
  const Subject subject{scenario, prepared, catalogs};
  Writer writer;
  write_model(writer, subject);
  write_work(writer, subject);
  write_layout(writer, subject);
  write_schedule(writer, subject);
  write_network(writer, subject);
  write_requirements(writer, subject);
  write_memory(writer, subject);
  write_disturbances(writer, subject);
  write_folding(writer, subject);
  write_training(writer, subject);
  write_sources(writer, subject);
  return writer.result();
}

}  // namespace lamina::explain
