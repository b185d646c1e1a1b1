// Builds of templates. Each step runs in a sandbox of the tenant, made from the layers so far; what
// it wrote becomes the next layer, and is found again when the same step is asked for on the same
// layers. docs/templates.md says what users see.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "manager/manager.h"
#include "redact/redact.h"
#include "template/files.h"
#include "template/recipe.h"

namespace paddock::templates {

enum class BuildState : uint8_t { waiting, building, ready, error };
const char* to_string(BuildState state);

struct BuildLog {
  manager::WallTime time = 0;
  // "debug", "info", "warn" or "error".
  std::string level;
  std::string message;
  // "base", "1", … or "finalize".
  std::string step;
};

struct BuildRequest {
  // "name" or "name:tag".
  std::string name;
  // Further tags.
  std::set<std::string> tags;
  uint64_t cpu_millicores = 0, memory_bytes = 0;
  // For the sandboxes that its steps run in.
  Policy policy;
};

struct Build {
  // The id of the template that comes of it.
  std::string id;
  // Its templateID for E2B.
  std::string family;
  std::string tenant, name;
  std::map<std::string, int64_t> tags;
  BuildRequest request;
  Recipe recipe;
  BuildState state = BuildState::waiting;
  // False while it waits for its recipe.
  bool begun = false;
  manager::WallTime created = 0;
  // The first megabyte.
  std::vector<BuildLog> logs;
  size_t log_bytes = 0;
  // For BuildState::error.
  Error reason;
  std::string failed_step;
  bool cancelled = false;
  // The sandbox in which the present step runs.
  std::string sandbox;
  // Who began it.
  manager::Caller caller;
  // The rules of the sandbox in which the present step runs.
  std::shared_ptr<const redact::Rules> redaction = redact::Rules::common();

  // Redacted here.
  void log(const std::string& level, const std::string& step, const std::string& message);
};

struct StepContext;  // template/steps.h

class Builder {
 public:
  explicit Builder(manager::Manager& manager) : manager_(manager) {}
  // Called before anything else. Removes what a restart left of builds.
  Result<void> open();

  // A build to come. E2B's clients ask for it, upload files, and then begin it.
  Result<std::shared_ptr<Build>> request(const manager::Caller& caller, BuildRequest request);
  // Code::conflict when it was begun already.
  Result<void> begin(const manager::Caller& caller, const std::string& id, Recipe recipe);
  Result<std::shared_ptr<Build>> find(const manager::Caller& caller, const std::string& id) const;
  void cancel(const std::shared_ptr<Build>& build);

  BuildFiles& files() { return *files_; }

 private:
  void read_interrupted();
  void note_on_disk(const Build& build, bool under_way);
  void forget_old(const std::string& tenant);
  io::Task<void> kill_left_over();

  void start_next();
  io::Task<void> run(std::shared_ptr<Build> build);
  io::Task<Result<void>> run_recipe(std::shared_ptr<Build> build);
  io::Task<Result<store::Template>> run_steps(StepContext context, store::Template last,
                                              Recipe recipe);
  io::Task<Result<store::Template>> base_of(std::shared_ptr<Build> build);
  io::Task<Result<store::Template>> from_image(std::string image);

  manager::Manager& manager_;
  // Holds notes of builds under way.
  std::string directory_;
  std::optional<BuildFiles> files_;
  std::map<std::string, std::shared_ptr<Build>> builds_;
  // The ids in builds_, the oldest first.
  std::deque<std::string> order_;
  std::deque<std::shared_ptr<Build>> queue_;
  // By tenant: the families that are being built.
  std::map<std::string, std::set<std::string>> busy_;
  // Builds of all tenants.
  size_t under_way_ = 0;
};

}  // namespace paddock::templates
