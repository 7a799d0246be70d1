#pragma once

#include "sim/explain/writer.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/scenario.hpp"

/// One function per section of the explanation; each file answers one question.
namespace lamina::explain {

struct Subject {
  const scenario::Scenario& scenario;
  const pipeline::Prepared& prepared;
  const pipeline::Catalogs& catalogs;
};

/// What is the model, how many FLOPs does a step take?
void write_model(Writer& writer, const Subject& subject);

/// What does one rank compute per layer and micro-batch, kernel by kernel, and how long does it take?
void write_work(Writer& writer, const Subject& subject);

/// Which device plays which part?
void write_layout(Writer& writer, const Subject& subject);

/// What is sent, over which links, and how long does it take on an idle network?
void write_network(Writer& writer, const Subject& subject);

/// How much bandwidth hides each class of traffic?
void write_requirements(Writer& writer, const Subject& subject);

/// Which stages, in which order, with which bubble?
void write_schedule(Writer& writer, const Subject& subject);

/// What is resident on one device?
void write_memory(Writer& writer, const Subject& subject);

/// What is not as it should be in the cluster?
void write_disturbances(Writer& writer, const Subject& subject);

/// How many ranks and links are replayed for how many real ones?
void write_folding(Writer& writer, const Subject& subject);

/// How long is the whole training?
void write_training(Writer& writer, const Subject& subject);

/// Where do the numbers of the catalogue entries come from that the lines above name?
void write_sources(Writer& writer, const Subject& subject);

}  // namespace lamina::explain
